//! The page of cost and physics: cost of tokens, the best batch, machine against machine, shares of the roofline, and published figures for
//! context.
//!
//! In:  the reports of `verdict`.  Out: `cost/index.html`.
//! Not here: any number.

use askama::Template;

use super::across::several;
use super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::index::Site;
use super::link::Link;
use super::number::{self, ABSENT, plain};
use super::shell::Shell;
use sparkbench_verdict::report::{
    BestBatch, Choice, CostReport, Estimate, MachineTable, PhysicsReport, PriceReport, ReferenceReport,
};

const ROOT: &str = "../";

/// Rows that a table of this page shows. The others are in `analysis.json`.
const MOST_ROWS: usize = 300;

#[derive(Template)]
#[template(path = "cost.html")]
struct Page {
    shell: Shell,
    tables: Vec<Table>,
    /// Whether any table has no row.
    bare: bool,
}

struct Table {
    id: &'static str,
    heading: &'static str,
    lead: String,
    caption: &'static str,
    /// Said where there is no row.
    empty: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    more: usize,
}

struct Column {
    name: &'static str,
    unit: &'static str,
    number: bool,
}

struct Cell {
    link: Link,
    sub: String,
    number: bool,
    long: bool,
}

impl Cell {
    fn text(text: impl Into<String>) -> Self {
        Self { link: Link { href: None, text: text.into() }, sub: String::new(), number: false, long: false }
    }

    fn number(text: impl Into<String>) -> Self {
        Self { number: true, ..Self::text(text) }
    }

    fn under(self, sub: impl Into<String>) -> Self {
        Self { sub: sub.into(), ..self }
    }

    fn long(self) -> Self {
        Self { long: true, ..self }
    }

    fn campaign(self, name: &str) -> Self {
        let href = Some(format!("{ROOT}c/{name}/index.html"));
        Self { link: Link { href, ..self.link }, ..self }
    }

    /// A figure with its interval below, or why there is none.
    fn estimate(found: Option<&Estimate>, why: &str) -> Self {
        let Some(found) = found else { return Self::number(ABSENT).under(why) };
        match found.low.zip(found.high) {
            Some((low, high)) if high > low => {
                let decimals = number::decimals((high - low) / 2.0);
                let ends = format!(
                    "[{},\u{a0}{}], n\u{a0}=\u{a0}{}",
                    number::fixed(low, decimals),
                    number::fixed(high, decimals),
                    found.n
                );
                Self::number(number::fixed(found.mean, decimals)).under(ends)
            }
            _ if found.n == 1 => Self::number(plain(found.mean)).under("one run"),
            _ => Self::number(plain(found.mean)).under(format!("n = {}", found.n)),
        }
    }

    fn figure(found: Option<f64>) -> Self {
        Self::number(number::plain_or(found))
    }
}

const fn column(name: &'static str, unit: &'static str) -> Column {
    Column { name, unit, number: true }
}

const fn words(name: &'static str) -> Column {
    Column { name, unit: "", number: false }
}

/// Cost of tokens, and limits of the hardware.
pub(super) struct CostPage;

impl PageKind for CostPage {
    fn drafts<'a>(&self, _: &Site<'a>) -> Vec<Draft<'a>> {
        vec![Draft::new("cost/index.html", |site| Ok(DrawnPage::new(page(site).map_err(template_fault)?)))]
    }
}

/// The page at `cost/index.html`.
pub(super) fn page(site: &Site<'_>) -> Result<String, askama::Error> {
    let analysis = site.analysis;
    let tables = vec![
        costs(&analysis.costs),
        prices(&analysis.costs),
        batches(&analysis.best_batches),
        machines(&analysis.machines),
        physics(&analysis.physics),
        references(site, &analysis.references),
    ];
    Page {
        shell: Shell::new("cost/index.html", "Cost and physics – sparkbench", "cost", site)
            .described("Cost per million tokens with its interval, price and source, shares of the memory roofline, and published figures as context."),
        bare: tables.iter().any(|table| table.rows.is_empty()),
        tables,
    }
    .render()
}

fn cut(mut table: Table) -> Table {
    table.more = table.rows.len().saturating_sub(MOST_ROWS);
    table.rows.truncate(MOST_ROWS);
    table
}

/// Where a row is: model, with environment and workload below.
fn place(model: &str, environment: &str, workload: &str, campaign: &str) -> Cell {
    let parts = [environment, workload, campaign];
    let sub: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Cell::text(model).campaign(campaign).under(sub.join(" · "))
}

/// The first reason with a word. Empty where none has it.
fn why(missing: &[String], word: &str) -> String {
    // The column says what is missing.
    let cause = |reason: &String| reason.split_once(": ").map_or(reason.as_str(), |(_, cause)| cause).to_owned();
    missing.iter().find(|reason| reason.contains(word)).map(cause).unwrap_or_default()
}

fn costs(costs: &[CostReport]) -> Table {
    let rows = costs
        .iter()
        .map(|c| {
            let no_price = why(&c.missing, "price");
            let no_input = if c.price.is_some() { why(&c.missing, "input") } else { no_price.clone() };
            let no_power = why(&c.missing, "power");
            let apart = c.apart.as_ref().map(|apart| {
                format!(
                    "with output at {} times input: {} in, {} out",
                    plain(apart.output_weight),
                    plain(apart.usd_per_million_input),
                    plain(apart.usd_per_million_output)
                )
            });
            let machine = c.machine_title.as_deref().unwrap_or("not named");
            let served: Vec<&str> = [c.engine.as_deref(), c.quantisation.as_deref()].into_iter().flatten().collect();
            vec![
                place(&c.model, &c.environment, &c.workload, &c.campaign),
                Cell::text(several(machine, c.devices)).under(served.join(", ")),
                Cell::figure(c.batch),
                Cell::estimate(c.output_tok_s.as_ref(), ""),
                Cell::estimate(c.usd_per_million_output.as_ref(), &no_price),
                Cell::estimate(c.usd_per_million_input.as_ref(), &no_input),
                Cell::estimate(c.output_tokens_per_usd.as_ref(), &no_price),
                Cell::estimate(c.tok_s_per_w.as_ref(), &no_power),
                Cell::estimate(c.output_tokens_per_j.as_ref(), &no_power),
                match &c.price {
                    Some(price) => Cell::text(format!("{} USD/h", plain(price.usd_per_hour))).under(
                        [Some(format!("{}, {}", price.key, price.date)), apart]
                            .into_iter()
                            .flatten()
                            .collect::<Vec<_>>()
                            .join("; "),
                    ),
                    None => Cell::text(ABSENT).under(no_price.clone()),
                }
                .long(),
            ]
        })
        .collect();
    cut(Table {
        id: "tokens",
        heading: "Cost of tokens",
        lead: "The whole hour is charged to the output tokens of successful requests, and once more to the input tokens. Where \
               both are priced apart, one hour pays for both. Power and energy are those of the device, not of the wall."
            .into(),
        caption: "Cost of tokens by group",
        empty: "No group reports output tokens a second.".into(),
        columns: vec![
            words("Model"),
            words("Machine"),
            column("Batch", "limit"),
            column("Output", "tok/s"),
            column("Output tokens", "USD a million"),
            column("Input tokens", "USD a million"),
            column("Output tokens", "for one USD"),
            column("Output", "tok/s for one W"),
            column("Output tokens", "for one J"),
            words("Price"),
        ],
        rows,
        more: 0,
    })
}

fn prices(costs: &[CostReport]) -> Table {
    let mut used: Vec<(&PriceReport, bool)> = Vec::new();
    for cost in costs {
        let charged = cost.price.iter().map(|price| (price, true));
        for (price, charged) in charged.chain(cost.other_prices.iter().map(|other| (&other.price, false))) {
            match used.iter_mut().find(|(seen, _)| seen.key == price.key && seen.basis == price.basis) {
                Some((_, any)) => *any |= charged,
                None => used.push((price, charged)),
            }
        }
    }
    used.sort_by(|a, b| (&a.0.key, &a.0.basis).cmp(&(&b.0.key, &b.0.basis)));
    let rows = used
        .into_iter()
        .map(|(price, charged)| {
            vec![
                Cell::text(&price.title).under(&price.key),
                Cell::text(&price.date),
                Cell::figure(Some(price.usd_per_hour)).under(if charged { "charged" } else { "not charged" }),
                Cell::text(&price.basis).long(),
                Cell::text(price.sources.join(" ")).long().under(if price.own {
                    "from a price file beside the results"
                } else {
                    ""
                }),
            ]
        })
        .collect();
    cut(Table {
        id: "prices",
        heading: "Prices",
        lead: "Every price that fits a machine of this analysis, with its day and its source. Replace them by a file with \
               [prices.KEY] beside your results."
            .into(),
        caption: "Prices with their sources",
        empty: "No price fits a machine of this analysis.".into(),
        columns: vec![words("Price"), words("Read on"), column("Charged", "USD/h"), words("How it follows"), words("Source")],
        rows,
        more: 0,
    })
}

fn choice(found: Option<&Choice>, none: &str) -> Cell {
    let Some(found) = found else { return Cell::number(ABSENT).under(none) };
    let value = Cell::estimate(Some(&found.value), "");
    let apart: Vec<String> = found.not_told_apart.iter().map(|batch| plain(*batch)).collect();
    let tied = if apart.is_empty() { String::new() } else { format!("; not told apart from {}", apart.join(", ")) };
    Cell::number(plain(found.batch)).under(format!("{} {}{tied}", value.link.text, value.sub))
}

fn batches(found: &[BestBatch]) -> Table {
    let rows = found
        .iter()
        .map(|b| {
            let excluded: Vec<String> = b.excluded.iter().map(|e| format!("{}: {}", plain(e.batch), e.why)).collect();
            let measured: Vec<String> = b.batches.iter().map(|batch| plain(*batch)).collect();
            let shape = format!("{} in, {} out", plain(b.isl), plain(b.osl));
            vec![
                place(&b.model, &b.environment, &shape, &b.campaign),
                Cell::text(b.machine.as_deref().unwrap_or("not named")),
                Cell::text(measured.join(", ")),
                choice(b.by_throughput.as_ref(), ""),
                choice(b.by_cost.as_ref(), "no price"),
                choice(b.within_limits.as_ref(), "no batch size keeps them"),
                Cell::text(format!("TPOT {}\u{a0}ms, TTFT {}\u{a0}ms", plain(b.limit_tpot_ms), plain(b.limit_ttft_ms)))
                    .under(excluded.join("; "))
                    .long(),
            ]
        })
        .collect();
    cut(Table {
        id: "batches",
        heading: "Best batch size",
        lead: "Shapes of requests that were measured with several limits of concurrency. At one price an hour the cheapest is the \
               fastest. Under a limit of latency it seldom is. Latencies are p99 where the runs report it, else means."
            .into(),
        caption: "Best batch size by throughput, by cost and under a limit of latency",
        empty: "No shape of requests was measured with several batch sizes, or the lengths are not known.".into(),
        columns: vec![
            words("Model"),
            words("Machine"),
            words("Measured"),
            column("Fastest", "batch; tok/s"),
            column("Cheapest", "batch; USD a million"),
            column("Within the limits", "batch"),
            words("Limits"),
        ],
        rows,
        more: 0,
    })
}

fn machines(tables: &[MachineTable]) -> Table {
    let rows = tables
        .iter()
        .flat_map(|table| {
            table.rows.iter().map(move |row| {
                let shape = format!(
                    "{}{} in, {} out, batch {}",
                    table.quantisation.as_ref().map_or_else(String::new, |q| format!("{q}, ")),
                    plain(table.isl),
                    plain(table.osl),
                    plain(table.batch)
                );
                vec![
                    Cell::text(&table.model).under(shape),
                    Cell::text(several(&row.machine, row.devices)),
                    Cell::text(&row.campaign)
                        .campaign(&row.campaign)
                        .under(format!("{} {}", row.environment, row.workload)),
                    Cell::estimate(Some(&row.output_tok_s), ""),
                    Cell::estimate(row.usd_per_million_output.as_ref(), "no price"),
                    Cell::estimate(row.cost_ratio.as_ref(), "no price"),
                ]
            })
        })
        .collect();
    cut(Table {
        id: "machines",
        heading: "Machine against machine",
        lead: "The same model, precision, lengths and batch on several machines, the cheapest first. Engines and settings may differ \
               between campaigns: this is a table, not a verdict."
            .into(),
        caption: "The same model on several machines",
        empty: "No model was measured with the same lengths and batch on several machines.".into(),
        columns: vec![
            words("Model"),
            words("Machine"),
            words("Campaign"),
            column("Output", "tok/s"),
            column("Output tokens", "USD a million"),
            column("Cost", "times the cheapest"),
        ],
        rows,
        more: 0,
    })
}

fn giga(bytes: Option<f64>) -> String {
    bytes.map_or_else(|| ABSENT.to_owned(), |bytes| plain((bytes / 1e7).round() / 100.0))
}

fn physics(found: &[PhysicsReport]) -> Table {
    let rows = found
        .iter()
        .map(|p| {
            let missing = p.missing.join("; ");
            let why = if missing.is_empty() { String::new() } else { format!("missing: {missing}") };
            let bound = match p.compute_bound_tok_s {
                Some(compute) => format!("arithmetic: {}", plain(compute.round())),
                None if p.memory_bound_tok_s.is_some() => "peak of arithmetic not known".to_owned(),
                None => why.clone(),
            };
            let context = match p.context_tokens {
                Some(context) => format!("context {}", plain(context)),
                None if p.sequences.is_some() => "lengths not known, no context counted".to_owned(),
                None => why.clone(),
            };
            let tokens = p.tokens_per_step.filter(|tokens| *tokens > 1.0);
            let spoken = tokens.map_or_else(String::new, |tokens| format!(", {} tokens a step", plain(tokens)));
            let kv = p.kv.as_ref().map(|kv| {
                Cell::number(format!("{} GiB", plain((100.0 * kv.expected_gib).round() / 100.0))).under(format!(
                    "reported {} GiB, {} tokens",
                    number::plain_or(kv.reported_gib),
                    number::plain_or(kv.reported_tokens)
                ))
            });
            vec![
                place(&p.model, &p.environment, &p.workload, &p.campaign),
                Cell::text(several(p.machine.as_deref().unwrap_or("not known"), p.devices))
                    .under(p.quantisation.clone().unwrap_or_default()),
                Cell::number(p.sequences.map_or_else(|| ABSENT.to_owned(), |n| plain((10.0 * n).round() / 10.0)))
                    .under(context),
                Cell::number(giga(p.weight_bytes_per_step)).under(match p.kv_bytes_per_step {
                    Some(kv) => format!("and {} of the cache", giga(Some(kv))),
                    None if p.weight_bytes_per_step.is_some() => "cache not counted".to_owned(),
                    None => why.clone(),
                }),
                Cell::figure(p.memory_bound_tok_s.map(|tok_s| (10.0 * tok_s).round() / 10.0)).under(bound),
                Cell::estimate(p.rate_tok_s.as_ref(), &why)
                    .with_word(p.basis.map(|basis| if basis == "decode" { "decoding" } else { "whole run" }), &spoken),
                Cell::estimate(p.roofline_pct.as_ref(), &why),
                Cell::estimate(p.measured_roofline_pct.as_ref(), "no probe in the campaign"),
                kv.unwrap_or_else(|| Cell::number(ABSENT).under("no share of memory stated")),
            ]
        })
        .collect();
    cut(Table {
        id: "roofline",
        heading: "Share of the roofline",
        lead: "Each step of decoding reads the weights once for all its sequences, and their caches. The ceiling is what the nominal \
               bandwidth allows. The second share is against what a gpu-probe in the same campaign measured. Sequences are those that decode \
               at a time on average: output rate times time per token, at most the limit. Rates of a whole run \
               hold the prefill and give a lower bound."
            .into(),
        caption: "Share of the roofline by group",
        empty: "No group reports a rate of output.".into(),
        columns: vec![
            words("Model"),
            words("Machine"),
            column("Sequences", "at a time"),
            column("Read a step", "GB"),
            column("Ceiling", "tok/s"),
            column("Reached", "tok/s"),
            column("Share", "% of nominal"),
            column("Share", "% of measured"),
            column("Room for the cache", "upper bound"),
        ],
        rows,
        more: 0,
    })
}

impl Cell {
    /// With a word in front of the text below.
    fn with_word(self, word: Option<&str>, behind: &str) -> Self {
        let Some(word) = word else { return self };
        let sub = if self.sub.is_empty() { format!("{word}{behind}") } else { format!("{word}{behind}; {}", self.sub) };
        Self { sub, ..self }
    }
}

fn references(site: &Site<'_>, found: &[ReferenceReport]) -> Table {
    let rate = |r: &ReferenceReport| match (r.decode_tok_s, r.decode_tok_s_high, r.gemm_tflops) {
        (Some(low), Some(high), _) => format!("{} to {}", plain(low), plain(high)),
        (Some(rate), None, _) => plain(rate),
        (None, _, Some(tera)) => format!("{} TFLOP/s", plain(tera)),
        _ => ABSENT.to_owned(),
    };
    let rows = found
        .iter()
        .map(|r| {
            let settings: Vec<&str> =
                [r.quantisation.as_deref(), r.engine.as_deref(), r.workload.as_deref(), r.note.as_deref()]
                    .into_iter()
                    .flatten()
                    .collect();
            let own: Vec<String> = r
                .own
                .iter()
                .map(|o| {
                    let batch = o.batch.map_or_else(String::new, |batch| format!(", batch {}", plain(batch)));
                    let doubt = site.doubt(&o.campaign, &o.model);
                    let doubt = if doubt.is_empty() { doubt } else { format!("; {doubt}") };
                    format!("{} ({} {}{batch}{doubt})", plain(o.output_tok_s.mean), o.environment, o.workload)
                })
                .collect();
            vec![
                Cell::text(&r.model).under(settings.join(", ")),
                Cell::text(several(&r.machine, r.machines)),
                Cell::figure(r.concurrency),
                Cell::figure(r.prefill_tok_s),
                Cell::number(rate(r)),
                Cell::text(if own.is_empty() { "not measured here".to_owned() } else { own.join("; ") }).long(),
                Cell::text(r.sources.join(" ")).under(r.date.clone().unwrap_or_else(|| "undated".into())).long(),
            ]
        })
        .collect();
    cut(Table {
        id: "references",
        heading: "What others published",
        lead: "Figures of others for the machines of this analysis, as context. Their settings are seldom given in full, so nothing \
               is compared and nothing follows from them. Rates are of all requests together."
            .into(),
        caption: "Published figures beside one's own",
        empty: "No published figure in the list is about a machine of this analysis.".into(),
        columns: vec![
            words("Model"),
            words("Machine"),
            column("Requests", "at a time"),
            column("Prefill", "tok/s"),
            column("Output", "tok/s"),
            words("Here"),
            words("Source"),
        ],
        rows,
        more: 0,
    })
}
