//! Results on standard output.
//!
//! In:  text.  Out: standard output.
//! Not here: what is said beside results (see `talk`).

use std::io::Write as _;

use sparkbench_text::error::Error;

/// Writes results to standard output. A reader that went away (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(cause) if cause.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::archive("cannot write to standard output").because(cause))
        }
        _ => Ok(()),
    }
}
