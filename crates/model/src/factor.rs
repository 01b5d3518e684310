//! Levels of settings: in one run, and over the runs of a campaign.
//!
//! In:  nothing.  Out: [`RunSettings`] of a run, [`Factor`]s and [`AskedFactor`] of a campaign, filled by `design`.
//! Not here: which settings there are (see `setting`).

use std::collections::BTreeMap;

use serde::Serialize;

/// What a setting is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingKind {
    /// Something that may make a run faster or slower, and that one may ask about.
    Treatment,
    /// Part of the work: how many, how long, how often.
    Load,
}

/// Who says a value. The first is trusted most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingOrigin {
    /// A label of the user.
    Label,
    /// The result file, or the command line that made it.
    Result,
    /// The name of a file or folder.
    Path,
}

/// One value of a setting in one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SettingValue {
    pub value: String,
    pub origin: SettingOrigin,
}

/// The settings of one run by name.
pub type RunSettings = BTreeMap<String, SettingValue>;

/// A setting with two levels or more in a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Factor {
    /// Name of the setting.
    pub name: String,
    pub kind: SettingKind,
    /// Numbers rising, words by name.
    pub levels: Vec<String>,
    /// Settings whose levels go together with these one to one: nobody can tell them apart in these data.
    pub aliased_with: Vec<String>,
}

/// How the question of a campaign came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    /// By the person, the labels or the campaign.
    Asked,
    /// The first treatment of the order.
    Default,
}

/// The factor that is compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AskedFactor {
    pub factor: String,
    pub taken: Taken,
    /// Other treatments that could be asked about.
    pub others: Vec<String>,
}
