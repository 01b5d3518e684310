//! From arguments to settings.
//!
//! In:  [`LoadArgs`].  Out: [`Settings`] of the load as typed, the points of a sweep; what does not fit together, with a remedy.
//! Not here: presets and searches (see `load::matrix`, `load::sweep`).

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::args::LoadArgs;
use super::chat;
use sparkbench_load::chat::recognise;
use sparkbench_load::settings::{
    ConversationInput, Dataset, Endpoint, Gaps, Lengths, OPTIONS, Settings, Shape, Share, Slos, ValueKind, Work,
};
use sparkbench_load::suite::{bounded, concurrencies, rates};
use sparkbench_load::target::Target;
use sparkbench_load::until::{self, Until};
use sparkbench_text::error::Error;

/// Tokens of a prompt and of an answer where nothing is typed.
const LENGTH: &str = "128";

impl LoadArgs {
    /// The options as the clients of vLLM and SGLang mean them. `--request-rate` without conversations is the rate of the requests, and
    /// `inf` sends them at once, and with `--burstiness` their gaps are gamma. `--max-concurrency` without a rate is a closed loop. An address may name the endpoint. What they mean is held
    /// against the other options.
    ///
    /// # Errors
    /// Of usage, when two options give a rate, or when nothing says how many requests "at once" are.
    pub(super) fn as_meant(&self) -> Result<Self, Error> {
        let mut meant = self.clone();
        let options = &mut meant.options.0;
        if let Some(rate) = options.request_rate.take() {
            if chat::asked(options) {
                // The rate of each client of the conversations.
                options.request_rate = Some(rate);
            } else if self.rate.is_some() || self.concurrency.is_some() || self.trace.is_some() {
                return Err(Error::usage("--request-rate cannot be combined with --rate, --concurrency or --trace")
                    .hint("leave one of them out. With conversations, --request-rate is the rate of each client"));
            } else if rate == f64::INFINITY {
                let all = self.requests.and_then(|requests| u32::try_from(requests).ok());
                options.max_concurrency = Some(self.max_concurrency.or(all).ok_or_else(|| {
                    Error::usage("--request-rate inf sends all requests at once, but their number is not given")
                        .hint("add --num-prompts 100 or --max-concurrency 8")
                })?);
            } else {
                options.rate = Some(rate.to_string());
                // There the shape says that the gaps are those of a gamma process.
                options.arrival = options.arrival.or(options.burstiness.map(|_| Gaps::Gamma));
            }
        }
        options.prompts = self.dataset()?.or(options.prompts.take());
        options.endpoint = options.endpoint.or(self.endpoint_named());
        if options.rate.is_none() && options.trace.is_none() && options.concurrency.is_none() {
            options.concurrency = options.max_concurrency.take().map(|most| most.to_string());
        }
        Ok(meant)
    }

    /// The endpoint whose route ends the address or the path. What is wrong with them is said by whoever uses them.
    fn endpoint_named(&self) -> Option<Endpoint> {
        Target::parse(&self.url).and_then(|target| target.with_path(self.path.as_deref())).ok()?.endpoint()
    }

    /// The file that the data set of another client's name is read from. Absent for drawn texts.
    fn dataset(&self) -> Result<Option<PathBuf>, Error> {
        match (self.dataset_name, &self.dataset_path) {
            (None | Some(Dataset::Random), None) => Ok(None),
            (Some(Dataset::ShareGpt), None) => Err(Error::usage("--dataset-name sharegpt needs a file")
                .hint("add --dataset-path FILE, a JSON list with \"conversations\". Nothing is downloaded")),
            (Some(Dataset::Random), Some(_)) => {
                Err(Error::usage("--dataset-path cannot be combined with --dataset-name random, which draws its texts")
                    .hint("leave out --dataset-path, or use --dataset-name sharegpt"))
            }
            (_, Some(path)) => match recognise(path)? {
                ConversationInput::File(_) => Ok(Some(path.clone())),
                _ => Err(Error::usage(format!("'{}' is not a list of conversations", path.display()))
                    .hint("give a file of prompts, one a line as JSON or text, with --prompts FILE")),
            },
        }
    }

    /// The settings that all points share. The shape is that of the first point.
    ///
    /// # Errors
    /// Of usage, with what to write instead.
    pub(super) fn settings(&self) -> Result<Settings, Error> {
        self.fits()?;
        let shapes = self.shapes()?;
        let work = self.work()?;
        let shape = match &work {
            // Each client waits for its answer: a closed loop of as many.
            Work::Conversations(chat) => Shape::Closed { concurrency: chat.clients },
            _ => shapes.first().cloned().unwrap_or(Shape::Closed { concurrency: 1 }),
        };
        self.in_range()?;
        let mut settings = Settings {
            ramp: self.ramp(),
            work,
            warmup: self.warmup,
            until: self.until()?,
            extra_body: self.members()?,
            headers: self.headers()?,
            slos: self.slos()?,
            share: self.share(),
            shape,
            ..self.plain()
        };
        if settings.share.world == 0 || settings.share.rank >= settings.share.world {
            let Share { rank, world } = settings.share;
            return Err(Error::usage(format!("there is no client {rank} among {world}"))
                .hint("ranks count from 0: --rank 0 --world 2 and --rank 1 --world 2"));
        }
        if settings.token_ids && settings.endpoint != Endpoint::Completions {
            return Err(Error::usage("--token-ids works only with /v1/completions").hint("add --endpoint completions"));
        }
        chat::bound(self, &mut settings)?;
        bounded(&mut settings);
        Ok(settings)
    }

    /// Numbers that no load can have. Where a suite begins above 0, so does the command line.
    fn in_range(&self) -> Result<(), Error> {
        let mut options = self.options.0.clone();
        for option in OPTIONS.iter().filter(|option| !option.late) {
            let ValueKind::Number(at, low, _) = option.kind else { continue };
            let Some(value) = *at(&mut options) else { continue };
            let name = option.option().unwrap_or_default();
            if low > 0.0 && !(value > 0.0 && value.is_finite()) {
                return Err(Error::usage(format!("--{name} must be above 0")));
            }
            if !(value >= 0.0 && value.is_finite()) {
                return Err(Error::usage(format!("--{name} is {value}, but must be at least 0")));
            }
        }
        Ok(())
    }

    /// The figure that ends the load.
    fn until(&self) -> Result<Option<Until>, Error> {
        let Some(text) = &self.until else { return Ok(None) };
        let until = Until::parse(text, self.until_least.unwrap_or(until::LEAST))
            .map_err(|why| Error::usage(format!("--until {why}")))?;
        Ok(Some(until))
    }

    /// Every point of a sweep. One where none was asked for.
    ///
    /// # Errors
    /// Of usage.
    pub(super) fn shapes(&self) -> Result<Vec<Shape>, Error> {
        if let Some(path) = &self.trace {
            let (path, max_concurrency) = (path.clone(), self.max_concurrency);
            return Ok(vec![Shape::Trace { path, speed: self.trace_speed.unwrap_or(1.0), max_concurrency }]);
        }
        if let Some(text) = &self.rate {
            let arrival = self.gaps();
            let open = |rate| Shape::Open { rate, arrival, max_concurrency: self.max_concurrency };
            return Ok(rates(text)?.into_iter().map(open).collect());
        }
        let text = self.concurrency.as_deref().unwrap_or("1");
        Ok(concurrencies(text)?.into_iter().map(|concurrency| Shape::Closed { concurrency }).collect())
    }

    fn work(&self) -> Result<Work, Error> {
        let [isl, osl] = [&self.isl, &self.osl].map(|typed| typed.as_deref().unwrap_or(LENGTH));
        if let Some(conversations) = chat::read(self, isl, osl)? {
            return Ok(Work::Conversations(Box::new(conversations)));
        }
        if let Some(path) = &self.prompts {
            let osl = self.osl.as_deref().map(Lengths::parse).transpose()?;
            return Ok(Work::Prompts { path: path.clone(), osl });
        }
        Ok(Work::Synthetic { isl: Lengths::parse(isl)?, osl: Lengths::parse(osl)?, prefix: self.prefix() })
    }

    fn members(&self) -> Result<BTreeMap<String, serde_json::Value>, Error> {
        let Some(text) = &self.extra_body else { return Ok(BTreeMap::new()) };
        // The words of the parser repeat what it found, which may be a secret.
        serde_json::from_str(text).map_err(|cause| {
            Error::usage("--extra-body is not a JSON object")
                .detail(format!("line {}, column {}", cause.line(), cause.column()))
                .hint("e.g. --extra-body '{\"top_p\": 0.9}'")
        })
    }

    fn headers(&self) -> Result<BTreeMap<String, String>, Error> {
        let lawful = |text: &str| !text.is_empty() && !text.contains(|c: char| c.is_control());
        let read = |text: &String| {
            let (name, value) = text.split_once(':')?;
            let (name, value) = (name.trim(), value.trim());
            let fits = lawful(name) && !name.contains(' ') && lawful(value);
            fits.then(|| (name.to_ascii_lowercase(), value.to_owned()))
        };
        // The value may be a secret and is not repeated.
        let each = self.header.iter().flatten().map(|text| {
            read(text).ok_or_else(|| {
                Error::usage("a --header has not the form \"NAME: VALUE\"").hint("e.g. --header 'x-team: lab'")
            })
        });
        each.collect()
    }

    fn slos(&self) -> Result<Slos, Error> {
        let mut slos = Slos::default();
        // Some clients take all of them in one text.
        for text in self.slo.iter().flatten().flat_map(|text| text.split_whitespace()) {
            let wrong = || {
                Error::usage(format!("--slo '{text}' is not a valid limit"))
                    .hint("write it as ttft=200, tpot=50 or e2e=5000, in ms")
            };
            let (name, limit) = text.split_once(['=', ':']).ok_or_else(wrong)?;
            let limit: f64 = limit.trim().parse().map_err(|_| wrong())?;
            let limit = Some(limit).filter(|limit| *limit > 0.0 && limit.is_finite()).ok_or_else(wrong)?;
            match name.trim().trim_end_matches("_ms") {
                "ttft" | "time_to_first_token" => slos.ttft_ms = Some(limit),
                // AIPerf's is the mean of an answer, which is TPOT.
                "tpot" | "inter_token_latency" => slos.tpot_ms = Some(limit),
                "e2e" | "e2el" | "e2e_latency" | "request_latency" => slos.e2e_ms = Some(limit),
                _ => return Err(wrong()),
            }
        }
        Ok(slos)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use sparkbench_load::settings::Arrival;

    use super::*;

    #[derive(Debug, Parser)]
    struct Alone {
        #[command(flatten)]
        load: LoadArgs,
    }

    #[test]
    fn a_number_that_no_load_can_have_is_refused_by_its_name() {
        for (line, wanted) in [
            ("--duration=0", "--duration must be above 0"),
            ("--duration=inf", "--duration must be above 0"),
            ("--timeout=NaN", "--timeout must be above 0"),
            ("--rate 1 --arrival gamma --burstiness=-1", "--burstiness must be above 0"),
            ("--drain=-1", "--drain is -1, but must be at least 0"),
            ("--temperature=inf", "--temperature is inf, but must be at least 0"),
        ] {
            let words = ["load", "--url", "http://h"].into_iter().chain(line.split_whitespace());
            let said = Alone::try_parse_from(words).unwrap().load.settings().unwrap_err();
            assert_eq!(said.what, wanted, "{line}");
        }
        let words = ["load", "--url", "http://h", "--duration", "0.01", "--drain", "0", "--temperature", "0"];
        assert!(Alone::try_parse_from(words).unwrap().load.settings().is_ok());
    }

    #[test]
    fn limits_have_the_names_of_other_clients_too() {
        let text = "time_to_first_token:200 inter_token_latency:50";
        let words = ["load", "--url", "http://h", "--goodput", text, "request_latency=5000"];
        let slos = Alone::try_parse_from(words).unwrap().load.settings().unwrap().slos;
        assert_eq!(slos, Slos { ttft_ms: Some(200.0), tpot_ms: Some(50.0), e2e_ms: Some(5000.0) });
    }

    #[test]
    fn a_shape_beside_a_request_rate_means_gamma_gaps_as_in_other_clients() {
        let shapes = |line: &str| {
            let words = ["load", "--url", "http://h"].into_iter().chain(line.split_whitespace());
            let meant = Alone::try_parse_from(words).unwrap().load.as_meant().unwrap();
            meant.settings().map(|settings| settings.shape).map_err(|error| error.what)
        };
        let gamma = Shape::Open { rate: 5.0, arrival: Arrival::Gamma(0.5), max_concurrency: None };
        assert_eq!(shapes("--request-rate 5 --burstiness 0.5"), Ok(gamma));
        assert!(shapes("--rate 5 --burstiness 0.5").unwrap_err().starts_with("--burstiness only works"));
    }

    #[test]
    fn an_address_or_a_path_that_ends_in_a_route_names_the_endpoint_unless_one_is_given() {
        for (line, endpoint) in [
            ("--url http://h", Endpoint::Chat),
            ("--url http://h/api/v3/completions", Endpoint::Completions),
            ("--url http://h/v1/chat/completions?version=1", Endpoint::Chat),
            ("--url http://h --path /v3/completions", Endpoint::Completions),
            ("--url http://h --path /generate", Endpoint::Chat),
            ("--url http://h/v1/chat/completions --endpoint completions", Endpoint::Completions),
        ] {
            let words = ["load"].into_iter().chain(line.split_whitespace());
            let settings = Alone::try_parse_from(words).unwrap().load.as_meant().unwrap().settings().unwrap();
            assert_eq!(settings.endpoint, endpoint, "{line}");
        }
    }
}
