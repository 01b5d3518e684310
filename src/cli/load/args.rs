//! What is typed after `sparkbench load`: an argument for each option of the table.
//!
//! In:  arguments, [`OPTIONS`].  Out: [`LoadArgs`].
//! Not here: what they mean together (see `read`), asking the server, sending anything (see `load::session`).

use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, value_parser};

use sparkbench_load::settings::{LoadOption, LoadOptions, OPTIONS, ValueKind};

/// See the verb.
#[derive(Debug, Clone, Args)]
pub(super) struct LoadArgs {
    /// Address of the server, of its API or of one route. It may have a query
    #[arg(long, value_name = "URL")]
    pub url: String,
    /// Wait until the server answers, at most this long (90s, 10m, 2h)
    ///
    /// It waits while nobody listens, while the server says that it still loads, and until a small request is answered. Without a duration it
    /// waits 10 minutes.
    #[arg(long, value_name = "DURATION", num_args = 0..=1, default_missing_value = "10m", value_parser = duration)]
    pub wait: Option<Duration>,
    #[command(flatten)]
    pub options: TypedOptions,
    /// Address of rank 0, where the clients meet and become one load
    ///
    /// It is the address on the link that they use. mpirun -n on one machine and srun know it themselves. Without an address, clients with
    /// --rank and --world each send their share by themselves.
    #[arg(long, value_name = "HOST[:PORT]", help_heading = "Several clients")]
    pub meet: Option<String>,
}

/// `90s`, `10m`, `2h`, or a number of seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(number.len()..).unwrap_or_default() {
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("write it like 90s, 10m or 2h".to_owned()),
    };
    let seconds = number.parse::<f64>().ok().filter(|seconds| *seconds >= 0.0).map(|seconds| seconds * unit);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or("write it like 90s, 10m or 2h".to_owned())
}

impl Deref for LoadArgs {
    type Target = LoadOptions;

    fn deref(&self) -> &LoadOptions {
        &self.options.0
    }
}

/// The options of the table that were typed.
#[derive(Debug, Clone)]
pub(super) struct TypedOptions(pub LoadOptions);

impl Args for TypedOptions {
    fn augment_args(command: Command) -> Command {
        command.args(OPTIONS.iter().filter_map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TypedOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut options = LoadOptions::default();
        let typed = |option: &&LoadOption| {
            option.option().is_some() && matches.value_source(option.name) == Some(ValueSource::CommandLine)
        };
        for option in OPTIONS.iter().filter(typed) {
            take(option, &mut options, matches);
        }
        Ok(Self(options))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The argument of an option. Absent where only a suite has it.
fn argument(option: &LoadOption) -> Option<Arg> {
    let argument = Arg::new(option.name)
        // Arguments are made once, and live as long as the process.
        .long(option.option()?.leak() as &str)
        .help(option.help)
        .visible_aliases(option.aliases)
        .conflicts_with_all(option.conflicts);
    let argument = if option.requires.is_empty() { argument } else { argument.requires(option.requires) };
    let argument = if option.group.is_empty() { argument } else { argument.help_heading(option.group) };
    let argument = if option.default.is_empty() { argument } else { argument.default_value(option.default) };
    let argument = if option.several { argument.num_args(1..) } else { argument };
    Some(
        match option.kind {
            ValueKind::Switch(_) => return Some(argument.action(ArgAction::SetTrue)),
            ValueKind::Small(..) if option.positive => argument.value_parser(value_parser!(u32).range(1..)),
            ValueKind::Small(..) => argument.value_parser(value_parser!(u32)),
            ValueKind::Whole(..) if option.positive => argument.value_parser(value_parser!(u64).range(1..)),
            ValueKind::Whole(..) => argument.value_parser(value_parser!(u64)),
            ValueKind::Limit(..) => argument.value_parser(value_parser!(i64)).allow_negative_numbers(true),
            ValueKind::Number(..) => argument.value_parser(value_parser!(f64)),
            ValueKind::File(_) => argument.value_parser(value_parser!(PathBuf)),
            ValueKind::Files(_) => argument.value_parser(value_parser!(PathBuf)).action(ArgAction::Append),
            ValueKind::List(_) => argument.action(ArgAction::Append),
            ValueKind::Text(_)
            | ValueKind::Counts(_)
            | ValueKind::Rates(_)
            | ValueKind::Lengths(_)
            | ValueKind::Table(_) => argument,
            ValueKind::Choice { words, .. } => {
                let words = words().into_iter().map(|[_, typed, help]| {
                    let word = PossibleValue::new(typed).help(help);
                    // The known scripts write some of theirs with `_`, and an endpoint as its path.
                    match help {
                        _ if typed.contains('_') => word.alias(typed.replace('_', "-").leak() as &str),
                        path if path.starts_with('/') => word.alias(path),
                        _ => word,
                    }
                });
                argument.value_parser(PossibleValuesParser::new(words))
            }
        }
        .value_name(option.value),
    )
}

/// Takes the value of an option that was typed.
fn take(option: &LoadOption, options: &mut LoadOptions, matches: &ArgMatches) {
    let name = option.name;
    match option.kind {
        ValueKind::Switch(at) => *at(options) = Some(matches.get_flag(name)),
        ValueKind::Small(at, ..) => *at(options) = matches.get_one(name).copied(),
        ValueKind::Whole(at, _) => *at(options) = matches.get_one(name).copied(),
        ValueKind::Limit(at, ..) => *at(options) = matches.get_one(name).copied(),
        ValueKind::Number(at, ..) => *at(options) = matches.get_one(name).copied(),
        ValueKind::Text(at)
        | ValueKind::Counts(at)
        | ValueKind::Rates(at)
        | ValueKind::Lengths(at)
        | ValueKind::Table(at) => {
            *at(options) = matches.get_one(name).cloned();
        }
        ValueKind::File(at) => *at(options) = matches.get_one(name).cloned(),
        ValueKind::Files(at) => *at(options) = matches.get_many(name).map(|paths| paths.cloned().collect()),
        ValueKind::List(at) => *at(options) = matches.get_many(name).map(|texts| texts.cloned().collect()),
        ValueKind::Choice { words, put, .. } => {
            let typed: Option<&String> = matches.get_one(name);
            let known = |[_, known, help]: &[&str; 3]| {
                typed.is_some_and(|typed| typed.replace('_', "-") == known.replace('_', "-") || typed == help)
            };
            if let Some([word, ..]) = words().into_iter().find(known) {
                put(options, word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use sparkbench_load::settings::Endpoint;

    use super::*;

    #[derive(Debug, Parser)]
    struct Alone {
        #[command(flatten)]
        load: LoadArgs,
    }

    #[test]
    fn every_option_of_the_table_is_taken_under_each_of_its_names() {
        let words = ["load", "--url", "http://h"];
        let untyped = Alone::try_parse_from(words).unwrap().load;
        for option in OPTIONS {
            let Some(long) = option.option() else { continue };
            assert_eq!(option.value(&untyped), None, "--{long} is there without being typed");
            let choices = match option.kind {
                ValueKind::Choice { words, .. } => words(),
                _ => vec![["1", "1", ""]],
            };
            for [word, typed, _] in choices {
                for name in std::iter::once(long.as_str()).chain(option.aliases.iter().copied()) {
                    let value = (!matches!(option.kind, ValueKind::Switch(_))).then(|| typed.to_owned());
                    let beside: Vec<String> = match option.requires {
                        "" => Vec::new(),
                        other => {
                            let other = OPTIONS.iter().find(|option| option.name == other).and_then(LoadOption::option);
                            vec![format!("--{}", other.unwrap()), "1".to_owned()]
                        }
                    };
                    let line =
                        words.map(str::to_owned).into_iter().chain([format!("--{name}")]).chain(value).chain(beside);
                    let load = Alone::try_parse_from(line).unwrap().load;
                    let said = option.value(&load).unwrap();
                    let text = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
                    let found =
                        if matches!(option.kind, ValueKind::Choice { .. }) { text == word } else { !text.is_empty() };
                    assert!(found, "--{name} {typed}: {text}");
                }
            }
        }
    }

    #[test]
    fn a_default_on_the_help_page_is_the_default_of_the_settings() {
        let plain = LoadOptions::of(&sparkbench_load::settings::Settings::default());
        for option in OPTIONS.iter().filter(|option| !option.default.is_empty()) {
            let Some(value) = option.value(&plain) else { continue };
            let same = match (value.as_str(), value.as_f64()) {
                (Some(text), _) => text == option.default,
                (None, number) => number == option.default.parse().ok(),
            };
            assert!(same, "{}: {value} is not {}", option.name, option.default);
        }
    }

    #[test]
    fn an_endpoint_may_be_written_as_its_path() {
        let endpoint = |typed: &str| {
            let words = ["load", "--url", "http://h", "--endpoint", typed];
            Alone::try_parse_from(words).ok().and_then(|typed| typed.load.endpoint)
        };
        assert_eq!(endpoint("/v1/chat/completions"), Some(Endpoint::Chat));
        assert_eq!(endpoint("/v1/completions"), Some(Endpoint::Completions));
        assert_eq!(endpoint("/v1/embeddings"), None);
    }

    #[test]
    fn a_server_is_waited_for_as_long_as_is_said_and_ten_minutes_else() {
        let waits = |line: &str| {
            let words = ["load", "--url", "http://h"].into_iter().chain(line.split_whitespace());
            Alone::try_parse_from(words).map(|typed| typed.load.wait.map(|wait| wait.as_secs_f64())).ok()
        };
        for (line, wait) in [
            ("", None),
            ("--wait", Some(600.0)),
            ("--wait --osl 5", Some(600.0)),
            ("--wait 90s", Some(90.0)),
            ("--wait 0.5", Some(0.5)),
            ("--wait 30m", Some(1800.0)),
            ("--wait 2h", Some(7200.0)),
        ] {
            assert_eq!(waits(line), Some(wait), "{line}");
        }
        for wrong in ["--wait soon", "--wait 5d", "--wait=-1", "--wait inf", "--wait 1e300h"] {
            assert_eq!(waits(wrong), None, "{wrong}");
        }
    }
}
