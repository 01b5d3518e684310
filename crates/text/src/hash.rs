//! SHA-256 as text.
//!
//! In:  bytes.  Out: lower-case hexadecimal.
//! Not here: hashing of files as they are read (see `archive`).

use sha2::{Digest as _, Sha256};

/// SHA-256 of bytes in lower-case hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
