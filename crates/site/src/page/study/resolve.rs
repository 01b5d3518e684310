//! Replacement of a reference: words and numbers of the analysis, with a link to their place.
//!
//! In:  one reference, the campaign it is about.  Out: [`Resolved`], text with an address or a figure.
//! Not here: the Markdown around it, numbers that the analysis does not hold.

use askama::Template;

use super::pick::{self, Fault, NamedRow};
use crate::page::campaign::arms;
use crate::page::comparison::percent_decimals;
use crate::page::figure::{self, FigureView};
use crate::page::front;
use crate::page::index::Site;
use crate::page::labels;
use crate::page::link::{run_href, trap_href};
use crate::page::number::{self, decimals, ends, fixed, plain, signed};
use sparkbench_model::within;
use sparkbench_text::slug::anchor_of;
use sparkbench_verdict::report::{CampaignReport, Comparison, Group, Interval, TrapStatus};

/// From the page of a campaign to the site.
const ROOT: &str = "../../";

/// Between a number and its unit: no place to break a line.
const JOIN: char = '\u{a0}';

/// What a reference becomes.
pub(crate) enum Resolved {
    /// A word or a number.
    Words {
        /// As shown.
        text: String,
        /// Where it is.
        href: Option<String>,
        /// Its description, for links to it.
        title: String,
    },
    /// Markup of a figure, of our own making.
    Figure(String),
}

/// Kinds of references: name, what follows it, what it becomes. The manual is compared with this list.
pub const KINDS: &[(&str, &str, &str)] = &[
    ("verdict", "a comparison", "the word of the verdict"),
    ("sentence", "a comparison", "the whole sentence of the verdict"),
    ("said", "a comparison", "the verdict in one line, as people say it"),
    ("change", "a comparison", "how much more or less of the metric there is, in per cent with its interval"),
    ("overhead", "a comparison", "the overhead in per cent with its interval; of a rate that rises it is negative"),
    ("difference", "a comparison", "candidate less baseline in the metric's unit with its interval"),
    ("margin", "a comparison", "the margin within which it counts as the same"),
    ("same", "a comparison", "the smallest margin within which the data support sameness"),
    ("detectable", "a comparison", "the smallest effect that such runs would find"),
    ("value", "a group, a statistic", "a statistic of the runs, the mean unless another is named, with its interval"),
    ("run", "a run, a metric", "the figure of one run"),
    ("count", "runs, failed, models, environments or workloads", "how many the campaign has"),
    ("trap", "a trap", "its title and what came of it"),
    ("headline", "1, 2 ...", "a sentence of the answer, the first unless a number is given"),
    ("published", "", "how many published figures reproduce"),
    ("chart", "forest, or spread with a metric, or order with a model, a workload and a metric", "a figure"),
];

/// Statistics of a group, by the names that `analysis.json` has for them.
const STATISTICS: &[&str] =
    &["mean", "median", "sd", "cv_pct", "min", "max", "n", "p5", "p25", "p75", "p90", "p95", "p99"];

/// Drops the interval.
const BARE: &str = "bare";

/// Resolves one reference: the text between the braces.
pub(crate) fn resolve(site: &Site<'_>, campaign: &CampaignReport, inside: &str, id: &str) -> Result<Resolved, Fault> {
    let (kind, rest) = inside.split_once(':').unwrap_or((inside, ""));
    let kind = kind.trim();
    let words: Vec<&str> = rest.split('|').map(str::trim).filter(|word| !word.is_empty()).collect();
    match kind {
        "verdict" | "sentence" | "said" | "change" | "overhead" | "difference" | "margin" | "same" | "detectable" => {
            comparison(site, campaign, kind, &words)
        }
        "value" => value(site, campaign, words),
        "run" => run(site, campaign, &words),
        "count" => count(campaign, &words),
        "trap" => trap(site, campaign, &words),
        "headline" => headline(campaign, &words),
        "published" => {
            let text = campaign.published_summary.clone();
            let text = text.ok_or_else(|| Fault::new("no published figures are tabulated here", "leave it out"))?;
            Ok(Resolved::Words { text, href: Some("#published".into()), title: "published figures, recomputed".into() })
        }
        "chart" => chart(site, campaign, &words, id).map(Resolved::Figure),
        _ => {
            let known: Vec<&str> = KINDS.iter().map(|(name, ..)| *name).collect();
            Err(pick::unknown(kind, &known, &["kind of reference"]))
        }
    }
}

/// Takes a word out of the list.
fn taken(words: &mut Vec<&str>, word: &str) -> bool {
    let before = words.len();
    words.retain(|w| *w != word);
    words.len() < before
}

fn comparison(site: &Site<'_>, campaign: &CampaignReport, kind: &str, words: &[&str]) -> Result<Resolved, Fault> {
    let mut words = words.to_vec();
    let bare = taken(&mut words, BARE);
    let rows: Vec<NamedRow<'_, (&str, &Comparison)>> = site
        .comparisons(&campaign.name)
        .into_iter()
        .map(|(anchor, c)| NamedRow {
            fields: vec![
                ("model", c.model.as_str()),
                ("workload", &c.workload),
                ("environment", &c.candidate),
                ("metric", &c.metric),
            ],
            item: (anchor, c),
        })
        .collect();
    let (anchor, c) = *pick::one(&rows, &words, "comparison")?;
    let absent = || Fault::new(format!("this comparison has no {kind}"), "its verdict says why; refer to the verdict");
    let percent = |value: f64| format!("{}{JOIN}%", fixed(value, decimals(value)));
    let with =
        |text: String, interval: String| if bare || interval.is_empty() { text } else { format!("{text} {interval}") };
    let text = match kind {
        "verdict" => labels::judged(c).word.to_owned(),
        "sentence" => c.verdict.text.clone(),
        "said" => c.verdict.said.clone(),
        "change" => {
            let digits = percent_decimals(c);
            let value = c.change_pct.ok_or_else(absent)?;
            let interval = c.change_ci.map(|ci| ends(ci, digits));
            with(format!("{}{JOIN}%", signed(value, digits)), interval.unwrap_or_default())
        }
        "overhead" => {
            let digits = percent_decimals(c);
            let value = c.overhead_pct.ok_or_else(absent)?;
            let interval = c.overhead_ci.as_ref().map(|ci| ends(Interval::new(ci.low, ci.high), digits));
            with(format!("{}{JOIN}%", signed(value, digits)), interval.unwrap_or_default())
        }
        "difference" => {
            let value = c.difference.ok_or_else(absent)?;
            let digits = c.difference_ci.map_or_else(|| decimals(value), half);
            with(united(signed(value, digits), c.unit), c.difference_ci.map_or_else(String::new, |ci| ends(ci, digits)))
        }
        "margin" => format!("±{}{JOIN}%", plain(c.tost.as_ref().map(|t| t.margin_pct).ok_or_else(absent)?)),
        "same" => percent(c.tost.as_ref().and_then(|t| t.smallest_margin_pct).ok_or_else(absent)?),
        _ => percent(c.mde_pct.ok_or_else(absent)?),
    };
    let title =
        format!("{}: {} against {}", about(campaign, &c.model, &c.workload, &c.metric), c.candidate, c.baseline);
    Ok(Resolved::Words { text, href: Some(format!("#{anchor}")), title })
}

fn value(site: &Site<'_>, campaign: &CampaignReport, mut words: Vec<&str>) -> Result<Resolved, Fault> {
    let bare = taken(&mut words, BARE);
    let named: Vec<&str> = STATISTICS.iter().copied().filter(|s| taken(&mut words, s)).collect();
    let statistic = match named[..] {
        [] => "mean",
        [one] => one,
        _ => return Err(Fault::new("more than one statistic is named", format!("keep one of {}", named.join(", ")))),
    };
    let groups = site.groups(&campaign.name);
    let rows: Vec<NamedRow<'_, &Group>> = groups
        .iter()
        .map(|g| NamedRow {
            fields: vec![
                ("model", g.model.as_str()),
                ("workload", &g.workload),
                ("environment", &g.environment),
                ("metric", &g.metric),
            ],
            item: *g,
        })
        .collect();
    let g = *pick::one(&rows, &words, "group").map_err(|mut fault| {
        if fault.what.contains("is called") {
            fault.hint.push_str(&format!("; statistics: {}", STATISTICS.join(", ")));
        }
        fault
    })?;
    let digits = g.t_interval.map_or_else(|| g.sd.map_or(2, decimals), half);
    let shown = |value: f64| united(fixed(value, digits), g.unit);
    let mut interval = String::new();
    let text = match statistic {
        "mean" => {
            interval = g.t_interval.map_or_else(String::new, |ci| ends(ci, digits));
            g.mean.map(shown)
        }
        "median" => {
            if let (Some(low), Some(high)) = (g.median_interval.low, g.median_interval.high) {
                interval = ends(Interval::new(low, high), digits);
            }
            g.median.map(shown)
        }
        "sd" => g.sd.map(|sd| united(fixed(sd, decimals(sd)), g.unit)),
        "cv_pct" => g.cv_pct.map(|cv| format!("{}{JOIN}%", fixed(cv, decimals(cv)))),
        "n" => Some(labels::counted(g.n, "run", "runs")),
        "min" => g.min.map(shown),
        "max" => g.max.map(shown),
        "p5" => g.p5.map(shown),
        "p25" => g.p25.map(shown),
        "p75" => g.p75.map(shown),
        "p90" => g.p90.map(shown),
        "p95" => g.p95.map(shown),
        _ => g.p99.map(shown),
    };
    let text = text.ok_or_else(|| {
        Fault::new(format!("there is no {statistic} of {} runs", g.n), "name another statistic, or leave it out")
    })?;
    let text = if bare || interval.is_empty() { text } else { format!("{text} {interval}") };
    let title = format!(
        "{statistic} of {}: {}, {}",
        about(campaign, &g.model, &g.workload, &g.metric),
        g.environment,
        labels::counted(g.n, "run", "runs")
    );
    Ok(Resolved::Words { text, href: Some(format!("#{}", site.group_anchor(g))), title })
}

fn run(site: &Site<'_>, campaign: &CampaignReport, words: &[&str]) -> Result<Resolved, Fault> {
    let runs = site.runs(&campaign.name);
    let rows: Vec<NamedRow<'_, (&str, &str, f64)>> = runs
        .iter()
        .flat_map(|run| {
            run.metrics.iter().filter_map(|(metric, value)| {
                let fields = vec![("run", run.id.as_str()), ("metric", metric.as_str())];
                Some(NamedRow { fields, item: (run.id.as_str(), metric.as_str(), (*value)?) })
            })
        })
        .collect();
    let (id, metric, value) = *pick::one(&rows, words, "figure of a run")?;
    Ok(Resolved::Words {
        text: united(plain(value), labels::unit(metric)),
        href: Some(run_href(ROOT, id)),
        title: format!("{} of {id}", labels::metric(metric)),
    })
}

fn count(campaign: &CampaignReport, words: &[&str]) -> Result<Resolved, Fault> {
    let known = ["runs", "failed", "models", "environments", "workloads"];
    let [what] = words else {
        return Err(Fault::new("a count is of one thing", format!("write one of {}", known.join(", "))));
    };
    let n = match *what {
        "runs" => campaign.runs,
        "failed" => campaign.failed,
        "models" => campaign.models.len(),
        "environments" => campaign.environments.len(),
        "workloads" => campaign.workloads.len(),
        other => return Err(pick::unknown(other, &known, &["thing that is counted"])),
    };
    let text = number::count(n as u64);
    Ok(Resolved::Words { text, href: Some("#runs".into()), title: format!("{what} of this campaign") })
}

fn trap(site: &Site<'_>, campaign: &CampaignReport, words: &[&str]) -> Result<Resolved, Fault> {
    let traps = site.traps(&campaign.name);
    let known: Vec<&str> = {
        let mut ids: Vec<&str> = traps.iter().map(|t| t.id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    let id = match words {
        [id] if known.contains(id) => *id,
        [id] => return Err(pick::unknown(id, &known, &["trap"])),
        _ => return Err(Fault::new("a reference to a trap names one", format!("known: {}", known.join(", ")))),
    };
    let of: Vec<_> = traps.into_iter().filter(|t| t.id == id).collect();
    let fired = of.iter().filter(|t| t.status == TrapStatus::Fired).count();
    let title = of.first().map_or(id, |t| t.title);
    let came = match (fired, crate::page::index::overall(&of)) {
        (1, _) => "fired once".to_owned(),
        (n, TrapStatus::Fired) => format!("fired {n} times"),
        (_, status) => labels::trap_status(status).word.to_owned(),
    };
    Ok(Resolved::Words { text: format!("{title} ({came})"), href: Some(trap_href(ROOT, id)), title: id.to_owned() })
}

fn headline(campaign: &CampaignReport, words: &[&str]) -> Result<Resolved, Fault> {
    let place = match words {
        [] => Some(1),
        [number] => number.parse::<usize>().ok(),
        _ => None,
    };
    let sentence = place.and_then(|k| campaign.headline.get(k.checked_sub(1)?)).ok_or_else(|| {
        Fault::new("the answer has no such sentence", format!("it has {}: write 1, 2 ...", campaign.headline.len()))
    })?;
    Ok(Resolved::Words { text: sentence.text.clone(), href: None, title: String::new() })
}

fn chart(site: &Site<'_>, campaign: &CampaignReport, words: &[&str], id: &str) -> Result<String, Fault> {
    let known = ["forest", "spread", "order"];
    let nothing = |what: &str| Fault::new(format!("there is nothing to draw in {what}"), "leave the chart out");
    let Some((kind, words)) = words.split_first() else {
        return Err(Fault::new("a chart needs its kind", format!("known: {}", known.join(", "))));
    };
    let groups = site.groups(&campaign.name);
    let drawn: Option<FigureView> = match *kind {
        "forest" => {
            if !words.is_empty() {
                return Err(Fault::new("the forest plot is of the whole campaign", "write {{ chart: forest }}"));
            }
            let all = site.comparisons(&campaign.name);
            let primary: Vec<_> = all.iter().copied().filter(|(_, c)| c.primary).collect();
            let shown = if primary.is_empty() { &all } else { &primary };
            figure::forest(id, &front::forest_title(campaign, None), campaign, shown, ROOT)
        }
        "spread" => {
            let rows: Vec<NamedRow<'_, &str>> = metrics(&groups)
                .into_iter()
                .map(|metric| NamedRow { fields: vec![("metric", metric)], item: metric })
                .collect();
            let metric = *pick::one(&rows, words, "metric")?;
            let members = arms(campaign, groups.iter().copied().filter(|g| g.metric == metric));
            figure::spread(site, id, &members)
        }
        "order" => {
            let mut seen = std::collections::BTreeSet::new();
            let rows: Vec<NamedRow<'_, (&str, &str, &str)>> = groups
                .iter()
                .map(|g| (g.model.as_str(), g.workload.as_str(), g.metric.as_str()))
                .filter(|key| seen.insert(*key))
                .map(|key| NamedRow {
                    fields: vec![("model", key.0), ("workload", key.1), ("metric", key.2)],
                    item: key,
                })
                .collect();
            let (model, workload, metric) = *pick::one(&rows, words, "series")?;
            let members = arms(
                campaign,
                groups.iter().copied().filter(|g| (&*g.model, &*g.workload, &*g.metric) == (model, workload, metric)),
            );
            let runs = site.runs(&campaign.name);
            let runs: Vec<_> = runs.into_iter().filter(|r| r.model == model && r.workload == workload).collect();
            figure::run_order(site, id, &members, &runs, ROOT, false)
        }
        other => return Err(pick::unknown(other, &known, &["kind of chart"])),
    };
    let mut view = drawn.ok_or_else(|| nothing(kind))?;
    // The page may show the same figure once more. The box around its numbers needs a name of its own.
    view.region = format!("{}, in the authors' words ({})", view.title, anchor_of(&[id]));
    FigureOnly { figure: view }.render().map_err(|cause| Fault::new(format!("the chart cannot be shown: {cause}"), ""))
}

#[derive(Template)]
#[template(path = "figure.html")]
struct FigureOnly {
    figure: FigureView,
}

fn metrics<'a>(groups: &[&'a Group]) -> Vec<&'a str> {
    let mut names: Vec<&str> = groups.iter().map(|g| g.metric.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn about(campaign: &CampaignReport, model: &str, workload: &str, metric: &str) -> String {
    let metric = within(&labels::metric(metric));
    if workload.is_empty() || campaign.workloads.len() <= 1 {
        format!("{metric}, {model}")
    } else {
        format!("{metric}, {model}, {workload}")
    }
}

fn united(number: String, unit: &str) -> String {
    if unit.is_empty() { number } else { format!("{number}{JOIN}{unit}") }
}

fn half(interval: Interval) -> usize {
    decimals((interval.high - interval.low) / 2.0)
}
