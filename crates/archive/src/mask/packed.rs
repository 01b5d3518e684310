//! Files whose content cannot be searched because it is packed or encrypted, told by their first bytes.
//!
//! In:  the beginning of a file.  Out: the name of its form.
//! Not here: unpacking. A secret could not be taken out without packing the file anew, and the result would be another file than the program
//! wrote.
//!
//! Sources: RFC 1952 (gzip), RFC 8878 (Zstandard), the documents of xz, bzip2, ZIP (PKWARE's APPNOTE), 7-Zip, LZ4 and snappy frames, RAR,
//! lzip, Apache Parquet and ORC, PDF, age, RFC 9580 (OpenPGP's armour).

/// First bytes, and what has them.
const FORMS: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\0", "xz"),
    (b"BZh", "bzip2"),
    (b"PK\x03\x04", "zip"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"\xff\x06\0\0sNaPpY", "snappy"),
    (b"Rar!\x1a\x07", "rar"),
    (b"LZIP", "lzip"),
    (b"PAR1", "parquet"),
    (b"ORC", "orc"),
    (b"%PDF-", "pdf"),
    (b"age-encryption.org/", "age"),
    (b"-----BEGIN PGP MESSAGE-----", "pgp"),
];

/// First bytes of the block that follows `BZh` and a digit. Without it the letters may begin a text.
const BZIP2_BLOCK: &[u8] = &[0x31, 0x41, 0x59, 0x26, 0x53, 0x59];

/// The form of a packed file that begins so.
pub(super) fn form(head: &[u8]) -> Option<&'static str> {
    let (_, name) = FORMS.iter().find(|(start, _)| head.starts_with(start))?;
    let sure = match *name {
        "bzip2" => head.get(4..).is_some_and(|rest| rest.starts_with(BZIP2_BLOCK)),
        "orc" => head.contains(&0),
        _ => true,
    };
    sure.then_some(*name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_files_are_told_from_texts_that_begin_like_them() {
        assert_eq!(form(b"\x1f\x8b\x08\0"), Some("gzip"));
        assert_eq!(form(b"PK\x03\x04\x14"), Some("zip"));
        assert_eq!(form(b"BZh91AY&SY\0"), Some("bzip2"));
        for text in [&b"BZh is not a file"[..], b"ORC is an orc", b"PK fire", b"", b"{\"a\": 1}"] {
            assert_eq!(form(text), None);
        }
    }
}
