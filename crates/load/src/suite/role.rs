//! The role of a load in a table: a plain load, a cell of a preset, a search. And its keys.
//!
//! In:  a [`Reader`], the settings that the other keys gave.  Out: [`Planned`] loads with their [`Role`].
//! Not here: the cells of a preset (see `matrix`), the steps of a search (see `sweep`).

use super::{Planned, bounded};
use crate::matrix::{self, WARMUP_PASSES};
use crate::settings::{LoadOptions, Preset, Settings, Shape, Word, Work};
use crate::sweep::Search;
use sparkbench_plan::Reader;

/// Purpose of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Role {
    /// Itself: it must be done.
    Load,
    /// A cell of a preset: skipped, and said so, where the server cannot take its lengths.
    Cell {
        /// Whether the row ends at the first cell in which requests fail.
        ends: bool,
    },
    /// The first point of a search, which finds the others on its way.
    Search(Search),
}

/// The keys `matrix`, `saturation` and `warmup_passes`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Set {
    preset: Option<Preset>,
    search: bool,
    warmups: Option<u32>,
}

impl Set {
    /// Holds them against the other keys.
    pub(super) fn read(keys: &mut Reader<'_>, options: &LoadOptions) -> Self {
        let (preset, search, warmups) = (options.matrix, options.saturation.unwrap_or(false), options.warmup_passes);
        if preset.is_some() && search {
            keys.fault(
                "saturation",
                "cannot be combined with a matrix",
                "leave it out: a matrix names its cells, and a search finds its points",
            );
        }
        if let Some(preset) = preset {
            for key in own_keys(preset) {
                if !keys.has(key) {
                    continue;
                }
                keys.fault(
                    key,
                    format!("cannot be combined with the matrix \"{}\", which has its own", preset.word()),
                    "leave out one of the two",
                );
            }
        }
        Self { preset, search, warmups }
    }

    /// The loads that a table makes: its cells, its search, or one for each of its shapes. Nothing after a fault.
    pub(super) fn planned(
        self,
        keys: &mut Reader<'_>,
        shapes: Vec<(String, Shape)>,
        settings: &Settings,
        seeded: bool,
    ) -> Vec<Planned> {
        let one = |name: String, role, warmups, mut settings: Settings| {
            // Whole passes warm up.
            if warmups > 0 {
                settings.warmup.get_or_insert(0);
            }
            Planned { name, seeded, role, warmups, settings }
        };
        if let Some(preset) = self.preset {
            let [(_, shape)] = shapes.as_slice() else {
                keys.fault("concurrency", "is a sweep, but a matrix needs one concurrency", "give one value");
                return Vec::new();
            };
            // Without the longest text of the server no cell is left out: which fit is known when it is up.
            match matrix::cells(preset, &Settings { shape: shape.clone(), ..settings.clone() }, None) {
                Ok(made) => {
                    let role = Role::Cell { ends: preset.ends_when_refused() };
                    let warmups = self.warmups.unwrap_or(WARMUP_PASSES);
                    let cells = made.cells.into_iter();
                    return cells.map(|cell| one(folder_name(&cell.name), role, warmups, cell.settings)).collect();
                }
                Err(error) => {
                    keys.fault("matrix", error.what.clone(), error.hint.clone().unwrap_or_default());
                    return Vec::new();
                }
            }
        }
        let warmups = self.warmups.unwrap_or(0);
        if self.search {
            let plain: Vec<Shape> = shapes.into_iter().map(|(_, shape)| shape).collect();
            return match (Search::over(&plain), plain.first()) {
                (Ok(search), Some(first)) if !matches!(settings.work, Work::Conversations(_)) => {
                    let settings = Settings { shape: first.clone(), ..settings.clone() };
                    vec![one(String::new(), Role::Search(search), warmups, settings)]
                }
                _ => {
                    keys.fault(
                        "saturation",
                        "only works with concurrencies or rates",
                        "leave the trace or the conversations out, and give concurrency or rate",
                    );
                    Vec::new()
                }
            };
        }
        let several = shapes.len() > 1;
        let named = |(name, shape): (String, Shape)| {
            let mut settings = Settings { shape, ..settings.clone() };
            bounded(&mut settings);
            one(if several { name } else { String::new() }, Role::Load, warmups, settings)
        };
        shapes.into_iter().map(named).collect()
    }
}

/// Keys of a load that a preset sets itself.
pub const fn own_keys(preset: Preset) -> &'static [&'static str] {
    match preset {
        Preset::Standard | Preset::Extended => &["isl", "osl"],
        Preset::Tests => &["isl", "osl", "concurrency"],
        Preset::Concurrencies => &["concurrency"],
    }
}

/// `128/128` as the name of a folder and of a test: `128-128`.
fn folder_name(cell: &str) -> String {
    cell.replace('/', "-").to_ascii_lowercase()
}

impl Planned {
    /// A load for itself.
    #[cfg(test)]
    pub fn new(name: impl Into<String>, seeded: bool, settings: Settings) -> Self {
        Self { name: name.into(), seeded, role: Role::Load, warmups: 0, settings }
    }

    /// Why a server that takes so many tokens, prompt and answer together, cannot take a cell. Nothing for other loads, which are sent as
    /// they were asked for.
    pub fn too_long(&self, most: Option<u64>) -> Option<String> {
        let (Role::Cell { .. }, Work::Synthetic { isl, osl, .. }) = (self.role, &self.settings.work) else {
            return None;
        };
        let (input, output, most) = (isl.bounds().1, osl.bounds().1, most?);
        let beyond = u64::from(input) + u64::from(output) > most;
        beyond.then(|| format!("{input} + {output} tokens are more than the {most} that the server accepts"))
    }
}
