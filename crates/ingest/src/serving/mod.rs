//! Shared parts of the formats of serving benchmarks: the mark of a run, the shape of its load, names of models.
//!
//! In:  figures and texts that a format has found.  Out: the contents of a partial run.
//! Not here: any file format.

pub(super) mod figures;
pub(super) mod settings;
pub(super) mod warm_up;

use sparkbench_model::Setup;
use sparkbench_text::slug::slug;

/// Rates from here on mean "all at once" in a label: tools that know no infinite rate are given a huge one.
const NO_LIMIT: f64 = 1.0e6;

/// The same text for the same run, whether its figures are in a file with all digits or in a console with two.
///
/// Nothing when no figure is there, or when all are zero: then no request succeeded, and such runs are alike without being one.
pub(super) fn mark(tool: &str, figures: &[Option<f64>]) -> Option<String> {
    let known = |figure: &&Option<f64>| figure.is_some_and(|value| value != 0.0);
    figures.iter().find(known)?;
    let shown = figures.iter().map(|figure| match figure {
        // Rounding may leave a minus before a zero.
        Some(value) if value.abs() < 0.005 => "0.00".to_owned(),
        Some(value) => format!("{value:.2}"),
        None => "-".to_owned(),
    });
    Some(std::iter::once(tool.to_owned()).chain(shown).collect::<Vec<_>>().join("|"))
}

/// Known facts of the load of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Load<'a> {
    /// Name of the data set, where the same file says it.
    pub dataset: Option<&'a str>,
    /// Requests that the token counts are of.
    pub completed: Option<f64>,
    /// Input tokens of all of them.
    pub input: Option<f64>,
    /// Output tokens of all of them.
    pub output: Option<f64>,
}

impl Load<'_> {
    /// Mean lengths, as far as known: input, output.
    pub(super) fn lengths(&self) -> (Option<f64>, Option<f64>) {
        let mean = |total: Option<f64>| {
            let mean = total? / self.completed.filter(|count| *count > 0.0)?;
            // Two digits are more than two runs of one workload agree on.
            (mean > 0.0).then(|| (mean * 100.0).round() / 100.0)
        };
        (mean(self.input), mean(self.output))
    }

    /// A label that distinguishes cells and is the same for repeats: `random-1024-128-c32`, `4100-500-r0.3`.
    ///
    /// Whole lengths are unchanged. Others are means that vary between repeats. Of the input two digits are kept. Of the output one is kept,
    /// because the model decides its end.
    pub(super) fn workload(&self, setup: &Setup) -> Option<String> {
        let (input, output) = self.lengths();
        let mut parts: Vec<String> = self.dataset.map(str::to_owned).into_iter().collect();
        parts.extend(input.map(|length| rounded(length, 2)));
        parts.extend(output.map(|length| rounded(length, 1)));
        parts.extend(setup.batch.map(|users| format!("c{users}")));
        parts.extend(setup.request_rate.filter(|rate| *rate < NO_LIMIT).map(|rate| format!("r{rate}")));
        // A rate that rises is another load than all at once, which is how such a run names its own.
        let more = |key: &str| setup.more.get(key);
        parts.extend(
            more("ramp_up_start_rps").zip(more("ramp_up_end_rps")).map(|(first, last)| format!("ramp{first}-{last}")),
        );
        (!parts.is_empty()).then(|| slug(&parts.join("-")))
    }
}

/// A whole number unchanged, any other to a number of digits.
fn rounded(value: f64, digits: i32) -> String {
    if value.fract() == 0.0 {
        return value.to_string();
    }
    let step = 10f64.powi((value.log10().floor() as i32 + 1 - digits).max(0));
    ((value / step).round() * step).to_string()
}

/// The engine behind a chosen backend. `None` for protocols that any server speaks.
pub(super) fn engine_of(backend: &str) -> Option<&'static str> {
    const ENGINES: &[(&str, &str)] = &[
        ("sglang", "SGLang"),
        ("tensorrt", "TensorRT-LLM"),
        ("trt", "TensorRT-LLM"),
        ("tgi", "TGI"),
        ("lmdeploy", "LMDeploy"),
        ("deepspeed", "DeepSpeed-MII"),
        ("llama.cpp", "llama.cpp"),
    ];
    let word = backend.to_ascii_lowercase();
    ENGINES.iter().find(|(start, _)| word.starts_with(start)).map(|(_, engine)| *engine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_two_decimals_give_one_mark() {
        let exact = mark("t", &[Some(867.850_789_539), Some(11.130_77), None]);
        assert_eq!(exact.as_deref(), Some("t|867.85|11.13|-"));
        assert_eq!(exact, mark("t", &[Some(867.85), Some(11.13), None]));
        assert_eq!(mark("t", &[Some(-0.001), Some(1.0)]).as_deref(), Some("t|0.00|1.00"));
        assert_eq!((mark("t", &[Some(0.0), None]), mark("t", &[])), (None, None));
    }

    #[test]
    fn a_workload_is_named_by_lengths_users_and_rate() {
        let load = |input: f64, output: f64| Load {
            completed: Some(200.0),
            input: Some(input),
            output: Some(output),
            ..Load::default()
        };
        let setup = |batch, request_rate| Setup { batch, request_rate, ..Setup::default() };
        let unlimited = Some(f64::INFINITY);
        for (load, setup, name) in [
            (load(204_800.0, 25_600.0), setup(Some(32.0), unlimited), "1024-128-c32"),
            (load(815_936.0, 97_092.0), setup(None, Some(0.3)), "4100-500-r0.3"),
            (load(8_340.0, 9_000.0), setup(Some(1.0), Some(1e9)), "42-45-c1"),
            (Load { dataset: Some("sharegpt"), ..Load::default() }, setup(None, Some(4.0)), "sharegpt-r4"),
        ] {
            assert_eq!(load.workload(&setup).as_deref(), Some(name));
        }
        assert_eq!(Load::default().workload(&Setup::default()), None);
    }
}
