//! The answer of a campaign: which models can be judged at all, and one sentence a kind of verdict for each primary metric.
//!
//! In:  finished comparisons.  Out: sentences, with their caveats beside them.
//! Not here: one comparison (see `grammar::said`), conclusions from rows with doubtful labels (see `seen`).

use crate::distinct::distinct;
use crate::grammar::said;
use crate::number::{capital, count, list, range, signed_range, significant};
use crate::report::{Comparison, Sentence, VerdictKind};
use crate::trap::{self, model_mismatch};
use sparkbench_model::within;

/// "Only 1 of 3 models can be judged": said first, since everything else depends on it. Each model has its own reasons.
pub(super) fn comparable(comparisons: &[&Comparison]) -> Option<Sentence> {
    let primary: Vec<&Comparison> = comparisons.iter().filter(|c| c.primary).copied().collect();
    let models: Vec<&str> = distinct(primary.iter().map(|c| c.model.as_str()));
    let mut lost: Vec<&str> = Vec::new();
    let mut caveats = Vec::new();
    let mut codes: Vec<Vec<String>> = Vec::new();
    let mut first = None;
    for model in &models {
        let own: Vec<&Comparison> = primary.iter().filter(|c| c.model == *model).copied().collect();
        if own.iter().any(|c| tells(c)) {
            continue;
        }
        let mut reasons: Vec<&str> = Vec::new();
        for because in own.iter().flat_map(|c| &c.verdict.because) {
            if !reasons.contains(&because.as_str()) {
                reasons.push(because);
            }
        }
        codes.push(own.iter().flat_map(|c| c.verdict.reasons.iter().cloned()).collect());
        caveats.push(format!("{model}: {}", list(&reasons)));
        lost.push(model);
        first = first.or_else(|| own.first().copied());
    }
    let first = first?;
    let ids = trap::TRAPS
        .iter()
        .filter(|t| t.code().is_some_and(|code| codes.iter().flatten().any(|c| c == code)))
        .map(|t| t.id().to_owned())
        .collect();
    let judged = models.len() - lost.len();
    let mislabelled = codes.iter().all(|own| own.iter().any(|code| code == model_mismatch::CODE));
    let only = if judged == 1 { "Only one".to_owned() } else { format!("Only {}", in_words(judged)) };
    let all = in_words(models.len());
    let text = match (models.len(), judged) {
        (1, _) => format!("{}.", capital_unless_name(&first.verdict.said, first)),
        (_, 0) if mislabelled => {
            format!("None of the {all} models was really measured: another model ran under each name.")
        }
        (_, 0) => format!("None of the {all} models can be judged."),
        _ if mislabelled => {
            let names = if lost.len() == 1 { "the name" } else { "the names" };
            let verb = if judged == 1 { "was" } else { "were" };
            let which = if judged == 1 {
                format!(", {},", models.iter().find(|m| !lost.contains(m)).copied().unwrap_or_default())
            } else {
                String::new()
            };
            format!(
                "{only} of the {all} models{which} {verb} really measured: another model ran under {names} {}.",
                some(&lost, "model")
            )
        }
        _ => format!("{only} of the {all} models can be judged, and not {}.", some(&lost, "model")),
    };
    Some(Sentence { text, caveats, because: ids })
}

/// A small number as people write it in a sentence.
fn in_words(n: usize) -> String {
    const WORDS: [&str; 10] = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    WORDS.get(n).map_or_else(|| n.to_string(), |word| (*word).to_owned())
}

/// Models whose comparisons all say nothing because another model ran than the label says.
pub(super) fn mislabelled<'c>(comparisons: &[&'c Comparison]) -> Vec<&'c str> {
    let mut models: Vec<&str> = distinct(comparisons.iter().filter(|c| c.primary).map(|c| c.model.as_str()));
    models.retain(|model| {
        let mut own = comparisons.iter().filter(|c| c.primary && c.model == *model);
        own.clone().all(|c| !tells(c)) && own.any(|c| c.verdict.reasons.iter().any(|code| code == model_mismatch::CODE))
    });
    models
}

/// Names that one sentence holds. More are counted.
const MOST_NAMED: usize = 3;

/// The names, or how many there are.
fn some<S: AsRef<str>>(names: &[S], noun: &str) -> String {
    if names.len() > MOST_NAMED { count(names.len(), noun) } else { list(names) }
}

/// Whether a comparison says anything about its arms: a verdict, or the ratio of single runs.
pub(super) fn tells(c: &Comparison) -> bool {
    c.verdict.kind != VerdictKind::NotComparable || c.verdict.is_once()
}

/// A line of the grammar as the beginning of a sentence: its own words take a capital, names stay as they are.
pub(super) fn capital_unless_name(line: &str, c: &Comparison) -> String {
    let named = [&c.baseline, &c.candidate].into_iter().any(|name| line.starts_with(name.as_str()));
    if named { line.to_owned() } else { capital(line) }
}

/// Position of a cell in words: only the parts that differ from the others.
fn place(c: &Comparison, cells: &[&Comparison]) -> String {
    let several = |of: fn(&Comparison) -> &str| cells.iter().any(|other| of(other) != of(c));
    match (several(|c| &c.model), several(|c| &c.workload)) {
        (true, true) => format!("{} {}", c.model, c.workload),
        (true, false) => c.model.clone(),
        (false, _) => c.workload.clone(),
    }
}

/// "7 + 7 interleaved runs": what the cells of a sentence rest on. Absent where they differ.
fn design(cells: &[&Comparison]) -> Option<String> {
    let first = cells.first()?;
    let same = |c: &&&Comparison| {
        (c.n_baseline, c.n_candidate, &c.order) == (first.n_baseline, first.n_candidate, &first.order)
    };
    if !cells.iter().all(|c| same(&c)) {
        return None;
    }
    let how = match first.order.as_str() {
        "interleaved" => "interleaved runs",
        // The caveats say what is wrong with any other order.
        _ => "runs",
    };
    let each = if cells.len() > 1 { " each" } else { "" };
    Some(format!("{} + {} {how}{each}", first.n_baseline, first.n_candidate))
}

/// The answer for one primary metric over all cells that say anything: one sentence a kind of verdict.
pub(super) fn headline_of(cells: &[&Comparison]) -> Option<Sentence> {
    let telling: Vec<&Comparison> = cells.iter().filter(|c| tells(c)).copied().collect();
    let first = *telling.first()?;
    let because = telling.iter().map(|c| c.ident()).collect();
    let caveats = caveats(&telling, cells);
    if let [only] = telling.as_slice() {
        let at = if cells.len() > 1 { format!(", {}", place(only, cells)) } else { String::new() };
        let text = format!("{}{at}: {}.", only.label, only.verdict.said);
        return Some(Sentence { text, caveats, because });
    }
    let kinds: Vec<VerdictKind> = distinct(telling.iter().map(|c| c.verdict.kind));
    let mut parts = kinds.into_iter().map(|kind| {
        let own: Vec<&Comparison> = telling.iter().filter(|c| c.verdict.kind == kind).copied().collect();
        (part(kind, &own, cells, telling.len()), own)
    });
    let mut text = parts.next().map_or_else(String::new, |(part, _)| format!("{}: {part}.", first.label));
    for (part, own) in parts {
        let named = own.first().is_some_and(|c| part.starts_with(&c.candidate) || part.starts_with(&place(c, cells)));
        text.push_str(&format!(" {}.", if named { part } else { capital(&part) }));
    }
    Some(Sentence { text, caveats, because })
}

/// Cells without any result: the reason that forbids a verdict on the first of them, and the number of others.
pub(super) fn unjudged(cells: &[&Comparison]) -> Option<Sentence> {
    let (first, rest) = cells.split_first()?;
    let more = if rest.is_empty() {
        String::new()
    } else {
        format!(" Nor can {} be judged.", count(rest.len(), "other comparison"))
    };
    let text = format!("{}: {}.{more}", first.label, first.verdict.said);
    let because = cells.iter().map(|c| c.ident()).collect();
    Some(Sentence { text, caveats: first.verdict.because.clone(), because })
}

/// Sentence on the cells of one kind of verdict, without a full stop.
fn part(kind: VerdictKind, own: &[&Comparison], cells: &[&Comparison], all: usize) -> String {
    let Some(first) = own.first() else { return String::new() };
    let (a, b) = (&first.baseline, &first.candidate);
    let places: Vec<String> = own.iter().map(|c| place(c, cells)).collect();
    let several = own.len() > MOST_NAMED;
    let for_these = match (own.len() == all, several) {
        (true, true) => format!(" in all {}", count(all, "comparison")),
        (false, true) => format!(" in {} of {}", own.len(), count(all, "comparison")),
        _ => format!(" for {}", list(&places)),
    };
    match kind {
        VerdictKind::Equivalent => {
            let margin = own.iter().filter_map(|c| Some(c.tost.as_ref()?.margin_pct)).fold(0.0, f64::max);
            format!("no difference larger than {} % between {a} and {b}{for_these}", significant(margin, 3))
        }
        VerdictKind::Inconclusive => undecided(own, &places, all),
        _ => {
            let once = if kind == VerdictKind::NotComparable { ", in one run each" } else { "" };
            format!("{}{for_these}{once}", change(own))
        }
    }
}

/// "T1 is undecided: the difference could be up to 5.6 % shorter or 3.5 % longer".
fn undecided(own: &[&Comparison], places: &[String], all: usize) -> String {
    let who = match places {
        [one] => format!("{one} is"),
        some if some.len() > MOST_NAMED && some.len() == all => format!("all {} are", count(all, "comparison")),
        some if some.len() > MOST_NAMED => format!("{} of {} are", some.len(), count(all, "comparison")),
        some => format!("{} are", list(some)),
    };
    // Where other cells are decided, their sentence comes before this one and names the arms.
    let between = match own {
        [first, ..] if own.len() == all => format!(" between {} and {}", first.baseline, first.candidate),
        _ => String::new(),
    };
    format!("{who} undecided{between}: {}", open_to(own))
}

/// "the difference could be up to 5.6 % shorter or 3.5 % longer": the widest of these. How many runs are missing is said of the answer alone.
fn open_to(own: &[&Comparison]) -> String {
    let most = said::sides(own).map_or_else(
        || "the runs set no bound on the difference".to_owned(),
        |sides| format!("the difference could be up to {sides}"),
    );
    let promise = if let [one] = own { said::more(one) } else { None };
    promise.map_or(most.clone(), |more| format!("{most}. {}", capital(&more)))
}

/// Whether no cell of a pair with a result is decided.
pub(super) fn is_open(cells: &[&Comparison]) -> bool {
    let mut telling = cells.iter().filter(|c| tells(c)).peekable();
    telling.peek().is_some() && telling.all(|c| c.verdict.kind == VerdictKind::Inconclusive)
}

/// One sentence for several pairs of arms of which nothing is decided: one each would say the same again.
pub(super) fn open_for_all(pairs: &[(&[&Comparison], &Sentence)]) -> Option<Sentence> {
    let telling: Vec<&Comparison> = pairs.iter().flat_map(|(cells, _)| *cells).filter(|c| tells(c)).copied().collect();
    let first = *telling.first()?;
    let candidates: Vec<&str> =
        pairs.iter().filter_map(|(cells, _)| cells.first()).map(|c| c.candidate.as_str()).collect();
    let text = format!(
        "{}: {} undecided between {} and each of {}: {}.",
        first.label,
        if telling.len() == pairs.len() {
            "all is".to_owned()
        } else {
            format!("all {} are", count(telling.len(), "comparison"))
        },
        first.baseline,
        list(&candidates),
        open_to(&telling)
    );
    let mut caveats: Vec<String> = Vec::new();
    for ((_, sentence), candidate) in pairs.iter().zip(&candidates) {
        for caveat in &sentence.caveats {
            let shared = pairs.iter().all(|(_, other)| other.caveats.contains(caveat));
            let caveat = if shared { caveat.clone() } else { format!("{candidate}, {caveat}") };
            if !caveats.contains(&caveat) {
                caveats.push(caveat);
            }
        }
    }
    let mut because: Vec<String> = Vec::new();
    for id in telling.iter().map(|c| c.ident()) {
        if !because.contains(&id) {
            because.push(id);
        }
    }
    Some(Sentence { text, caveats, because })
}

/// "container has 28.5 to 43.7 % more peak memory than native": the changes of several cells of one metric.
pub(super) fn change(own: &[&Comparison]) -> String {
    let Some(first) = own.first() else { return String::new() };
    let label = within(&first.label);
    let changes: Vec<f64> = own.iter().filter_map(|c| c.change_pct).collect();
    let (a, b) = (&first.baseline, &first.candidate);
    let more = if changes.iter().all(|x| *x > 0.0) {
        "more"
    } else if changes.iter().all(|x| *x < 0.0) {
        "less"
    } else {
        return format!("{b} has {} % of {label} against {a}", signed_range(&changes, 1));
    };
    match (said::is_time(first), more) {
        (true, "more") => format!("{label} is {} % longer in {b} than in {a}", range(&changes, 1)),
        (true, _) => format!("{label} is {} % shorter in {b} than in {a}", range(&changes, 1)),
        (false, more) => format!("{b} has {} % {more} {label} than {a}", range(&changes, 1)),
    }
}

/// Basis of the figures first. Then caveats of every cell. Then those of single cells.
fn caveats(telling: &[&Comparison], cells: &[&Comparison]) -> Vec<String> {
    let Some(first) = telling.first() else { return Vec::new() };
    let mut said: Vec<String> = design(telling).into_iter().collect();
    let shared: Vec<&String> = first
        .verdict
        .caveats
        .iter()
        .filter(|caveat| telling.iter().all(|c| c.verdict.caveats.contains(caveat)))
        .collect();
    said.extend(shared.iter().map(|caveat| (*caveat).clone()));
    for c in telling {
        let at = if cells.len() > 1 { format!("{}: ", place(c, cells)) } else { String::new() };
        let own = c.verdict.caveats.iter().filter(|caveat| !shared.contains(caveat));
        said.extend(own.map(|caveat| format!("{at}{caveat}")));
    }
    said
}

/// The largest difference that an interval allows, and the places to print it with: those of the verdict's own sentence.
pub(super) fn bound(c: &Comparison) -> Option<(f64, usize)> {
    let interval = c.change_ci?;
    let most = interval.low.abs().max(interval.high.abs());
    Some((most, crate::number::decimals(interval.low, interval.high)))
}
