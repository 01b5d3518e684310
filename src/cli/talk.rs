//! Talk goes to standard error: plain lines, a progress bar only on a terminal, nothing with `--quiet`.
//!
//! In:  what a verb has to say.  Out: standard error.
//! Not here: results.

use std::borrow::Cow;
use std::io::{IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};
use clap::ColorChoice;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use sparkbench_archive::mask::Veil;
use sparkbench_text::error::Error;

/// How loudly to speak.
#[derive(Debug)]
pub(crate) struct Talk {
    quiet: bool,
    verbose: bool,
    colour: bool,
    terminal: bool,
    paints_output: bool,
    /// What no line may show.
    veil: Veil,
}

/// Columns where there is no terminal to ask: as wide as most windows, and as a page of a log.
const WIDTH: usize = 100;
/// Columns below which nothing is laid out.
const WIDTH_MIN: usize = 40;

impl Talk {
    /// Colour follows the terminal and `NO_COLOR` unless it was asked for.
    pub(crate) fn new(quiet: bool, verbose: bool, choice: ColorChoice) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let wanted = |terminal: bool| match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        };
        let paints_output = wanted(std::io::stdout().is_terminal());
        Self { quiet, verbose, colour: wanted(terminal), terminal, paints_output, veil: Veil::default() }
    }

    /// The same, which shows nothing of some secrets.
    #[cfg(all(feature = "collect", target_os = "linux"))]
    pub(crate) fn veiled(&self, veil: Veil) -> Self {
        Self { veil, ..*self }
    }

    /// Whether results on standard output are coloured.
    pub(crate) const fn paints_output(&self) -> bool {
        self.paints_output
    }

    /// Columns for results on standard output.
    pub(crate) fn width(&self) -> usize {
        let (_, columns) = console::Term::stdout().size_checked().unwrap_or((0, 0));
        if columns == 0 { WIDTH } else { usize::from(columns).max(WIDTH_MIN) }
    }

    /// Whether every step and every caveat is wanted.
    pub(crate) const fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Whether nothing but errors is wanted.
    #[cfg(feature = "analyse")]
    pub(crate) const fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// A line of plain news.
    pub(crate) fn say(&self, line: &str) {
        if !self.quiet {
            self.line("", Style::new(), &line.replace(['\n', '\r'], " "));
        }
    }

    /// A line for those who want to see every step.
    pub(crate) fn detail(&self, line: &str) {
        if self.verbose {
            self.line("", Style::new().dimmed(), line);
        }
    }

    /// Something was left out or needs a look.
    pub(crate) fn warn(&self, line: &str) {
        if !self.quiet {
            self.line("warning: ", Style::new().bold().fg_color(Some(AnsiColor::Yellow.into())), line);
        }
    }

    /// Why the program stops.
    pub(crate) fn error(&self, error: &Error) {
        self.line("error: ", Style::new().bold().fg_color(Some(AnsiColor::Red.into())), &error.to_string());
    }

    /// A bar on a terminal, nothing elsewhere: logs stay readable.
    pub(crate) fn progress(&self, steps: u64, what: &str) -> ProgressBar {
        if self.quiet || !self.terminal {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg:<12} {bar:32} {pos}/{len} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        bar
    }

    /// One line that changes, on a terminal. Nothing elsewhere.
    pub(crate) fn spinner(&self) -> ProgressBar {
        if self.quiet || !self.terminal {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
            bar.set_style(style);
        }
        bar
    }

    fn line(&self, prefix: &str, style: Style, text: &str) {
        let text = if self.veil.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(self.veil.said(text)) };
        let clean = clean(&text);
        let mut out = std::io::stderr().lock();
        let _ = if self.colour && (!prefix.is_empty() || style != Style::new()) {
            if prefix.is_empty() {
                writeln!(out, "{}{clean}{}", style.render(), style.render_reset())
            } else {
                writeln!(out, "{}{prefix}{}{clean}", style.render(), style.render_reset())
            }
        } else {
            writeln!(out, "{prefix}{clean}")
        };
    }
}

/// The text without control characters: those of file names must not reach the terminal.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if (c.is_control() && c != '\n') || turns(c) { '\u{fffd}' } else { c }).collect()
}

/// Lines of at most so many characters, broken between words. A word that is longer stays whole, so that paths can be copied. At least
/// one line. Control characters from names do not reach the terminal.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let word: String = word.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        let Some(line) = lines.last_mut() else { continue };
        if line.is_empty() {
            line.push_str(&word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(&word);
        } else {
            lines.push(word);
        }
    }
    lines
}

/// Characters that turn the direction of what follows: a name could make a line read as another.
const fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
