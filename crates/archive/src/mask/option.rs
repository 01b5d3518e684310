//! Values behind options of commands: `--name value`, `"--name", "value"`.
//!
//! In:  bytes, the place of a dash.  Out: [`Hit`].
//! Not here: passwords behind short options (see `command`).

use super::hit::Hit;
use super::lexical::{Class, NAME, colours, in_name};
use super::names;
use super::scalar::run;

pub(super) fn behind_option(text: &[u8], at: usize) -> Option<Hit<'static>> {
    // Two dashes and no more: a line of them with words in it is a heading, `-----Inter-token Latency-----`.
    let is_option = text.get(at + 1) == Some(&b'-') && text.get(at + 2) != Some(&b'-');
    if !is_option || (at > 0 && text.get(at - 1).is_some_and(|byte| in_name(*byte))) {
        return None;
    }
    let mut end = at + 2;
    while end < at + 2 + NAME && text.get(end).is_some_and(|byte| in_name(*byte)) {
        end += 1;
    }
    let name = std::str::from_utf8(text.get(at + 2..end)?).ok()?;
    let kind = names::of_variable(name)?;
    // `--name value`, `"--name", "value"`. `--name=value`.
    let (skipped, parts) = between(text, at, end)?;
    let next = text.get(end + skipped);
    if skipped == 0 || !parts.iter().any(|byte| b" \t,=\n\0".contains(byte)) || next == Some(&b'-') {
        return None;
    }
    let quote = parts.last().copied().filter(|byte| b"\"'".contains(byte));
    let from = end + skipped;
    match quote {
        Some(quote) => run(text, from, kind, Class::Quoted(quote)),
        None => run(text, from + colours(text.get(from..)?), kind, Class::Value),
    }
}

/// What stands between an option and its value, and how long it is: quotes, commas, blanks. The option begins at `at` and ends at `end`. In
/// a list of JSON the value may stand on the next line, behind the blanks before it, and in one of YAML behind a dash: `- --name`, `- x`.
pub(super) fn between(text: &[u8], at: usize, end: usize) -> Option<(usize, &[u8])> {
    const NEAR: usize = 12;
    const FAR: usize = 256;
    let gap = text.get(end..text.len().min(end + FAR))?;
    let signs = |from: usize| {
        let rest = gap.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| b"\"'\\, \t\r\n=\0".contains(byte)).count()
    };
    let mut skipped = signs(0);
    let parts = gap.get(..skipped)?;
    let back = text.get(at.saturating_sub(FAR)..at)?;
    let is_item = || {
        let line = back.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        line.contains(&b'-') && line.iter().all(|byte| b" -\"'".contains(byte))
    };
    if parts.contains(&b'\n') && gap.get(skipped..)?.starts_with(b"- ") && is_item() {
        skipped += 2;
        skipped += signs(skipped);
    } else if skipped > NEAR && !parts.contains(&b',') {
        // The words of a help stand so.
        return None;
    }
    Some((skipped, gap.get(..skipped)?))
}
