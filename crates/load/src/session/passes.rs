//! Several loads against one server: the points of a sweep or the cells of a matrix, each in several passes.
//!
//! In:  [`RepeatedLoad`]s in their order.  Out: [`Loaded`] for each measured pass.
//! Not here: which cells there are (see `cli::load`, `suite`, `matrix`), one load (see `one`).
//!
//! Every pass has its own nonce. The plan of a cell is the same each time. Without a nonce the first pass would have filled the cache for
//! the second. Nonces follow from the moment at which the loads began, which the summary of each holds.

use std::path::Path;

use super::{Loaded, Session};
use crate::calibrate::Calibration;
use crate::settings::{Settings, Shape};
use sparkbench_text::error::Error;

/// One load of several.
#[derive(Debug, Clone, PartialEq)]
pub struct RepeatedLoad {
    /// Name, e.g. `c8` or `isl1024-osl128`. Empty for the only one.
    pub name: String,
    pub settings: Settings,
    /// Whole passes before the measured ones, which are excluded from all figures.
    pub warmups: u32,
    /// Measured passes.
    pub passes: u32,
    /// Of these, the first ones that are there already and are not measured again.
    pub kept: u32,
    /// The instrument's error, where it was measured for this cell.
    pub calibration: Option<Calibration>,
}

impl RepeatedLoad {
    /// One measured pass.
    pub fn once(name: impl Into<String>, settings: Settings) -> Self {
        Self { name: name.into(), settings, warmups: 0, passes: 1, kept: 0, calibration: None }
    }
}

impl RepeatedLoad {
    /// Name of a measured pass, counted from 0.
    pub fn pass(&self, number: u32) -> String {
        match self.passes {
            1 => self.name.clone(),
            _ => format!("{} pass {}", self.name, number + 1).trim().to_owned(),
        }
    }
}

/// Longest name of a folder that is made of a cell's.
const NAME_MAX: usize = 60;

impl Session<'_> {
    /// Does them all but the passes that are there already. Each pass gets a folder below `folder`: its own where there are several, else
    /// `folder` itself. `keep_on` is asked after each measured pass. False ends the row (a server that refuses more).
    ///
    /// Cells beyond the server's greatest length are skipped, and that is reported.
    ///
    /// # Errors
    /// Like [`Session::load`]. The first error ends it.
    pub fn all(
        &self,
        cells: &[RepeatedLoad],
        folder: &Path,
        keep_on: &dyn Fn(&Loaded) -> bool,
    ) -> Result<Vec<Loaded>, Error> {
        let began = self.host.utc().0.cast_unsigned();
        let alone = cells.len() == 1 && cells.iter().all(|cell| cell.warmups == 0 && cell.passes == 1);
        let mut loaded = Vec::new();
        let mut nonce = began;
        for cell in cells.iter().filter(|cell| cell.kept < cell.passes) {
            let measured = cell.warmups + cell.kept..cell.warmups + cell.passes;
            for pass in (0..cell.warmups).chain(measured) {
                let name = match pass.checked_sub(cell.warmups) {
                    None => format!("{} warm-up {}", cell.name, pass + 1).trim().to_owned(),
                    Some(pass) => cell.pass(pass),
                };
                let own = if alone { folder.to_owned() } else { folder.join(file_name(&name)) };
                std::fs::create_dir_all(&own)
                    .map_err(|cause| Error::archive(format!("cannot create '{}'", own.display())).because(cause))?;
                nonce += 1;
                let settings = Settings { nonce, ..cell.settings.clone() };
                let done = self.load(&settings, &name, &own, cell.calibration.clone())?;
                let stop = done.interrupted || !keep_on(&done);
                if pass >= cell.warmups || done.interrupted {
                    self.watcher.measured(&done);
                    loaded.push(done);
                }
                if stop {
                    return Ok(loaded);
                }
            }
        }
        Ok(loaded)
    }
}

/// `c8`, `r2.5`, `trace`: the point of a sweep in a word.
pub fn point(shape: &Shape) -> String {
    match shape {
        Shape::Closed { concurrency } => format!("c{concurrency}"),
        Shape::Open { rate, .. } => format!("r{rate}"),
        Shape::Trace { .. } => "trace".to_owned(),
    }
}

/// A name as a folder.
fn file_name(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '-' };
    let text: String = name.chars().map(plain).take(NAME_MAX).collect();
    if text.starts_with('.') { format!("_{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_makes_a_folder_and_never_another_place() {
        assert_eq!(file_name("c8 pass 2"), "c8-pass-2");
        assert_eq!(file_name("../x"), "_..-x");
    }
}
