//! The words of the field: runs, metrics, environments, campaigns, facts.
//!
//! In:  nothing.  Out: plain types that every other room passes around.
//! Not here: polars, files, formatting for people.
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]

// Cargo builds this crate again in a clone that shares its target folder with another one (docs/design/0023).
const _: Option<&str> = option_env!("SPARKBENCH_ROOT");

pub(crate) mod altered;
pub(crate) mod campaign;
pub mod column;
pub mod course;
pub mod custom;
pub mod definition;
pub(crate) mod factor;
pub(crate) mod facts;
pub mod finding;
pub(crate) mod input;
pub mod known_extra;
pub mod metric;
pub(crate) mod node;
pub(crate) mod paper;
pub(crate) mod price;
pub(crate) mod raw;
pub(crate) mod run;
pub mod setting;
pub mod spelling;
pub(crate) mod stem;
pub(crate) mod time;
pub(crate) mod time_series;
mod weights;

pub mod formula;

pub use altered::{Alteration, Altered};
pub use campaign::{Campaign, Hypothesis, ModelLabel, PublishedCell, SequentialDesign, Stated, StatedKind};
pub use course::{Course, LooseStart, Loss, MissingReason, MissingRun, Outcome, Span};
pub use custom::CustomMetric;
pub use definition::{Definition, DefinitionMatch};
pub use factor::{AskedFactor, Factor, RunSettings, SettingKind, SettingOrigin, SettingValue, Taken};
pub use facts::{FactConflict, Facts, LocalFacts, MachineFacts, ModelFacts};
pub use finding::{Finding, Level};
pub use input::Input;
pub use metric::{Direction, Metric, within};
pub use node::{ClockOffset, MeasuredLink, Node};
pub use paper::{Author, Correction, Paper};
pub use price::{Billing, LimitFacts, PriceFacts, ReferenceFacts};
pub use raw::{RawRow, RawText, Shape};
pub use run::{Extra, ExtraValue, Origin, Reading, Run, Sample, Series, Setup, Source, Status};
pub use setting::Setting;
pub use stem::without_quantisation;
pub use time::Instant;
pub use time_series::{TimePoint, TimeSeries};
