//! Which of several sources of a fact counts.
//!
//! In:  the shipped facts, those of other files.  Out: one [`Facts`], and a [`FactConflict`] for each figure that two sources give differently.
//! Not here: reading files.
//!
//! A file that lies among somebody's results adds what the shipped facts do not have and replaces nothing. Otherwise whoever hands over
//! results could also hand over the physics that they are checked by. A file that is named with `--facts`, and one whose labels say
//! `facts = "local"`, comes first. Of two files of one rank the first by path counts.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::builtin;
use crate::cost::{LIMIT_TPOT_MS, LIMIT_TTFT_MS};
use sparkbench_model::{
    Campaign, FactConflict, Facts, LocalFacts, MachineFacts, ModelFacts, PriceFacts, ReferenceFacts, Run,
};
use sparkbench_text::error::Error;

/// Largest relative difference of a figure that is computed from a checkpoint and counts as the same. Published sizes are rounded to it.
const COMPUTED_AGREES: f64 = 0.01;
/// Keys of a table that are words about it and no fact.
const WORDS: [&str; 3] = ["aliases", "title", "sources"];

/// Key of a machine's further names.
const ALIASES: &str = "aliases";

/// A table of facts about one thing.
trait Entry: Clone + Serialize + DeserializeOwned {
    /// The file that gives it. None for ours.
    fn file(&self) -> Option<&str>;
    /// Notes the file that gives it.
    fn given_by(&mut self, file: &LocalFacts);
    /// Label of the machine that it is about, where `key` is its own.
    fn machine(&self, key: &str) -> Option<String>;
    /// Whether a file that may replace it can state some of its figures and leave the others as they are.
    const IN_PARTS: bool;
}

impl Entry for MachineFacts {
    const IN_PARTS: bool = true;
    fn file(&self) -> Option<&str> {
        self.from.as_deref()
    }
    fn given_by(&mut self, file: &LocalFacts) {
        self.from = Some(file.file.clone());
        self.wins = file.wins;
    }
    fn machine(&self, key: &str) -> Option<String> {
        Some(key.to_owned())
    }
}

impl Entry for ModelFacts {
    const IN_PARTS: bool = true;
    fn file(&self) -> Option<&str> {
        self.from.as_deref()
    }
    fn given_by(&mut self, file: &LocalFacts) {
        self.from = Some(file.file.clone());
    }
    fn machine(&self, _: &str) -> Option<String> {
        None
    }
}

impl Entry for PriceFacts {
    // A rent and a purchase cannot be mixed.
    const IN_PARTS: bool = false;
    fn file(&self) -> Option<&str> {
        self.from.as_deref()
    }
    fn given_by(&mut self, file: &LocalFacts) {
        self.from = Some(file.file.clone());
        self.own = true;
        self.wins = file.wins;
    }
    fn machine(&self, _: &str) -> Option<String> {
        Some(self.machine.clone())
    }
}

impl Entry for ReferenceFacts {
    const IN_PARTS: bool = false;
    fn file(&self) -> Option<&str> {
        self.from.as_deref()
    }
    fn given_by(&mut self, file: &LocalFacts) {
        self.from = Some(file.file.clone());
    }
    fn machine(&self, _: &str) -> Option<String> {
        Some(self.machine.clone())
    }
}

/// The shipped facts with those of other files beside them.
///
/// # Errors
/// A shipped file that does not parse, which a test excludes. Figures that cannot be put into a shipped table.
pub fn with(local: &[LocalFacts]) -> Result<Facts, Error> {
    let shipped = builtin()?;
    let mut facts = shipped.clone();
    let mut files: Vec<&LocalFacts> = local.iter().collect();
    files.sort_by_key(|file| !file.wins);
    let mut conflicts = Vec::new();
    for file in &files {
        facts.files.push(file.file.clone());
        for (key, machine) in &file.facts.machines {
            let names = || std::iter::once(key).chain(&machine.aliases);
            let ours = names().find_map(|name| shipped.machine_entry(name)).map(|(label, _)| label.to_owned());
            // A name of its own, of which only an alias is that of a machine of ours, stays usable as a label.
            let is_name = shipped.machine_entry(key).is_some();
            let place = Place { table: "machines", file, key, ours: ours.as_deref(), is_name };
            put(&mut facts.machines, &shipped.machines, machine, &place, &mut conflicts)?;
        }
        for (key, model) in file.facts.models.iter().filter(|(_, model)| !model.computed) {
            let ours = shipped.models.keys().find(|id| id.eq_ignore_ascii_case(key));
            let place = Place::new("models", file, key, ours);
            put(&mut facts.models, &shipped.models, model, &place, &mut conflicts)?;
        }
        let label = |machine: &String| {
            shipped.machine_entry(machine).map_or_else(|| machine.clone(), |(label, _)| label.to_owned())
        };
        for (key, price) in &file.facts.prices {
            let price = &PriceFacts { machine: label(&price.machine), ..price.clone() };
            let ours = shipped.prices.keys().find(|id| id.eq_ignore_ascii_case(key));
            let place = Place::new("prices", file, key, ours);
            if ours.is_none() {
                conflicts.extend(beside(&shipped, key, price, file));
            }
            put(&mut facts.prices, &shipped.prices, price, &place, &mut conflicts)?;
        }
        for (key, reference) in &file.facts.references {
            let reference = &ReferenceFacts { machine: label(&reference.machine), ..reference.clone() };
            let ours = shipped.references.keys().find(|id| id.eq_ignore_ascii_case(key));
            let place = Place::new("references", file, key, ours);
            put(&mut facts.references, &shipped.references, reference, &place, &mut conflicts)?;
        }
    }
    limits(&mut facts, &files, &mut conflicts);
    computed(&mut facts, &shipped, &files, &mut conflicts);
    facts.files.sort_unstable();
    facts.files.dedup();
    conflicts.sort();
    conflicts.dedup();
    facts.conflicts = conflicts;
    Ok(facts)
}

/// Where a table of a file belongs.
struct Place<'a> {
    table: &'static str,
    file: &'a LocalFacts,
    key: &'a str,
    /// Key of the shipped table of the same thing.
    ours: Option<&'a str>,
    /// Whether the key alone means that thing.
    is_name: bool,
}

impl<'a> Place<'a> {
    fn new(table: &'static str, file: &'a LocalFacts, key: &'a str, ours: Option<&'a String>) -> Self {
        Self { table, file, key, ours: ours.map(String::as_str), is_name: true }
    }

    /// What the file states in this table.
    fn stated<T: Serialize>(&self, entry: &T) -> Map<String, Value> {
        match self.file.facts.stated.get(self.table).and_then(|table| table.get(self.key)) {
            Some(Value::Object(stated)) => stated.iter().map(|(name, value)| (spelled(name), value.clone())).collect(),
            _ => said(entry),
        }
    }
}

/// British, as tables of ours are written.
fn spelled(name: &str) -> String {
    if name == "quantization" { "quantisation".to_owned() } else { name.to_owned() }
}

/// What an entry says: every key that holds something.
fn said<T: Serialize>(entry: &T) -> Map<String, Value> {
    match serde_json::to_value(entry) {
        Ok(Value::Object(all)) => all.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    }
}

/// Puts a table of a file where it counts, and notes what it contradicts.
fn put<T: Entry>(
    all: &mut BTreeMap<String, T>,
    shipped: &BTreeMap<String, T>,
    entry: &T,
    place: &Place<'_>,
    conflicts: &mut Vec<FactConflict>,
) -> Result<(), Error> {
    let stated = place.stated(entry);
    let Place { file, key, .. } = place;
    let mut given = entry.clone();
    given.given_by(file);
    let Some((label, ours)) = place.ours.and_then(|label| shipped.get_key_value(label)) else {
        // A new name. Of two files the first counts.
        match all.get(*key) {
            Some(known) => {
                let from = known.file().unwrap_or(FactConflict::SHIPPED).to_owned();
                conflicts.extend(apart(place, key, known, &from, &stated, 0.0));
            }
            None => {
                all.insert((*key).to_owned(), given);
            }
        }
        return Ok(());
    };
    if !file.wins {
        conflicts.extend(apart(place, label, ours, FactConflict::SHIPPED, &stated, 0.0));
        if !place.is_name && !all.contains_key(*key) {
            all.insert((*key).to_owned(), given);
        }
        return Ok(());
    }
    let mut whole = if T::IN_PARTS { over(ours, &stated, place)? } else { given };
    whole.given_by(file);
    let at = label.clone();
    match all.get(&at).filter(|known| known.file().is_some()) {
        Some(known) => {
            let from = known.file().unwrap_or_default().to_owned();
            conflicts.extend(apart(place, &at, known, &from, &stated, 0.0));
        }
        None => {
            let differ = apart(place, label, ours, FactConflict::SHIPPED, &stated, 0.0);
            conflicts.extend(differ.into_iter().map(turned));
            all.insert(at, whole);
        }
    }
    Ok(())
}

/// A conflict seen from the other side: the file counts.
fn turned(conflict: FactConflict) -> FactConflict {
    let FactConflict { used, used_from, unused, unused_from, .. } = conflict.clone();
    FactConflict { used: unused, used_from: unused_from, unused: used, unused_from: used_from, ..conflict }
}

/// A shipped table with the figures that a file states in place of its own.
fn over<T: Entry>(ours: &T, stated: &Map<String, Value>, place: &Place<'_>) -> Result<T, Error> {
    let mut whole = said(ours);
    let mut names = whole.get(ALIASES).and_then(Value::as_array).cloned().unwrap_or_default();
    whole.extend(stated.clone());
    if place.table == "machines" {
        // Under every name that it had it is still found, and under the one that the file has for it.
        names.extend(stated.get(ALIASES).and_then(Value::as_array).into_iter().flatten().cloned());
        names.push(Value::from(place.key));
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.as_str().unwrap_or_default().to_lowercase()));
        whole.insert(ALIASES.to_owned(), Value::Array(names));
    }
    serde_json::from_value(Value::Object(whole)).map_err(|cause| {
        Error::archive(format!("cannot use {}.{} of '{}'", place.table, place.key, place.file.file)).because(cause)
    })
}

/// A conflict for each figure that a file states otherwise than the table that counts.
fn apart<T: Entry>(
    place: &Place<'_>,
    key: &str,
    known: &T,
    known_from: &str,
    stated: &Map<String, Value>,
    tolerance: f64,
) -> Vec<FactConflict> {
    let has = said(known);
    let machine = known.machine(key);
    let differ = |(name, value): (&String, &Value)| {
        let own = has.get(name).unwrap_or(&Value::Null);
        let differs = !WORDS.contains(&name.as_str()) && !same(own, value, tolerance);
        differs.then(|| FactConflict {
            table: place.table.to_owned(),
            key: key.to_owned(),
            machine: machine.clone(),
            figure: name.clone(),
            used: shown(own),
            used_from: known_from.to_owned(),
            unused: shown(value),
            unused_from: place.file.file.clone(),
        })
    };
    stated.iter().filter_map(differ).collect()
}

fn same(own: &Value, other: &Value, tolerance: f64) -> bool {
    match (own.as_f64(), other.as_f64()) {
        (Some(own), Some(other)) => (own - other).abs() <= tolerance * own.abs(),
        // Of what is computed only figures are compared: its words are ours.
        _ if tolerance > 0.0 => !other.is_number() || own.is_null(),
        // A list that is not there and an empty one, a switch that is not there and one that is off.
        _ => {
            own == other
                || (own.is_null() && (other == &Value::Bool(false) || other.as_array().is_some_and(Vec::is_empty)))
        }
    }
}

/// A value as a person wrote it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "not given".to_owned(),
        Value::String(text) => format!("\"{text}\""),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), |figure| figure.to_string()),
        Value::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// A price under a name of its own, for a machine that has a shipped price.
fn beside(shipped: &Facts, key: &str, price: &PriceFacts, file: &LocalFacts) -> Option<FactConflict> {
    let (ours, known) = shipped.prices.iter().find(|(_, known)| known.machine == price.machine)?;
    let words = |price: &PriceFacts| match (price.usd_per_hour, price.purchase_usd) {
        (Some(rent), _) => format!("{rent} USD an hour"),
        (None, Some(purchase)) => format!("{purchase} USD to buy"),
        (None, None) => "not given".to_owned(),
    };
    let conflict = FactConflict {
        table: "prices".to_owned(),
        key: key.to_owned(),
        machine: Some(price.machine.clone()),
        figure: "price".to_owned(),
        used: format!("{} (prices.{ours})", words(known)),
        used_from: FactConflict::SHIPPED.to_owned(),
        unused: words(price),
        unused_from: file.file.clone(),
    };
    Some(if file.wins { turned(conflict) } else { conflict })
}

/// Limits of a service. Ours are constants of the rule that uses them.
fn limits(facts: &mut Facts, files: &[&LocalFacts], conflicts: &mut Vec<FactConflict>) {
    let mut first: BTreeMap<&str, (f64, &str)> = BTreeMap::new();
    for file in files {
        for (figure, own, stated) in [
            ("tpot_ms", LIMIT_TPOT_MS, file.facts.limits.tpot_ms),
            ("ttft_ms", LIMIT_TTFT_MS, file.facts.limits.ttft_ms),
        ] {
            let Some(stated) = stated else { continue };
            let (used, used_from) = match first.get(figure) {
                Some(earlier) => *earlier,
                None if file.wins => {
                    first.insert(figure, (stated, file.file.as_str()));
                    (stated, file.file.as_str())
                }
                None => (own, FactConflict::SHIPPED),
            };
            // One that counts is held against ours.
            let other =
                if used_from == file.file { (own, FactConflict::SHIPPED) } else { (stated, file.file.as_str()) };
            if used != other.0 {
                conflicts.push(FactConflict {
                    table: "limits".to_owned(),
                    key: "limits".to_owned(),
                    machine: None,
                    figure: figure.to_owned(),
                    used: used.to_string(),
                    used_from: used_from.to_owned(),
                    unused: other.0.to_string(),
                    unused_from: other.1.to_owned(),
                });
            }
        }
    }
    facts.limits.tpot_ms = first.get("tpot_ms").map(|(limit, _)| *limit).or(facts.limits.tpot_ms);
    facts.limits.ttft_ms = first.get("ttft_ms").map(|(limit, _)| *limit).or(facts.limits.ttft_ms);
}

/// Models that were computed from files of a checkpoint. What its index and its settings say apart belongs together.
fn computed(facts: &mut Facts, shipped: &Facts, files: &[&LocalFacts], conflicts: &mut Vec<FactConflict>) {
    let mut found: BTreeMap<&str, (ModelFacts, &LocalFacts)> = BTreeMap::new();
    for file in files {
        for (key, model) in file.facts.models.iter().filter(|(_, model)| model.computed) {
            match found.get_mut(key.as_str()) {
                Some((known, _)) => known.complete(model.clone()),
                None => {
                    found.insert(key, (model.clone(), *file));
                }
            }
        }
    }
    for (key, (mut model, file)) in found {
        model.given_by(file);
        let ours = shipped.models.keys().find(|id| id.eq_ignore_ascii_case(key)).map(String::as_str);
        let at = ours.unwrap_or(key);
        let place = Place { table: "models", file, key: at, ours, is_name: true };
        let stated = said(&model);
        match facts.models.get(at) {
            None => {
                facts.models.insert(at.to_owned(), model);
            }
            Some(known) => {
                let from = known.file().unwrap_or(FactConflict::SHIPPED).to_owned();
                let differ = apart(&place, at, known, &from, &stated, COMPUTED_AGREES);
                // A shape without bytes says less than what is known.
                let says_less = model.weight_bytes.is_none() && known.weight_bytes.is_some();
                if file.wins && known.file().is_none() && !says_less {
                    conflicts.extend(differ.into_iter().map(turned));
                    facts.models.insert(at.to_owned(), model);
                } else {
                    conflicts.extend(differ);
                }
            }
        }
    }
}

/// Notes at each campaign the conflicts that concern it: about its machines and models, or by a file that lies in a folder of its runs.
pub fn note(campaigns: &mut [Campaign], runs: &[Run], facts: &Facts) {
    for campaign in campaigns {
        campaign.facts_files = facts.files.len();
        if facts.conflicts.is_empty() {
            campaign.fact_conflicts.clear();
            continue;
        }
        let own = || runs.iter().filter(|run| run.campaign == campaign.name);
        let printed = campaign.machine.as_deref().into_iter().chain(own().filter_map(|r| r.setup.machine.as_deref()));
        let machines: BTreeSet<&str> = printed
            .flat_map(|name| [Some(name), facts.machine_entry(name).map(|(label, _)| label)])
            .flatten()
            .collect();
        let ids = campaign.models.values().filter_map(|model| model.id.as_deref());
        let models: BTreeSet<String> =
            ids.chain(own().filter_map(|run| run.setup.model_id.as_deref())).map(str::to_lowercase).collect();
        let is_near = |file: &str| {
            let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
            own().any(|run| {
                folder.is_empty() || run.source.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
            })
        };
        let concerns = |conflict: &&FactConflict| {
            conflict.machine.as_deref().is_some_and(|machine| machines.contains(machine))
                || (conflict.table == "models" && models.contains(&conflict.key.to_lowercase()))
                || conflict.files().any(&is_near)
        };
        campaign.fact_conflicts = facts.conflicts.iter().filter(concerns).cloned().collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file as `ingest` hands it over.
    fn file(name: &str, wins: bool, text: &str) -> LocalFacts {
        let mut facts: Facts = toml::from_str(text).unwrap();
        facts.stated = toml::from_str(text).unwrap();
        LocalFacts { file: name.to_owned(), facts, wins }
    }

    fn conflicts(facts: &Facts) -> Vec<[&str; 6]> {
        facts
            .conflicts
            .iter()
            .map(|c| [&*c.key, &*c.figure, &*c.used, &*c.used_from, &*c.unused, &*c.unused_from])
            .collect()
    }

    const LIE: &str = "[machines.gb10]\ntitle = \"X\"\nbandwidth_gb_s = 1e9\nsources = [\"trust me\"]\n";

    #[test]
    fn a_file_in_a_folder_replaces_no_machine_and_is_named() {
        let shipped = builtin().unwrap().machines["gb10"].clone();
        for text in [
            LIE.to_owned(),
            LIE.replace("machines.gb10", "machines.GB10"),
            LIE.replace("machines.gb10", "machines.aaa").replace("sources", "aliases = [\"gb10\"]\nsources"),
            LIE.replace("machines.gb10", "machines.\"NVIDIA GB10\""),
        ] {
            let facts = with(&[file("in/x.toml", false, &text)]).unwrap();
            for name in ["gb10", "GB10", "NVIDIA GB10"] {
                assert_eq!(facts.machine(name), Some(&shipped), "{name}: {text}");
            }
            let bandwidth = facts.conflicts.iter().find(|c| c.figure == "bandwidth_gb_s").unwrap();
            assert_eq!(bandwidth.machine.as_deref(), Some("gb10"));
            assert_eq!((bandwidth.used.as_str(), bandwidth.used_from.as_str()), ("273", FactConflict::SHIPPED));
            assert_eq!((bandwidth.unused.as_str(), bandwidth.unused_from.as_str()), ("1000000000", "in/x.toml"));
        }
    }

    #[test]
    fn an_allowed_file_replaces_the_figures_that_it_states_and_no_other() {
        let shipped = builtin().unwrap().machines["gb10"].clone();
        let facts = with(&[file("x.toml", true, LIE)]).unwrap();
        let machine = facts.machine("NVIDIA GB10").unwrap();
        assert_eq!((machine.bandwidth_gb_s, machine.memory_gib), (Some(1e9), shipped.memory_gib));
        assert_eq!((machine.unified_memory, machine.from.as_deref()), (shipped.unified_memory, Some("x.toml")));
        assert_eq!(
            conflicts(&facts),
            [["gb10", "bandwidth_gb_s", "1000000000", "x.toml", "273", FactConflict::SHIPPED]]
        );
        let off = LIE.replace("bandwidth_gb_s = 1e9", "unified_memory = false");
        assert!(
            !with(&[file("x.toml", true, &off)]).unwrap().machines["gb10"].unified_memory,
            "a switch can be turned off"
        );
    }

    #[test]
    fn an_allowed_file_may_call_a_machine_by_any_of_its_names() {
        let shipped = builtin().unwrap();
        let before = shipped.machines["gb10"].clone();
        for key in ["GB10", "\"NVIDIA GB10\"", "spark"] {
            let own = format!("machines.{key}]\naliases = [\"gb10\", \"desk\"]\n");
            let text = LIE.replace("machines.gb10]\n", &own);
            let facts = with(&[file("x.toml", true, &text)]).unwrap();
            for name in ["gb10", "NVIDIA GB10", "desk", key.trim_matches('"')] {
                let (label, machine) = facts.machine_entry(name).unwrap();
                assert_eq!((label, machine.bandwidth_gb_s), ("gb10", Some(1e9)), "{name} of {key}");
                assert_eq!(machine.memory_gib, before.memory_gib);
            }
        }
        let text = "[prices.cheap]\ntitle = \"Q\"\nmachine = \"NVIDIA GB10\"\ndate = \"2030\"\nusd_per_hour = 0.02\nsources = [\"s\"]\n\
                    [references.mine]\nmodel = \"M\"\nmachine = \"GB10\"\ndecode_tok_s = 1\nsources = [\"s\"]\n";
        let facts = with(&[file("x.toml", true, text)]).unwrap();
        assert_eq!(
            (&facts.prices["cheap"].machine, &facts.references["mine"].machine),
            (&"gb10".into(), &"gb10".into())
        );
        assert!(facts.conflicts.iter().any(|conflict| conflict.key == "cheap"), "{:?}", facts.conflicts);
    }

    #[test]
    fn new_names_are_taken_and_of_two_files_the_first_counts() {
        let kiln =
            |figure: &str| format!("[machines.kiln]\ntitle = \"K\"\nbandwidth_gb_s = {figure}\nsources = [\"s\"]\n");
        let files = [file("a.toml", false, &kiln("500.0")), file("b.toml", false, &kiln("600"))];
        let facts = with(&files).unwrap();
        let machine = facts.machine("kiln").unwrap();
        assert_eq!((machine.bandwidth_gb_s, machine.from.as_deref()), (Some(500.0), Some("a.toml")));
        assert_eq!(conflicts(&facts), [["kiln", "bandwidth_gb_s", "500", "a.toml", "600", "b.toml"]]);
        let [a, mut b] = files;
        b.wins = true;
        assert_eq!(
            with(&[a, b]).unwrap().machine("kiln").unwrap().bandwidth_gb_s,
            Some(600.0),
            "the allowed one first"
        );
    }

    #[test]
    fn a_copy_of_what_ships_contradicts_nothing() {
        let copies: Vec<LocalFacts> =
            super::super::BUILTIN.iter().map(|(name, text)| file(name, false, text)).collect();
        let (facts, shipped) = (with(&copies).unwrap(), builtin().unwrap());
        assert_eq!(
            (&facts.conflicts, &facts.machines, &facts.models),
            (&Vec::new(), &shipped.machines, &shipped.models)
        );
        assert_eq!((&facts.prices, &facts.references), (&shipped.prices, &shipped.references));
        assert_eq!(facts.files.len(), copies.len());
    }

    #[test]
    fn models_prices_references_and_limits_follow_the_same_rule() {
        let shipped = builtin().unwrap();
        let id = "openai/gpt-oss-20b";
        let text = format!(
            "[models.\"{}\"]\ntitle = \"M\"\nlayers = 1\nsources = [\"s\"]\n\
             [prices.gb10-owned]\ntitle = \"P\"\nmachine = \"gb10\"\ndate = \"2030\"\nusd_per_hour = 0.01\nsources = [\"s\"]\n\
             [prices.cheap]\ntitle = \"Q\"\nmachine = \"gb10\"\ndate = \"2030\"\nusd_per_hour = 0.02\nsources = [\"s\"]\n\
             [references.gb10-19]\nmodel = \"M\"\nmachine = \"gb10\"\ndecode_tok_s = 1\nsources = [\"s\"]\n\
             [limits]\ntpot_ms = 9000\n",
            id.to_uppercase()
        );
        let facts = with(&[file("x.toml", false, &text)]).unwrap();
        assert_eq!(facts.model(id), Some(&shipped.models[id]));
        assert_eq!(facts.model(&id.to_uppercase()), Some(&shipped.models[id]), "whatever its case");
        assert_eq!(facts.prices["gb10-owned"], shipped.prices["gb10-owned"]);
        assert_eq!(facts.references["gb10-19"], shipped.references["gb10-19"]);
        assert!(facts.prices["cheap"].own && !facts.prices["cheap"].wins, "it is listed after ours");
        assert_eq!(facts.limits.tpot_ms, None);
        let tables: BTreeSet<&str> = facts.conflicts.iter().map(|c| c.table.as_str()).collect();
        assert_eq!(tables, BTreeSet::from(["limits", "models", "prices", "references"]));
        assert!(facts.conflicts.iter().any(|c| c.key == "cheap" && c.unused == "0.02 USD an hour"));
        let facts = with(&[file("x.toml", true, &text)]).unwrap();
        assert_eq!(facts.model(id).unwrap().layers, Some(1.0));
        assert_eq!(facts.model(id).unwrap().kv_heads, shipped.models[id].kv_heads);
        assert_eq!((facts.prices["gb10-owned"].usd_per_hour, facts.limits.tpot_ms), (Some(0.01), Some(9000.0)));
        assert_eq!(facts.prices["gb10-owned"].purchase_usd, None, "a price is replaced as a whole");
    }

    #[test]
    fn a_checkpoint_of_a_shipped_model_is_held_against_what_ships() {
        let shipped = builtin().unwrap();
        let id = "openai/gpt-oss-20b";
        let checkpoint = |layers: f64| {
            let model = ModelFacts { layers: Some(layers), computed: true, ..shipped.models[id].clone() };
            let facts = Facts { models: [(id.to_owned(), model)].into(), ..Facts::default() };
            LocalFacts { file: "m/config.json".to_owned(), facts, wins: false }
        };
        let layers = shipped.models[id].layers.unwrap();
        assert_eq!(with(&[checkpoint(layers)]).unwrap().conflicts, []);
        let facts = with(&[checkpoint(1.0)]).unwrap();
        assert_eq!(facts.model(id), Some(&shipped.models[id]));
        assert_eq!(conflicts(&facts)[0][..2], [id, "layers"]);
        let new = LocalFacts {
            facts: Facts {
                models: [("Mine-8B".to_owned(), ModelFacts { computed: true, ..ModelFacts::default() })].into(),
                ..Facts::default()
            },
            ..checkpoint(1.0)
        };
        assert_eq!(with(&[new]).unwrap().model("Mine-8B").unwrap().from.as_deref(), Some("m/config.json"));
    }
}
