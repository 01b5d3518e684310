//! Messages between the collector, the guard and the program's first stage: one JSON value or one word per line.
//!
//! In:  lines.  Out: [`Order`], [`News`], [`Step`].
//! Not here: the order of messages (see `serve` and `launch` beside this file).

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Closed, Ended};
use sparkbench_text::error::{Error, Kind};

/// Collector to guard, after the first line, which holds the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    /// End the tree.
    End(String),
    /// End what is left, clean up, and go.
    Close,
    /// Say that you are there.
    Ask,
}

impl Order {
    /// The line, with its end.
    pub(super) fn line(&self) -> String {
        match self {
            Self::End(why) => format!("end {}\n", why.replace(['\n', '\r'], " ")),
            Self::Close => "close\n".to_owned(),
            Self::Ask => "ask\n".to_owned(),
        }
    }

    /// Reads a line.
    pub(super) fn parse(line: &str) -> Option<Self> {
        match line.split_once(' ') {
            Some(("end", why)) => Some(Self::End(why.to_owned())),
            None if line == "close" => Some(Self::Close),
            None if line == "ask" => Some(Self::Ask),
            _ => None,
        }
    }
}

/// Guard to collector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "news")]
pub(super) enum News {
    /// The program runs.
    Started {
        pid: u32,
        /// Control groups of the tree, by controller.
        #[serde(with = "super::paths")]
        cgroups: BTreeMap<String, PathBuf>,
        /// Why there is none, where one was wanted.
        no_cgroup: Option<String>,
        /// Just before it began, seconds on `CLOCK_MONOTONIC`.
        monotonic_s: f64,
        /// The same moment, milliseconds since 1970.
        utc_ms: i64,
    },
    /// The answer to [`Order::Ask`].
    Heard,
    /// Mount points that were made inside the root, before they are made: whoever takes the guard's place removes them.
    Made(MadeInside),
    /// The program could not be started.
    Refused(Refusal),
    /// The first process has ended.
    Ended(Ended),
    /// The tree has been ended. Names of what could not be.
    Cleared {
        /// Empty when all went well.
        left: Vec<String>,
    },
    /// The last word.
    Closed {
        /// Its effort.
        closed: Closed,
        /// Names of what could not be ended or removed.
        left: Vec<String>,
    },
}

/// First stage to guard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "step")]
pub(super) enum Step {
    /// Everything is in place. The program is started next.
    Ready {
        /// Seconds on `CLOCK_MONOTONIC`.
        monotonic_s: f64,
        /// Milliseconds since 1970.
        utc_ms: i64,
    },
    /// Mount points that were made inside the root, in order.
    Made(MadeInside),
    /// It went wrong.
    Failed(Refusal),
}

/// Paths on the host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MadeInside {
    /// In the order of their making.
    #[serde(with = "super::paths")]
    pub paths: Vec<PathBuf>,
}

/// An error on its way between processes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Refusal {
    /// The event.
    pub what: String,
    /// Message of the system.
    pub detail: Option<String>,
    /// The remedy.
    pub hint: Option<String>,
}

impl Refusal {
    /// The event and the message of the system.
    pub(super) fn new(what: impl Into<String>, detail: impl ToString) -> Self {
        Self { what: what.into(), detail: Some(detail.to_string()), hint: None }
    }

    /// The remedy.
    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// As the rest of the program knows errors.
    pub(super) fn error(self) -> Error {
        let mut error = Error::new(Kind::Workload, self.what);
        error.detail = self.detail;
        error.hint = self.hint;
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_survive_their_line() {
        for order in [Order::Close, Order::Ask, Order::End("time limit of 5 s".into()), Order::End(String::new())] {
            assert_eq!(Order::parse(order.line().trim_end_matches('\n')), Some(order));
        }
        assert_eq!(Order::End("a\nclose".into()).line(), "end a close\n");
        assert_eq!(Order::parse("closed"), None);
    }

    #[test]
    fn news_survive_their_line() {
        use std::os::unix::ffi::OsStringExt as _;
        let ended = Ended { code: Some(3), why: Some("\"x\"\n".into()), ..Ended::default() };
        let odd = PathBuf::from(std::ffi::OsString::from_vec(b"/a\xff".to_vec()));
        let started = News::Started {
            pid: 7,
            cgroups: [("unified".to_owned(), odd.clone())].into(),
            no_cgroup: None,
            monotonic_s: 1.5,
            utc_ms: 2,
        };
        for news in [
            News::Ended(ended),
            News::Refused(Refusal::new("a", "b").hint("c")),
            News::Cleared { left: vec![] },
            started,
            News::Made(MadeInside { paths: vec![odd] }),
        ] {
            let line = serde_json::to_string(&news).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<News>(&line).unwrap(), news);
        }
    }
}
