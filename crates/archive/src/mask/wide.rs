//! Text in UTF-16, as programs of Windows write it: read as one byte a letter where it is ASCII, and written back as it was.
//!
//! In:  the beginning of a file, a reader, a writer.  Out: [`Order`], [`Narrow`], [`Widen`].
//! Not here: what is replaced between the two.
//!
//! Between the two, every unit of 16 bits is coded by itself in one to three bytes. Halves of a pair stay halves, and whatever is no text comes
//! back bit for bit.

use std::io::{self, Read, Write};

/// Bytes read at once.
const CHUNK: u64 = 64 << 10;

/// Which byte of a unit comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    fn unit(self, pair: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(pair),
            Self::Big => u16::from_be_bytes(pair),
        }
    }

    fn bytes(self, unit: u16) -> [u8; 2] {
        match self {
            Self::Little => unit.to_le_bytes(),
            Self::Big => unit.to_be_bytes(),
        }
    }
}

/// The order of a file that begins so, where it is text in UTF-16: by its mark, or because nearly all of it is ASCII with a zero beside.
pub(super) fn order(head: &[u8]) -> Option<Order> {
    /// Units that a guess needs.
    const LEAST: usize = 8;
    match head {
        // The mark of UTF-32 begins likewise.
        [0xff, 0xfe, 0, 0, ..] => return None,
        [0xff, 0xfe, ..] => return Some(Order::Little),
        [0xfe, 0xff, ..] => return Some(Order::Big),
        _ => {}
    }
    let (pairs, _) = head.as_chunks::<2>();
    let ascii = |order: Order| {
        let is_ascii =
            |pair: &&[u8; 2]| matches!(u8::try_from(order.unit(**pair)), Ok(b' '..=b'~' | b'\t' | b'\n' | b'\r'));
        pairs.len() >= LEAST && pairs.iter().filter(is_ascii).count() * 8 >= pairs.len() * 7
    };
    [Order::Little, Order::Big].into_iter().find(|order| ascii(*order))
}

/// Reads UTF-16 as described above. A last odd byte is not given.
pub(super) struct Narrow<R> {
    inner: R,
    order: Order,
    ready: Vec<u8>,
    at: usize,
}

impl<R: Read> Narrow<R> {
    pub(super) fn new(inner: R, order: Order) -> Self {
        Self { inner, order, ready: Vec::new(), at: 0 }
    }
}

impl<R: Read> Read for Narrow<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.ready.len() {
            let mut raw = Vec::new();
            self.inner.by_ref().take(CHUNK).read_to_end(&mut raw)?;
            (self.at, self.ready) = (0, Vec::with_capacity(raw.len()));
            let (pairs, _) = raw.as_chunks::<2>();
            pairs.iter().for_each(|pair| narrow(self.order.unit(*pair), &mut self.ready));
        }
        let rest = self.ready.get(self.at..).unwrap_or_default();
        let length = rest.len().min(into.len());
        into.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        self.at += length;
        Ok(length)
    }
}

/// One unit in one to three bytes, as UTF-8 codes such a number.
fn narrow(unit: u16, out: &mut Vec<u8>) {
    let [high, low] = unit.to_be_bytes();
    let last = 0x80 | low & 0x3f;
    match unit {
        0..0x80 => out.push(low),
        0x80..0x800 => out.extend([0xc0 | high << 2 | low >> 6, last]),
        _ => out.extend([0xe0 | high >> 4, 0x80 | (high & 0x0f) << 2 | low >> 6, last]),
    }
}

/// Writes as UTF-16 what [`Narrow`] gave. [`Widen::finish`] must follow.
pub(super) struct Widen<W> {
    inner: W,
    order: Order,
    /// The beginning of a unit.
    rest: Vec<u8>,
}

impl<W: Write> Widen<W> {
    pub(super) fn new(inner: W, order: Order) -> Self {
        Self { inner, order, rest: Vec::new() }
    }

    /// # Errors
    /// When the last unit is not whole.
    pub(super) fn finish(self) -> io::Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(broken()) }
    }
}

impl<W: Write> Write for Widen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        let mut wide = Vec::with_capacity(2 * self.rest.len());
        let mut left = self.rest.as_slice();
        loop {
            let (unit, behind) = match left {
                [one @ 0..0x80, behind @ ..] => (u16::from(*one), behind),
                [one @ 0xc0..0xe0, two, behind @ ..] => (u16::from(one & 0x1f) << 6 | u16::from(two & 0x3f), behind),
                [one @ 0xe0..0xf0, two, three, behind @ ..] => {
                    (u16::from(one & 0x0f) << 12 | u16::from(two & 0x3f) << 6 | u16::from(three & 0x3f), behind)
                }
                [0x80..0xc0 | 0xf0..=0xff, ..] => return Err(broken()),
                _ => break,
            };
            wide.extend(self.order.bytes(unit));
            left = behind;
        }
        self.rest = left.to_vec();
        self.inner.write_all(&wide)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a letter of the text was cut in two")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_comes_back_bit_for_bit() {
        for order in [Order::Little, Order::Big] {
            let bytes: Vec<u8> = (0..=u16::MAX).flat_map(|unit| order.bytes(unit)).collect();
            let mut text = Vec::new();
            Narrow::new(bytes.as_slice(), order).read_to_end(&mut text).unwrap();
            let mut back = Vec::new();
            let mut widen = Widen::new(&mut back, order);
            // However it is cut.
            text.chunks(7).for_each(|part| widen.write_all(part).unwrap());
            widen.finish().unwrap();
            assert!(back == bytes);
        }
    }

    #[test]
    fn text_in_utf_16_is_told_by_its_mark_or_by_its_zeros() {
        let wide =
            |text: &str, order: Order| text.encode_utf16().flat_map(|unit| order.bytes(unit)).collect::<Vec<u8>>();
        for order in [Order::Little, Order::Big] {
            assert_eq!(super::order(&wide("token = abc\r\n", order)), Some(order));
            assert_eq!(super::order(&wide("\u{feff}日本", order)), Some(order));
        }
        assert_eq!(super::order(b"plain text of one byte a letter"), None);
        assert_eq!(super::order(b"\xff\xfe\0\0a\0\0\0"), None);
        assert_eq!(super::order(&[0; 64]), None);
        assert_eq!(super::order(b""), None);
    }
}
