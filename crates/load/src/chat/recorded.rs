//! Recorded conversations: ShareGPT-like JSON, and JSON lines of the same.
//!
//! In:  the text of a file.  Out: [`Recorded`] conversations, [`Counts`] of what was mended or left out, faults.
//! Not here: reading the file (see `library`), the part of a conversation that is sent.
//!
//! Two shapes are read. A file is one list or a sequence of objects (one a line or not), and the shapes may be mixed.
//!
//! ```text
//! { "id": "a", "messages":      [ { "role": "user",  "content": "..." }, { "role": "assistant", "content": "..." } ] }
//! { "id": "a", "conversations": [ { "from": "human", "value":   "..." }, { "from": "gpt",       "value":   "..." } ] }
//! ```
//!
//! The first is read and written by `benchmark_serving_multi_turn.py` of vLLM. Our own `conversations.jsonl` has it too, so an archived
//! conversation can be the input of another load. The second is the ShareGPT data set as it was published. The names of the sides are those
//! that vLLM's converter takes: `human` and `user`, `system`, and `gpt`, `bing`, `chatgpt`, `bard` or `assistant`.
//!
//! Content of another shape is a fault and rejects the file. A conversation of the right shape may still be unusable, because published
//! ShareGPT files hold parts of longer ones. It is then mended or left out, and counted:
//!
//! - Answers before the first turn of the user are left out, and the rest is kept. The file has the later part of a conversation.
//! - A conversation is left out whole without a user's turn, or with two turns of one side in a row. So is one with a system message
//!   elsewhere than at its head, an empty turn of the user, pictures, or tool calls.

use std::collections::BTreeSet;

use serde_json::Value;

use super::faults::Faults;

/// A turn of one side and its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RecordedTurn {
    /// The user's words.
    pub user: String,
    /// The recorded answer. Absent behind a last question without one.
    pub answer: Option<String>,
}

/// A conversation of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// `id`, else the number in the file.
    pub id: String,
    /// A system message at its head.
    pub system: Option<String>,
    /// User's turns in order. At least one.
    pub turns: Vec<RecordedTurn>,
}

/// Changes to conversations that cannot be led as recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// In the file.
    pub found: u64,
    /// Answers before the first turn of the user were left out.
    pub mended: u64,
    /// Left out: no turn of the user.
    pub no_user: u64,
    /// Left out: two turns of one side in a row, or a system message later than at the head.
    pub not_alternating: u64,
    /// Left out: an empty turn of the user.
    pub empty: u64,
    /// Left out: something else than text, or a side that is neither user nor assistant.
    pub not_text: u64,
}

impl Counts {
    /// A sentence for each thing that was done.
    pub(crate) fn notes(&self) -> Vec<String> {
        let of =
            |count: u64, what: &str| (count > 0).then(|| format!("{count} of {} conversations {what}", self.found));
        [
            of(self.mended, "began with an answer, which was left out"),
            of(self.no_user, "were left out: no turn of the user"),
            of(self.not_alternating, "were left out: user and assistant do not alternate"),
            of(self.empty, "were left out: a turn of the user is empty"),
            of(self.not_text, "were left out: pictures, calls of tools, or sides other than user and assistant"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    System,
    User,
    Assistant,
    /// A tool, or an unknown name.
    Other,
}

impl Side {
    fn of(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "user" | "human" => Self::User,
            "assistant" | "gpt" | "chatgpt" | "bing" | "bard" | "model" => Self::Assistant,
            "system" | "developer" => Self::System,
            _ => Self::Other,
        }
    }
}

const SHAPE: &str = "a conversation is { \"id\", \"messages\": [ { \"role\", \"content\" } ] } or { \"id\", \"conversations\": [ { \"from\", \"value\" } ] }";

const MEND: &str = "correct this part of the file";

/// Reads a file whole.
pub(crate) fn read(text: &str, faults: &mut Faults) -> (Vec<Recorded>, Counts) {
    let mut counts = Counts::default();
    let mut found = Vec::new();
    let mut ids = BTreeSet::new();
    for (number, item) in items(text).into_iter().enumerate() {
        let key = format!("[{number}]");
        let value: Value = match serde_json::from_str(item.text) {
            Ok(value) => value,
            Err(error) => {
                let line = item.line + error.line().saturating_sub(1);
                faults.add(line, &key, &format!("is not JSON: {}", message(&error)), MEND);
                // Behind a broken item the borders of the next ones are guesses.
                break;
            }
        };
        counts.found += 1;
        let before = faults.is_empty();
        let Some((id, sides)) = sides(&value, number, item.line, faults) else { continue };
        if !before {
            // The file is forbidden already. Further faults are still looked for.
            continue;
        }
        if !ids.insert(id.clone()) {
            let what = format!("is \"{id}\", which an earlier conversation has");
            faults.add(item.line, &format!("{key}.id"), &what, "give each conversation its own id");
            continue;
        }
        if let Some(recorded) = pair(id, sides, &mut counts) {
            found.push(recorded);
        }
    }
    if counts.found == 0 && faults.is_empty() {
        faults.add(0, "(file)", "holds no conversation", SHAPE);
    } else if found.is_empty() && faults.is_empty() {
        let what = format!("none of its {} conversations can be used: {}", counts.found, counts.notes().join("; "));
        faults.add(0, "(file)", &what, "each must begin with the user and alternate");
    }
    (found, counts)
}

/// A prompt and the answer that was recorded.
pub(crate) struct FirstTurns {
    /// Line of the file at which the conversation begins.
    pub line: usize,
    /// The first two turns, of either side, as vLLM and SGLang take them. Absent where one of them is missing or is no text.
    pub said: Option<(String, String)>,
}

/// The first two turns of every conversation. Ids do not matter, nor do later turns.
pub(crate) fn first_turns(text: &str, faults: &mut Faults) -> Vec<FirstTurns> {
    let mut found = Vec::new();
    for (number, item) in items(text).into_iter().enumerate() {
        let value: Value = match serde_json::from_str(item.text) {
            Ok(value) => value,
            Err(error) => {
                let line = item.line + error.line().saturating_sub(1);
                faults.add(line, &format!("[{number}]"), &format!("is not JSON: {}", message(&error)), MEND);
                break;
            }
        };
        let Some((_, sides)) = sides(&value, number, item.line, faults) else { continue };
        let mut texts = sides.into_iter().filter(|(side, _)| *side != Side::System).map(|(_, text)| text);
        let said = texts.next().flatten().zip(texts.next().flatten());
        found.push(FirstTurns { line: item.line, said });
    }
    if found.is_empty() && faults.is_empty() {
        faults.add(0, "(file)", "holds no conversation", SHAPE);
    }
    found
}

/// A top-level value, or an element of the list that the file is.
struct Item<'a> {
    line: usize,
    text: &'a str,
}

/// Borders of the items, found by brackets and quotes alone, so that each has its line and only one is parsed at a time.
fn items(text: &str) -> Vec<Item<'_>> {
    let bytes = text.as_bytes();
    let list = text.trim_start().starts_with('[');
    let base = usize::from(list);
    let (mut depth, mut line, mut quoted, mut escaped) = (0_usize, 1_usize, false, false);
    let mut start: Option<(usize, usize)> = None;
    let mut items = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == b'\n' {
            line += 1;
        }
        if quoted {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => quoted = false,
                _ => {}
            }
            continue;
        }
        // A bare number or word ends where the next item begins.
        let bare_ends = depth == base && (*byte == b',' || (list && *byte == b']') || (!list && *byte == b'\n'));
        if bare_ends && let Some((from, line)) = start.take() {
            items.push(Item { line, text: text.get(from..at).unwrap_or_default() });
        }
        if depth == base && start.is_none() && !byte.is_ascii_whitespace() && !matches!(byte, b',' | b']') {
            start = Some((at, line));
        }
        match byte {
            b'"' => quoted = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let ends = depth == base && matches!(byte, b'}' | b']') && start.is_some();
        if ends && let Some((from, line)) = start.take() {
            items.push(Item { line, text: text.get(from..=at).unwrap_or_default() });
        }
    }
    if let Some((from, line)) = start {
        items.push(Item { line, text: text.get(from..).unwrap_or_default() });
    } else if list && depth > 0 {
        // The list is not closed: the file was cut off between two items.
        items.push(Item { line, text: "" });
    }
    items
}

/// serde's words without the place, which is ours to say.
pub(super) fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

/// Text of one side. Absent where it is no text.
type Spoken = (Side, Option<String>);

/// Id and turns unchanged. Absent with a fault.
fn sides(value: &Value, number: usize, line: usize, faults: &mut Faults) -> Option<(String, Vec<Spoken>)> {
    let key = format!("[{number}]");
    let Value::Object(object) = value else {
        faults.add(line, &key, &format!("is {}", kind(value)), SHAPE);
        return None;
    };
    let id = match object.get("id") {
        None | Some(Value::Null) => format!("#{number}"),
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        Some(other) => {
            faults.add(line, &format!("{key}.id"), &format!("is {}", kind(other)), "give a text or a number");
            return None;
        }
    };
    let lists = [("messages", "role", "content"), ("conversations", "from", "value")];
    let Some((name, who, what)) = lists.into_iter().find(|(name, _, _)| object.contains_key(*name)) else {
        faults.add(line, &key, "has neither \"messages\" nor \"conversations\"", SHAPE);
        return None;
    };
    let Some(Value::Array(messages)) = object.get(name) else {
        let found = object.get(name).map_or("nothing", kind);
        faults.add(line, &format!("{key}.{name}"), &format!("is {found}"), SHAPE);
        return None;
    };
    let mut sides = Vec::with_capacity(messages.len());
    let mut fine = true;
    for (at, message) in messages.iter().enumerate() {
        let key = format!("{key}.{name}[{at}]");
        let mut fault = |part: &str, what: &str, remedy: &str| {
            faults.add(line, &format!("{key}{part}"), what, remedy);
            fine = false;
        };
        if !message.is_object() {
            fault("", &format!("is {}", kind(message)), SHAPE);
            continue;
        }
        let Some(side) = message.get(who).and_then(Value::as_str).map(Side::of) else {
            let found = message.get(who).map_or("missing", kind);
            fault(&format!(".{who}"), &format!("is {found}"), "name the speaker: user, assistant or system");
            continue;
        };
        match message.get(what) {
            Some(Value::String(text)) => sides.push((side, Some(text.clone()))),
            Some(Value::Array(parts)) => sides.push((side, joined(parts))),
            // An answer that is nothing but calls of tools.
            Some(Value::Null) => sides.push((side, None)),
            None if message.get("tool_calls").is_some() => sides.push((side, None)),
            other => {
                let found = other.map_or("missing", kind);
                fault(&format!(".{what}"), &format!("is {found}"), "give the words as a text");
            }
        }
    }
    fine.then_some((id, sides))
}

/// Text of a message in parts. Absent when one of them is something else.
fn joined(parts: &[Value]) -> Option<String> {
    parts
        .iter()
        .map(|part| match part.get("type").and_then(Value::as_str) {
            Some("text") => part.get("text").and_then(Value::as_str),
            _ => part.as_str(),
        })
        .collect()
}

/// Questions with their answers. Absent, and counted, when the conversation cannot be led.
fn pair(id: String, mut sides: Vec<Spoken>, counts: &mut Counts) -> Option<Recorded> {
    let mut system = None;
    if sides.first().is_some_and(|(side, _)| *side == Side::System) {
        system = sides.remove(0).1.filter(|text| !text.is_empty());
    }
    let Some(first) = sides.iter().position(|(side, _)| *side == Side::User) else {
        counts.no_user += 1;
        return None;
    };
    if sides.iter().any(|(side, text)| *side == Side::Other || text.is_none()) {
        counts.not_text += 1;
        return None;
    }
    if sides.iter().take(first).any(|(side, _)| *side != Side::Assistant) {
        counts.not_alternating += 1;
        return None;
    }
    let mut turns: Vec<RecordedTurn> = Vec::new();
    for (at, (side, text)) in sides.into_iter().skip(first).enumerate() {
        let expected = if at % 2 == 0 { Side::User } else { Side::Assistant };
        if side != expected {
            counts.not_alternating += 1;
            return None;
        }
        let text = text.unwrap_or_default();
        if side == Side::User {
            if text.trim().is_empty() {
                counts.empty += 1;
                return None;
            }
            turns.push(RecordedTurn { user: text, answer: None });
        } else if let Some(turn) = turns.last_mut() {
            turn.answer = Some(text);
        }
    }
    counts.mended += u64::from(first > 0);
    Some(Recorded { id, system, turns })
}

/// Type of a value, for messages.
pub(super) const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good(text: &str) -> (Vec<Recorded>, Counts) {
        let mut faults = Faults::default();
        let read = read(text, &mut faults);
        if let Err(error) = faults.into_result(std::path::Path::new("x.json"), "conversations") {
            panic!("{error}");
        }
        read
    }

    fn fault(text: &str) -> String {
        let mut faults = Faults::default();
        read(text, &mut faults);
        faults.into_result(std::path::Path::new("x.json"), "conversations").unwrap_err().to_string()
    }

    #[test]
    fn both_shapes_are_read_as_a_list_and_line_by_line() {
        let messages = r#"{"id":"a","messages":[{"role":"system","content":"S"},{"role":"user","content":"[1] {"},{"role":"assistant","content":"2"},{"role":"user","content":"3"}]}"#;
        let sharegpt = r#"{"id":7,"conversations":[{"from":"human","value":"x\"}"},{"from":"gpt","value":"y"}]}"#;
        for text in [
            format!("[{messages},\n{sharegpt}]"),
            format!("{messages}\n{sharegpt}\n"),
            format!("\n{messages}{sharegpt}"),
        ] {
            let (found, counts) = good(&text);
            assert_eq!(counts.found, 2);
            let [first, second] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!((first.id.as_str(), first.system.as_deref()), ("a", Some("S")));
            assert_eq!(first.turns[0], RecordedTurn { user: "[1] {".into(), answer: Some("2".into()) });
            assert_eq!(first.turns[1], RecordedTurn { user: "3".into(), answer: None });
            assert_eq!(second.id, "7");
            assert_eq!(second.turns, [RecordedTurn { user: "x\"}".into(), answer: Some("y".into()) }]);
        }
    }

    #[test]
    fn a_text_in_parts_is_joined() {
        let (found, _) = good(
            r#"[{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}]"#,
        );
        assert_eq!((found[0].id.as_str(), found[0].turns[0].user.as_str()), ("#0", "ab"));
    }

    #[test]
    fn what_cannot_be_led_is_mended_or_left_out_and_counted() {
        let talk = |sides: &[(&str, &str)]| {
            let list: Vec<_> =
                sides.iter().map(|(from, value)| serde_json::json!({ "from": from, "value": value })).collect();
            serde_json::json!({ "conversations": list }).to_string()
        };
        let text = [
            talk(&[("gpt", "tail"), ("human", "q"), ("gpt", "a")]),
            talk(&[("gpt", "alone")]),
            talk(&[]),
            talk(&[("human", "q"), ("human", "q")]),
            talk(&[("human", "q"), ("gpt", "a"), ("system", "s")]),
            talk(&[("human", " "), ("gpt", "a")]),
            talk(&[("human", "q"), ("tool", "a")]),
            r#"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]}"#.to_owned(),
            talk(&[("human", "q"), ("bard", "a")]),
        ]
        .join("\n");
        let (found, counts) = good(&text);
        assert_eq!(counts, Counts { found: 9, mended: 1, no_user: 2, not_alternating: 2, empty: 1, not_text: 2 });
        assert_eq!(found.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["#0", "#8"]);
        assert_eq!(found[0].turns[0].user, "q");
        assert_eq!(counts.notes()[0], "1 of 9 conversations began with an answer, which was left out");
        assert_eq!(counts.notes().len(), 5);
    }

    #[test]
    fn every_fault_is_named_with_its_line_and_key() {
        let text = "[\n{\"id\":[],\"messages\":[]},\n{\"id\":\"b\",\"messages\":[{\"role\":\"user\"},{\"content\":\"x\"},3]},\n5,\n{\"id\":\"c\"},\n\
                    {\"id\":\"d\",\"messages\":{}}\n]";
        let said = fault(text);
        for part in [
            "'x.json' cannot be used as conversations: 7 faults",
            "line 2, [0].id: is a list",
            "line 3, [1].messages[0].content: is missing",
            "line 3, [1].messages[1].role: is missing",
            "line 3, [1].messages[2]: is a number",
            "line 4, [2]: is a number",
            "line 5, [3]: has neither",
            "line 6, [4].messages: is an object",
        ] {
            assert!(said.contains(part), "{part} is not in {said}");
        }
    }

    #[test]
    fn an_id_that_comes_twice_is_a_fault() {
        let one = r#"{"id":"a","messages":[{"role":"user","content":"x"}]}"#;
        assert!(
            fault(&format!("{one}\n{one}")).contains("line 2, [1].id: is \"a\", which an earlier conversation has")
        );
    }

    #[test]
    fn broken_json_is_named_by_its_line() {
        let said = fault("[\n{\"id\":\"a\",\n \"messages\":[{\"role\":\"user\",,\"content\":\"x\"}]}]");
        assert!(said.contains("line 3, [0]: is not JSON: "), "{said}");
        assert!(fault("[{\"id\":\"a\",\"messages\":[{\"role\"").contains("is not JSON: EOF"));
        let cut_off = "[{\"id\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]},\n";
        assert!(fault(cut_off).contains("line 2, [1]: is not JSON: EOF"));
    }

    #[test]
    fn a_file_with_nothing_to_lead_is_a_fault() {
        assert!(fault("[]").contains("(file): holds no conversation"));
        assert!(fault("").contains("(file): holds no conversation"));
        assert!(fault(r#"[{"messages":[]}]"#).contains("none of its 1 conversations can be used"));
    }

    #[test]
    fn a_thousand_faults_are_counted_and_twenty_listed() {
        let said = fault(&"{\"id\":1}\n".repeat(1000));
        assert!(said.contains("1000 faults") && said.contains("and 980 more"), "{said}");
    }
}
