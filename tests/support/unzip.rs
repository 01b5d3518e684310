//! Unpacks a ZIP archive in memory: stored and deflated files, by the central directory.

use std::io::Read as _;

/// Name and bytes of every file.
pub fn unzip(zip: &[u8]) -> Vec<(String, Vec<u8>)> {
    let u16_at = |at: usize| u16::from_le_bytes(zip[at..at + 2].try_into().unwrap());
    let u32_at = |at: usize| u32::from_le_bytes(zip[at..at + 4].try_into().unwrap());
    let end = zip.len() - 22;
    assert_eq!(u32_at(end), 0x0605_4b50, "the end of the central directory");
    let mut at = u32_at(end + 16) as usize;
    (0..u16_at(end + 10))
        .map(|_| {
            assert_eq!(u32_at(at), 0x0201_4b50, "an entry of the central directory");
            let (method, name) = (u16_at(at + 10), usize::from(u16_at(at + 28)));
            let (extra, comment) = (usize::from(u16_at(at + 30)), usize::from(u16_at(at + 32)));
            let local = u32_at(at + 42) as usize;
            let start = local + 30 + usize::from(u16_at(local + 26)) + usize::from(u16_at(local + 28));
            let data = &zip[start..start + u32_at(at + 20) as usize];
            let mut bytes = Vec::new();
            match method {
                0 => bytes.extend(data),
                8 => drop(flate2::read::DeflateDecoder::new(data).read_to_end(&mut bytes).expect("deflated")),
                other => panic!("method {other}"),
            }
            let path = String::from_utf8(zip[at + 46..at + 46 + name].to_vec()).expect("UTF-8");
            at += 46 + name + extra + comment;
            (path, bytes)
        })
        .collect()
}
