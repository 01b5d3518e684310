//! Options that would say nothing beside each other: refused before anything is asked or sent, since what is typed is never dropped.
//!
//! In:  [`LoadArgs`].  Out: an error that names the option, with what to do about it.
//! Not here: pairs that exclude each other whatever they say (see `args`), values (see `read`).

use super::args::LoadArgs;
use super::chat;
use sparkbench_load::settings::{Gaps, Preset};
use sparkbench_text::error::Error;

impl LoadArgs {
    /// # Errors
    /// Of usage, for the first option that would be without effect.
    pub(super) fn fits(&self) -> Result<(), Error> {
        self.rules()
            .into_iter()
            .find(|rule| rule.broken)
            .map_or(Ok(()), |rule| Err(Error::usage(format!("{} {}", rule.option, rule.what)).hint(rule.remedy)))
    }

    fn rules(&self) -> Vec<Rule> {
        let mut rules = vec![
            Rule {
                broken: self.burstiness.is_some() && (self.rate.is_none() || self.arrival != Some(Gaps::Gamma)),
                option: "--burstiness",
                what: "only works with gamma gaps of an open loop",
                remedy: "add --rate R --arrival gamma, or leave it out",
            },
            Rule {
                broken: self.arrival.is_some() && self.rate.is_none(),
                option: "--arrival",
                what: "only works with an open loop",
                remedy: "add --rate R, or leave it out",
            },
            Rule {
                broken: self.until.is_some() && self.requests.is_none() && self.duration_s.is_none(),
                option: "--until",
                what: "needs an upper bound: a figure may never become that precise",
                remedy: "add --requests N or --duration S as the upper bound",
            },
            Rule {
                broken: self.trace_speed.is_some() && self.trace.is_none(),
                option: "--trace-speed",
                what: "only works with a trace",
                remedy: "add --trace FILE, or leave it out",
            },
            Rule {
                broken: self.max_concurrency.is_some() && self.concurrency.is_some(),
                option: "--max-concurrency",
                what: "and --concurrency mean the same in a closed loop",
                remedy: "leave one of them out, or add --rate or --trace to limit an open loop",
            },
        ];
        rules.extend(self.matrix.into_iter().flat_map(|matrix| self.beside_a_matrix(matrix)));
        if chat::asked(self) {
            rules.extend(self.beside_conversations());
        }
        rules
    }

    fn beside_a_matrix(&self, matrix: Preset) -> Vec<Rule> {
        let (what, remedy) = ("cannot be combined with --matrix, whose cells set it", "leave out one of the two");
        let lengths = matrix != Preset::Concurrencies;
        let concurrency = matches!(matrix, Preset::Tests | Preset::Concurrencies);
        let sweep = self.concurrency.as_deref().is_some_and(|typed| typed.contains([',', '.']));
        vec![
            Rule { broken: lengths && self.isl.is_some(), option: "--isl", what, remedy },
            Rule { broken: lengths && self.osl.is_some(), option: "--osl", what, remedy },
            Rule { broken: concurrency && self.concurrency.is_some(), option: "--concurrency", what, remedy },
            Rule {
                broken: sweep,
                option: "--concurrency",
                what: "is a sweep, but a matrix needs one concurrency",
                remedy: "give one number, and run once for each",
            },
        ]
    }

    fn beside_conversations(&self) -> Vec<Rule> {
        let (what, remedy) = (
            "cannot be combined with conversations, whose clients decide what is sent when",
            "use --num-clients for the number of clients and --request-rate for the rate of each",
        );
        let prompts = "cannot be combined with conversations, which make their own prompts";
        let source = "use --input-file for the text of conversations, or leave out their options";
        // As many requests at a time as there are clients is what they do.
        let clients = self.num_clients.unwrap_or(1).to_string();
        let concurrency = self.concurrency.as_ref().is_some_and(|typed| typed.trim() != clients);
        [
            (concurrency, "--concurrency", what, remedy),
            (self.rate.is_some(), "--rate", what, remedy),
            (self.trace.is_some(), "--trace", what, remedy),
            (self.saturation.is_some(), "--saturation", what, remedy),
            (self.ramp_s.is_some(), "--ramp", what, remedy),
            (self.matrix.is_some(), "--matrix", prompts, source),
            (self.dataset_name.is_some() || self.dataset_path.is_some(), "--dataset-name", prompts, source),
            (self.prompts.is_some(), "--prompts", prompts, source),
            (
                self.prefix_tokens.is_some_and(|tokens| tokens > 0),
                "--prefix-tokens",
                prompts,
                "use --common-prefix and --own-prefix for conversations",
            ),
        ]
        .map(|(broken, option, what, remedy)| Rule { broken, option, what, remedy })
        .into()
    }
}

struct Rule {
    broken: bool,
    option: &'static str,
    what: &'static str,
    remedy: &'static str,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Alone {
        #[command(flatten)]
        load: LoadArgs,
    }

    fn said(line: &str) -> String {
        let words = ["load", "--url", "http://h"].into_iter().chain(line.split_whitespace());
        match Alone::try_parse_from(words) {
            Ok(typed) => typed.load.fits().err().map(|error| error.to_string()).unwrap_or_default(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn an_option_that_would_do_nothing_is_refused_by_its_name() {
        for (line, name) in [
            ("--rate 4 --burstiness 0.5", "--burstiness"),
            ("--burstiness 0.5", "--burstiness"),
            ("--concurrency 4 --max-concurrency 8", "--max-concurrency"),
            ("--arrival constant", "--arrival"),
            ("--concurrency 4 --arrival constant", "--arrival"),
            ("--trace-speed 2", "--trace-speed"),
            ("--concurrency 4 --trace-speed 2", "--trace-speed"),
            ("--ramp-from 2", "--ramp"),
            ("--ramp-exponential", "--ramp"),
            ("--matrix standard --isl 512", "--isl"),
            ("--matrix t1-t6 --osl 512", "--osl"),
            ("--matrix t1-t6 --concurrency 4", "--concurrency"),
            ("--matrix concurrencies --concurrency 4", "--concurrency"),
            ("--matrix standard --concurrency 1,4", "--concurrency is a sweep"),
            ("--matrix standard --saturation", "--saturation"),
            ("--num-clients 2 --rate 4", "--rate"),
            ("--num-clients 2 --concurrency 4", "--concurrency"),
            ("--num-clients 2 --trace t.jsonl", "--trace"),
            ("--num-clients 2 --saturation", "--saturation"),
            ("--num-clients 2 --ramp 4", "--ramp"),
            ("--num-clients 2 --prompts p.jsonl", "--prompts"),
            ("--num-clients 2 --matrix standard", "--matrix"),
            ("--num-clients 2 --prefix-tokens 9", "--prefix-tokens"),
        ] {
            let said = said(line);
            assert!(said.contains(name), "{line}: {said}");
        }
    }

    #[test]
    fn what_goes_together_passes() {
        for line in [
            "",
            "--rate 4 --arrival gamma --burstiness 0.5 --max-concurrency 8",
            "--rate 4 --arrival constant --ramp 5 --ramp-from 1 --ramp-exponential",
            "--trace t.jsonl --trace-speed 2 --max-concurrency 8",
            "--matrix standard --concurrency 4",
            "--matrix concurrencies --isl 256 --osl 64",
            "--num-clients 4 --concurrency 4 --isl 20 --osl 30",
            "--concurrency 1..64 --saturation",
        ] {
            assert_eq!(said(line), "", "{line}");
        }
    }
}
