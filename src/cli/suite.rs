//! A suite file as a person names it.
//!
//! In:  a path.  Out: an [`Experiment`], or every fault of the file.
//! Not here: what stands in a suite (see `plan`).

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sparkbench_archive::given::refuse_endless;
use sparkbench_archive::shown;
use sparkbench_collect::run::experiment::Experiment;
use sparkbench_text::error::{Error, Kind};

/// Largest suite that is read: the largest shipped one has 8 KiB.
const SUITE_LIMIT: u64 = 1 << 20;

/// Reads a suite file whole.
///
/// # Errors
/// Of usage, when it cannot be read, is absurdly large, or has faults.
pub(crate) fn load(path: &Path) -> Result<Experiment, Error> {
    let name = shown(path);
    let failed = |cause| {
        Error::usage(format!("cannot read the suite '{name}'"))
            .hint("write a suite to start from with 'sparkbench init', or take one of those in suites/")
            .because(cause)
    };
    refuse_endless(path).map_err(|mut refused| {
        // As every other suite that cannot be read.
        refused.kind = Kind::Usage;
        refused
    })?;
    let mut bytes = Vec::new();
    // Bounded while reading and not by the size told: a pipe tells none.
    File::open(path).map_err(failed)?.take(SUITE_LIMIT + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > SUITE_LIMIT {
        return Err(Error::usage(format!("'{name}' is too large for a suite"))
            .detail(format!("over {SUITE_LIMIT} bytes"))
            .hint("give the TOML file of a suite. 'sparkbench init' writes one"));
    }
    let text = String::from_utf8(bytes).map_err(|cause| failed(io::Error::new(io::ErrorKind::InvalidData, cause)))?;
    let whole = std::path::absolute(path).map_err(failed)?;
    let folder = whole.parent().unwrap_or_else(|| Path::new("/"));
    Experiment::read(&text, &name, folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &str) -> String {
        load(Path::new(path)).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_file_that_never_ends_is_refused_and_a_large_one_does_not_fill_the_memory() {
        assert!(refusal("/dev/zero").contains("not a regular file"), "{}", refusal("/dev/zero"));
        let folder = sparkbench_testing::Folder::new("large-suite");
        let file = folder.join("suite.toml");
        std::fs::File::create(&file).unwrap().set_len(1 << 40).unwrap();
        let said = refusal(&file.display().to_string());
        assert!(said.contains("too large"), "{said}");
    }

    #[test]
    fn bytes_that_are_no_text_are_said_to_be_none() {
        let folder = sparkbench_testing::Folder::new("no-text");
        let file = folder.join("suite.toml");
        std::fs::write(&file, [0x66, 0xff, 0xfe]).unwrap();
        let said = refusal(&file.display().to_string());
        assert!(said.contains("cannot read the suite"), "{said}");
    }
}
