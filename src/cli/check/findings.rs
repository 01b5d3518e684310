//! Findings as a table: gate, level, reading, limit, and the remedy below, wrapped to the width there is.
//!
//! In:  findings by section, a width, colours or none.  Out: text.
//! Not here: taking readings, deciding what follows.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use crate::cli::talk::wrap;
use sparkbench_model::{Finding, Level};

/// Narrowest column of a reading. Below it every part gets a line of its own.
const READING_MIN: usize = 24;
/// Widest column of a limit. Longer ones wrap.
const LIMIT_MAX: usize = 30;
/// Blanks between columns.
const GAP: usize = 2;
/// Before the remedy.
const TRY: &str = "try: ";

/// How a level is called in a table: a reading without a limit is there, and is called so.
fn called(finding: &Finding) -> &'static str {
    match (finding.level, finding.value) {
        (Level::NotAvailable, Some(_)) => "no limit",
        (level, _) => word(level),
    }
}

/// How a level is called.
pub(super) const fn word(level: Level) -> &'static str {
    match level {
        Level::Passed => "passed",
        Level::NotAvailable => "not available",
        Level::Warned => "warned",
        Level::Refused => "refused",
    }
}

fn style(level: Level) -> Style {
    match level {
        Level::Passed => Style::new().fg_color(Some(AnsiColor::Green.into())),
        Level::NotAvailable => Style::new().dimmed(),
        Level::Warned => Style::new().bold().fg_color(Some(AnsiColor::Yellow.into())),
        Level::Refused => Style::new().bold().fg_color(Some(AnsiColor::Red.into())),
    }
}

/// Draws them all. A section's title is left out when it is the only one.
pub(super) fn draw(sections: &[(String, Vec<Finding>)], width: usize, colour: bool) -> String {
    let all = || sections.iter().flat_map(|(_, findings)| findings);
    let columns = Columns::fit(all(), width);
    let mut text = String::new();
    if columns.reading > 0 {
        let heads = columns.row(["gate", "level", "reading", "limit"], &Style::new());
        let _ = writeln!(text, "{}", paint(heads.trim_end(), &bold(colour)));
    }
    for (title, findings) in sections {
        if sections.len() > 1 {
            let _ = writeln!(text, "\n{}", paint(title, &bold(colour)));
        }
        for finding in findings {
            let style = if colour { style(finding.level) } else { Style::new() };
            let limit = finding.limit.as_deref().unwrap_or_default();
            let cells = [finding.gate.as_str(), called(finding), finding.reading.as_str(), limit];
            text.push_str(&columns.row(cells, &style));
            for (at, line) in finding.remedy.iter().flat_map(|remedy| columns.remedy(remedy)).enumerate() {
                let lead = if at == 0 { TRY } else { "     " };
                let _ = writeln!(text, "{}{lead}{line}", " ".repeat(columns.indent()));
            }
        }
    }
    text
}

fn bold(colour: bool) -> Style {
    if colour { Style::new().bold() } else { Style::new() }
}

fn paint(text: &str, style: &Style) -> String {
    if text.is_empty() || *style == Style::new() {
        text.to_owned()
    } else {
        format!("{}{text}{}", style.render(), style.render_reset())
    }
}

/// Widths of the columns. `reading` is 0 where there is no room for columns.
struct Columns {
    gate: usize,
    level: usize,
    reading: usize,
    limit: usize,
    width: usize,
}

impl Columns {
    fn fit<'a>(findings: impl Iterator<Item = &'a Finding> + Clone, width: usize) -> Self {
        let gate = findings.clone().map(|finding| length(&finding.gate)).max().unwrap_or(0).max(4);
        let level = word(Level::NotAvailable).len();
        let limits = findings.map(|finding| finding.limit.as_deref().map_or(0, length));
        let limit = limits.max().unwrap_or(0).clamp(5, LIMIT_MAX);
        let rest = width.saturating_sub(gate + level + limit + 3 * GAP);
        Self { gate, level, reading: if rest < READING_MIN { 0 } else { rest }, limit, width }
    }

    /// Where the reading and the remedy begin.
    fn indent(&self) -> usize {
        if self.reading == 0 { 4 } else { self.gate + self.level + 2 * GAP }
    }

    fn remedy(&self, text: &str) -> Vec<String> {
        wrap(text, self.width.saturating_sub(self.indent() + TRY.len()))
    }

    fn row(&self, [gate, level, reading, limit]: [&str; 4], style: &Style) -> String {
        if self.reading == 0 {
            return self.stacked([gate, level, reading, limit], style);
        }
        let (readings, limits) = (wrap(reading, self.reading), wrap(limit, self.limit));
        let mut text = String::new();
        for at in 0..readings.len().max(limits.len()) {
            let cell = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
            let (gate, level) = if at == 0 { (gate, level) } else { ("", "") };
            let level = format!("{}{}", paint(level, style), " ".repeat(self.level.saturating_sub(length(level))));
            let (reading, limit) = (cell(&readings), cell(&limits));
            let line = format!("{}  {level}  {}  {limit}", pad(gate, self.gate), pad(&reading, self.reading));
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn stacked(&self, [gate, level, reading, limit]: [&str; 4], style: &Style) -> String {
        let mut text = format!("{gate}: {}\n", paint(level, style));
        let limit = if limit.is_empty() { String::new() } else { format!(" (limit: {limit})") };
        for line in wrap(&format!("{reading}{limit}"), self.width.saturating_sub(self.indent())) {
            let _ = writeln!(text, "    {line}");
        }
        text
    }
}

/// Characters of a text. All of ours are one column wide but for names of foreign processes.
fn length(text: &str) -> usize {
    text.chars().count()
}

fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(length(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> Vec<Finding> {
        vec![
            Finding::passed("gpu-temperature", "38 C").limit("at most 45 C"),
            Finding::refused(
                "disk-space",
                "0.1 GiB free at '/data'",
                "free some space, or put the archive elsewhere with --archive",
            )
            .limit("at least 2 GiB"),
        ]
    }

    #[test]
    fn a_table_has_every_column_and_the_remedy_below() {
        let text = draw(&[("machine".to_owned(), findings())], 80, false);
        assert_eq!(
            text,
            "gate             level          reading                           limit\n\
             gpu-temperature  passed         38 C                              at most 45 C\n\
             disk-space       refused        0.1 GiB free at '/data'           at least 2 GiB\n\
             \x20                               try: free some space, or put the archive\n\
             \x20                                    elsewhere with --archive\n"
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_whatever_its_width() {
        for width in [40, 60, 72, 80, 100, 200] {
            let text = draw(&[("machine".to_owned(), findings()), ("docker".to_owned(), findings())], width, false);
            assert!(text.lines().all(|line| length(line) <= width), "{width}:\n{text}");
            assert!(text.contains("\ndocker\n"));
            for word in ["gpu-temperature", "38 C", "at most 45 C", "--archive"] {
                assert!(text.contains(word), "{width}: {word}");
            }
        }
    }

    #[test]
    fn colours_are_put_on_only_where_they_are_wanted() {
        let plain = draw(&[("machine".to_owned(), findings())], 80, false);
        assert!(!plain.contains('\u{1b}'));
        let painted = draw(&[("machine".to_owned(), findings())], 80, true);
        assert!(painted.contains("\u{1b}[1m\u{1b}[31mrefused\u{1b}[0m"), "{painted:?}");
        assert_eq!(anstyle_free(&painted), plain);
    }

    /// Without escape sequences.
    fn anstyle_free(text: &str) -> String {
        let mut parts = text.split('\u{1b}');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |all, part| all + part.split_once('m').map_or("", |(_, rest)| rest))
    }

    #[test]
    fn a_reading_without_a_limit_is_not_called_absent() {
        let swap = Finding::not_available("swap", "0.50 GiB in use, no limit is set").value(0.5, "GiB");
        let none = Finding::not_available("huge-pages", "the kernel has none");
        let text = draw(&[("machine".to_owned(), vec![swap, none])], 80, false);
        assert!(text.contains("swap        no limit       0.50 GiB"), "{text}");
        assert!(text.contains("huge-pages  not available  the kernel"), "{text}");
    }

    #[test]
    fn words_that_do_not_fit_stay_whole_and_control_characters_do_not_pass() {
        assert_eq!(wrap("a /very/long/path b", 6), ["a", "/very/long/path", "b"]);
        assert_eq!(wrap("", 10), [""]);
        assert_eq!(wrap("evil\u{1b}[2Jname", 80), ["evil\u{fffd}[2Jname"]);
    }
}
