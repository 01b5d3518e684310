//! Long lists of numbers, read straight into values, without a node or a second pass for each.
//!
//! In:  text at the bracket that opens a list.  Out: [`Packed`] and where the list ends, or nothing: then the tree is read, which also
//! knows what is wrong with it.
//! Not here: what the numbers are.
//!
//! Lists of times take nine tenths of the bytes of detailed results. Single items of such a list need no digits, lines and pointers. Every
//! value is the one that the standard parser gives: short numbers are one exact division, the rest is left to it.

/// Numbers of a list, or of a list of lists, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Packed {
    /// All of them.
    pub values: Vec<f64>,
    /// Of a list of lists, where in `values` each inner one ends. Absent for a plain list.
    pub ends: Option<Vec<usize>>,
}

impl Packed {
    /// Number of items of the outer list.
    pub fn len(&self) -> usize {
        self.ends.as_ref().map_or(self.values.len(), Vec::len)
    }

    /// The inner list of a place. Empty when there is none.
    pub fn inner(&self, place: usize) -> &[f64] {
        let Some(ends) = &self.ends else { return &[] };
        let start = place.checked_sub(1).map_or(Some(0), |before| ends.get(before).copied());
        start.zip(ends.get(place)).and_then(|(start, end)| self.values.get(start..*end)).unwrap_or_default()
    }
}

/// A list that was read, where it ends, and the lines that ended in it.
pub(super) struct Read {
    /// The numbers.
    pub list: Packed,
    /// Place behind the closing bracket.
    pub end: usize,
    /// Line ends passed.
    pub lines: u32,
    /// Place behind the last of them.
    pub line_start: Option<usize>,
}

/// Reads the list that opens at `start`. `None` when it holds anything but finite numbers, or lists of them, or is no valid JSON.
pub(super) fn read(text: &str, start: usize) -> Option<Read> {
    let mut scan = Scan { bytes: text.as_bytes(), text, at: start, lines: 0, line_start: None };
    let mut list = Packed::default();
    scan.take(b'[')?;
    scan.space();
    match scan.peek()? {
        b']' => scan.at += 1,
        b'[' => list.ends = Some(scan.lists(&mut list.values)?),
        _ => scan.numbers(&mut list.values)?,
    }
    Some(Read { list, end: scan.at, lines: scan.lines, line_start: scan.line_start })
}

struct Scan<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
    lines: u32,
    line_start: Option<usize>,
}

impl Scan<'_> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    #[inline]
    fn space(&mut self) {
        while let Some(byte @ (b' ' | b'\t' | b'\r' | b'\n')) = self.peek() {
            self.at += 1;
            if byte == b'\n' {
                self.lines += 1;
                self.line_start = Some(self.at);
            }
        }
    }

    /// Reads the separator after an item. True when another follows.
    #[inline]
    fn goes_on(&mut self) -> Option<bool> {
        self.space();
        let more = match self.peek()? {
            b',' => true,
            b']' => false,
            _ => return None,
        };
        self.at += 1;
        if more {
            self.space();
        }
        Some(more)
    }

    /// Lists, from the first one's bracket to behind the closing bracket of all. Where each ends in `values`.
    fn lists(&mut self, values: &mut Vec<f64>) -> Option<Vec<usize>> {
        let mut ends = Vec::new();
        loop {
            self.take(b'[')?;
            self.space();
            if self.take(b']').is_none() {
                self.numbers(values)?;
            }
            ends.push(values.len());
            if !self.goes_on()? {
                return Some(ends);
            }
        }
    }

    /// At least one number, to behind the closing bracket.
    fn numbers(&mut self, values: &mut Vec<f64>) -> Option<()> {
        loop {
            values.push(self.number()?);
            if !self.goes_on()? {
                return Some(());
            }
        }
    }

    fn number(&mut self) -> Option<f64> {
        let start = self.at;
        let negative = self.take(b'-').is_some();
        let leading_zero = self.peek() == Some(b'0');
        let mut digits = Digits::default();
        self.digits(&mut digits);
        if digits.count == 0 || (leading_zero && digits.count > 1) {
            return None;
        }
        let whole = digits.count;
        if self.take(b'.').is_some() {
            self.digits(&mut digits);
            if digits.count == whole {
                return None;
            }
        }
        let scientific = matches!(self.peek(), Some(b'e' | b'E'));
        if scientific {
            self.at += 1;
            if self.take(b'+').is_none() {
                self.take(b'-');
            }
            let mut exponent = Digits::default();
            self.digits(&mut exponent);
            if exponent.count == 0 {
                return None;
            }
        }
        let value = match digits.over_ten_to(digits.count - whole).filter(|_| !scientific) {
            Some(value) if negative => -value,
            Some(value) => value,
            None => self.text.get(start..self.at)?.parse().ok()?,
        };
        // One too large for 64 bits is a matter of the reader of the tree.
        value.is_finite().then_some(value)
    }

    /// Passes over digits.
    #[inline]
    fn digits(&mut self, digits: &mut Digits) {
        while let Some(value) =
            self.bytes.get(self.at..).and_then(<[u8]>::first_chunk).and_then(|eight| of_eight(*eight))
        {
            digits.add(value, 100_000_000, 8);
            self.at += 8;
        }
        while let Some(byte @ b'0'..=b'9') = self.peek() {
            digits.add(u64::from(byte - b'0'), 10, 1);
            self.at += 1;
        }
    }
}

/// The digits of a number as a whole one.
#[derive(Default)]
struct Digits {
    /// Modulo 2^64. The digits themselves when they are few enough.
    value: u64,
    /// How many, leading zeros included.
    count: usize,
}

impl Digits {
    /// Digits that always fit 64 bits.
    const FIT: usize = 19;

    #[inline]
    fn add(&mut self, value: u64, ten_to: u64, count: usize) {
        self.value = self.value.wrapping_mul(ten_to).wrapping_add(value);
        self.count += count;
    }

    /// The number with the point before the last `behind` digits, where one division gives it exactly. Both sides of it are whole numbers
    /// that 64-bit floating point holds, and division rounds correctly (Clinger, *How to Read Floating Point Numbers Accurately*, 1990).
    #[inline]
    fn over_ten_to(&self, behind: usize) -> Option<f64> {
        const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;
        let ten_to = POWERS.get(behind)?;
        (self.count <= Self::FIT && self.value <= EXACT).then(|| self.value as f64 / ten_to)
    }
}

/// Powers of ten that 64-bit floating point holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// The number that eight digits write, when all eight bytes are digits: pairs are joined, then fours, then all, in one word.
#[inline]
fn of_eight(bytes: [u8; 8]) -> Option<u64> {
    let word = u64::from_le_bytes(bytes);
    let low = word.wrapping_sub(0x3030_3030_3030_3030);
    // A byte below '0' borrows into its high bit, one above '9' carries into it when 0x46 is added.
    if (low | word.wrapping_add(0x4646_4646_4646_4646)) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let pairs = low.wrapping_mul(10).wrapping_add(low >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    Some((fours.wrapping_mul(10_000).wrapping_add(fours >> 32)) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Result of the standard parser for the same numbers.
    fn plain(text: &str) -> Vec<u64> {
        let words = text.split(['[', ']', ',', ' ', '\n']).filter(|word| !word.is_empty());
        words.map(|word| word.parse::<f64>().unwrap().to_bits()).collect()
    }

    fn bits(text: &str) -> Vec<u64> {
        read(text, 0).unwrap().list.values.into_iter().map(f64::to_bits).collect()
    }

    #[test]
    fn every_number_has_the_bits_of_the_standard_parser() {
        let mut text = String::from(
            "[0, -0, 0.0, -0.0, 1, 12345678, 123456789, 0.1, 0.30000000000000004, 9007199254740992, 9007199254740993, \
             9007199254740991.5, 0.012057730928063393, 18446744073709551615, 18446744073709551616, 1e3, 1E-7, 2.5e+300, \
             4.9e-324, 2.2250738585072011e-308, 1e-400, 0.00000000000000000000001, 1234567890123456789012345678901234567890, \
             0.000000000000000000000000000000000000000001, 100000000000000000000000",
        );
        // Every number of digits before and behind the point, from a multiplicative sequence: no two alike.
        let mut seed = 88_172_645_463_325_252u64;
        for round in 0..20_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let digits = (seed >> 8).to_string();
            let point = round % digits.len();
            let (whole, behind) = digits.split_at(point);
            let cut = &behind[..1 + round % behind.len()];
            let whole = if whole.is_empty() { "0" } else { whole };
            text += &format!(", {whole}.{cut}");
        }
        text.push(']');
        assert_eq!(bits(&text), plain(&text));
    }

    #[test]
    fn eight_bytes_are_a_number_only_when_all_are_digits() {
        assert_eq!(of_eight(*b"12345678"), Some(12_345_678));
        assert_eq!(of_eight(*b"00000000"), Some(0));
        assert_eq!(of_eight(*b"99999999"), Some(99_999_999));
        for place in 0..8 {
            for byte in (0..=255u8).filter(|byte| !byte.is_ascii_digit()) {
                let mut bytes = *b"98765432";
                bytes[place] = byte;
                assert_eq!(of_eight(bytes), None, "{bytes:?}");
            }
        }
    }

    #[test]
    fn lists_of_lists_keep_their_ends_and_line_ends_are_counted() {
        let found = read("x[ [1.5,\n2] , [],\r\n[3]\n] y", 1).unwrap();
        assert_eq!(found.list.values, [1.5, 2.0, 3.0]);
        assert_eq!(found.list.ends, Some(vec![2, 2, 3]));
        assert_eq!((found.list.len(), found.list.inner(0), found.list.inner(1)), (3, &[1.5, 2.0][..], &[][..]));
        assert_eq!((found.list.inner(2), found.list.inner(3)), (&[3.0][..], &[][..]));
        assert_eq!((found.end, found.lines, found.line_start), (24, 3, Some(23)));
        let flat = read("[1, 2]", 0).unwrap().list;
        assert_eq!((flat.len(), flat.inner(0)), (2, &[][..]));
        assert_eq!(read("[ ]", 0).unwrap().list, Packed::default());
    }

    #[test]
    fn what_is_no_list_of_finite_numbers_is_left_to_the_tree() {
        for text in [
            "",
            "[",
            "[1",
            "[1,",
            "[1,]",
            "[,1]",
            "[1 2]",
            "[01]",
            "[-]",
            "[1.]",
            "[.5]",
            "[1e]",
            "[+1]",
            "[null]",
            "[NaN]",
            "[1e999]",
            "[\"1\"]",
            "[1, [2]]",
            "[[1], 2]",
            "[[1]",
            "[[[1]]]",
            "{}",
            "[1}",
            "[1x]",
            "[-Infinity]",
            "[true]",
        ] {
            assert!(read(text, 0).is_none(), "{text}");
        }
    }
}
