//! Masks texts, bytes and files of any size.
//!
//! In:  readers, writers, files.  Out: the same bytes with secrets and names replaced, and counts by kind.
//! Not here: finding the texts to replace (see `scan`), the window over what is read (see `replacing`).

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::replacing::{Replacing, Way};
use super::scan::Scanner;
use super::table::WithoutColumns;
use super::wide::{self, Narrow, Order, Widen};
use super::{Mask, Tally, add, count};
use crate::disk::ASIDE;

/// A file with a zero byte among its first ones is no text.
const SNIFF: usize = 8 << 10;

/// Changes to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Masked {
    /// Nothing in it had to be replaced. It is unchanged byte for byte.
    Untouched,
    /// Text, rewritten.
    Rewritten,
    /// Not text: secrets in it were overwritten in place, at the same length.
    Blotted,
}

/// Replaces in a text, all of which is available.
pub(super) fn replaced(scanner: &Scanner, text: &str, tally: &mut Tally) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(hit) = scanner.next(bytes, at, bytes.len()) {
        out.extend_from_slice(bytes.get(at..hit.start).unwrap_or_default());
        count(tally, hit.kind);
        out.extend_from_slice(&hit.with);
        at = hit.end;
    }
    out.extend_from_slice(bytes.get(at..).unwrap_or_default());
    String::from_utf8_lossy(&out).into_owned()
}

impl Mask {
    /// Replaces in bytes.
    pub fn bytes(&self, text: &[u8], tally: &mut Tally) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        // Reading from and writing to memory does not fail.
        let _ = pass_text(&self.scanner, &mut &*text, &mut out, tally);
        out
    }

    /// Replaces in a file, if there is anything to replace: aside, synced, renamed.
    ///
    /// # Errors
    /// Errors of the file system. The file is then as it was.
    pub fn file(&self, path: &Path, tally: &mut Tally) -> io::Result<Masked> {
        let how = How::of(path)?;
        let mut found = Tally::new();
        self.through(how, path, &mut io::sink(), &mut found)?;
        if found.is_empty() {
            return Ok(Masked::Untouched);
        }
        // Without the name itself, with which it could be longer than a name may be.
        let mut free = (1u32..).map(|number| path.with_file_name(format!(".{number}{ASIDE}")));
        let free = free.find(|place| fs::symlink_metadata(place).is_err());
        let aside = free.ok_or_else(|| io::Error::other("no name is free beside it"))?;
        let rewritten = File::create(&aside).and_then(|file| {
            let mut out = BufWriter::new(file);
            self.through(how, path, &mut out, &mut Tally::new())?;
            out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            fs::set_permissions(&aside, fs::metadata(path)?.permissions())?;
            fs::rename(&aside, path)
        });
        if rewritten.is_err() {
            // The first failure is the one to report.
            let _ = fs::remove_file(&aside);
        }
        rewritten?;
        add(tally, found);
        Ok(if how == How::Binary { Masked::Blotted } else { Masked::Rewritten })
    }

    fn through(&self, how: How, path: &Path, out: &mut dyn Write, tally: &mut Tally) -> io::Result<()> {
        let mut file = File::open(path)?;
        match how {
            How::Text => pass_text(&self.scanner, &mut file, out, tally),
            How::Binary => pass(&self.scanner, Way::Blot, file, out, tally).map(drop),
            How::Wide(order) => {
                let mut wide = Widen::new(&mut *out, order);
                pass_text(&self.scanner, &mut Narrow::new(&mut file, order), &mut wide, tally)?;
                wide.finish()?;
                // Half a letter, where its writer was cut off, stays as it is.
                if !file.metadata()?.len().is_multiple_of(2) {
                    file.seek(SeekFrom::End(-1))?;
                    io::copy(&mut file, out)?;
                }
                Ok(())
            }
        }
    }
}

/// How the bytes of a file are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Text,
    /// Text in UTF-16.
    Wide(Order),
    Binary,
}

impl How {
    fn of(path: &Path) -> io::Result<Self> {
        let head = head(path)?;
        Ok(match wide::order(&head) {
            Some(order) => Self::Wide(order),
            None if head.contains(&0) => Self::Binary,
            None => Self::Text,
        })
    }
}

/// The first bytes of a file.
pub(super) fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(SNIFF);
    File::open(path)?.take(SNIFF as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// As [`pass`], with the secrets in the columns of a table.
fn pass_text(scanner: &Scanner, input: &mut dyn Read, out: &mut dyn Write, tally: &mut Tally) -> io::Result<()> {
    let columns = pass(scanner, Way::Tag, WithoutColumns::new(input)?, out, tally)?;
    add(tally, columns.into_tally());
    Ok(())
}

/// Gives the input back, which is at its end.
fn pass<R: Read>(scanner: &Scanner, way: Way, input: R, out: &mut dyn Write, tally: &mut Tally) -> io::Result<R> {
    let mut replacing = Replacing::new(scanner, way, input);
    io::copy(&mut replacing, out)?;
    let (input, found) = replacing.into_parts();
    add(tally, found);
    Ok(input)
}
