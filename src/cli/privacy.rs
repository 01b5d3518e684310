//! What is published of an intake: every text of it through the scrub, before anything is judged.
//!
//! In:  what was read.  Out: the same with pseudonyms; `data/PRIVACY.md`; where a file is whose path was changed.
//! Not here: how it is found and what goes in its place (see `archive::mask`).
//!
//! Scrubbing comes before judging, so that every sentence, id and address made from these texts is clean from the start, and so that
//! the same archive gives the same analysis when `verify` makes it again.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::io::Read as _;

use sparkbench_archive::{Discovery, Places, Scrub, Tally, hash};
use sparkbench_ingest::Intake;
use sparkbench_model::{Altered, Campaign, ExtraValue, Origin, Run, RunSettings, Setup, Source, Status};
use sparkbench_text::escape::file_name;

/// Bytes of a file that go into the salt.
const HEAD: u64 = 64 << 10;

/// Where texts stand, as the report calls it.
mod place {
    pub(super) const CAMPAIGN: &str = "words of campaigns";
    pub(super) const RUN: &str = "names of runs and labels";
    pub(super) const SETTING: &str = "settings";
    pub(super) const FIGURE: &str = "figures that are not metrics";
    pub(super) const GATE: &str = "readings of gates and watchdogs";
    pub(super) const PATH: &str = "paths of files";
    pub(super) const INPUT: &str = "what was left out and why";
}

/// Place of the texts of logs, for those who show them.
pub(crate) const LOGS: &str = "logs";
/// Place of the command that makes the site again.
pub(crate) const COMMAND: &str = "the command that makes this site again";

/// What was done to an intake.
#[derive(Debug)]
pub(crate) struct Scrubbed {
    /// For further texts that are to be published: logs, the command line.
    pub scrub: Scrub,
    /// Published paths that differ from those on disk, with the latter.
    pub originals: BTreeMap<String, String>,
}

impl Scrubbed {
    /// The path on disk, below the folders that were given, of a file by its published path.
    pub(crate) fn on_disk<'a>(&'a self, published: &'a str) -> &'a str {
        self.originals.get(published).map_or(published, String::as_str)
    }

    /// The published path of a file on disk.
    pub(crate) fn path(&self, on_disk: &str) -> String {
        self.scrub.text(place::PATH, on_disk)
    }
}

/// Replaces in everything of the intake that is published.
pub(crate) fn scrub(intake: &mut Intake, found: &Discovery) -> Scrubbed {
    let labels = intake.runs.iter().flat_map(|run| [&run.environment, &run.model, &run.workload, &run.campaign]);
    let mut scrub = Scrub::new(&salt(found), labels.cloned().collect::<BTreeSet<_>>());
    // Runs share most of their texts: what was said of one is said of all that are the same.
    let mut learned: HashSet<String> = HashSet::new();
    texts(intake, &mut |_, name, text| {
        if !learned.contains(text) {
            scrub.learn(text);
            learned.insert(text.clone());
        }
        name.into_iter().for_each(|name| scrub.learn_setting(name, text));
    });
    drop(learned);
    scrub.ready();
    for run in &mut intake.runs {
        let before = run.setup.more.clone();
        scrub_commands(&mut run.setup.more, &scrub);
        follow(&mut run.settings, &before, &run.setup.more);
    }
    let mut originals = BTreeMap::new();
    let mut answers: HashMap<(Option<String>, bool, String), (String, Tally)> = HashMap::new();
    texts(intake, &mut |place, name, text| {
        let is_path = place == place::PATH;
        let key = (name.map(str::to_owned), is_path, text.clone());
        let known = answers.contains_key(&key);
        let (new, tally) = answers.entry(key).or_insert_with(|| match name {
            Some(name) => scrub.counted_setting(name, text),
            None => scrub.counted(text),
        });
        // A path counts once, however many figures come from its file.
        if !(known && is_path) {
            scrub.note(place, tally.clone());
        }
        if new != text {
            let old = std::mem::replace(text, new.clone());
            if is_path {
                originals.insert(text.clone(), old);
            }
        }
    });
    keep_ids_plain(intake);
    Scrubbed { scrub, originals }
}

/// A setting says what its key says, and is hidden wherever that is.
fn follow(settings: &mut RunSettings, before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) {
    let changed = before.iter().filter_map(|(key, was)| Some((was, after.get(key)?))).filter(|(was, now)| was != now);
    let hidden: Vec<(&str, &String)> = changed.map(|(was, now)| (was.trim(), now)).collect();
    for said in settings.values_mut() {
        if let Some((_, now)) = hidden.iter().find(|(was, _)| *was == said.value) {
            (*now).clone_into(&mut said.value);
        }
    }
}

/// Replaces the passwords behind short options in commands that became one setting an argument: `cmd.1` is `-u` and `cmd.2` is `ann:x`.
fn scrub_commands(settings: &mut BTreeMap<String, String>, scrub: &Scrub) {
    let lists: Vec<String> = settings.keys().filter_map(|name| Some(name.strip_suffix(".0")?.to_owned())).collect();
    for list in lists {
        let names: Vec<String> = (0..)
            .map(|place: usize| format!("{list}.{place}"))
            .take_while(|name| settings.contains_key(name))
            .collect();
        let mut arguments: Vec<String> = names.iter().filter_map(|name| settings.get(name).cloned()).collect();
        if scrub.arguments(place::SETTING, &mut arguments) {
            settings.extend(names.into_iter().zip(arguments));
        }
    }
}

/// The names that tell more of texts flattened from JSON than their own do, by these: the name of the pair whose value a text is
/// (`env.0.name` beside `env.0.value`), or the option before it (`cmd.1` before `cmd.2`).
fn told_by_neighbours(texts: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let named = |above: &str| {
        ["name", "key", "header", "Name", "Key", "Header", "NAME", "KEY"]
            .into_iter()
            .find_map(|field| texts.get(&format!("{above}.{field}")).cloned())
    };
    let told = |(name, text): (&String, &String)| {
        // The value may be a list or an object: `env.0.value.1`.
        let parts = name.match_indices('.').map(|(at, _)| name.split_at(at));
        let mut values =
            parts.filter(|(_, below)| below.split('.').nth(1).is_some_and(|part| part.eq_ignore_ascii_case("value")));
        if let Some(neighbour) = values.find_map(|(above, _)| named(above)) {
            return Some((name.clone(), neighbour));
        }
        let (above, last) = name.rsplit_once('.')?;
        let before = texts.get(&format!("{above}.{}", last.parse::<usize>().ok()?.checked_sub(1)?))?;
        let option = before.starts_with('-') && !before.contains('=') && !text.starts_with('-');
        option.then(|| (name.clone(), before.clone()))
    };
    texts.iter().filter_map(told).collect()
}

/// Hash of bytes that are in the archive and not on the site: of what the campaign says of itself, else of its labels, else of the first
/// file. A change of any other file leaves the pseudonyms as they are, so that `verify` tells that change and not all names.
fn salt(found: &Discovery) -> String {
    let named = |name: &str| found.files.iter().filter(|file| file.path.rsplit('/').next() == Some(name)).collect();
    let chosen: Vec<_> = [named("campaign.json"), named("labels.toml"), found.files.iter().take(1).collect::<Vec<_>>()]
        .into_iter()
        .find(|files| !files.is_empty())
        .unwrap_or_default();
    let mut bytes = b"sparkbench publish\0".to_vec();
    for file in chosen {
        // A file that cannot be read adds nothing. The intake says so.
        if let Ok(open) = file.open() {
            let _ = open.take(HEAD).read_to_end(&mut bytes);
        }
    }
    hash(&bytes)
}

/// Ids become parts of addresses: nothing but what an address may hold, and each once.
fn keep_ids_plain(intake: &mut Intake) {
    let mut seen = BTreeSet::new();
    for run in &mut intake.runs {
        run.id = plain(&run.id);
        run.campaign = plain(&run.campaign);
        let base = run.id.clone();
        let mut k = 2;
        while !seen.insert(run.id.to_lowercase()) {
            run.id = format!("{base}-{k}");
            k += 1;
        }
    }
    for campaign in &mut intake.campaigns {
        campaign.name = plain(&campaign.name);
        campaign.missing_runs.iter_mut().for_each(|run| run.id = plain(&run.id));
    }
}

fn plain(id: &str) -> String {
    // A pseudonym is longer than most names.
    file_name(&if !id.contains('<') { id.to_owned() } else { id.replace(['<', '>'], "").replace(':', "-") })
}

/// A text, where it stands, and the name of the setting whose value it is.
type Visit<'a> = dyn FnMut(&'static str, Option<&str>, &mut String) + 'a;

/// Every text of the intake that reaches a page or a download.
fn texts(intake: &mut Intake, visit: &mut Visit<'_>) {
    intake.campaigns.iter_mut().for_each(|campaign| of_campaign(campaign, visit));
    intake.runs.iter_mut().for_each(|run| of_run(run, visit));
    for input in &mut intake.inputs {
        let before = input.path.clone();
        visit(place::PATH, None, &mut input.path);
        // They say the same once more, in a form where nothing is found.
        if input.path != before {
            input.name_bytes = None;
        }
        input.reason.iter_mut().for_each(|reason| visit(place::INPUT, None, reason));
        input.not_joined.iter_mut().for_each(|why| visit(place::INPUT, None, why));
        input.altered.iter_mut().for_each(|altered| of_altered(altered, visit));
    }
    intake.facts.iter_mut().for_each(|facts| visit(place::PATH, None, &mut facts.file));
}

fn of_altered(altered: &mut Altered, visit: &mut Visit<'_>) {
    visit(place::PATH, None, &mut altered.path);
    visit(place::PATH, None, &mut altered.record);
    visit(place::INPUT, None, &mut altered.what);
    visit(place::INPUT, None, &mut altered.remedy);
}

fn of_campaign(campaign: &mut Campaign, visit: &mut Visit<'_>) {
    let Campaign {
        name,
        title,
        question,
        prose,
        machine,
        compare_by: _,
        baseline,
        models,
        stated,
        published,
        provenance,
        missing_runs,
        losses,
        hypotheses,
        altered,
        factors,
        ..
    } = campaign;
    for factor in factors {
        factor.levels.iter_mut().for_each(|level| visit(place::SETTING, Some(&factor.name), level));
    }
    altered.iter_mut().for_each(|altered| of_altered(altered, visit));
    visit(place::CAMPAIGN, None, name);
    let words = title.iter_mut().chain(question).chain(prose).chain(machine).chain(baseline);
    words.for_each(|text| visit(place::CAMPAIGN, None, text));
    for (mut label, mut model) in std::mem::take(models) {
        visit(place::RUN, None, &mut label);
        let own = [
            &mut model.id,
            &mut model.title,
            &mut model.quantisation,
            &mut model.launched_id,
            &mut model.launched_source,
        ];
        own.into_iter().flatten().for_each(|text| visit(place::CAMPAIGN, None, text));
        models.insert(label, model);
    }
    for expected in hypotheses {
        visit(place::CAMPAIGN, None, &mut expected.claim);
        let labels = expected.baseline.iter_mut().chain(&mut expected.candidate);
        labels.for_each(|text| visit(place::RUN, None, text));
    }
    for said in stated {
        for text in [&mut said.said, &mut said.said_in, &mut said.found, &mut said.found_in] {
            visit(place::CAMPAIGN, None, text);
        }
    }
    for cell in published {
        visit(place::RUN, None, &mut cell.model);
        visit(place::RUN, None, &mut cell.environment);
        cell.against.iter_mut().for_each(|text| visit(place::RUN, None, text));
        visit(place::CAMPAIGN, None, &mut cell.source);
    }
    provenance.iter_mut().for_each(|line| visit(place::CAMPAIGN, None, line));
    for run in missing_runs {
        for text in [&mut run.id, &mut run.environment, &mut run.model, &mut run.workload] {
            visit(place::RUN, None, text);
        }
        visit(place::INPUT, None, &mut run.why);
    }
    for loss in losses {
        visit(place::INPUT, None, &mut loss.path);
        visit(place::INPUT, None, &mut loss.why);
    }
}

fn of_run(run: &mut Run, visit: &mut Visit<'_>) {
    for text in [&mut run.id, &mut run.campaign, &mut run.environment, &mut run.model, &mut run.workload] {
        visit(place::RUN, None, text);
    }
    run.together.iter_mut().for_each(|text| visit(place::RUN, None, text));
    if let Status::Failed(reason) = &mut run.status {
        visit(place::INPUT, None, reason);
    }
    run.readings.iter_mut().for_each(|reading| of_origin(&mut reading.origin, visit));
    run.series.iter_mut().for_each(|series| of_origin(&mut series.origin, visit));
    let words = run.extras.iter().filter_map(|extra| match &extra.value {
        ExtraValue::Text(text) => Some((extra.name.clone(), text.clone())),
        _ => None,
    });
    let told = told_by_neighbours(&words.collect());
    for extra in &mut run.extras {
        if let ExtraValue::Text(text) = &mut extra.value {
            visit(place::FIGURE, Some(&extra.name), text);
            told.get(&extra.name).into_iter().for_each(|neighbour| visit(place::FIGURE, Some(neighbour), text));
        }
        visit(place::FIGURE, None, &mut extra.name);
        of_origin(&mut extra.origin, visit);
    }
    let nodes = run.course.nodes.iter_mut();
    let there = nodes.flat_map(|node| node.gates.iter_mut().chain(&mut node.watched));
    for finding in run.course.gates.iter_mut().chain(&mut run.course.watched).chain(there) {
        visit(place::GATE, None, &mut finding.reading);
        let words = finding.limit.iter_mut().chain(&mut finding.remedy);
        words.for_each(|text| visit(place::GATE, None, text));
    }
    for node in &mut run.course.nodes {
        node.command.iter_mut().chain(&mut node.failure).for_each(|text| visit(place::GATE, None, text));
    }
    let before = run.setup.more.clone();
    of_setup(&mut run.setup, visit);
    follow(&mut run.settings, &before, &run.setup.more);
    for (name, said) in &mut run.settings {
        visit(place::SETTING, Some(name), &mut said.value);
    }
    visit(place::RUN, None, &mut run.cell);
    visit(place::SETTING, None, &mut run.cell);
    for (mut name, mut setting) in std::mem::take(&mut run.settings) {
        visit(place::SETTING, Some(&name), &mut setting.value);
        visit(place::SETTING, None, &mut name);
        run.settings.insert(name, setting);
    }
    of_source(&mut run.source, visit);
    run.files.iter_mut().for_each(|file| of_source(file, visit));
}

fn of_setup(setup: &mut Setup, visit: &mut Visit<'_>) {
    let Setup {
        model_id,
        model_served,
        machine,
        engine,
        engine_version,
        quantisation,
        tool,
        tool_version,
        kv_dtype,
        speculative,
        parallel,
        more,
        ..
    } = setup;
    let named = [
        ("model_id", model_id),
        ("model_served", model_served),
        ("machine", machine),
        ("engine", engine),
        ("engine_version", engine_version),
        ("quantisation", quantisation),
        ("tool", tool),
        ("tool_version", tool_version),
        ("kv_dtype", kv_dtype),
        ("speculative", speculative),
        ("parallel", parallel),
    ];
    for (name, value) in named {
        value.iter_mut().for_each(|text| visit(place::SETTING, Some(name), text));
    }
    let told = told_by_neighbours(more);
    for (mut name, mut value) in std::mem::take(more) {
        visit(place::SETTING, Some(&name), &mut value);
        told.get(&name).into_iter().for_each(|neighbour| visit(place::SETTING, Some(neighbour), &mut value));
        visit(place::SETTING, None, &mut name);
        more.insert(name, value);
    }
}

fn of_source(source: &mut Source, visit: &mut Visit<'_>) {
    visit(place::PATH, None, &mut source.path);
}

fn of_origin(origin: &mut Origin, visit: &mut Visit<'_>) {
    visit(place::PATH, None, &mut origin.file);
    origin.field.iter_mut().for_each(|field| visit(place::PATH, None, field));
}

/// `data/PRIVACY.md`: how much was replaced and where, never what.
pub(crate) fn report(places: Option<&Places>) -> String {
    let mut out = String::from("# Privacy\n\n");
    let Some(places) = places else {
        out.push_str("This site was made with `--no-scrub`: names, addresses and secrets are published as the archive holds them.\n");
        return out;
    };
    out.push_str(
        "Names and secrets in the texts of the archive were replaced before the analysis. Names of users and hosts, home folders, network and \
         hardware addresses, serial numbers, UUIDs and mail addresses became pseudonyms such as `user-1a2b3c`. The same name has the same \
         pseudonym everywhere on this site. Tokens, keys and passwords became `<masked:kind>`. The hashes are those of the original files: \
         whoever has these files can prove where the numbers come from.\n\n",
    );
    if places.is_empty() {
        out.push_str("Nothing had to be replaced.\n");
    } else {
        out.push_str("| Where | What | Times |\n| --- | --- | ---: |\n");
        for (place, tally) in places {
            for (kind, times) in tally {
                // Writing to a string does not fail.
                let _ = writeln!(out, "| {place} | {} | {times} |", in_words(kind));
            }
        }
    }
    out.push_str(
        "\nThis cannot find everything. It misses a user name that is in no path and in no field for names. It misses secrets of unknown form, \
         secrets inside packed files, and what the authors wrote on purpose in their own words.\n",
    );
    out
}

/// One line for the terminal.
pub(crate) fn summary(places: &Places) -> String {
    let said = counts(places);
    if said.is_empty() {
        return "privacy: nothing had to be replaced".to_owned();
    }
    format!("privacy: replaced {said} (data/PRIVACY.md)")
}

/// How much was replaced, by kind. Empty where nothing was.
pub(crate) fn counts(places: &Places) -> String {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for (kind, times) in places.values().flatten() {
        *kinds.entry(in_words(kind)).or_default() += times;
    }
    kinds.iter().map(|(kind, times)| format!("{kind} {times}")).collect::<Vec<_>>().join(", ")
}

fn in_words(kind: &str) -> &str {
    match kind {
        "user" => "user names",
        "host" => "host names",
        "home" => "home folders",
        "ip" => "network addresses",
        "mac" => "hardware addresses",
        "gpu" => "UUIDs of GPUs",
        "serial" => "serial numbers",
        "id" => "ids of machines",
        "email" => "mail addresses",
        "token" => "tokens",
        "key" => "keys",
        "password" => "passwords",
        "credential" => "credentials",
        "cookie" => "cookies",
        "url" => "credentials in addresses",
        "secret" => "secrets",
        other => other,
    }
}
