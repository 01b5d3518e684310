//! Applies user-written labels to runs that lack them, and titles and promises to campaigns.
//!
//! In:  homes with labels, drafts.  Out: drafts with every label that is known, [`Campaigns`].
//! Not here: reading the labels.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::io::Read as _;

use super::assemble::{Draft, Home};
use super::file_report::FileReport;
use super::labels::{FileLabels, glob};
use super::{PartialRun, custom, name, nameless, study};
use sparkbench_archive::manifest::RUN_FILE;
use sparkbench_archive::{Discovery, Found};
use sparkbench_design::path_labels;
use sparkbench_model::setting::SETTINGS;
use sparkbench_model::{Campaign, Instant, Setting, SettingOrigin};
use sparkbench_text::error::{Error, Place};
use sparkbench_text::slug::slug;

/// Longest prose that is read: a book.
const PROSE_LIMIT: u64 = 1 << 20;

/// Fills what runs lack: rules for files in their order, then the defaults, then what is known of the model.
pub(super) fn apply(found: &Discovery, homes: &BTreeMap<String, Home>, drafts: &mut [Draft], report: &mut FileReport) {
    // Patterns of the command line hold for several folders. One that fits in any of them is used.
    let mut unused: BTreeMap<(Option<usize>, &str), bool> = BTreeMap::new();
    // A number in the name of a file with several runs counts the file and not its runs.
    let mut several: BTreeMap<usize, usize> = BTreeMap::new();
    drafts.iter().for_each(|draft| *several.entry(draft.main).or_default() += 1);
    for (folder, home) in homes {
        let Some((number, labels)) = &home.labels else { continue };
        // Patterns were checked when the labels were read.
        let rules: Vec<_> = labels.files.iter().filter_map(|rule| Some((glob(&rule.glob).ok()?, rule))).collect();
        let mut used = BTreeSet::new();
        for draft in drafts.iter_mut().filter(|draft| draft.home == *folder) {
            let alone = several.get(&draft.main).is_none_or(|runs| *runs == 1);
            let paths = std::iter::once(&draft.main)
                .chain(draft.others.iter().map(|(number, _)| number))
                .filter_map(|number| found.files.get(*number));
            let below: Vec<&str> = paths.map(|file| below(&file.path, folder)).collect();
            for (place, (pattern, rule)) in rules.iter().enumerate() {
                if below.iter().any(|path| pattern.is_match(path)) {
                    used.insert(place);
                    if let Some(set) = &rule.set {
                        over(draft, set, report);
                    }
                    fill(&mut draft.partial, rule);
                }
            }
            from_path(found, draft, alone, report);
            fill(&mut draft.partial, &labels.defaults);
            if labels.block_from_repeat {
                draft.partial.block = draft.partial.block.or(draft.partial.repeat);
            }
        }
        for (place, (_, rule)) in rules.iter().enumerate() {
            *unused.entry((*number, &rule.glob)).or_insert(true) &= !used.contains(&place);
        }
    }
    for ((number, glob), _) in unused.into_iter().filter(|(_, unused)| *unused) {
        let what = format!("the pattern '{glob}' fits no file with a run");
        let file = number.and_then(|number| found.files.get(number));
        report.warn(format!("{}: {what}", file.map_or("--labels", |file| file.path.as_str())));
        if let Some(number) = number {
            report.note(number, what);
        }
    }
    for draft in drafts {
        let alone = several.get(&draft.main).is_none_or(|runs| *runs == 1);
        from_path(found, draft, alone, report);
        models(homes.get(&draft.home), &mut draft.partial);
        let partial = &draft.partial;
        let lacking: Vec<&str> = [("environment", &partial.environment), ("model", &partial.model)]
            .into_iter()
            .filter_map(|(name, value)| value.is_none().then_some(name))
            .collect();
        if !lacking.is_empty() {
            let label = name::UNLABELLED;
            report.note(
                draft.main,
                format!(
                    "no {} is known, so it stands as '{label}'. A labels.toml beside it can name it",
                    lacking.join(" and no ")
                ),
            );
        }
    }
}

/// Takes from the path what neither the file nor a rule for it says, and says so. A rule that a person wrote for this very file is no guess
/// and comes before the path. Labels for all files come after it. Our own archives carry their own labels.
fn from_path(found: &Discovery, draft: &mut Draft, alone: bool, report: &mut FileReport) {
    let Some(file) = found.files.get(draft.main).filter(|file| !file.path.ends_with(RUN_FILE)) else { return };
    let said = path_labels::of_path(&file.path);
    let partial = &mut draft.partial;
    let mut taken = Vec::new();
    let id = partial.setup.model_id.as_ref().or(partial.setup.model_served.as_ref()).or(partial.model.as_ref());
    let of_model = id.and_then(|id| path_labels::of_model(id));
    let model = said.model.clone().filter(|_| id.is_none());
    take("environment", &mut partial.environment, said.environment.clone(), &mut taken);
    take("model", &mut partial.model, model, &mut taken);
    take("workload", &mut partial.workload, said.workload(), &mut taken);
    take("engine", &mut partial.setup.engine, said.engine, &mut taken);
    take("parallel", &mut partial.setup.parallel, said.parallel, &mut taken);
    take("concurrency", &mut partial.setup.batch, said.batch, &mut taken);
    take("request_rate", &mut partial.setup.request_rate, said.request_rate, &mut taken);
    take("isl", &mut partial.setup.isl, said.isl, &mut taken);
    take("osl", &mut partial.setup.osl, said.osl, &mut taken);
    take("repeat", &mut partial.repeat, said.repeat.filter(|_| alone), &mut taken);
    if partial.setup.quantisation.is_none()
        && let Some(quantisation) = of_model
    {
        report.note(draft.main, format!("quantisation '{quantisation}' is taken from the model's name"));
        partial.setup.quantisation = Some(quantisation);
        partial.named.insert("quantisation", SettingOrigin::Path);
    }
    take("quantisation", &mut partial.setup.quantisation, said.quantisation, &mut taken);
    if !taken.is_empty() {
        let said: Vec<String> =
            taken.iter().map(|(name, value)| format!("{} '{value}'", Setting::label_of(name))).collect();
        report.note(draft.main, format!("taken from the path: {}", said.join(", ")));
        partial.named.extend(taken.into_iter().map(|(name, _)| (name, SettingOrigin::Path)));
    }
}

/// Fills one label that is not known yet.
fn take<T: Display>(
    name: &'static str,
    ours: &mut Option<T>,
    found: Option<T>,
    taken: &mut Vec<(&'static str, String)>,
) {
    if ours.is_none()
        && let Some(found) = found
    {
        taken.push((name, found.to_string()));
        *ours = Some(found);
    }
}

fn below<'a>(path: &'a str, folder: &str) -> &'a str {
    path.strip_prefix(folder).map_or(path, |rest| rest.trim_start_matches('/'))
}

/// Takes from a rule what the run lacks.
fn fill(partial: &mut PartialRun, rule: &FileLabels) {
    macro_rules! fill {
        ($($field:ident),*; $($set:ident),*) => {
            $(if partial.$field.is_none() && rule.$field.is_some() {
                partial.$field.clone_from(&rule.$field);
                partial.named.insert(stringify!($field), SettingOrigin::Label);
            })*
            $(if partial.setup.$set.is_none() && rule.$set.is_some() {
                partial.setup.$set.clone_from(&rule.$set);
                let name = Setting::find(stringify!($set)).map_or(stringify!($set), |setting| setting.name);
                partial.named.insert(name, SettingOrigin::Label);
            })*
        };
    }
    fill!(environment, model, workload, repeat, block, position;
          machine, engine, engine_version, model_id, quantisation, batch, isl, osl, requests);
    partial.started = partial.started.or_else(|| Instant::parse(rule.started_utc.as_deref()?));
    partial.ended = partial.ended.or_else(|| Instant::parse(rule.ended_utc.as_deref()?));
}

/// Puts what a person set in place of what the file says, and notes what stood there.
fn over(draft: &mut Draft, set: &FileLabels, report: &mut FileReport) {
    let partial = &mut draft.partial;
    let mut changed = Vec::new();
    macro_rules! over {
        ($($name:literal $value:expr, $field:expr);* $(;)?) => {
            $(if let Some(value) = $value {
                if let Some(was) = $field.take().filter(|was| *was != value) {
                    changed.push(format!("{} '{value}' in place of '{was}'", $name));
                }
                $field = Some(value);
                let name = $name.replace(' ', "_");
                let setting = SETTINGS.iter().find(|setting| setting.name == name || setting.label == $name);
                partial.named.extend(setting.map(|setting| (setting.name, SettingOrigin::Label)));
            })*
        };
    }
    // Who says which model it is says it of its id too, and of the quantisation that the name holds.
    let model_id = set.model_id.clone().or_else(|| partial.setup.model_id.as_ref().and(set.model.clone()));
    let quantisation = set.quantisation.clone().or_else(|| path_labels::of_model(set.model.as_deref()?));
    if set.model_id.is_some() || set.model.is_some() {
        partial.setup.model_served = None;
    }
    over!(
        "environment" set.environment.clone(), partial.environment;
        "model" set.model.clone(), partial.model;
        "workload" set.workload.clone(), partial.workload;
        "repeat" set.repeat, partial.repeat;
        "block" set.block, partial.block;
        "position" set.position, partial.position;
        "machine" set.machine.clone(), partial.setup.machine;
        "engine" set.engine.clone(), partial.setup.engine;
        "engine version" set.engine_version.clone(), partial.setup.engine_version;
        "model id" model_id, partial.setup.model_id;
        "quantisation" quantisation, partial.setup.quantisation;
        "concurrency" set.batch, partial.setup.batch;
        "input length" set.isl, partial.setup.isl;
        "output length" set.osl, partial.setup.osl;
        "number of requests" set.requests, partial.setup.requests;
    );
    partial.started = set.started_utc.as_deref().and_then(Instant::parse).or(partial.started);
    partial.ended = set.ended_utc.as_deref().and_then(Instant::parse).or(partial.ended);
    if !changed.is_empty() {
        report.note(draft.main, format!("set by a label: {}", changed.join(", ")));
    }
}

/// Label from the id, or id and the rest from the label.
fn models(home: Option<&Home>, partial: &mut PartialRun) {
    let mut known = BTreeMap::new();
    if let Some(home) = home {
        known.extend(home.campaign.iter().flat_map(|campaign| &campaign.models));
        known.extend(home.labels.iter().flat_map(|(_, labels)| &labels.models));
    }
    let id = partial.setup.model_id.as_deref().or(partial.setup.model_served.as_deref());
    if partial.model.is_none()
        && let Some(id) = id
    {
        let mut labels = known.iter().filter(|(_, model)| model.id.as_deref() == Some(id)).map(|(label, _)| *label);
        partial.model = match (labels.next(), labels.next()) {
            (Some(label), None) => Some(label.clone()),
            _ => nameless::short(id),
        };
    }
    if let Some(model) = partial.model.as_ref().and_then(|label| known.get(label)) {
        let setup = &mut partial.setup;
        setup.model_id = setup.model_id.take().or_else(|| model.id.clone());
        setup.quantisation = setup.quantisation.take().or_else(|| model.quantisation.clone());
        setup.batch = setup.batch.or(model.batch);
    }
}

/// The campaigns that have runs, and which run is of which.
pub(super) struct Campaigns {
    slugs: BTreeMap<(String, Option<String>), String>,
    list: Vec<Campaign>,
}

impl Campaigns {
    /// Slug of the campaign of a run, by its folder and the campaign that its row names.
    pub(super) fn slug_of(&self, home: &str, row: Option<&str>) -> &str {
        self.slugs.get(&(home.to_owned(), row.map(str::to_owned))).map_or("", String::as_str)
    }

    /// All, by name.
    pub(super) fn into_list(mut self) -> Vec<Campaign> {
        self.list.sort_by(|a, b| a.name.cmp(&b.name));
        self.list
    }
}

/// Makes one campaign for each folder, or for each name that the rows of a folder give.
pub(super) fn campaigns(
    found: &Discovery,
    homes: &BTreeMap<String, Home>,
    metrics: &custom::DefinitionsByFolder,
    drafts: &[Draft],
    report: &mut FileReport,
) -> Result<Campaigns, Error> {
    let mut all = Campaigns { slugs: BTreeMap::new(), list: Vec::new() };
    let mut taken = BTreeSet::new();
    let mut by_name: BTreeMap<(&str, String, String), String> = BTreeMap::new();
    let mut studies: BTreeMap<&str, Option<study::Study>> = BTreeMap::new();
    for draft in drafts {
        let key = (draft.home.clone(), draft.partial.campaign.clone());
        if all.slugs.contains_key(&key) {
            continue;
        }
        let home = homes.get(&draft.home);
        let said = draft.partial.campaign.clone().unwrap_or_else(|| folder_name(found, draft, home));
        let wanted = slug(&said);
        // A row that names the campaign as its folder is named means the same one. Names that only look alike as slugs do not.
        if !studies.contains_key(draft.home.as_str()) {
            studies.insert(&draft.home, study_of(found, &draft.home, report)?);
        }
        let study = studies.get(draft.home.as_str()).and_then(Option::as_ref);
        let slug = by_name.entry((draft.home.as_str(), wanted.clone(), said.trim().to_owned())).or_insert_with(|| {
            let name = unique(&wanted, &mut taken);
            if name != wanted {
                report.note(draft.main, format!("two campaigns are called '{wanted}'. This one stands as '{name}'"));
            }
            let mut made = campaign(found, &draft.home, home, name.clone(), report);
            for (name, custom) in metrics.of(&draft.home) {
                made.metrics.entry(name).or_insert(custom);
            }
            if let Some(study) = study.filter(|s| s.campaign.as_ref().is_none_or(|own| slug(own) == name)) {
                take_study(&mut made, study);
            }
            all.list.push(made);
            name
        });
        all.slugs.insert(key, slug.clone());
    }
    Ok(all)
}

/// The words of the authors in place of those of a label.
fn take_study(campaign: &mut Campaign, study: &study::Study) {
    campaign.title = study.title.clone().or(campaign.title.take());
    campaign.question = study.question.clone().or(campaign.question.take());
    campaign.prose = Some(study.paper.text.clone());
    campaign.study = Some(study.paper.clone());
}

/// Whether a file holds the words of authors about the results beside it.
pub(super) fn is_study(file: &Found) -> bool {
    let mut head = Vec::new();
    let named = file.path.rsplit('/').next() == Some(study::FILE);
    named
        && file.open().is_ok_and(|opened| opened.take(study::HEAD).read_to_end(&mut head).is_ok())
        && study::begins(&String::from_utf8_lossy(&head))
}

/// The `study.md` of a folder. One that cannot be used ends the analysis: pages without their authors and licence would say
/// something else than was meant.
fn study_of(found: &Discovery, folder: &str, report: &mut FileReport) -> Result<Option<study::Study>, Error> {
    let path = if folder.is_empty() { study::FILE.to_owned() } else { format!("{folder}/{}", study::FILE) };
    let Some(number) = found.files.iter().position(|file| file.path == path) else { return Ok(None) };
    let Some(file) = found.files.get(number) else { return Ok(None) };
    let mut bytes = Vec::new();
    let read = file.open().and_then(|opened| opened.take(PROSE_LIMIT).read_to_end(&mut bytes));
    read.map_err(|cause| Error::archive(format!("cannot read '{path}'")).because(cause))?;
    let study = study::parse(&String::from_utf8_lossy(&bytes), &path)?;
    report.note(
        number,
        match study {
            Some(_) => "the words of the authors".to_owned(),
            None => {
                "no '+++' on its first line and no reference in it, so it is nobody's study and is not shown".to_owned()
            }
        },
    );
    Ok(study)
}

fn folder_name(found: &Discovery, draft: &Draft, home: Option<&Home>) -> String {
    let labelled = home.and_then(|home| home.labels.as_ref()).and_then(|(_, labels)| labels.name.clone());
    labelled.or_else(|| home?.campaign.as_ref().map(|campaign| campaign.name.clone())).unwrap_or_else(|| {
        let root = found.files.get(draft.main).map_or("input", |file| file.root.as_str());
        let base = found.files.get(draft.main).map_or("", |file| file.base.as_str());
        if draft.home == base {
            root.to_owned()
        } else if draft.home.is_empty() {
            // Several folders were given, and they are the arms: no name is theirs alone.
            "comparison".to_owned()
        } else {
            draft.home.rsplit('/').next().unwrap_or(root).to_owned()
        }
    })
}

fn unique(wanted: &str, taken: &mut BTreeSet<String>) -> String {
    let mut name = wanted.to_owned();
    let mut count = 2u32;
    while !taken.insert(name.clone()) {
        name = format!("{wanted}-{count}");
        count += 1;
    }
    name
}

/// The archive's own words, with those of the labels on top.
fn campaign(found: &Discovery, folder: &str, home: Option<&Home>, name: String, report: &mut FileReport) -> Campaign {
    let mut campaign = home.and_then(|home| home.campaign.clone()).unwrap_or_default();
    campaign.name = name;
    let Some(home) = home else { return campaign };
    campaign.published.extend(home.published.iter().cloned());
    super::missing_runs::told(&mut campaign, &home.outcomes);
    campaign.losses.clone_from(&home.losses);
    let Some((number, labels)) = &home.labels else { return campaign };
    let labels = labels.clone();
    macro_rules! over {
        ($($field:ident),*) => { $(campaign.$field = labels.$field.or(campaign.$field);)* };
    }
    over!(title, question, machine, compare_by, baseline, planned_repeats, cooldown_s, start_temp_limit_c);
    for (ours, theirs) in
        [(&mut campaign.primary, labels.primary), (&mut campaign.planned_metrics, labels.planned_metrics)]
    {
        if !theirs.is_empty() {
            *ours = theirs;
        }
    }
    campaign.margins_pct.extend(labels.margins_pct);
    campaign.truth.extend(labels.truth);
    for (name, custom) in labels.metrics {
        campaign.metrics.entry(name).or_insert(custom);
    }
    campaign.models.extend(labels.models);
    campaign.stated.extend(labels.stated);
    campaign.provenance.extend(labels.provenance);
    if let Some(prose) = labels.prose {
        match prose_of(found, folder, &prose) {
            Ok(text) => campaign.prose = Some(text),
            Err(error) => {
                if let Some(number) = number {
                    report.leave_out(*number, &error);
                }
            }
        }
    }
    campaign
}

/// The text itself, or that of the Markdown file it names. Only a file that was discovered can be named, so nothing outside is read.
fn prose_of(found: &Discovery, folder: &str, prose: &str) -> Result<String, Error> {
    if !prose.ends_with(".md") || prose.contains('\n') {
        return Ok(prose.to_owned());
    }
    let path = if folder.is_empty() { prose.to_owned() } else { format!("{folder}/{prose}") };
    let absent = || {
        Error::archive("the prose is left out")
            .at(Place::Field("prose".into()))
            .detail(format!("'{prose}' is not beside it"))
    };
    let file = found.get(&path).ok_or_else(absent)?;
    let mut bytes = Vec::new();
    let read = file.open().and_then(|opened| opened.take(PROSE_LIMIT).read_to_end(&mut bytes));
    read.map_err(|cause| absent().because(cause))?;
    Ok(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned())
}
