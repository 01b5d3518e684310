//! Figures of one run that an expression or a definition can use.
//!
//! In:  a run with every figure that is known of it, the discovered files.  Out: [`OfRun`], the [`RunFigures`] of expressions.
//! Not here: expressions, snapshots of a server's metrics (see `snapshots`).
//!
//! Files are opened when something asks for them, and once.

use std::cell::OnceCell;

use super::snapshots::Snapshots;
use crate::labels::glob;
use crate::one_line::one_line;
use crate::requests::Latencies;
use crate::source_file::{self, JSON_LINE_LIMIT, unreadable};
use sparkbench_archive::manifest::{COMMANDS_FOLDER, Claim, REQUESTS_FILE, RUN_FILE, RequestWire};
use sparkbench_archive::{Discovery, Found};
use sparkbench_model::formula::{FIELDS, Requests, RunFigures, ServerFigure};
use sparkbench_model::{CustomMetric, Extra, Run, known_extra};

/// Ending of a packed file.
const PACKED: &str = ".gz";

/// One run, and what was read of its files so far.
pub(super) struct OfRun<'a> {
    found: &'a Discovery,
    run: &'a Run,
    requests: OnceCell<Result<Load, String>>,
    snapshots: OnceCell<Result<Snapshots, String>>,
}

/// The requests of a run, and how long its load took.
struct Load {
    requests: Requests,
    /// From the first request sent to the last answer, warm-up included.
    seconds: Option<f64>,
}

impl<'a> OfRun<'a> {
    pub(super) fn new(found: &'a Discovery, run: &'a Run) -> Self {
        Self { found, run, requests: OnceCell::new(), snapshots: OnceCell::new() }
    }

    fn paths(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        std::iter::once(&self.run.source).chain(&self.run.files).map(|file| file.path.as_str())
    }

    /// The file with the run's requests, where it is one of ours.
    pub(super) fn requests_file(&self) -> Option<&'a str> {
        self.paths().find(|path| is_named(path, REQUESTS_FILE))
    }

    /// Folders in which files of the run lie, the innermost first: that of its load, then that of its `run.json`.
    fn folders(&self) -> Vec<&'a str> {
        let folder = |path: &'a str| path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut folders: Vec<&str> = self.requests_file().map(folder).into_iter().collect();
        match self.paths().find(|path| is_named(path, RUN_FILE)) {
            Some(own) => folders.push(folder(own)),
            None => folders.push(folder(&self.run.source.path)),
        }
        folders.dedup();
        folders
    }

    /// The file that a definition reads.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub(super) fn file_of(&self, name: &str, custom: &CustomMetric) -> Result<&'a Found, String> {
        if !custom.command.is_empty() {
            return self.output_of(name);
        }
        let Some(pattern) = &custom.file else {
            let path = &self.run.source.path;
            return self.found.get(path).ok_or_else(|| format!("its file '{path}' is not among those that were given"));
        };
        let matcher = glob(pattern).map_err(|cause| cause.to_string())?;
        let own: Vec<&str> = self.paths().collect();
        for folder in self.folders() {
            let below = |file: &&Found| {
                let rest = match folder {
                    "" => Some(file.path.as_str()),
                    folder => file.path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')),
                };
                rest.is_some_and(|rest| {
                    matcher.is_match(rest.strip_suffix(PACKED).unwrap_or(rest)) || matcher.is_match(rest)
                })
            };
            let mut files: Vec<&Found> = self.found.files.iter().filter(below).collect();
            // Results of several runs may lie in one folder: those that were joined to this one come first.
            if files.len() > 1 && files.iter().any(|file| own.contains(&file.path.as_str())) {
                files.retain(|file| own.contains(&file.path.as_str()));
            }
            match files.as_slice() {
                [] => {}
                [one] => return Ok(one),
                [first, second, ..] => {
                    let names = [first, second].map(|file| file.path.rsplit('/').next().unwrap_or_default());
                    return Err(format!(
                        "{} files fit '{pattern}', such as {} and {}: one is wanted",
                        files.len(),
                        names[0],
                        names[1]
                    ));
                }
            }
        }
        Err(format!("no file fits '{pattern}'"))
    }

    /// Output of a metric's command after the run.
    fn output_of(&self, name: &str) -> Result<&'a Found, String> {
        for folder in self.folders() {
            let at = |ending: &str| {
                let path = format!("{folder}/{COMMANDS_FOLDER}/{name}{ending}");
                self.found.get(&path).or_else(|| self.found.get(&format!("{path}{PACKED}")))
            };
            if let Some(file) = at(".txt") {
                return Ok(file);
            }
            if at(".failed.txt").is_some() {
                return Err(format!("its command failed. See {COMMANDS_FOLDER}/{name}.failed.txt of the run"));
            }
        }
        Err("its command was not run: `collect` runs it, for suites that define the metric".to_owned())
    }

    fn load(&self) -> Result<&Load, String> {
        self.requests.get_or_init(|| self.read_load()).as_ref().map_err(Clone::clone)
    }

    fn read_load(&self) -> Result<Load, String> {
        let files: Vec<&str> = self.paths().filter(|path| is_named(path, REQUESTS_FILE)).collect();
        if files.is_empty() {
            return self.of_series();
        }
        let mut requests = Requests::new();
        let (mut first, mut last) = (f64::INFINITY, f64::NEG_INFINITY);
        for path in files {
            let file =
                self.found.get(path).ok_or_else(|| format!("'{path}' is not among the files that were given"))?;
            source_file::opened(file, |text| -> Result<(), String> {
                let mut lines = text.lines(JSON_LINE_LIMIT);
                while let Some(line) = lines.next_line().map_err(|cause| one_line(&unreadable(cause)))? {
                    // What could not be read was said when the file was read for its figures.
                    let Ok(request) = serde_json::from_slice::<RequestWire>(line.bytes) else { continue };
                    let other = |test: &String| !self.run.workload.ends_with(&format!("-{test}"));
                    if request.test.as_ref().is_some_and(other) {
                        continue;
                    }
                    first = first.min(request.sent_s.unwrap_or(f64::INFINITY));
                    last = last.max(request.end_s.or(request.last_token_s()).unwrap_or(f64::NEG_INFINITY));
                    if request.measured() {
                        add(&mut requests, &request);
                    }
                }
                Ok(())
            })
            .map_err(|error| one_line(&error))??;
        }
        Ok(Load { requests, seconds: Some(last - first).filter(|seconds| seconds.is_finite() && *seconds > 0.0) })
    }

    /// The lists of another tool's file, where each has one value for each request.
    fn of_series(&self) -> Result<Load, String> {
        let known = |metric: &str| FIELDS.iter().position(|field| field.0 == metric);
        let lists: Vec<(usize, &Vec<f64>)> =
            self.run.series.iter().filter_map(|series| Some((known(&series.metric)?, &series.values))).collect();
        let Some(count) = lists.first().map(|(_, values)| values.len()) else {
            return Err("its file has no single requests".to_owned());
        };
        if lists.iter().any(|(_, values)| values.len() != count) {
            return Err("the lists of its file differ in length, so that no request can be put together".to_owned());
        }
        let mut requests = Requests::new();
        for (place, values) in lists {
            if let Some(column) = requests.columns.get_mut(place) {
                column.clone_from(values);
            }
        }
        let failed = known_extra::number(self.run, known_extra::FAILED_REQUESTS).filter(|failed| *failed >= 1.0);
        let failed = failed.map_or(0, |failed| failed as usize);
        requests.answered = vec![true; count];
        requests.count = count.saturating_add(failed);
        Ok(Load { requests, seconds: None })
    }
}

fn is_named(path: &str, name: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or(path);
    last.strip_suffix(PACKED).unwrap_or(last) == name
}

/// One measured request, in the order of [`FIELDS`].
fn add(requests: &mut Requests, request: &RequestWire) {
    requests.count += 1;
    requests.answered.push(request.answered());
    let Latencies { ttft, tpot, e2e, decode } = Latencies::of(request);
    let delay = request.intended_s.zip(request.sent_s).map(|(intended, sent)| (sent - intended) * 1000.0);
    let figures = [
        ttft,
        tpot,
        e2e,
        decode,
        request.input_tokens.map(f64::from),
        Claim::tokens(request).map(f64::from),
        request.cached_tokens.map(f64::from),
        request.reasoning_tokens.map(f64::from),
        delay,
        request.turn.map(f64::from),
    ];
    for (column, figure) in requests.columns.iter_mut().zip(figures) {
        column.push(figure.unwrap_or(f64::NAN));
    }
}

impl RunFigures for OfRun<'_> {
    fn figure(&self, name: &str) -> Result<f64, String> {
        let setup = &self.run.setup;
        let (setting, what) = match name {
            "batch" => (setup.batch, true),
            "isl" => (setup.isl, true),
            "osl" => (setup.osl, true),
            "requests" => (setup.requests, true),
            "request_rate" => (setup.request_rate.filter(|rate| rate.is_finite()), true),
            "parameters" => (setup.parameters, true),
            "max_model_len" => (setup.max_model_len, true),
            "device_memory_gib" => (setup.device_memory_gib, true),
            "duration_s" => {
                let span = self.run.started.zip(self.run.ended);
                (span.map(|(from, to)| (to.0 - from.0) as f64 / 1000.0).filter(|seconds| *seconds > 0.0), true)
            }
            metric => (self.run.value(metric), false),
        };
        let why = || if what { format!("the setting {name} is not known") } else { format!("{name} is not reported") };
        setting.ok_or_else(why)
    }

    fn reported(&self, name: &str) -> Result<f64, String> {
        let extras = || self.run.extras.iter().filter(|extra| extra.name == name);
        let number = extras().find_map(Extra::as_number);
        number.ok_or_else(|| match extras().next() {
            Some(_) => format!("'{name}' is reported as words"),
            None => format!("nothing is reported as '{name}'"),
        })
    }

    fn requests(&self) -> Result<&Requests, String> {
        self.load().map(|load| &load.requests)
    }

    fn server(&self, asked: &ServerFigure) -> Result<f64, String> {
        let snapshots = self.snapshots.get_or_init(|| {
            let file = self.requests_file().ok_or("no metrics of a server lie beside its requests")?;
            let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
            Snapshots::read(self.found, folder)
        });
        let seconds = || self.load().ok().and_then(|load| load.seconds);
        snapshots.as_ref().map_err(Clone::clone)?.figure(asked, seconds)
    }
}
