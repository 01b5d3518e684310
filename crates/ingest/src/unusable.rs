//! Files in which a person says what the results mean, and that cannot be used.
//!
//! In:  what was discovered and what became of it.  Out: the error that ends an analysis.
//! Not here: reading such a file (see `labels_file` and `custom`).
//!
//! A bad result is left out and the rest is analysed. Without its labels every judgement would be of other arms than the person named. So a
//! file of labels that is a link, a pipe or a folder, or that cannot be read, is never passed over.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use sparkbench_archive::{Discovery, is_of_run, is_written};
use sparkbench_model::Input;
use sparkbench_text::error::Error;

/// Bytes in which such a file says what it is.
const HEAD: u64 = 64 << 10;

/// A kind of such files.
struct Kind {
    /// Name of its format, and of the option that names one.
    format: &'static str,
    /// Usual name.
    name: &'static str,
    /// Beginning of its schema.
    schema: &'static str,
    /// In words.
    what: &'static str,
    /// Page of the manual.
    page: &'static str,
}

static KINDS: [Kind; 2] = [
    Kind { format: "labels", name: "labels.toml", schema: "sparkbench.labels/", what: "labels", page: "archive.md" },
    Kind {
        format: "metrics",
        name: "metrics.toml",
        schema: "sparkbench.metrics/",
        what: "definitions of metrics",
        page: "metrics.md",
    },
];

/// The error for the first such file that cannot be used. None where all can.
pub fn unusable(found: &Discovery, inputs: &[Input]) -> Option<Error> {
    inputs.iter().filter(|input| input.skipped).find_map(|input| {
        let unread = found.unread.iter().find(|unread| unread.path == input.path);
        let kind = match (unread, found.get(&input.path)) {
            (Some(unread), _) => of_unread(&unread.disk)?,
            (None, file) => KINDS.iter().find(|kind| input.format.as_deref() == Some(kind.format)).or_else(|| {
                // Nothing of it could be read, so its name alone tells.
                of_name(&file.filter(|_| input.format.is_none())?.disk)
            })?,
        };
        let Kind { format, what, page, .. } = kind;
        let error = Error::archive(format!("cannot use '{}' as {what}", input.path))
            .detail(input.reason.clone().unwrap_or_default());
        Some(match unread {
            Some(_) => {
                error.hint(format!("put a regular file in its place, or remove it and give one with --{format} FILE"))
            }
            None => error.hint(format!("correct the file or remove it. docs/{page} explains its keys")),
        })
    })
}

fn of_name(disk: &Path) -> Option<&'static Kind> {
    let name = disk.file_name().filter(|_| is_written(disk))?;
    KINDS.iter().find(|kind| name == kind.name)
}

/// The kind of a link, a pipe or a folder: by its name, or by what a link leads to, where that is a plain file.
fn of_unread(disk: &Path) -> Option<&'static Kind> {
    let of_target = || {
        let is_toml = disk.extension().is_some_and(|ending| ending == "toml");
        if !is_toml || is_of_run(disk) || !disk.is_file() {
            return None;
        }
        let mut head = Vec::new();
        File::open(disk).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
        let head = String::from_utf8_lossy(&head);
        KINDS.iter().find(|kind| head.contains(kind.schema))
    };
    of_name(disk).or_else(of_target)
}
