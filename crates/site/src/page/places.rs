//! Where a figure was read: the address of its line in a raw file, and the figures read from each line.
//!
//! In:  the raw files and the runs.  Out: [`Places`], asked by every page that shows a figure.
//! Not here: how a file is shown.
//!
//! A file has one page, or several when many of its lines are kept. Each page holds a limited number of bytes of text. So even text which
//! does not compress stays below the size limit of a page. The markup is limited too, so that quotes and figures do not swell it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use sparkbench_model::{Origin, RawRow, RawText, Shape};
use sparkbench_text::hash::hash;
use sparkbench_text::slug::anchor_of;
use sparkbench_verdict::mark::{Mark, Marker};
use sparkbench_verdict::report::RunReport;

/// Text of one page, bytes.
const PAGE_TEXT: usize = 280_000;

/// Rows of one page.
const PAGE_ROWS: usize = 4_000;

/// Markup of the rows of one page in bytes, escaped text included. A browser lays out this much at once without a pause.
const PAGE_MARKUP: usize = 450_000;

/// Markup around the text of a row: its anchor twice and its number.
const ROW_MARKUP: usize = 80;

/// Markup of a figure beside its row: its link, its value, the rule.
const CITE_MARKUP: usize = 240;

/// Longest name of a page.
const NAME: usize = 90;

/// A figure that was read from a row.
#[derive(Debug, Clone, Copy)]
pub struct Cite<'a> {
    pub run: &'a RunReport,
    /// Contract name.
    pub metric: &'a str,
    /// Rule that read it.
    pub rule: &'static str,
}

/// One raw file with its addresses.
#[derive(Debug)]
pub struct Shown<'a> {
    /// The file.
    pub text: &'a RawText,
    /// Paths of its pages and the places of their first rows, in order. Never empty.
    pub parts: Vec<(String, usize)>,
    /// Figures by the row they were read from.
    pub cites: BTreeMap<u64, Vec<Cite<'a>>>,
    /// Figures that were read from the whole of it, or computed from what it says.
    pub whole: Vec<Cite<'a>>,
    /// Anchors by row, where rows are values.
    anchors: BTreeMap<u64, String>,
    mark: OnceLock<Mark>,
}

impl Shown<'_> {
    /// The anchor of a row.
    pub fn anchor(&self, number: u64) -> String {
        self.anchors.get(&number).cloned().unwrap_or_else(|| format!("L{number}"))
    }

    /// Which part holds a row.
    pub fn part_of(&self, number: u64) -> usize {
        let place = self.text.rows.partition_point(|row| row.number < number);
        self.parts.partition_point(|(_, first)| *first <= place).saturating_sub(1)
    }

    /// Everything on its pages and in addresses that lead there, except the figures that were read from it.
    pub fn mark(&self) -> &Mark {
        self.mark.get_or_init(|| {
            let RawText { file, run, bytes, packed, shape, total, rows, pointers, stopped } = self.text;
            let mut marker = Marker::default();
            marker.text(file).text(run).count(*bytes).count(*total);
            marker.json(&(packed, *shape == Shape::Values, pointers, stopped, &self.parts));
            for RawRow { number, text, cut, pointer } in rows {
                marker.count(*number).text(text).count(*cut);
                marker.count(u64::from(pointer.is_some())).text(pointer.as_deref().unwrap_or_default());
            }
            marker.finish()
        })
    }

    /// The address of a row below the site.
    pub fn address(&self, number: u64) -> String {
        let path = self.parts.get(self.part_of(number)).map_or("", |(path, _)| path.as_str());
        format!("{path}#{}", self.anchor(number))
    }
}

/// Every raw file, by path.
#[derive(Debug, Default)]
pub struct Places<'a> {
    files: Vec<Shown<'a>>,
    by_path: BTreeMap<&'a str, usize>,
    by_run: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> Places<'a> {
    /// Gives every file its addresses.
    pub fn new(logs: &'a [Arc<RawText>], runs: &'a [RunReport]) -> Self {
        let mut taken = BTreeSet::new();
        let homes: BTreeMap<&str, &str> = runs.iter().map(|run| (run.id.as_str(), folder(&run.source.path))).collect();
        let mut places = Self::default();
        for text in logs.iter().filter(|text| homes.contains_key(text.run.as_str())) {
            let home = homes.get(text.run.as_str()).copied().unwrap_or_default();
            let name = name(home, &text.file);
            let mut base = format!("r/{}/log/{name}", text.run);
            let mut k = 2;
            while !taken.insert(base.to_ascii_lowercase()) {
                base = format!("r/{}/log/{name}-{k}", text.run);
                k += 1;
            }
            places.by_path.insert(text.file.as_str(), places.files.len());
            places.by_run.entry(text.run.as_str()).or_default().push(places.files.len());
            places.files.push(Shown {
                text,
                parts: vec![(format!("{base}.html"), 0)],
                cites: BTreeMap::new(),
                whole: Vec::new(),
                anchors: anchors(text),
                mark: OnceLock::new(),
            });
        }
        for run in runs {
            for (metric, origin) in &run.origins {
                let Some(shown) = places.by_path.get(origin.file.as_str()).and_then(|at| places.files.get_mut(*at))
                else {
                    continue;
                };
                let cite = Cite { run, metric, rule: origin.rule };
                match shown.text.row_of(origin) {
                    Some(row) => shown.cites.entry(row.number).or_default().push(cite),
                    None => shown.whole.push(cite),
                }
            }
        }
        for shown in &mut places.files {
            let Some((first, _)) = shown.parts.first() else { continue };
            let base = first.strip_suffix(".html").unwrap_or(first).to_owned();
            shown.parts = parts(shown.text, &shown.cites, &base);
        }
        places
    }

    /// Every file that is shown.
    pub fn files(&self) -> &[Shown<'a>] {
        &self.files
    }

    /// Files of a run, in their order.
    pub fn of_run(&self, run: &str) -> impl Iterator<Item = &Shown<'a>> {
        self.by_run.get(run).into_iter().flatten().filter_map(|at| self.files.get(*at))
    }

    /// Files of a run and those at the paths, in their order, each once.
    pub fn of_run_and<'p>(&self, run: &str, paths: impl Iterator<Item = &'p str>) -> Vec<&Shown<'a>> {
        let named = paths.filter_map(|path| self.by_path.get(path));
        let places: BTreeSet<usize> = self.by_run.get(run).into_iter().flatten().chain(named).copied().collect();
        places.into_iter().filter_map(|at| self.files.get(at)).collect()
    }

    /// A file by its path.
    pub fn file(&self, path: &str) -> Option<&Shown<'a>> {
        self.by_path.get(path).and_then(|at| self.files.get(*at))
    }

    /// The address, below the site, of the line a figure was read from. Of its file where no line is known.
    pub fn of(&self, origin: &Origin) -> Option<String> {
        let shown = self.file(&origin.file)?;
        match shown.text.row_of(origin) {
            Some(row) => Some(shown.address(row.number)),
            None => shown.parts.first().map(|(path, _)| path.clone()),
        }
    }
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A plain name that tells a file from the others of its run: its path below the folder of the run.
fn name(home: &str, file: &str) -> String {
    let below = file.strip_prefix(home).filter(|_| !home.is_empty()).unwrap_or(file).trim_start_matches('/');
    // Outside the folder of the run the last part tells most. Equal names get a number.
    let below = if file.starts_with(home) { below } else { file.rsplit('/').next().unwrap_or(file) };
    let plain: String = below
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' })
        .collect();
    let plain = plain.trim_start_matches(['.', '-']);
    match plain.char_indices().nth(NAME) {
        _ if plain.is_empty() => "file".to_owned(),
        Some((cut, _)) => format!("{}-{}", &plain[..cut], &hash(file.as_bytes())[..8]),
        None => plain.to_owned(),
    }
}

/// Paths of the pages of a file and the places of their first rows.
fn parts(text: &RawText, cites: &BTreeMap<u64, Vec<Cite<'_>>>, base: &str) -> Vec<(String, usize)> {
    let mut parts = vec![(format!("{base}.html"), 0)];
    let (mut bytes, mut markup, mut rows) = (0, 0, 0);
    for (place, row) in text.rows.iter().enumerate() {
        let own = markup_of(row, cites.get(&row.number).map_or(0, Vec::len));
        let full = bytes + row.text.len() > PAGE_TEXT || markup + own > PAGE_MARKUP || rows >= PAGE_ROWS;
        if rows > 0 && full {
            parts.push((format!("{base}.part-{}.html", parts.len() + 1), place));
            (bytes, markup, rows) = (0, 0, 0);
        }
        bytes += row.text.len();
        markup += own;
        rows += 1;
    }
    parts
}

/// Bytes that a row takes on a page, about: each character with a meaning in markup is written in five.
fn markup_of(row: &RawRow, cites: usize) -> usize {
    let escaped = row.text.bytes().filter(|byte| matches!(byte, b'<' | b'>' | b'&' | b'"' | b'\'')).count();
    ROW_MARKUP + row.text.len() + 4 * escaped + CITE_MARKUP * cites
}

fn anchors(text: &RawText) -> BTreeMap<u64, String> {
    if text.shape == Shape::Lines {
        return BTreeMap::new();
    }
    let mut taken = BTreeSet::new();
    let pointed = text.rows.iter().filter_map(|row| Some((row.number, row.pointer.as_deref()?)));
    pointed
        .map(|(number, pointer)| {
            let base = anchor_of(&["at", pointer]);
            let mut anchor = base.clone();
            let mut k = 2;
            while !taken.insert(anchor.clone()) {
                anchor = format!("{base}-{k}");
                k += 1;
            }
            (number, anchor)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::RawRow;

    fn rows(texts: &[&str]) -> Vec<RawRow> {
        let row =
            |(k, text): (usize, &&str)| RawRow { number: k as u64 + 1, text: (*text).to_owned(), ..RawRow::default() };
        texts.iter().enumerate().map(row).collect()
    }

    #[test]
    fn names_are_plain_and_tell_files_of_one_run_apart() {
        for (home, file, expected) in [
            ("runs/a", "runs/a/loads/open/requests.jsonl", "loads-open-requests.jsonl"),
            ("runs/a", "other/telemetry.csv", "telemetry.csv"),
            ("", "x.log", "x.log"),
            ("c", "c/../<b>.log", "b-.log"),
            ("c", "c/…", "file"),
        ] {
            assert_eq!(name(home, file), expected, "{file}");
        }
        let long = format!("c/{}.log", "x".repeat(300));
        assert!(name("c", &long).len() < 110 && name("c", &long) != name("c", &long.replace(".log", ".txt")));
    }

    #[test]
    fn a_long_file_has_several_pages_and_every_row_is_on_one() {
        let long = "x".repeat(PAGE_TEXT / 3);
        let text = RawText { rows: rows(&[long.as_str(); 7]), total: 7, ..RawText::default() };
        let shown = Shown {
            parts: parts(&text, &BTreeMap::new(), "r/a/log/x"),
            text: &text,
            cites: BTreeMap::new(),
            whole: Vec::new(),
            anchors: BTreeMap::new(),
            mark: OnceLock::new(),
        };
        assert_eq!(shown.parts.iter().map(|(_, first)| *first).collect::<Vec<_>>(), [0, 3, 6]);
        assert_eq!(
            [1, 3, 4, 7].map(|number| shown.address(number)),
            ["r/a/log/x.html#L1", "r/a/log/x.html#L3", "r/a/log/x.part-2.html#L4", "r/a/log/x.part-3.html#L7"]
        );
    }

    #[test]
    fn a_page_of_quotes_holds_fewer_rows_than_one_of_words() {
        let pages = |row: &str| {
            let text = RawText { rows: rows(&vec![row; 1_500]), total: 1_500, ..RawText::default() };
            parts(&text, &BTreeMap::new(), "r/a/log/x").into_iter().map(|(_, first)| first).collect::<Vec<_>>()
        };
        assert_eq!(pages(&"w".repeat(100)), [0]);
        // 80 bytes around 100 quotes of five bytes each.
        assert_eq!(pages(&"\"".repeat(100)), [0, 775]);
    }

    #[test]
    fn pointers_that_differ_in_signs_only_have_anchors_of_their_own() {
        let mut rows = rows(&["{", "1", "2"]);
        for (row, pointer) in rows.iter_mut().zip(["", "/a-b", "/a/b"]) {
            row.pointer = Some(pointer.into());
        }
        let text = RawText { rows, shape: Shape::Values, ..RawText::default() };
        assert_eq!(anchors(&text).into_values().collect::<Vec<_>>(), ["at", "at-a-b", "at-a-b-2"]);
    }
}
