//! Varints, columns of them, and the check sum of a block.
//!
//! In:  whole numbers.  Out: bytes, and back.
//! Not here: what a column means.
//!
//! CRC-32 is that of zlib and PNG, so that a reader in any language has it available.

/// How the values of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Mode {
    /// One value that all have.
    Constant = 0,
    /// Each value.
    Plain = 1,
    /// The first value, then differences to the one before.
    Deltas = 2,
    /// A value and how often it comes, again and again.
    Runs = 3,
}

/// Longest varint of 64 bits.
const LONGEST: usize = 10;

/// Appends a varint: seven bits a byte, lowest first, the top bit says that more follow.
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a varint off the front. Nothing when it is cut short or too long.
pub(super) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for (place, byte) in bytes.iter().take(LONGEST).enumerate() {
        value |= u64::from(byte & 0x7f).checked_shl(7 * place as u32)?;
        if byte & 0x80 == 0 {
            *bytes = &bytes[place + 1..];
            return Some(value);
        }
    }
    None
}

/// Small numbers of either sign become small numbers.
pub(super) const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Back again.
pub(super) const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// Bytes of a varint.
const fn width(value: u64) -> usize {
    (63 - (value | 1).leading_zeros() as usize) / 7 + 1
}

/// Writes columns. Keeps its buffer.
#[derive(Debug, Default)]
pub(super) struct Column {
    values: Vec<i64>,
}

impl Column {
    /// Appends length, mode and values, in the mode that is the shortest. A column of no values has length 0.
    pub(super) fn put(&mut self, values: impl Iterator<Item = i64>, out: &mut Vec<u8>) {
        self.values.clear();
        self.values.extend(values);
        let values = &self.values;
        let Some(&first) = values.first() else {
            out.push(0);
            return;
        };
        let mut sizes = [width(zigzag(first)), 0, width(zigzag(first)), 0];
        let (mut constant, mut last, mut run) = (true, first, 0_u64);
        for (place, &value) in values.iter().enumerate() {
            sizes[1] += width(zigzag(value));
            if place > 0 {
                sizes[2] += width(zigzag(value.wrapping_sub(last)));
            }
            if value == last {
                run += 1;
            } else {
                constant = false;
                sizes[3] += width(zigzag(last)) + width(run);
                run = 1;
            }
            last = value;
        }
        sizes[3] += width(zigzag(last)) + width(run);
        if !constant {
            sizes[0] = usize::MAX;
        }
        let (mut mode, mut size) = (Mode::Constant, sizes[0]);
        for other in [Mode::Plain, Mode::Deltas, Mode::Runs] {
            if sizes[other as usize] < size {
                (mode, size) = (other, sizes[other as usize]);
            }
        }
        put(out, size as u64 + 1);
        out.push(mode as u8);
        match mode {
            Mode::Constant => put(out, zigzag(first)),
            Mode::Plain => values.iter().for_each(|value| put(out, zigzag(*value))),
            Mode::Deltas => {
                let mut last = 0_i64;
                for value in values {
                    put(out, zigzag(value.wrapping_sub(last)));
                    last = *value;
                }
            }
            Mode::Runs => {
                for run in values.chunk_by(|one, other| one == other) {
                    put(out, zigzag(run[0]));
                    put(out, run.len() as u64);
                }
            }
        }
    }
}

/// Takes a column of `count` values off the front. `None` when it does not hold exactly that many.
pub(super) fn column(bytes: &mut &[u8], count: usize) -> Option<Vec<i64>> {
    let length = usize::try_from(take(bytes)?).ok()?;
    let (mut data, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    if count == 0 || length == 0 {
        return (count == 0 && length == 0).then(Vec::new);
    }
    let (mode, values) = data.split_first()?;
    data = values;
    let mut found = Vec::with_capacity(count);
    match mode {
        0 => found.resize(count, unzigzag(take(&mut data)?)),
        1 => {
            for _ in 0..count {
                found.push(unzigzag(take(&mut data)?));
            }
        }
        2 => {
            let mut last = 0_i64;
            for _ in 0..count {
                last = last.wrapping_add(unzigzag(take(&mut data)?));
                found.push(last);
            }
        }
        3 => {
            while found.len() < count {
                let value = unzigzag(take(&mut data)?);
                let times = usize::try_from(take(&mut data)?).ok().filter(|times| *times <= count - found.len())?;
                if times == 0 {
                    return None;
                }
                found.resize(found.len() + times, value);
            }
        }
        _ => return None,
    }
    data.is_empty().then_some(found)
}

/// One byte of the check sum at a time, computed when the program is built.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & 1 == 1 { (rest >> 1) ^ 0xedb8_8320 } else { rest >> 1 };
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
};

/// CRC-32 as in zlib.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| TABLE[usize::from((sum as u8) ^ byte)] ^ (sum >> 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_sum_is_that_of_zlib() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn every_column_comes_back_in_the_shortest_mode() {
        let cases: [(&[i64], u8); 6] = [
            (&[7; 100], 0),
            (&[1, -5, 60, 2], 1),
            (&[1_000_000, 1_000_010, 1_000_005, 1_000_020], 2),
            (&[1, 1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9], 3),
            (&[i64::MIN, i64::MAX, 0], 1),
            (&[], 0),
        ];
        for (values, mode) in cases {
            let mut bytes = Vec::new();
            Column::default().put(values.iter().copied(), &mut bytes);
            bytes.push(0xaa);
            if !values.is_empty() {
                assert_eq!(bytes[1], mode, "{values:?}");
            }
            let mut rest = bytes.as_slice();
            assert_eq!(column(&mut rest, values.len()).unwrap(), values);
            assert_eq!(rest, [0xaa]);
            assert_eq!(column(&mut bytes.as_slice(), values.len() + 1).is_some(), mode == 0 && !values.is_empty());
        }
    }

    #[test]
    fn varints_that_are_cut_or_never_end_are_refused() {
        let mut bytes = Vec::new();
        put(&mut bytes, u64::MAX);
        assert_eq!((bytes.len(), take(&mut bytes.as_slice())), (10, Some(u64::MAX)));
        assert_eq!(take(&mut &bytes[..9]), None);
        assert_eq!(take(&mut [0x80; 20].as_slice()), None);
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }
}
