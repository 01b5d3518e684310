//! Prompts of a file: one JSON object or one text on each line.
//!
//! In:  text of the file.  Out: [`Prompts`]: the JSON to send for each, and its output length where given.
//! Not here: reading the file (see `input`), the rest of the body (see `load::build`).
//!
//! The first line that is not empty decides whether a file is JSON lines or text. If it begins with `{`, all lines must be JSON. `prompt` is
//! a text or a list of token ids, `messages` a list as the chat route takes it. `output_tokens`, `max_tokens` or `output_len` is the wanted
//! length of the answer. Other members are ignored.
//!
//! A cold cache needs a nonce at the head. It goes before a text, and into the first text of a list of messages. Token ids have no place for
//! words, so `build` refuses them then.

use serde_json::Value;

use super::lengths::LONGEST;
use sparkbench_text::error::{Error, Place};

/// Stands where a nonce may go, while a line is taken apart. A private character: no prompt has it for anything.
const PLACE: &str = "\u{F0000}sparkbench\u{F0000}";

/// Request of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// A text, as JSON without its quotes.
    Text(String),
    /// Messages, as JSON. The number is where in it a nonce may go, where there is a text.
    Messages(String, Option<usize>),
    /// Token ids, as JSON, and how many.
    Ids(String, u32),
}

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Number of the line, from 1.
    pub number: u64,
    /// Its request.
    pub ask: Ask,
    /// Output tokens, where it says.
    pub osl: Option<u32>,
}

/// All of them, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompts(pub Vec<Line>);

impl Prompts {
    /// Reads the lines. Empty ones are skipped.
    ///
    /// # Errors
    /// The first line that cannot be sent, by its number.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let lines = || (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let json = lines().next().is_some_and(|(_, line)| line.trim_start().starts_with('{'));
        let prompts = lines()
            .map(|(number, line)| {
                if json {
                    read(line).map(|(ask, osl)| Line { number, ask, osl }).map_err(|why| {
                        Error::usage(format!("cannot read '{name}' as prompts"))
                            .at(Place::Line(number))
                            .detail(why)
                            .hint("a line is {\"prompt\": \"...\"} or {\"messages\": [...]}, with \"output_tokens\" if wanted. A file of plain text must not begin with '{'")
                    })
                } else {
                    Ok(Line { number, ask: Ask::Text(bare(line)), osl: None })
                }
            })
            .collect::<Result<Vec<_>, _>>()?;
        if prompts.is_empty() {
            return Err(Error::usage(format!("'{name}' has no prompts")).hint("write one prompt on each line"));
        }
        Ok(Self(prompts))
    }
}

fn read(line: &str) -> Result<(Ask, Option<u32>), String> {
    let mut value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let osl = ["output_tokens", "max_tokens", "output_len"].into_iter().find_map(|name| {
        let given = value.get(name).filter(|given| !given.is_null())?;
        Some(match given.as_u64() {
            Some(tokens @ 1..) if tokens <= u64::from(LONGEST) => Ok(tokens as u32),
            _ => Err(format!("{name} is {given}: expected a whole number of tokens, at least 1")),
        })
    });
    let osl = osl.transpose()?;
    let ask = match (value.get_mut("prompt").map(Value::take), value.get_mut("messages").map(Value::take)) {
        (Some(_), Some(_)) => return Err("has both prompt and messages".to_owned()),
        (Some(Value::String(text)), None) => Ask::Text(bare(&text)),
        (Some(Value::Array(ids)), None) => {
            if ids.is_empty() || ids.iter().any(|id| id.as_u64().is_none()) {
                return Err("prompt is a list, and not one of token ids".to_owned());
            }
            let count = u32::try_from(ids.len()).map_err(|_| "prompt is too long".to_owned())?;
            Ask::Ids(Value::Array(ids).to_string(), count)
        }
        (None, Some(Value::Array(messages))) if !messages.is_empty() => with_place(messages),
        (None, Some(_)) => return Err("messages is not a list, or an empty one".to_owned()),
        (Some(other), None) => return Err(format!("prompt is {other}: expected a text or a list of token ids")),
        (None, None) => return Err("has neither prompt nor messages".to_owned()),
    };
    Ok((ask, osl))
}

/// The inside of a JSON string.
pub(super) fn bare(text: &str) -> String {
    let quoted = Value::String(text.to_owned()).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn with_place(mut messages: Vec<Value>) -> Ask {
    if let Some(text) = messages.iter_mut().find_map(first_text) {
        text.insert_str(0, PLACE);
    }
    let json = Value::Array(messages).to_string();
    match json.find(PLACE) {
        Some(at) => Ask::Messages(json.replacen(PLACE, "", 1), Some(at)),
        None => Ask::Messages(json, None),
    }
}

/// The text of a message: its content, or the first part of it that is one.
fn first_text(message: &mut Value) -> Option<&mut String> {
    match message.get_mut("content")? {
        Value::String(text) => Some(text),
        Value::Array(parts) => parts.iter_mut().find_map(|part| match part.get_mut("text") {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_line_is_read() {
        let text = r#"{"prompt": "say \"hi\"\n", "output_tokens": 7}

{"messages": [{"role": "system", "content": ""}, {"role": "user", "content": "x"}], "max_tokens": 3}
{"prompt": [1, 2, 30], "output_len": 5}
{"messages": [{"role": "user", "content": [{"type": "image_url"}, {"type": "text", "text": "see"}]}]}"#;
        let Prompts(lines) = Prompts::parse("p", text).unwrap();
        assert_eq!(lines[0], Line { number: 1, ask: Ask::Text("say \\\"hi\\\"\\n".into()), osl: Some(7) });
        let Ask::Messages(json, Some(at)) = &lines[1].ask else { panic!() };
        assert_eq!(&json[..*at], r#"[{"role":"system","content":""#);
        assert_eq!((lines[1].number, lines[1].osl), (3, Some(3)));
        assert_eq!(lines[2].ask, Ask::Ids("[1,2,30]".into(), 3));
        let Ask::Messages(json, Some(at)) = &lines[3].ask else { panic!() };
        assert!(json[*at..].starts_with("see"));
    }

    #[test]
    fn text_lines_are_prompts_as_they_are() {
        let Prompts(lines) = Prompts::parse("p", "one \"two\"\n\nthree\n").unwrap();
        assert_eq!(lines[0].ask, Ask::Text("one \\\"two\\\"".into()));
        assert_eq!((lines.len(), lines[1].number), (2, 3));
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (line, why) in [
            ("{\"prompt\": 5}", "expected a text or a list"),
            ("{\"text\": \"x\"}", "neither prompt nor messages"),
            ("{\"prompt\": [1, \"a\"]}", "not one of token ids"),
            ("{\"messages\": []}", "messages is not a list"),
            ("{\"prompt\": \"x\", \"messages\": [1]}", "both prompt and messages"),
            ("{\"prompt\": \"x\", \"max_tokens\": 0}", "max_tokens is 0"),
            ("plain", "expected"),
        ] {
            let error = Prompts::parse("p.jsonl", &format!("{{\"prompt\": \"a\"}}\n{line}")).unwrap_err().to_string();
            assert!(error.contains("line 2") && error.contains(why), "{error}");
        }
    }
}
