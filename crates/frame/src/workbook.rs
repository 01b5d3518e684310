//! `report.xlsx`: the report for people who work in a spreadsheet.
//!
//! In:  the finished analysis, the frames.  Out: bytes that are the same for the same input.
//! Not here: any new number, what a column means (see `model::column`).
//!
//! Numbers are numbers with every digit, times are times, and absent is an empty cell. Text that a spreadsheet could take for a formula is
//! stored as a string and marked as one. So it stays a string when it is edited. Names of columns are the paths of `analysis.json`. The
//! second row has the units.

use std::collections::{BTreeMap, BTreeSet};

use rust_xlsxwriter::{
    DocProperties, ExcelDateTime, Format, FormatAlign, FormatBorder, Workbook, Worksheet, XlsxError,
};

use super::flat::{self, Cell, Flat};
use super::measures::listed;
use sparkbench_model::column::{Kind, Meaning, meaning};
use sparkbench_model::{Instant, Metric, Run};
use sparkbench_text::error::Error;
use sparkbench_text::escape;
use sparkbench_verdict::report::Analysis;

/// Limit for rows of requests in the workbook. The format ends at 1,048,576 rows, but a sheet is built in memory cell by cell. At this limit
/// the whole workbook takes about 200 MB to build and a few seconds to open. All requests are in `requests.parquet`.
pub const REQUEST_ROWS: usize = 100_000;

/// Rows of the other sheets: the end of the format, less two rows of headings.
const ROWS: usize = 1_048_574;

/// Characters of a cell: the end of the format, less the sign that something is missing.
const CHARACTERS: usize = 32_766;

/// Widths of columns, in characters.
const NARROWEST: usize = 9;
const WIDEST: usize = 44;
/// Rows that are read for the width.
const WIDTH_ROWS: usize = 200;

/// Formats of cells.
struct Styles {
    heading: Format,
    unit: Format,
    text: Format,
    moment: Format,
}

fn odd(cause: XlsxError) -> Error {
    Error::archive("the report cannot be written as a workbook").because(cause)
}

/// The whole workbook.
///
/// # Errors
/// When a table cannot be laid out, or the format refuses it.
pub fn report_xlsx(analysis: &Analysis, runs: &[Run]) -> Result<Vec<u8>, Error> {
    let styles = Styles {
        heading: Format::new().set_bold().set_border_bottom(FormatBorder::Thin).set_align(FormatAlign::Top),
        unit: Format::new().set_italic(),
        text: Format::new().set_quote_prefix(),
        moment: Format::new().set_num_format("yyyy-mm-dd hh:mm:ss"),
    };
    let mut workbook = Workbook::new();
    workbook.set_properties(&properties(analysis));
    let mut left_out: Vec<String> = Vec::new();
    for (title, flat) in [
        ("summary", flat::comparisons(analysis)?),
        ("groups", flat::groups(analysis)?),
        ("runs", flat::runs(analysis)?),
    ] {
        let sheet = workbook.add_worksheet();
        sheet.set_name(title).map_err(odd)?;
        table(sheet, &flat, &styles, title == "summary").map_err(odd)?;
        if flat.rows.len() > ROWS {
            left_out.push(format!("{title}: {} of {} rows, all are in analysis.json", ROWS, flat.rows.len()));
        }
    }
    let sheet = workbook.add_worksheet();
    sheet.set_name("requests").map_err(odd)?;
    left_out.extend(requests(sheet, runs, &styles)?);
    let sheet = workbook.add_worksheet();
    sheet.set_name("metadata").map_err(odd)?;
    metadata(sheet, analysis, &left_out, &styles).map_err(odd)?;
    workbook.save_to_buffer().map_err(odd)
}

/// Who made it. When is the last start of a run, for no clock is asked.
fn properties(analysis: &Analysis) -> DocProperties {
    let last = analysis.campaigns.iter().filter_map(|campaign| campaign.last_started_utc).max();
    let made = last.and_then(moment).or_else(|| ExcelDateTime::from_ymd(2000, 1, 1).ok());
    let properties = DocProperties::new()
        .set_title("Report of the analysis")
        .set_author(format!("{} {}", analysis.tool.name, analysis.tool.version));
    match made {
        Some(made) => properties.set_creation_datetime(&made),
        None => properties,
    }
}

/// A moment as a spreadsheet has it, in UTC. Absent outside its calendar.
fn moment(at: Instant) -> Option<ExcelDateTime> {
    (!at.is_relative()).then(|| ExcelDateTime::parse_from_str(at.iso().trim_end_matches('Z')).ok()).flatten()
}

/// Columns that a reader of the summary looks for first.
const FIRST: &[&str] = &[
    "campaign",
    "model",
    "workload",
    "label",
    "unit",
    "baseline",
    "candidate",
    "verdict.kind",
    "verdict.said",
    "change_pct",
    "change_ci.low",
    "change_ci.high",
    "mean_baseline",
    "mean_candidate",
    "n_baseline",
    "n_candidate",
];

fn table(sheet: &mut Worksheet, flat: &Flat, styles: &Styles, summary: bool) -> Result<(), XlsxError> {
    let meanings = flat.meanings();
    let mut order: Vec<usize> = (0..flat.columns.len()).collect();
    if summary {
        let rank =
            |place: &usize| FIRST.iter().position(|name| flat.columns.get(*place).is_some_and(|own| own == name));
        order.sort_by_key(|place| (rank(place).unwrap_or(FIRST.len()), *place));
    }
    // Names of campaign and models stay in sight, whatever is scrolled to.
    sheet.set_freeze_panes(2, if summary { 4 } else { 2 })?;
    for (column, place) in (0u16..).zip(order) {
        let (Some(name), Some(meaning)) = (flat.columns.get(place), meanings.get(place)) else { continue };
        heading(sheet, column, name, meaning, styles)?;
        let mut widest = name.chars().count();
        for (row, cell) in (2u32..).zip(flat.column(place).take(ROWS)) {
            let width = write(sheet, row, column, cell, meaning.kind, styles)?;
            if (row as usize) < WIDTH_ROWS {
                widest = widest.max(width);
            }
        }
        sheet.set_column_width(column, widest.clamp(NARROWEST, WIDEST) as f64)?;
    }
    let rows = flat.rows.len().min(ROWS) as u32;
    match u16::try_from(flat.columns.len()) {
        Ok(columns @ 1..) if rows > 0 => sheet.autofilter(1, 0, rows + 1, columns - 1).map(drop),
        _ => Ok(()),
    }
}

fn heading(
    sheet: &mut Worksheet,
    column: u16,
    name: &str,
    meaning: &Meaning,
    styles: &Styles,
) -> Result<(), XlsxError> {
    sheet.write_string_with_format(0, column, name, &styles.heading)?;
    sheet.write_string_with_format(1, column, meaning.unit, &styles.unit)?;
    Ok(())
}

/// Writes a cell. Gives its width in characters.
fn write(
    sheet: &mut Worksheet,
    row: u32,
    column: u16,
    cell: &Cell,
    kind: Kind,
    styles: &Styles,
) -> Result<usize, XlsxError> {
    match cell {
        Cell::Empty => return Ok(0),
        Cell::Number(value) if value.is_finite() => drop(sheet.write_number(row, column, *value)?),
        // The format has no infinity.
        Cell::Number(value) => drop(sheet.write_string(row, column, value.to_string())?),
        Cell::Flag(flag) => drop(sheet.write_boolean(row, column, *flag)?),
        Cell::Text(text) => {
            let at = (kind == Kind::Moment).then(|| Instant::parse(text).and_then(moment)).flatten();
            match at {
                Some(at) => drop(sheet.write_datetime_with_format(row, column, &at, &styles.moment)?),
                None => words(sheet, row, column, text, styles)?,
            }
            return Ok(if at_is(kind) { 19 } else { text.chars().count() });
        }
    }
    Ok(NARROWEST)
}

fn at_is(kind: Kind) -> bool {
    kind == Kind::Moment
}

/// Text that stays text. What is too long for a cell is cut with a sign.
fn words(sheet: &mut Worksheet, row: u32, column: u16, text: &str, styles: &Styles) -> Result<(), XlsxError> {
    // The limit of the format counts UTF-16 units.
    let mut left = CHARACTERS;
    let cut: Option<usize> = text.char_indices().find_map(|(at, c)| {
        let fits = c.len_utf16() <= left;
        left = left.saturating_sub(c.len_utf16());
        (!fits).then_some(at)
    });
    let shown = match cut {
        Some(at) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    };
    if escape::is_formula(text) {
        sheet.write_string_with_format(row, column, shown, &styles.text)?;
    } else if !shown.is_empty() {
        sheet.write_string(row, column, shown)?;
    }
    Ok(())
}

/// One row for each request, metrics as columns. A note states what is left out.
fn requests(sheet: &mut Worksheet, runs: &[Run], styles: &Styles) -> Result<Vec<String>, Error> {
    let mut names: Vec<&str> = runs
        .iter()
        .flat_map(listed)
        .map(|series| series.metric.as_str())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    names.sort_by_key(|name| (Metric::find(name).map_or(usize::MAX, |m| m.rank()), *name));
    let columns: BTreeMap<&str, u16> = names.iter().copied().zip(3u16..).collect();
    let plain = |name: &str| {
        let unknown = Meaning { kind: Kind::Number, unit: "", direction: "", about: String::new() };
        meaning(name).unwrap_or(unknown)
    };
    for (column, name) in (0u16..).zip(["campaign", "run", "index"].into_iter().chain(names.iter().copied())) {
        heading(sheet, column, name, &plain(name), styles).map_err(odd)?;
        let width = if column < 2 { 30 } else { name.chars().count().clamp(NARROWEST, WIDEST) };
        sheet.set_column_width(column, width as f64).map_err(odd)?;
    }
    sheet.set_freeze_panes(2, 3).map_err(odd)?;
    let (mut known, mut left_out) = (0_usize, false);
    for run in runs {
        // A request is a run and an index, and has a row where any metric names it.
        let first = known;
        let longest = listed(run).map(|series| series.values.len()).max().unwrap_or(0);
        let fit = longest.min(REQUEST_ROWS - known);
        left_out |= fit < longest;
        known += fit;
        for (row, k) in (2 + first as u32..).zip(0..fit as u32) {
            words(sheet, row, 0, &run.campaign, styles).map_err(odd)?;
            words(sheet, row, 1, &run.id, styles).map_err(odd)?;
            sheet.write_number(row, 2, k).map_err(odd)?;
        }
        for series in listed(run) {
            let Some(column) = columns.get(series.metric.as_str()) else { continue };
            for (row, value) in (2 + first as u32..).zip(series.values.iter().take(fit)) {
                if value.is_finite() {
                    sheet.write_number(row, *column, *value).map_err(odd)?;
                }
            }
        }
    }
    let mut said = vec!["requests: gaps between tokens are not listed one by one".to_owned()];
    if left_out {
        said.push(format!("requests: the first {} rows, all are in requests.parquet", known));
    }
    Ok(said)
}

/// Basis of the numbers.
fn metadata(sheet: &mut Worksheet, analysis: &Analysis, left_out: &[String], styles: &Styles) -> Result<(), XlsxError> {
    let settings = &analysis.settings;
    let mut rows: Vec<(String, Cell)> = vec![
        ("schema".into(), Cell::Text(analysis.schema.into())),
        ("program".into(), Cell::Text(analysis.tool.name.into())),
        ("version".into(), Cell::Text(analysis.tool.version.into())),
        ("confidence".into(), Cell::Number(settings.confidence)),
        ("bootstrap draws".into(), Cell::Number(settings.resamples as f64)),
        ("seed".into(), Cell::Number(settings.seed as f64)),
        ("moments".into(), Cell::Text("Coordinated Universal Time".into())),
        ("runs".into(), Cell::Number(analysis.runs.len() as f64)),
        ("comparisons".into(), Cell::Number(analysis.comparisons.all().count() as f64)),
    ];
    for campaign in &analysis.campaigns {
        rows.push((format!("campaign {}", campaign.name), Cell::Text(campaign.title.clone())));
        rows.push((
            format!("campaign {}: archive SHA-256", campaign.name),
            Cell::Text(campaign.archive_sha256.clone()),
        ));
        for line in &campaign.provenance {
            rows.push((format!("campaign {}: provenance", campaign.name), Cell::Text(line.clone())));
        }
        for sentence in &campaign.headline {
            rows.push((format!("campaign {}: answer", campaign.name), Cell::Text(sentence.text.clone())));
        }
    }
    rows.extend(left_out.iter().map(|line| ("left out".to_owned(), Cell::Text(line.clone()))));
    sheet.set_freeze_panes(1, 0)?;
    sheet.write_string_with_format(0, 0, "what", &styles.heading)?;
    sheet.write_string_with_format(0, 1, "value", &styles.heading)?;
    sheet.set_column_width(0, WIDEST as f64)?;
    sheet.set_column_width(1, 2.0 * WIDEST as f64)?;
    for (row, (what, value)) in (1u32..).zip(&rows) {
        words(sheet, row, 0, what, styles)?;
        write(sheet, row, 1, value, Kind::Text, styles)?;
    }
    Ok(())
}
