//! Text of charts: made harmless, measured without a font, cut to fit.
//!
//! In:  labels as they came.  Out: escaped text, widths in units of the font size, shortened labels.
//!
//! Widths are those of Helvetica's published font metrics, which Arial, Liberation Sans and Nimbus Sans share. The
//! stylesheet asks for these families first. No font file is read, so the layout is the same on every machine.
//!
//! Source: Adobe Font Metrics for Helvetica (core 14 fonts), character widths in thousandths.

use sparkbench_text::escape::file_name;

/// Widths of U+0020 to U+007E in thousandths of the font size.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
    556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
    260, 334, 584,
];

/// Room for fonts that are a little wider than Helvetica.
const SLACK: f64 = 1.04;

/// Characters kept of a text that is shown or read out. No real label is longer.
pub(super) const LONGEST: usize = 160;

/// Bytes of the longest link. The address of a page is a path, and its anchor holds the names of a comparison.
const LONGEST_LINK: usize = 8_192;

/// Characters kept of prose: keys and descriptions.
pub(super) const PROSE: usize = 1_500;

/// Width of a text at a font size, in the unit of the size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let thousandths: u32 = text.chars().map(|c| u32::from(advance(c))).sum();
    f64::from(thousandths) / 1000.0 * size * SLACK
}

/// Width of one character in thousandths.
fn advance(c: char) -> u16 {
    match c {
        ' '..='~' => WIDTHS[c as usize - 0x20],
        '\u{300}'..='\u{36f}' => 0,
        '\u{2009}' | '\u{202f}' => 200,
        '\u{a0}' | '·' => 278,
        '−' | '±' | '×' | '≤' | '≥' => 584,
        '…' | '—' => 1000,
        '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' => 1000,
        '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{1f000}'..='\u{1faff}' => 1000,
        _ => 610,
    }
}

/// Text without characters that XML forbids or that reorder what follows. Runs of white space become one space.
pub(super) fn clean(text: &str) -> String {
    clean_to(text, LONGEST)
}

/// The same for prose, which may hold more.
pub(super) fn clean_to(text: &str, longest: usize) -> String {
    let mut out = String::with_capacity(text.len().min(longest.saturating_mul(4)));
    let mut gap = false;
    for (taken, c) in text.chars().enumerate() {
        if taken == longest {
            out.push('…');
            break;
        }
        if c.is_whitespace() && c != '\u{202f}' && c != '\u{a0}' {
            gap = !out.is_empty();
            continue;
        }
        if gap {
            out.push(' ');
            gap = false;
        }
        let odd = c.is_control()
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{fffe}' | '\u{ffff}');
        out.push(if odd { '\u{fffd}' } else { c });
    }
    out
}

/// Cleaned and escaped for element content and for attribute values in double quotes.
pub(super) fn escape(text: &str) -> String {
    escape_to(text, LONGEST)
}

/// The same for prose.
pub(super) fn escape_to(text: &str, longest: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean_to(text, longest).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(c),
        }
    }
    out
}

/// Text of others for XML outside a drawing, whole: what XML 1.0 cannot hold becomes U+FFFD, spaces in a row are one.
pub fn xml(text: &str) -> String {
    escape_to(text, usize::MAX)
}

/// As long a beginning as fits, with an ellipsis when it is not all.
pub(super) fn fit(text: &str, size: f64, room: f64) -> String {
    let text = clean(text);
    if width(&text, size) <= room {
        return text;
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        if width(&short, size) + width("…", size) > room {
            short.pop();
            break;
        }
    }
    format!("{}…", short.trim_end())
}

/// As much of both ends as fits, with an ellipsis between them when it is not all: names of runs differ at their ends.
pub(super) fn fit_middle(text: &str, size: f64, room: f64) -> String {
    let text = clean(text);
    if width(&text, size) <= room {
        return text;
    }
    let letters: Vec<char> = text.chars().collect();
    let shown = |kept: usize| -> String {
        let (head, tail) = (kept / 2, letters.len() - (kept - kept / 2));
        letters[..head].iter().chain(&['…']).chain(&letters[tail..]).collect()
    };
    (0..letters.len()).rev().map(shown).find(|short| width(short, size) <= room).unwrap_or_default()
}

/// Like [`fit`], unless another of `others` would be cut to the same text. Then the difference stays, behind as much of the beginning as fits.
/// Names of models differ at their ends.
pub(super) fn fit_apart(text: &str, others: &[&str], size: f64, room: f64) -> String {
    let whole = clean(text);
    let cut = fit(&whole, size, room);
    if cut == whole {
        return cut;
    }
    let rivals: Vec<String> = others.iter().map(|other| clean(other)).filter(|other| *other != whole).collect();
    let letters: Vec<char> = whole.chars().collect();
    let shared = |other: &String| letters.iter().zip(other.chars()).take_while(|(a, b)| **a == *b).count();
    let same = rivals.iter().filter(|other| fit(other, size, room) == cut);
    let Some(common) = same.map(shared).min() else { return cut };
    // From the word that differs, not from the letter.
    let parts = ['-', '_', '/', ' ', ',', '.', ':'];
    let from = letters[..common].iter().rposition(|c| parts.contains(c)).map_or(common, |at| at + 1);
    let tail: String = letters[from..].iter().collect();
    let shown = |head: usize| format!("{}…{tail}", letters[..head].iter().collect::<String>().trim_end_matches(parts));
    let heads = (0..=from).rev().map(shown);
    let mut fitting = heads.filter(|short| width(short, size) <= room);
    fitting.next().unwrap_or_else(|| fit(&format!("…{tail}"), size, room))
}

/// Broken at spaces into lines that fit. A word that does not fit alone is cut.
pub(super) fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let text = clean_to(text, PROSE);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(fit(word, size, room)),
        }
    }
    lines
}

/// An id that is valid in HTML, CSS and as a fragment. Two long texts of one beginning have two ids.
pub(super) fn id(text: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    format!("c-{}", file_name(&text.chars().map(safe).collect::<String>()))
}

/// A link that stays on the site or goes to the web. Anything else (`javascript:`, `data:`) is no link.
pub(super) fn link(href: &str) -> Option<&str> {
    let scheme = href.split(['/', '?', '#']).next()?.split_once(':').map(|(scheme, _)| scheme);
    let allowed = scheme.is_none_or(|s| s.eq_ignore_ascii_case("https") || s.eq_ignore_ascii_case("http"));
    let plain =
        !href.is_empty() && href.len() <= LONGEST_LINK && !href.chars().any(|c| c.is_control() || c.is_whitespace());
    (allowed && plain && !href.contains('\\')).then_some(href)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_characters_become_text() {
        assert_eq!(escape("<b a=\"1\">&"), "&lt;b a=&quot;1&quot;&gt;&amp;");
        assert_eq!(xml("a<b>&\"c\"\n\u{1}\u{ffff}"), "a&lt;b&gt;&amp;&quot;c&quot; \u{fffd}\u{fffd}");
        assert_eq!(xml(&"x".repeat(10_000)).len(), 10_000, "outside a drawing nothing is cut off");
        assert_eq!(clean("a\u{0}b\u{202e}c\n\td"), "a\u{fffd}b\u{fffd}c d");
    }

    #[test]
    fn a_text_that_fits_is_whole_and_one_that_does_not_ends_in_an_ellipsis() {
        assert_eq!(fit("native", 13.0, 60.0), "native");
        let cut = fit("a very long label of somebody's making", 13.0, 60.0);
        assert!(cut.ends_with('…') && width(&cut, 13.0) <= 60.0, "{cut}");
    }

    #[test]
    fn a_name_that_does_not_fit_keeps_both_its_ends() {
        assert_eq!(fit_middle("native", 13.0, 60.0), "native");
        let cut = fit_middle("native_llama1b_iter1_20261120_234334_t1 (+2)", 13.0, 200.0);
        assert!(cut.starts_with("native_") && cut.ends_with("_t1 (+2)") && cut.contains('…'), "{cut}");
        assert!(width(&cut, 13.0) <= 200.0);
        assert_eq!(fit_middle("native", 13.0, 0.0), "");
    }

    #[test]
    fn names_that_would_be_cut_to_the_same_text_keep_what_differs() {
        let names = ["nvidia-nemotron-3-nano-30b-a3b-bf16", "nvidia-nemotron-3-nano-30b-a3b-fp8"];
        let shown = names.map(|name| fit_apart(name, &names, 13.0, 150.0));
        assert_eq!(shown, ["nvidia-nemotron-3…bf16", "nvidia-nemotron-3-…fp8"].map(|s| s.replace("-…", "…")));
        assert!(shown.iter().all(|name| width(name, 13.0) <= 150.0));
        // One that no other is cut like stays as it was.
        let alone = ["nvidia-nemotron-3-nano-30b-a3b-bf16", "qwen"];
        assert_eq!(fit_apart(alone[0], &alone, 13.0, 150.0), fit(alone[0], 13.0, 150.0));
        assert_eq!(fit_apart("qwen", &alone, 13.0, 150.0), "qwen");
        // A name that is the beginning of the other, and room for hardly anything.
        let nested = ["a-very-long-name-of-a-model", "a-very-long-name-of-a-model-fp8"];
        let shown = nested.map(|name| fit_apart(name, &nested, 13.0, 100.0));
        assert!(shown[0] != shown[1] && shown.iter().all(|name| width(name, 13.0) <= 100.0), "{shown:?}");
    }

    #[test]
    fn links_that_run_code_are_no_links() {
        assert_eq!(link("../r/run-1/index.html#x"), Some("../r/run-1/index.html#x"));
        assert_eq!(link("JavaScript:alert(1)"), None);
        assert_eq!(link("java\nscript:alert(1)"), None);
        assert_eq!(link("data:text/html,x"), None);
    }

    #[test]
    fn lines_are_broken_at_spaces() {
        assert_eq!(wrap("one two three", 10.0, 45.0), ["one two", "three"]);
    }
}
