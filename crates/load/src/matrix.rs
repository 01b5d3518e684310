//! The cells that people compare: the field's matrix of lengths, T1 to T6, a row of concurrencies.
//!
//! In:  a preset, the settings of a single load, the longest text that the server takes.
//! Out: [`Cells`]: settings for each cell, and the cells that are left out, with the reason.
//! Not here: running them (see `session`), searching for a limit (see `sweep`).
//!
//! A cell is *input / output* tokens at a concurrency. A run of a cell is one pass: [`PASSES_PER_SLOT`] request for each slot in flight.
//! That is one request at concurrency 1 and 32 at 32. A preset makes two passes to warm up and measures three. Each has its own prompts, at
//! temperature 0 unless the settings say another. The passes of a cell are separate settings, so that each is a load with its own figures.

use super::settings::{Lengths, Prefix, Preset, Settings, Shape, Work};
use sparkbench_text::error::Error;

/// Passes to warm up.
pub const WARMUP_PASSES: u32 = 2;
/// Passes that are measured.
pub const MEASURED_PASSES: u32 = 3;
/// Requests of a pass, for each request that may be in flight.
pub const PASSES_PER_SLOT: u64 = 1;

/// The standard matrix, input / output tokens.
pub const STANDARD: [(u32, u32); 5] = [(128, 128), (256, 256), (1024, 1024), (1024, 128), (128, 1024)];

/// Cells of the extended matrix beside the standard one.
pub const EXTENDED: [(u32, u32); 11] = [
    (4096, 256),
    (4096, 4096),
    (8192, 1024),
    (8192, 8192),
    (16_384, 512),
    (256, 4096),
    (1024, 8192),
    (32_768, 256),
    (256, 16_384),
    (65_536, 256),
    (256, 65_536),
];

/// T1 to T6 of the published study: batch, input, output. Against a server the batch is the concurrency.
pub const TESTS: [(&str, u32, u32, u32); 6] = [
    ("T1", 1, 128, 32),
    ("T2", 1, 512, 128),
    ("T3", 1, 2048, 512),
    ("T4", 4, 512, 128),
    ("T5", 16, 512, 128),
    ("T6", 32, 512, 128),
];

/// A batch sweep: powers of two.
pub const CONCURRENCIES: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

impl Preset {
    /// Whether a refusal of the server ends it rather than being a failed cell.
    pub const fn ends_when_refused(self) -> bool {
        matches!(self, Self::Concurrencies)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct MatrixCell {
    /// `128/1024`, `T5`, `c16`.
    pub name: String,
    /// Of one pass.
    pub settings: Settings,
    /// Passes that are excluded from all figures, then passes that are measured.
    pub passes: (u32, u32),
}

/// A cell that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub name: String,
    /// Why, as part of a sentence.
    pub because: String,
}

/// See the module.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cells {
    /// In the order in which they are run.
    pub cells: Vec<MatrixCell>,
    /// Parts that do not fit.
    pub skipped: Vec<Skipped>,
}

/// The cells of a preset. `most` is the longest text of the server, input and output together, in tokens, where it is known. Without it no
/// cell is left out, and the server will refuse those that are too long.
///
/// # Errors
/// When the shape is not a closed loop, or when the work has no lengths of its own.
pub fn cells(preset: Preset, settings: &Settings, most: Option<u32>) -> Result<Cells, Error> {
    let Shape::Closed { concurrency } = settings.shape else {
        return Err(Error::usage("a matrix is a closed loop: its cells have a concurrency").hint("leave --rate out"));
    };
    let Work::Synthetic { isl, osl, prefix } = settings.work else {
        return Err(Error::usage("a matrix makes its own prompts").hint("leave the file of prompts out"));
    };
    let mut found = Cells::default();
    let mut add = |name: String, concurrency: u32, isl: Lengths, osl: Lengths| {
        let (input, output) = (isl.bounds().1, osl.bounds().1);
        let needed = u64::from(input) + u64::from(output);
        if let Some(most) = most.filter(|most| needed > u64::from(*most)) {
            let because = format!("{input} + {output} tokens are more than the {most} that the server accepts");
            return found.skipped.push(Skipped { name, because });
        }
        if prefix.tokens > input {
            let because = format!("the shared prefix of {} tokens is longer than its prompts", prefix.tokens);
            return found.skipped.push(Skipped { name, because });
        }
        let settings = Settings {
            shape: Shape::Closed { concurrency },
            work: Work::Synthetic { isl, osl, prefix: Prefix { ..prefix } },
            requests: Some(settings.requests.unwrap_or(u64::from(concurrency).max(1) * PASSES_PER_SLOT)),
            ..settings.clone()
        };
        found.cells.push(MatrixCell { name, settings, passes: (WARMUP_PASSES, MEASURED_PASSES) });
    };
    let lengths = |input: u32, output: u32| (Lengths::Fixed(input), Lengths::Fixed(output));
    match preset {
        Preset::Standard | Preset::Extended => {
            let more: &[(u32, u32)] = if preset == Preset::Extended { &EXTENDED } else { &[] };
            for (input, output) in STANDARD.iter().chain(more) {
                let (isl, osl) = lengths(*input, *output);
                add(format!("{input}/{output}"), concurrency, isl, osl);
            }
        }
        Preset::Tests => {
            for (name, batch, input, output) in TESTS {
                let (isl, osl) = lengths(input, output);
                add(name.to_owned(), batch, isl, osl);
            }
        }
        Preset::Concurrencies => {
            for concurrency in CONCURRENCIES {
                add(format!("c{concurrency}"), concurrency, isl, osl);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Word;

    #[test]
    fn the_standard_matrix_has_its_five_cells() {
        let found = cells(Preset::Standard, &Settings::default(), None).unwrap();
        let names: Vec<&str> = found.cells.iter().map(|cell| cell.name.as_str()).collect();
        assert_eq!(names, ["128/128", "256/256", "1024/1024", "1024/128", "128/1024"]);
        assert!(found.cells.iter().all(|cell| cell.passes == (2, 3) && cell.settings.requests == Some(1)));
    }

    #[test]
    fn cells_beyond_the_server_are_left_out_and_named() {
        let found = cells(Preset::Extended, &Settings::default(), Some(8192)).unwrap();
        assert_eq!(found.cells.len() + found.skipped.len(), 16);
        let kept: Vec<&str> = found.cells.iter().skip(5).map(|cell| cell.name.as_str()).collect();
        assert_eq!(kept, ["4096/256", "4096/4096", "256/4096"]);
        assert_eq!(found.skipped[0].name, "8192/1024");
        assert_eq!(found.skipped[0].because, "8192 + 1024 tokens are more than the 8192 that the server accepts");
    }

    #[test]
    fn tests_and_sweeps_set_the_concurrency() {
        let found = cells(Preset::Tests, &Settings::default(), None).unwrap();
        let seen: Vec<_> = found.cells.iter().map(|cell| (cell.name.as_str(), cell.settings.requests)).collect();
        assert_eq!(
            seen,
            [("T1", Some(1)), ("T2", Some(1)), ("T3", Some(1)), ("T4", Some(4)), ("T5", Some(16)), ("T6", Some(32))]
        );
        let found = cells(Preset::Concurrencies, &Settings::default(), None).unwrap();
        assert_eq!(
            found.cells.last().map(|cell| cell.settings.shape.clone()),
            Some(Shape::Closed { concurrency: 128 })
        );
        assert!(Preset::Concurrencies.ends_when_refused());
    }

    #[test]
    fn a_preset_is_found_by_its_word_and_an_unknown_word_names_them_all() {
        assert_eq!((Preset::of("t1-t6"), Preset::of("huge")), (Some(Preset::Tests), None));
    }
}
