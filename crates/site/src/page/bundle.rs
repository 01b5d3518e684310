//! `site.zip`: the whole site in one file, to keep, to send, to unpack and read from a folder.
//!
//! In:  the finished pages.  Out: one more, and the page of data with a line on it.
//! Not here: what the pages say.
//!
//! The format is that of PKWARE's APPNOTE 6.3.3: local headers, a central directory, no encryption, no ZIP64. The same pages give the same
//! bytes. Files are in order of path, with one fixed date. Each is compressed by itself by the same program, on all cores.
//!
//! Memory holds the archive written so far and a batch of compressed files. A site of 900 runs has some 60 MB of pages here.

use std::io::Write as _;
use std::sync::Arc;

use flate2::{Compression, Crc, write::DeflateEncoder};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::HashedPage;
use super::draft::template_fault;
use super::index::Site;
use super::{Page, data, export, settle};
use sparkbench_text::error::Error;

/// Where it lies.
pub(super) const PATH: &str = "data/site.zip";

/// Bytes of pages above which none is made: it would double the site, and free hosts refuse files above 100 MB.
const MOST: usize = 400 << 20;

/// Files compressed before they are appended: enough that no core waits long for the last of them.
const BATCH: usize = 256;

/// Date of every file in it: the first that the format knows, 1980-01-01.
const DATE: u16 = (1 << 5) | 1;

/// The file of these pages. None where there is none.
pub(super) fn of(sheets: &[Arc<HashedPage>]) -> Result<Option<Page>, Error> {
    let pages: Vec<&Page> = sheets.iter().map(|sheet| &sheet.page).collect();
    Ok(bundle(&pages)?.map(|bytes| Page::new(PATH, bytes)))
}

/// Adds the file, and the page of data that mentions it. The page inside the file does not mention it, because no such file is beside it.
pub(super) fn put(site: &mut Site<'_>, sheets: &mut Vec<Arc<HashedPage>>, file: Arc<HashedPage>) -> Result<(), Error> {
    site.add_listed(&file);
    let html = settle::page(data::page(site).map_err(template_fault)?);
    if let Some(sheet) = sheets.iter_mut().find(|sheet| sheet.page.path == "data/index.html") {
        *sheet = HashedPage::new(Page::new("data/index.html", html));
    }
    sheets.push(file);
    Ok(())
}

/// The file. None where the site is too large for it, or too large for the format.
fn bundle(pages: &[&Page]) -> Result<Option<Vec<u8>>, Error> {
    let kept = |page: &&Page| !page.path.starts_with("v/");
    let mut inside: Vec<&Page> = pages.iter().copied().filter(kept).collect();
    if inside.iter().map(|page| page.bytes.len()).sum::<usize>() > MOST || inside.len() >= usize::from(u16::MAX) {
        return Ok(None);
    }
    // Unpacked, it can be verified by itself.
    let sums = export::sums_of_pages(&inside);
    inside.push(&sums);
    inside.sort_by(|a, b| a.path.cmp(&b.path));
    let mut archive = Archive::default();
    for batch in inside.chunks(BATCH) {
        let packed: Vec<Packed<'_>> = batch.par_iter().map(|page| Packed::of(page)).collect::<Result<_, Error>>()?;
        packed.iter().for_each(|file| archive.add(file));
    }
    Ok(Some(archive.finish()))
}

/// A file as it lies in the archive.
struct Packed<'a> {
    page: &'a Page,
    crc: u32,
    /// Compressed, where that is shorter.
    deflated: Option<Vec<u8>>,
}

impl<'a> Packed<'a> {
    fn of(page: &'a Page) -> Result<Self, Error> {
        let mut crc = Crc::new();
        crc.update(&page.bytes);
        let fault = |cause| Error::archive(format!("'{}' cannot be compressed", page.path)).because(cause);
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&page.bytes).map_err(fault)?;
        let deflated = encoder.finish().map_err(fault)?;
        Ok(Self { page, crc: crc.sum(), deflated: (deflated.len() < page.bytes.len()).then_some(deflated) })
    }

    fn data(&self) -> &[u8] {
        self.deflated.as_deref().unwrap_or(&self.page.bytes)
    }

    /// Shared fields of local and central headers: from the version needed to the length of the extra field.
    fn header(&self, out: &mut Vec<u8>) {
        const VERSION: u16 = 20;
        const UTF8: u16 = 1 << 11;
        let method: u16 = if self.deflated.is_some() { 8 } else { 0 };
        for word in [VERSION, UTF8, method, 0, DATE] {
            out.extend(word.to_le_bytes());
        }
        out.extend(self.crc.to_le_bytes());
        out.extend(length(self.data().len()));
        out.extend(length(self.page.bytes.len()));
        out.extend((self.page.path.len() as u16).to_le_bytes());
        out.extend(0u16.to_le_bytes());
    }
}

/// Lengths fit: the whole is below [`MOST`].
fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes()
}

/// The file as far as it is written, and its central directory.
#[derive(Default)]
struct Archive {
    out: Vec<u8>,
    central: Vec<u8>,
    files: u16,
}

impl Archive {
    fn add(&mut self, file: &Packed<'_>) {
        const LOCAL: u32 = 0x0403_4b50;
        const CENTRAL: u32 = 0x0201_4b50;
        /// Made by Unix, so that the permissions below are read: a plain file that all may read.
        const MADE_BY: u16 = (3 << 8) | 20;
        const PERMISSIONS: u32 = 0o100_644 << 16;
        let Self { out, central, files } = self;
        let offset = length(out.len());
        out.extend(LOCAL.to_le_bytes());
        file.header(out);
        out.extend(file.page.path.as_bytes());
        out.extend(file.data());
        central.extend(CENTRAL.to_le_bytes());
        central.extend(MADE_BY.to_le_bytes());
        file.header(central);
        // Length of the comment, number of the disk, internal attributes.
        central.extend([0; 6]);
        central.extend(PERMISSIONS.to_le_bytes());
        central.extend(offset);
        central.extend(file.page.path.as_bytes());
        *files += 1;
    }

    fn finish(self) -> Vec<u8> {
        const END: u32 = 0x0605_4b50;
        let Self { mut out, central, files } = self;
        let (start, size) = (length(out.len()), length(central.len()));
        out.extend(central);
        out.extend(END.to_le_bytes());
        out.extend([0; 4]);
        out.extend(files.to_le_bytes());
        out.extend(files.to_le_bytes());
        out.extend(size);
        out.extend(start);
        out.extend(0u16.to_le_bytes());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    fn pages() -> Vec<Page> {
        vec![
            Page::new("index.html", "a".repeat(5000)),
            Page::new("data/x.bin", vec![1, 2, 3]),
            Page::new("v/0123/index.html", "old"),
        ]
    }

    fn borrowed(pages: &[Page]) -> Vec<&Page> {
        pages.iter().collect()
    }

    #[test]
    fn it_holds_every_page_by_path_with_its_check_sum_and_no_frozen_version() {
        let bytes = bundle(&borrowed(&pages())).unwrap().unwrap();
        let names: Vec<String> = central(&bytes).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["data/SHA256SUMS", "data/x.bin", "index.html"]);
        for (name, method, crc, data) in central(&bytes) {
            let whole = match method {
                8 => {
                    let mut out = Vec::new();
                    flate2::read::DeflateDecoder::new(data.as_slice()).read_to_end(&mut out).unwrap();
                    out
                }
                _ => data,
            };
            let mut sum = Crc::new();
            sum.update(&whole);
            assert_eq!(sum.sum(), crc, "{name}");
            if let Some(page) = pages().iter().find(|page| page.path == name) {
                assert_eq!(page.bytes, whole, "{name}");
            }
        }
        assert_eq!(bytes, bundle(&borrowed(&pages())).unwrap().unwrap());
    }

    /// Name, method, check sum and data of every file, as the central directory has them.
    fn central(zip: &[u8]) -> Vec<(String, u16, u32, Vec<u8>)> {
        let u16_at = |at: usize| u16::from_le_bytes(zip[at..at + 2].try_into().unwrap());
        let u32_at = |at: usize| u32::from_le_bytes(zip[at..at + 4].try_into().unwrap());
        let end = zip.len() - 22;
        assert_eq!(u32_at(end), 0x0605_4b50);
        let mut at = u32_at(end + 16) as usize;
        (0..u16_at(end + 10))
            .map(|_| {
                assert_eq!(u32_at(at), 0x0201_4b50);
                let (name, local) = (usize::from(u16_at(at + 28)), u32_at(at + 42) as usize);
                let start = local + 30 + usize::from(u16_at(local + 26));
                let found = (
                    String::from_utf8(zip[at + 46..at + 46 + name].to_vec()).unwrap(),
                    u16_at(at + 10),
                    u32_at(at + 16),
                    zip[start..start + u32_at(at + 20) as usize].to_vec(),
                );
                at += 46 + name;
                found
            })
            .collect()
    }
}
