//! Masks bytes and files of any size, one window at a time.
//!
//! In:  readers, writers, files.  Out: the same bytes with secrets and names replaced, and counts by kind.
//! Not here: finding the texts to replace (see `scan`).

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::hit::Hit;
use super::lexical::Class;
use super::scan::Scanner;
use super::table::{self, Columns, Table};
use super::wide::{self, Narrow, Order, Widen};
use super::{Mask, Tally, count};
use crate::disk::ASIDE;

/// Bytes that are read before any are given out.
const CHUNK: usize = 1 << 20;
/// Bytes that the longest thing replaced may have, beyond which its class of characters tells where it ends. A variable of the environment
/// can be 128 KiB long (`MAX_ARG_STRLEN` of Linux).
const AHEAD: usize = 256 << 10;
/// Bytes looked back at: a name before its value, the program before its option.
const BACK: usize = 1 << 10;
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

/// The replacement of a hit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A word that says what it was.
    Tag,
    /// As many `*`, secrets only: the lengths inside a binary file must stay true.
    Blot,
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
        found.into_iter().for_each(|(kind, times)| *tally.entry(kind).or_default() += times);
        Ok(if how == How::Binary { Masked::Blotted } else { Masked::Rewritten })
    }

    fn through(&self, how: How, path: &Path, out: &mut dyn Write, tally: &mut Tally) -> io::Result<()> {
        let mut file = File::open(path)?;
        match how {
            How::Text => pass_text(&self.scanner, &mut file, out, tally),
            How::Binary => pass(&self.scanner, Way::Blot, &mut file, out, tally),
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
    let mut head = Vec::new();
    (&mut *input).take(table::HEAD as u64).read_to_end(&mut head)?;
    let Some(table) = Table::of(&head) else {
        return pass(scanner, Way::Tag, &mut head.as_slice().chain(input), out, tally);
    };
    let mut columns = Columns::new(head.as_slice().chain(input), table);
    pass(scanner, Way::Tag, &mut columns, out, tally)?;
    columns.tally.into_iter().for_each(|(kind, times)| *tally.entry(kind).or_default() += times);
    Ok(())
}

fn pass(scanner: &Scanner, way: Way, input: &mut dyn Read, out: &mut dyn Write, tally: &mut Tally) -> io::Result<()> {
    let mut window = Vec::with_capacity(CHUNK + AHEAD + BACK);
    let (mut at, mut more) = (0, true);
    // The rest of a secret that reached the end of the window.
    let mut open: Option<Class> = None;
    while more {
        let wanted = CHUNK + AHEAD;
        more = (&mut *input).take(wanted as u64).read_to_end(&mut window)? == wanted;
        let limit = if more { window.len().saturating_sub(AHEAD) } else { window.len() };
        if let Some(class) = open {
            let end = class.end(&window, at);
            blot(way, end - at, out)?;
            open = (end == window.len() && more).then_some(class);
            at = end;
        }
        while let Some(hit) = scanner.next(&window, at, limit) {
            out.write_all(window.get(at..hit.start).unwrap_or_default())?;
            if way == Way::Tag || hit.secret {
                count(tally, hit.kind);
            }
            replace(way, &hit, &window, out)?;
            open = hit.open.filter(|_| hit.end == window.len() && more);
            at = hit.end;
        }
        if at < limit {
            out.write_all(window.get(at..limit).unwrap_or_default())?;
            at = limit;
        }
        let drop = at.saturating_sub(BACK);
        window.drain(..drop);
        at -= drop;
    }
    Ok(())
}

fn replace(way: Way, hit: &Hit<'_>, window: &[u8], out: &mut dyn Write) -> io::Result<()> {
    match way {
        Way::Tag => out.write_all(&hit.with),
        Way::Blot if hit.secret => blot(way, hit.end - hit.start, out),
        Way::Blot => out.write_all(window.get(hit.start..hit.end).unwrap_or_default()),
    }
}

/// The rest of a secret whose beginning was replaced already.
fn blot(way: Way, length: usize, out: &mut dyn Write) -> io::Result<()> {
    match way {
        Way::Tag => Ok(()),
        Way::Blot => io::copy(&mut io::repeat(b'*').take(length as u64), out).map(drop),
    }
}
