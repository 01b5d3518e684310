//! The cells of a campaign and its question: each run gets the arm, the model and the workload of its cell.
//!
//! In:  the runs of one campaign with their settings.  Out: the same runs in cells, the factors and the question of the campaign.
//! Not here: which values are one level (see `table`), which factors part the runs (see `confounded`).

use std::collections::{BTreeMap, BTreeSet};

use sparkbench_model::{AskedFactor, Campaign, Factor, Run, Setting, SettingKind, Taken};
use sparkbench_text::slug::slug;

use super::baseline::{self, Level};
use super::confounded::{Parted, aliases, part};
use super::keep::named;
use super::table::{DEFAULT, Table, UNKNOWN};

/// Settings that say what a cell is in an archive of ours: the suite named them. Machines are never repeats of each other, whoever names them.
const DECLARED: &[&str] = &["environment", "model", "workload", "gpu", CAMPAIGN, SIDE];
/// Setting that tells the campaigns of one archive apart where they are read together.
pub const CAMPAIGN: &str = "campaign";
/// Setting that tells apart what was given to be compared.
pub const SIDE: &str = "side";
/// Share of the work from which on words of paths are what is asked about although a load varies.
const MOSTLY: f64 = 0.5;
/// Workload of a run whose source names none.
const ONE_WORKLOAD: &str = "default";

/// What the person who asks adds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    /// Setting to compare by, under any of its names.
    pub compare_by: Option<&'a str>,
    /// True where the runs themselves declare their cells: archives of ours.
    pub declared: bool,
    /// Settings that are never compared across, even where they go along with what is compared.
    pub kept: &'a [&'a str],
}

/// Sorts the runs of one campaign into cells, and says what varied and what is compared. True where two levels of that meet under the same
/// other settings.
///
/// A run's `environment` becomes the level of the treatment. `model` and `workload` name the stratum, so that no two runs with different
/// settings have the same three. What they were before stays among the settings.
pub fn lay_out(campaign: &mut Campaign, runs: &mut [&mut Run], asked: Asked<'_>) -> bool {
    let wanted = asked.compare_by.or(campaign.compare_by.as_deref()).map(named);
    let mut only: Vec<&str> = DECLARED.to_vec();
    only.extend(wanted.as_deref());
    let all: Vec<&Run> = runs.iter().map(|run| &**run).collect();
    let table = Table::of(&all, asked.declared.then_some(&only[..]), wanted.as_deref());
    campaign.declared = asked.declared;
    campaign.factors = factors(&table);
    let question = question(&table, wanted.as_deref());
    let treatment = question.as_ref().map(|(name, ..)| name.clone());
    let parted = treatment.as_deref().map_or_else(
        || Parted { strata: table.names(), with: Vec::new(), shared: 0.0 },
        |treatment| within_models(&table, treatment, asked.kept),
    );
    campaign.asked = question.map(|(factor, taken, others)| AskedFactor { factor, taken, others });
    lead(&mut campaign.factors, treatment.as_deref());
    tell_confounded(&mut campaign.factors, treatment.as_deref(), &parted.with);
    let originals: Vec<Labels> = runs.iter().map(|run| Labels::of(run)).collect();
    // Whole names of each model.
    let mut whole: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (row, labels) in originals.iter().enumerate() {
        if let Some(level) = table.at("model", row) {
            whole.entry(level).or_default().insert(&labels.model);
        }
    }
    let arms: Vec<Option<String>> = (0..runs.len())
        .map(|row| arm(&table, treatment.as_deref(), row, &whole, said(runs, treatment.as_deref(), row)))
        .collect();
    let models: Vec<String> = models(&table, treatment.as_deref(), &parted, &originals);
    let workloads = workloads(&table, &parted, &models, &originals);
    for ((run, arm), (model, (workload, original))) in
        runs.iter_mut().zip(&arms).zip(models.into_iter().zip(workloads.into_iter().zip(&originals)))
    {
        let environment = arm.clone().unwrap_or_else(|| original.environment.clone());
        if environment != original.environment && original.environment != Campaign::UNLABELLED {
            run.setup.more.insert(Campaign::ENVIRONMENT_KEY.to_owned(), original.environment.clone());
        }
        (run.environment, run.model, run.workload) = (environment, model, workload);
        run.cell = [&run.model, &run.workload, &run.environment].map(|name| slug(name)).join("_");
    }
    campaign.compare_by = treatment.clone().filter(|name| name != "environment");
    if campaign.baseline.is_none()
        && let Some(treatment) = treatment
    {
        campaign.baseline = baseline::of(&treatment, &levels(runs));
    }
    parted.meets()
}

/// Labels of a run as they were read.
struct Labels {
    environment: String,
    model: String,
    workload: String,
}

impl Labels {
    fn of(run: &Run) -> Self {
        let said = |name: &str, absent: &str| {
            run.settings.get(name).map_or_else(|| absent.to_owned(), |setting| setting.value.clone())
        };
        Self {
            environment: said("environment", Campaign::UNLABELLED),
            model: said("model", Campaign::UNLABELLED),
            workload: said("workload", ONE_WORKLOAD),
        }
    }
}

/// The factors, those with aliases as one.
fn factors(table: &Table) -> Vec<Factor> {
    let of = |group: Vec<String>| {
        let (name, aliased_with) = group.split_first()?;
        Some(Factor {
            name: name.clone(),
            kind: Setting::kind_of(name),
            levels: table.levels(name).iter().map(|level| table.shown(name, level)).collect(),
            aliased_with: aliased_with.to_vec(),
        })
    };
    aliases(table).into_iter().filter_map(of).collect()
}

/// The factor that is asked about, how that came about, and what else could be asked. Without a wish it is the first treatment of which two
/// levels meet under the same other settings. One that goes along with other models comes last: they are what differs most.
fn question(table: &Table, wanted: Option<&str>) -> Option<(String, Taken, Vec<String>)> {
    let treatments: Vec<Vec<String>> = aliases(table)
        .into_iter()
        .filter(|group| group.first().is_some_and(|name| Setting::kind_of(name) == SettingKind::Treatment))
        .collect();
    let parted: Vec<(&Vec<String>, Parted)> =
        treatments.iter().filter_map(|group| Some((group, within_models(table, group.first()?, &[])))).collect();
    let meeting = || parted.iter().filter(|(_, parted)| parted.meets());
    let has_loads = table.names().iter().any(|name| Setting::kind_of(name) == SettingKind::Load && name != "workload");
    let others = |taken: &str| -> Vec<String> {
        let own = meeting().filter(|(group, _)| !group.iter().any(|name| name == taken));
        own.filter_map(|(group, _)| group.first().cloned()).collect()
    };
    if let Some(wanted) = wanted {
        return Some((wanted.to_owned(), Taken::Asked, others(wanted)));
    }
    let of_one_model = |(group, parted): &&(&Vec<String>, Parted)| {
        // Precisions of different models are no question where anything else varies.
        let is_alone = !group.iter().any(|name| name == "quantisation");
        let first = group.first().is_some_and(|name| match name.as_str() {
            "environment" | "engine" => true,
            "model" => is_alone,
            _ => false,
        });
        first || !group.iter().chain(&parted.with).any(|name| name == "model")
    };
    // Words that nobody explains are the question of a folder where they are tried throughout, and not beside a load that is.
    let is_meant = |(group, parted): &&(&Vec<String>, Parted)| {
        let is_word = group.first().is_some_and(|name| name == "folder" || name == "file");
        !is_word || !has_loads || parted.shared >= MOSTLY
    };
    let meant = || meeting().filter(is_meant);
    let (group, _) = meant().find(of_one_model).or_else(|| meant().next())?;
    let name = group.first()?.clone();
    let others = others(&name);
    Some((name, Taken::Default, others))
}

/// The runs parted for a treatment, within each model where levels meet there: what differs between two models is the model.
fn within_models(table: &Table, treatment: &str, kept: &[&str]) -> Parted {
    let with_models: Vec<&str> = kept.iter().copied().chain(["model"]).collect();
    let within = part(table, treatment, &with_models);
    if within.meets() || treatment == "model" { within } else { part(table, treatment, kept) }
}

/// Names the factor that is compared as it was asked for, where it goes together with others one to one.
fn lead(factors: &mut [Factor], treatment: Option<&str>) {
    let Some(treatment) = treatment else { return };
    for factor in factors.iter_mut() {
        if let Some(place) = factor.aliased_with.iter().position(|name| name == treatment) {
            let first = std::mem::replace(&mut factor.name, treatment.to_owned());
            factor.aliased_with.remove(place);
            factor.aliased_with.insert(0, first);
        }
    }
}

/// Notes at the factor that is compared what changes with it.
fn tell_confounded(factors: &mut [Factor], treatment: Option<&str>, with: &[String]) {
    let Some(treatment) = treatment else { return };
    if let Some(factor) = factors.iter_mut().find(|factor| factor.name == treatment) {
        for name in with {
            if !factor.aliased_with.contains(name) {
                factor.aliased_with.push(name.clone());
            }
        }
    }
}

/// The arm of a run: the level of the treatment. `None` where nothing is compared.
fn arm(
    table: &Table,
    treatment: Option<&str>,
    row: usize,
    whole: &BTreeMap<&str, BTreeSet<&str>>,
    said: Option<String>,
) -> Option<String> {
    let treatment = treatment?;
    let Some(level) = table.at(treatment, row) else {
        // Asked for, and the same everywhere or known of no run.
        return said.map(|level| arm_of(treatment, level)).or_else(|| Some(Campaign::UNLABELLED.to_owned()));
    };
    if level == UNKNOWN {
        return Some(Campaign::UNLABELLED.to_owned());
    }
    if treatment == "model"
        && let Some(names) = whole.get(level)
        && let Some(only) = names.first().filter(|_| names.len() == 1)
    {
        return Some((*only).to_owned());
    }
    Some(arm_of(treatment, table.shown(treatment, level)))
}

/// What a run itself says of a setting.
fn said(runs: &[&mut Run], name: Option<&str>, row: usize) -> Option<String> {
    runs.get(row)?.settings.get(name?).map(|setting| setting.value.clone())
}

/// A level as the name of an arm.
fn arm_of(treatment: &str, level: String) -> String {
    if treatment == "quantisation" && !level.contains(' ') { level.to_lowercase() } else { level }
}

/// The model of each run's stratum: without its precision where that is compared or goes along, and no model where models do.
fn models(table: &Table, treatment: Option<&str>, parted: &Parted, originals: &[Labels]) -> Vec<String> {
    let along = |name: &str| treatment == Some(name) || parted.with.iter().any(|with| with == name);
    let label = |(row, labels): (usize, &Labels)| {
        if along("model") {
            return Campaign::EVERY_MODEL.to_owned();
        }
        if along("quantisation") && labels.model != Campaign::UNLABELLED {
            return table.stem(row).unwrap_or_else(|| labels.model.clone());
        }
        labels.model.clone()
    };
    originals.iter().enumerate().map(label).collect()
}

/// The levels of the first of some strata, and in which factors others differ from it.
type Sharing<'s, 'l> = (&'s Vec<&'l str>, Vec<bool>);

/// The workload of each run's stratum: the label that its source gives, with the levels behind it that part strata of one label.
fn workloads(table: &Table, parted: &Parted, models: &[String], originals: &[Labels]) -> Vec<String> {
    let stratum = |row: usize| -> Vec<&str> {
        parted.strata.iter().map(|name| table.at(name, row).unwrap_or_default()).collect()
    };
    // One label for a stratum whose runs are labelled by what was measured of them.
    let mut label_of: BTreeMap<(&str, Vec<&str>), &str> = BTreeMap::new();
    for (row, (model, labels)) in models.iter().zip(originals).enumerate() {
        label_of.entry((model, stratum(row))).or_insert(&labels.workload);
    }
    // Of strata that share a label and a model: the first of them, and in which factors others differ from it.
    let mut sharing: BTreeMap<(&str, &str), Sharing<'_, '_>> = BTreeMap::new();
    for ((model, levels), label) in &label_of {
        let (first, varied) =
            sharing.entry((model, label)).or_insert_with(|| (levels, vec![false; parted.strata.len()]));
        for (varied, (one, other)) in varied.iter_mut().zip(first.iter().zip(levels)) {
            *varied |= one != other;
        }
    }
    let texts: Vec<String> = (0..originals.len())
        .map(|row| {
            let (Some(model), levels) = (models.get(row), stratum(row)) else { return String::new() };
            let label = label_of.get(&(model.as_str(), levels.clone())).copied().unwrap_or(ONE_WORKLOAD);
            let Some((_, varied)) = sharing.get(&(model.as_str(), label)) else { return label.to_owned() };
            let mut text = label.to_owned();
            for (varied, (name, level)) in varied.iter().zip(parted.strata.iter().zip(&levels)) {
                if !varied || name == "workload" {
                    continue;
                }
                let word = word(name, &table.shown(name, level));
                if !word.is_empty() && !format!("-{text}-").contains(&format!("-{word}-")) {
                    if text == ONE_WORKLOAD { text = word } else { text = format!("{text}-{word}") }
                }
            }
            text
        })
        .collect();
    // Words may run together. No two strata share a name in any case.
    let mut named: BTreeMap<(&str, &str), Vec<Vec<&str>>> = BTreeMap::new();
    for (row, text) in texts.iter().enumerate() {
        let strata = named.entry((models.get(row).map_or("", String::as_str), text)).or_default();
        if !strata.contains(&stratum(row)) {
            strata.push(stratum(row));
        }
    }
    let number = |(row, text): (usize, &String)| {
        let strata = named.get(&(models.get(row).map_or("", String::as_str), text.as_str()));
        match strata.and_then(|strata| strata.iter().position(|other| *other == stratum(row))) {
            Some(place) if place > 0 => format!("{text}-{}", place + 1),
            _ => text.clone(),
        }
    };
    texts.iter().enumerate().map(number).collect()
}

/// A level as a word of a workload: `c8`, `in1024`, `fp8`, `n-ubatch-2048`.
fn word(name: &str, level: &str) -> String {
    if level.is_empty() {
        return String::new();
    }
    let prefix = match name {
        "concurrency" => "c",
        "request_rate" => "r",
        "isl" => "in",
        "osl" => "out",
        "depth" => "d",
        "requests" => "n",
        "turns" => "turns",
        _ => "",
    };
    let telling = level.chars().any(char::is_alphabetic)
        && !["on", "off", DEFAULT, UNKNOWN, "none", "true", "false"].contains(&level);
    match (prefix, telling) {
        ("", true) => slug(level),
        ("", false) => slug(&format!("{name}-{level}")),
        (_, true) => slug(&format!("{name}-{level}")),
        (prefix, false) => format!("{prefix}{level}"),
    }
}

/// The arms with their first starts.
fn levels(runs: &[&mut Run]) -> Vec<Level> {
    let mut found: Vec<Level> = Vec::new();
    for (place, run) in runs.iter().enumerate().filter(|(_, run)| run.environment != Campaign::UNLABELLED) {
        match found.iter_mut().find(|level| level.name == run.environment) {
            Some(level) => level.started = level.started.into_iter().chain(run.started).min(),
            None => found.push(Level { name: run.environment.clone(), started: run.started, place }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::run;

    /// Arm, model and workload of each run, and the campaign.
    fn laid(runs: &[&[(&str, &str)]], compare_by: Option<&str>) -> (Vec<(String, String, String)>, Campaign) {
        let mut made: Vec<Run> = runs.iter().map(|settings| run(settings)).collect();
        let mut campaign = Campaign { name: "c".into(), ..Campaign::default() };
        let mut all: Vec<&mut Run> = made.iter_mut().collect();
        lay_out(&mut campaign, &mut all, Asked { compare_by, ..Asked::default() });
        (made.into_iter().map(|run| (run.environment, run.model, run.workload)).collect(), campaign)
    }

    fn said(found: &[(String, String, String)]) -> Vec<(&str, &str, &str)> {
        found.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect()
    }

    #[test]
    fn precisions_of_one_model_are_compared_without_being_asked_for() {
        let (cells, campaign) = laid(
            &[
                &[("model", "Nano-BF16"), ("quantisation", "bf16"), ("workload", "w")],
                &[("model", "Nano-FP8"), ("quantisation", "fp8"), ("workload", "w")],
            ],
            None,
        );
        assert_eq!(said(&cells), [("bf16", "Nano", "w"), ("fp8", "Nano", "w")]);
        let asked = campaign.asked.unwrap();
        assert_eq!(
            (asked.factor.as_str(), asked.taken, campaign.compare_by.as_deref()),
            ("quantisation", Taken::Default, Some("quantisation"))
        );
        assert_eq!(campaign.baseline, None);
    }

    #[test]
    fn runs_of_other_settings_are_other_cells_and_no_repeats() {
        let (cells, _) = laid(
            &[
                &[("engine", "vLLM"), ("workload", "w"), ("concurrency", "1")],
                &[("engine", "vLLM"), ("workload", "w"), ("concurrency", "8")],
                &[("engine", "SGLang"), ("workload", "w"), ("concurrency", "8")],
            ],
            None,
        );
        assert_eq!(
            said(&cells),
            [("vLLM", "unlabelled", "w-c1"), ("vLLM", "unlabelled", "w-c8"), ("SGLang", "unlabelled", "w-c8")]
        );
    }

    #[test]
    fn before_and_after_are_arms_and_before_is_the_baseline() {
        let (cells, campaign) =
            laid(&[&[("file", "after"), ("model", "m")], &[("file", "before"), ("model", "m")]], None);
        assert_eq!(said(&cells), [("after", "m", "default"), ("before", "m", "default")]);
        assert_eq!((campaign.compare_by.as_deref(), campaign.baseline.as_deref()), (Some("file"), Some("before")));
    }

    #[test]
    fn several_models_are_compared_where_nothing_else_varies() {
        let (cells, _) = laid(&[&[("model", "a"), ("workload", "w")], &[("model", "b"), ("workload", "w")]], None);
        assert_eq!(said(&cells), [("a", "every model", "w"), ("b", "every model", "w")]);
    }

    /// A folder of earlier points beside a sweep, some of which were measured again.
    #[test]
    fn a_word_of_a_path_is_no_question_where_most_of_a_load_has_one_level_of_it() {
        let point = |users: &'static str, folder: &'static str| vec![("concurrency", users), ("folder", folder)];
        let old = ["1", "2", "4", "8", "16"].map(|users| point(users, "old"));
        let asked = |again: &[&'static str]| {
            let new = again.iter().map(|users| point(users, "none"));
            let runs: Vec<Vec<(&str, &str)>> = old.iter().cloned().chain(new).collect();
            let (cells, campaign) = laid(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>(), None);
            assert_eq!(cells.iter().collect::<BTreeSet<_>>().len(), cells.len(), "nothing is averaged");
            campaign.asked.map(|asked| asked.factor)
        };
        assert_eq!(asked(&["8", "16"]), None);
        assert_eq!(asked(&["4", "8", "16"]).as_deref(), Some("folder"));
    }

    #[test]
    fn a_load_axis_is_never_compared() {
        let (cells, campaign) = laid(&[&[("concurrency", "1")], &[("concurrency", "8")]], None);
        assert_eq!(said(&cells), [("unlabelled", "unlabelled", "c1"), ("unlabelled", "unlabelled", "c8")]);
        assert_eq!((campaign.asked, campaign.factors.len()), (None, 1));
    }

    #[test]
    fn repeats_whose_labels_hold_measured_lengths_are_one_cell() {
        let (cells, _) =
            laid(&[&[("workload", "in143"), ("osl", "143")], &[("workload", "in143"), ("osl", "149")]], None);
        assert_eq!(cells[0], cells[1]);
    }

    #[test]
    fn a_declared_campaign_compares_environments_and_keeps_its_labels() {
        let mut made = [
            run(&[("environment", "native"), ("model", "m-bf16"), ("workload", "w"), ("x", "1")]),
            run(&[("environment", "docker"), ("model", "m-bf16"), ("workload", "w"), ("x", "2")]),
        ];
        let mut campaign = Campaign::default();
        let mut all: Vec<&mut Run> = made.iter_mut().collect();
        lay_out(&mut campaign, &mut all, Asked { declared: true, ..Asked::default() });
        assert_eq!(
            made.iter()
                .map(|run| (run.environment.as_str(), run.model.as_str(), run.workload.as_str()))
                .collect::<Vec<_>>(),
            [("native", "m-bf16", "w"), ("docker", "m-bf16", "w")]
        );
        assert_eq!((campaign.compare_by, campaign.baseline.as_deref()), (None, Some("native")));
    }

    #[test]
    fn laying_out_again_starts_from_what_was_read() {
        let mut made = [run(&[("engine", "vLLM"), ("workload", "w")]), run(&[("engine", "SGLang"), ("workload", "w")])];
        let mut campaign = Campaign::default();
        for _ in 0..2 {
            let mut all: Vec<&mut Run> = made.iter_mut().collect();
            lay_out(&mut campaign, &mut all, Asked::default());
        }
        assert_eq!((made[0].environment.as_str(), made[0].workload.as_str()), ("vLLM", "w"));
    }

    /// Changing one setting of one run splits exactly one cell.
    #[test]
    fn another_setting_in_one_run_splits_one_cell() {
        let settings: &[(&str, &str)] = &[("engine", "vLLM"), ("workload", "w"), ("concurrency", "8")];
        let changed: &[(&str, &str)] =
            &[("engine", "vLLM"), ("workload", "w"), ("concurrency", "8"), ("n_ubatch", "64")];
        let cells = |runs: &[&[(&str, &str)]]| laid(runs, None).0.into_iter().collect::<BTreeSet<_>>().len();
        assert_eq!(cells(&[settings, settings, settings]), 1);
        assert_eq!(cells(&[settings, changed, settings]), 2);
    }
}
