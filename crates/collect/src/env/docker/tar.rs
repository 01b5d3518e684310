//! The smallest tar archive that makes folders in a container which does not run yet.
//!
//! In:  paths and modes.  Out: bytes for `docker cp - NAME:/`.
//! Not here: files.
//!
//! `docker cp` makes no folder above its target, and the run's own folder must be writable for whatever user the image names. Form: POSIX
//! ustar (IEEE Std 1003.1, pax, "ustar Interchange Format").

/// Bytes of a header and of the padding.
const BLOCK: usize = 512;

/// An archive of folders, owned by root, each with its mode. Paths have no leading `/` and at most 99 bytes.
pub(super) fn folders(folders: &[(&str, u32)]) -> Vec<u8> {
    let mut archive: Vec<u8> = folders.iter().flat_map(|(path, mode)| header(path, *mode)).collect();
    // Two empty blocks end an archive.
    archive.resize(archive.len() + 2 * BLOCK, 0);
    archive
}

fn header(path: &str, mode: u32) -> [u8; BLOCK] {
    let mut block = [0_u8; BLOCK];
    put(&mut block, 0, format!("{path}/").as_bytes());
    put(&mut block, 100, format!("{mode:07o}").as_bytes());
    // Owner, group, size, time.
    for (at, width) in [(108, 7), (116, 7), (124, 11), (136, 11)] {
        put(&mut block, at, "0".repeat(width).as_bytes());
    }
    // The sum is taken over the header with blanks in its own place.
    put(&mut block, 148, b"        ");
    put(&mut block, 156, b"5");
    put(&mut block, 257, b"ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    put(&mut block, 148, format!("{sum:06o}\0 ").as_bytes());
    block
}

fn put(block: &mut [u8; BLOCK], at: usize, bytes: &[u8]) {
    for (cell, byte) in block.iter_mut().skip(at).zip(bytes) {
        *cell = *byte;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_a_block_with_its_sum() {
        let bytes = folders(&[("sparkbench", 0o755), ("sparkbench/work", 0o777)]);
        assert_eq!(bytes.len(), 4 * BLOCK);
        assert_eq!(&bytes[..12], b"sparkbench/\0");
        assert_eq!(&bytes[100..108], b"0000755\0");
        assert_eq!(bytes[156], b'5');
        let stated = u32::from_str_radix(std::str::from_utf8(&bytes[148..154]).unwrap(), 8).unwrap();
        let mut header = bytes[..BLOCK].to_vec();
        header[148..156].fill(b' ');
        assert_eq!(stated, header.iter().map(|byte| u32::from(*byte)).sum::<u32>());
    }
}
