//! `sparkbench formats`: every format that is read.
//!
//! In:  the registries of `ingest`.  Out: a list for people, or JSON.
//! Not here: reading.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::stdout::print;
use super::talk::Talk;
use sparkbench_ingest::{About, FORMATS, KINDS};
use sparkbench_model::{Definition, DefinitionMatch, definition};
use sparkbench_text::error::Error;

/// List every file format that sparkbench reads
///
/// One line per format. With a WORD, the list says how each matching format is recognised and what is read from it. Files are recognised by
/// their content, never by their name alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench formats\n  sparkbench formats vllm\n  sparkbench formats --json")]
pub(crate) struct Formats {
    /// Word in the name or the tool of a format: its details are printed. --verbose prints those of all formats
    #[arg(value_name = "WORD")]
    word: Option<String>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// The whole of the verb.
///
/// # Errors
/// When no format holds the word, or standard output is closed.
pub(crate) fn run(args: &Formats, talk: &Talk) -> Result<(), Error> {
    let files = FORMATS.iter().map(|format| (format.name(), "file", format.about()));
    let texts = KINDS.iter().map(|kind| (kind.name, "text", kind.about));
    let word = args.word.as_deref().unwrap_or_default().to_lowercase();
    let all: Vec<(&str, &str, About)> = files
        .chain(texts)
        .filter(|(name, _, about)| format!("{name} {}", about.tool).to_lowercase().contains(&word))
        .collect();
    if all.is_empty() {
        return Err(Error::usage(format!("no format has the word '{word}' in its name or tool"))
            .hint("list all formats with: sparkbench formats"));
    }
    if args.json {
        let list: Vec<Value> = all
            .iter()
            .map(|(name, kind, about)| {
                json!({"name": name, "kind": kind, "tool": about.tool, "versions": about.versions, "sign": about.sign,
                       "reads": about.reads, "definitions": definitions(name).iter().map(shown).collect::<Vec<Value>>()})
            })
            .collect();
        return print(&format!("{:#}\n", Value::Array(list)));
    }
    let mut out = String::new();
    if args.word.is_none() && !talk.is_verbose() {
        let wide = all.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
        for (name, _, about) in &all {
            let _ = writeln!(out, "{name:wide$}  {}", about.tool);
        }
        talk.say(&format!(
            "{} formats. Details of one: sparkbench formats WORD, e.g. sparkbench formats vllm",
            all.len()
        ));
        return print(&out);
    }
    for (name, kind, about) in all {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name} ({kind})");
        for (title, text) in
            [("tool", about.tool), ("versions", about.versions), ("sign", about.sign), ("reads", about.reads)]
        {
            if !text.is_empty() {
                let _ = writeln!(out, "  {title:<9} {text}");
            }
        }
        for one in definitions(name) {
            let _ = writeln!(out, "  {:<9} {} as {} ({})", "measures", one.metric, one.measures, against(&one));
        }
    }
    print(&out)
}

/// What the tool behind a format measures under our names, by the catalogue.
fn definitions(name: &str) -> Vec<Definition> {
    let Some(family) = definition::family(name) else { return Vec::new() };
    Definition::all().filter(|definition| definition.family == family).collect()
}

fn against(definition: &Definition) -> String {
    match definition.likeness {
        DefinitionMatch::Same => "as ours".to_owned(),
        DefinitionMatch::Like(how) => format!("like ours, {how}"),
        DefinitionMatch::Other => "not comparable with ours".to_owned(),
    }
}

fn shown(definition: &Definition) -> Value {
    json!({"metric": definition.metric, "class": definition.class, "measures": definition.measures,
           "against_ours": against(definition), "source": definition.source})
}
