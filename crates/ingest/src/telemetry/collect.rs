//! Gathers rows of telemetry in bounded memory: samples by GPU, thinned where there are too many, and sums of every other figure.
//!
//! In:  one sample a row, and figures that no field of a sample holds.  Out: the samples of one GPU, and extras.
//! Not here: reading of rows.

use std::collections::BTreeMap;

use super::{extra, words};
use crate::SourceFile;
use sparkbench_model::{Extra, Sample};

/// Most samples that are kept of one file: two days at one a second, in some 50 MB.
pub(super) const MOST_SAMPLES: usize = 200_000;
/// Most GPUs of one file.
const MOST_GPUS: usize = 64;
/// Most figures of one GPU beyond those of a sample. `nvidia-smi` knows some two hundred fields.
const MOST_OTHERS: usize = 4000;
/// Longest name or words, bytes.
const LONGEST: usize = 200;

/// A figure over the rows of one GPU.
#[derive(Debug, Clone, Default)]
struct Sum {
    unit: &'static str,
    n: u64,
    sum: f64,
    least: f64,
    greatest: f64,
}

impl Sum {
    fn add(&mut self, value: f64, unit: &'static str) {
        if self.n == 0 {
            (self.least, self.greatest, self.unit) = (value, value, unit);
        }
        self.n += 1;
        self.sum += value;
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
    }

    fn mean(&self) -> f64 {
        self.sum / self.n as f64
    }
}

/// Figures of one GPU.
#[derive(Debug, Default)]
struct Gpu {
    samples: Vec<Sample>,
    /// One sample in this many is kept.
    step: u64,
    seen: u64,
    /// Utilisation and power, for the choice of the GPU that worked.
    util: Sum,
    power: Sum,
    others: BTreeMap<String, Sum>,
    /// Words and how often they changed.
    texts: BTreeMap<String, (String, bool)>,
}

/// All rows of one file. GPUs are known by what the rows call them.
#[derive(Debug, Default)]
pub(super) struct Collect {
    gpus: Vec<(String, Gpu)>,
    kept: usize,
    /// Rows of GPUs beyond the most.
    passed: u64,
    /// Figures and words beyond the most.
    beyond: u64,
    rows: u64,
}

impl Collect {
    fn gpu(&mut self, name: &str) -> Option<&mut Gpu> {
        let place = match self.gpus.iter().position(|(known, _)| known == name) {
            Some(place) => place,
            None if self.gpus.len() < MOST_GPUS => {
                self.gpus.push((name.chars().take(60).collect(), Gpu { step: 1, ..Gpu::default() }));
                self.gpus.len() - 1
            }
            None => return None,
        };
        self.gpus.get_mut(place).map(|(_, gpu)| gpu)
    }

    /// A row with its moment.
    pub(super) fn sample(&mut self, name: &str, sample: Sample) {
        self.rows += 1;
        let Some(gpu) = self.gpu(name) else {
            self.passed += 1;
            return;
        };
        if let Some(util) = sample.gpu_util_pct {
            gpu.util.add(util, "%");
        }
        if let Some(power) = sample.power_w {
            gpu.power.add(power, "W");
        }
        let take = gpu.seen.is_multiple_of(gpu.step);
        gpu.seen += 1;
        if take {
            gpu.samples.push(sample);
            self.kept += 1;
        }
        if self.kept > MOST_SAMPLES {
            self.kept = 0;
            for (_, gpu) in &mut self.gpus {
                let mut place = 0_usize;
                gpu.samples.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                gpu.step *= 2;
                self.kept += gpu.samples.len();
            }
        }
    }

    /// A figure that no sample holds.
    pub(super) fn figure(&mut self, gpu: &str, name: &str, value: f64, unit: &'static str) {
        let name = cut(name);
        let Some(gpu) = self.gpu(gpu) else { return };
        if let Some(sum) = gpu.others.get_mut(name) {
            sum.add(value, unit);
        } else if gpu.others.len() < MOST_OTHERS {
            let mut sum = Sum::default();
            sum.add(value, unit);
            gpu.others.insert(name.to_owned(), sum);
        } else {
            self.beyond += 1;
        }
    }

    /// Words.
    pub(super) fn text(&mut self, gpu: &str, name: &str, text: &str) {
        let (name, text) = (cut(name), cut(text));
        let Some(gpu) = self.gpu(gpu) else { return };
        if let Some((first, changed)) = gpu.texts.get_mut(name) {
            *changed |= first != text;
        } else if gpu.texts.len() < MOST_OTHERS {
            gpu.texts.insert(name.to_owned(), (text.to_owned(), false));
        } else {
            self.beyond += 1;
        }
    }

    /// Rows with a moment.
    pub(super) const fn rows(&self) -> u64 {
        self.rows
    }

    /// The samples of the GPU that worked, in order of time. Every other figure. What a reader should know.
    pub(super) fn finish(self, file: &SourceFile<'_>, rule: &'static str) -> (Vec<Sample>, Vec<Extra>, Vec<String>) {
        let (mut notes, mut extras) = (Vec::new(), Vec::new());
        let several = self.gpus.len() > 1;
        let busiest = busiest(&self.gpus);
        let mut samples = Vec::new();
        for (place, (name, gpu)) in self.gpus.into_iter().enumerate() {
            let before = if several { format!("GPU {name}, ") } else { String::new() };
            for (figure, sum) in &gpu.others {
                push(&mut extras, file, rule, &format!("{before}{figure}"), sum, figure);
            }
            for (label, (text, changed)) in &gpu.texts {
                let text = if *changed { format!("{text}, and others") } else { text.clone() };
                extras.push(words(file, format!("{before}{label}"), &text, (None, Some(label.clone())), rule));
            }
            if Some(place) == busiest {
                if gpu.step > 1 {
                    notes.push(format!("{} rows. One in {} is kept, to bound memory", gpu.seen, gpu.step));
                }
                if several {
                    notes.push(format!("rows of several GPUs. Those of GPU {name}, the busiest, are the telemetry"));
                }
                samples = gpu.samples;
            } else if gpu.seen > 0 {
                push(&mut extras, file, rule, &format!("{before}power"), &gpu.power, "power");
                push(&mut extras, file, rule, &format!("{before}utilisation"), &gpu.util, "utilisation");
            }
        }
        if self.passed > 0 {
            notes.push(format!("{} rows of GPUs beyond the first {MOST_GPUS} are skipped", self.passed));
        }
        if self.beyond > 0 {
            notes.push(format!("{} figures beyond the first {MOST_OTHERS} are skipped", self.beyond));
        }
        samples.sort_by_key(|sample| sample.at);
        (samples, extras, notes)
    }
}

/// The beginning of a text.
fn cut(text: &str) -> &str {
    let end = (0..=LONGEST.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or(text)
}

/// One figure where all are the same, else mean, least and greatest.
fn push(extras: &mut Vec<Extra>, file: &SourceFile<'_>, rule: &'static str, name: &str, sum: &Sum, field: &str) {
    if sum.n == 0 {
        return;
    }
    let at = || (None, Some(field.to_owned()));
    if sum.least == sum.greatest {
        extras.extend(extra(file, name.to_owned(), sum.unit, sum.least, at(), rule));
        return;
    }
    for (word, value) in [("mean", sum.mean()), ("least", sum.least), ("greatest", sum.greatest)] {
        extras.extend(extra(file, format!("{name}, {word}"), sum.unit, value, at(), rule));
    }
}

/// The GPU that worked hardest: by mean utilisation, then by mean power, then the first.
fn busiest(gpus: &[(String, Gpu)]) -> Option<usize> {
    let mean = |sum: &Sum| if sum.n == 0 { f64::NEG_INFINITY } else { sum.mean() };
    let key = |gpu: &Gpu| (mean(&gpu.util), mean(&gpu.power));
    let mut best: Option<usize> = None;
    for (place, (_, gpu)) in gpus.iter().enumerate() {
        let better = best.and_then(|at| gpus.get(at)).is_none_or(|(_, known)| key(gpu) > key(known));
        if gpu.seen > 0 && better {
            best = Some(place);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::Instant;

    fn file_of<T>(then: impl FnOnce(&SourceFile<'_>) -> T) -> T {
        let mut input: &[u8] = b"";
        then(&SourceFile::new("x.csv", 0, &mut input))
    }

    #[test]
    fn a_log_of_millions_of_rows_is_thinned_and_says_so() {
        let mut all = Collect::default();
        for k in 0..450_000_i64 {
            all.sample("", Sample { power_w: Some(k as f64), ..Sample::new(Instant(k * 1000)) });
        }
        let (samples, _, notes) = file_of(|file| all.finish(file, "r"));
        assert!(samples.len() <= MOST_SAMPLES && samples.len() > MOST_SAMPLES / 4, "{}", samples.len());
        let steps: Vec<i64> = samples.windows(2).map(|pair| pair[1].at.0 - pair[0].at.0).collect();
        assert!(steps.iter().all(|step| *step == steps[0]), "one in so many, without holes");
        assert!(notes[0].starts_with("450000 rows. One in 4 is kept"), "{notes:?}");
    }

    #[test]
    fn of_several_gpus_the_busiest_is_read_and_the_others_are_summed_up() {
        let mut all = Collect::default();
        for k in 0..4_i64 {
            for (gpu, util, power) in [("0", 0.0, 70.0), ("1", 99.0, 400.0)] {
                let sample =
                    Sample { gpu_util_pct: Some(util), power_w: Some(power), ..Sample::new(Instant(4000 - k * 1000)) };
                all.sample(gpu, sample);
            }
        }
        let (samples, extras, notes) = file_of(|file| all.finish(file, "r"));
        assert_eq!((samples.len(), samples[0].power_w), (4, Some(400.0)));
        assert!(samples.is_sorted_by_key(|sample| sample.at));
        assert_eq!(extras[0].name, "GPU 0, power");
        assert!(notes[0].contains("GPU 1"));
    }
}
