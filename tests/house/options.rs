//! The manual has every option of a load, as the table of options has it.
//!
//! In:  `OPTIONS`.  Out: the table of docs/load.md.

use std::fmt::Write as _;
use std::path::Path;

use sparkbench::load::settings::{CONVERSATIONS, LoadOption, OPTIONS, ValueKind};

/// What an option takes: its kind, and its range in a suite.
fn takes(option: &LoadOption) -> String {
    match option.kind {
        // The command line alone has no range.
        ValueKind::Small(..) | ValueKind::Number(..) if option.key.is_empty() => "a number".to_owned(),
        ValueKind::Switch(_) => "`true`".to_owned(),
        ValueKind::Small(_, low, high) | ValueKind::Limit(_, low, high) if high < i64::from(u32::MAX) => {
            format!("{low} to {high}")
        }
        ValueKind::Small(_, low, _) | ValueKind::Limit(_, low, _) | ValueKind::Whole(_, low) => format!("from {low}"),
        ValueKind::Number(_, low, high) => format!("{low} to {high}"),
        ValueKind::Text(_) => "text".to_owned(),
        ValueKind::Counts(_) | ValueKind::Rates(_) => "a number, a list".to_owned(),
        ValueKind::Lengths(_) => "lengths".to_owned(),
        ValueKind::File(_) => "file".to_owned(),
        ValueKind::Files(_) => "files".to_owned(),
        ValueKind::List(_) | ValueKind::Table(_) => "table".to_owned(),
        ValueKind::Choice { words, .. } => {
            words().iter().map(|[word, ..]| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
    }
}

fn table() -> String {
    let mut text = String::from("| option | key of a suite | takes | meaning |\n|---|---|---|---|\n");
    let code = |text: String| if text.is_empty() { text } else { format!("`{text}`") };
    for option in OPTIONS {
        let table = if option.group == CONVERSATIONS { "conversations." } else { "" };
        let key = if option.key.is_empty() { String::new() } else { format!("{table}{}", option.key) };
        let long = option.option().map(|long| format!("--{long}")).unwrap_or_default();
        let default = if option.default.is_empty() { String::new() } else { format!(" [default: {}]", option.default) };
        let _ = writeln!(text, "| {} | {} | {} | {}{default} |", code(long), code(key), takes(option), option.help);
    }
    text
}

#[test]
fn the_manual_has_every_option_of_a_load() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/load.md");
    let manual = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = manual.split_once("| option | key of a suite |").unwrap();
    let after = rest.split_once("\n\n").map(|(_, after)| format!("\n{after}")).unwrap_or_default();
    let wanted = format!("{before}{}{after}", table());
    if std::env::var_os("SPARKBENCH_GOLDEN").is_some() {
        std::fs::write(&path, &wanted).unwrap();
        return;
    }
    assert!(manual == wanted, "docs/load.md is behind; SPARKBENCH_GOLDEN=write rewrites its table of options");
}
