//! Full parsing of an event's data, needed for the first event of each shape.
//!
//! In:  the data of one event.  Out: a [`Delta`], and [`Notes`] of where in the text its values stood.
//! Not here: what the decisions are (see [`super::delta`]), what the notes are good for (see [`super::shape`]).

use super::delta::{Delta, ERROR_LIMIT};
use super::fault::{Fault, excerpt, one_line};
use super::json::{Bad, JsonCursor, Kind, whole};
use super::raw::Raw;
use super::shape::{Fill, Notes, digits};
use crate::order::{ChunkKind, Usage};

/// Fields of a delta whose strings are no text, whatever else is in the delta.
const NO_TEXT: [&[u8]; 12] = [
    b"id",
    b"type",
    b"name",
    b"object",
    b"index",
    b"model",
    b"role",
    b"status",
    b"format",
    b"provider",
    b"signature",
    b"finish_reason",
];

/// Reads the data of one event from beginning to end. With `notes` of its places where it is JSON.
pub(super) fn parse<'a>(data: &'a [u8], notes: &mut Option<Notes>) -> Result<Delta<'a>, Fault> {
    let text = data.trim_ascii();
    if text.is_empty() {
        return Ok(Delta::default());
    }
    if text == b"[DONE]" {
        return Ok(Delta { done: true, ..Delta::default() });
    }
    let mut found = Found::default();
    let mut cursor = JsonCursor::new(data);
    found.event(&mut cursor).and_then(|()| cursor.end()).map_err(|Bad| Fault::not_json(text))?;
    *notes = Some(std::mem::take(&mut found.notes));
    Ok(found.delta())
}

/// Findings on the way.
#[derive(Debug, Default)]
struct Found<'a> {
    choice: bool,
    /// A role was named.
    role: bool,
    /// A text was there and empty.
    blank: bool,
    /// A text was there in a field that is not known.
    unread: bool,
    ids: Option<u32>,
    content: Text<'a>,
    reasoning: Text<'a>,
    tool: Text<'a>,
    refusal: Text<'a>,
    usage: Option<Usage>,
    timings: Option<Usage>,
    finish: Option<Raw<'a>>,
    model: Option<Raw<'a>>,
    error: Option<String>,
    /// `message` or `detail` at the top.
    message: Option<String>,
    notes: Notes,
}

/// Text of one kind.
#[derive(Debug, Default)]
struct Text<'a> {
    first: Raw<'a>,
    bytes: u32,
}

impl<'a> Text<'a> {
    fn add(&mut self, raw: Raw<'a>) {
        if self.first.is_empty() {
            self.first = raw;
        }
        self.bytes = self.bytes.saturating_add(raw.unescaped_len());
    }

    /// The string that begins here, if there is one. Whether there was one without a letter.
    fn take(&mut self, cursor: &mut JsonCursor<'a>, notes: &mut Notes) -> Result<bool, Bad> {
        let Some(raw) = cursor.string_or_skip()? else { return Ok(false) };
        if raw.is_empty() {
            return Ok(true);
        }
        notes.hole(Fill::Text, cursor.place(&raw));
        self.add(raw);
        Ok(false)
    }
}

impl<'a> Found<'a> {
    fn event(&mut self, cursor: &mut JsonCursor<'a>) -> Result<(), Bad> {
        cursor.object(&mut |cursor, key| match key.literal() {
            b"choices" => cursor.array_or_skip(&mut |cursor| self.choice(cursor)),
            b"id" => {
                if let Some(id) = cursor.string_or_skip()? {
                    self.notes.hole(Fill::AnyString, cursor.place(&id));
                }
                Ok(())
            }
            b"created" => number(cursor, &mut self.notes, Fill::AnyNumber).map(|_| ()),
            b"usage" => self.usage(cursor),
            b"timings" => keep(&mut self.timings, timings(cursor)?),
            b"model" => {
                let model = cursor.string_or_skip()?;
                self.notes.odd |= self.model.is_some() || model.is_some_and(|model| model.escaped());
                self.notes.model = model.map(|model| cursor.place(&model));
                keep(&mut self.model, model)
            }
            b"error" => {
                self.notes.odd = true;
                keep(&mut self.error, error(cursor)?)
            }
            b"message" | b"detail" => {
                self.notes.odd = true;
                keep(&mut self.message, message(cursor)?)
            }
            _ => cursor.skip(),
        })
    }

    fn choice(&mut self, cursor: &mut JsonCursor<'a>) -> Result<(), Bad> {
        self.choice = true;
        cursor.object_or_skip(&mut |cursor, key| match key.literal() {
            b"delta" => self.piece(cursor),
            b"text" => self.visible(cursor),
            b"token_ids" => {
                let mut ids = None;
                cursor.array_or_skip(&mut |cursor| {
                    *ids.get_or_insert(0_u32) += 1;
                    cursor.skip()
                })?;
                keep(&mut self.ids, ids)
            }
            b"finish_reason" => {
                let finish = cursor.string_or_skip()?.filter(|finish| !finish.is_empty());
                self.notes.odd |= self.finish.is_some() || finish.is_some_and(|finish| finish.escaped());
                self.notes.finish = finish.map(|finish| cursor.place(&finish));
                keep(&mut self.finish, finish)
            }
            b"usage" => self.usage(cursor),
            _ => cursor.skip(),
        })
    }

    fn piece(&mut self, cursor: &mut JsonCursor<'a>) -> Result<(), Bad> {
        // Texts of reasoning in this delta: one, or two under different names.
        let mut before: Option<Raw<'a>> = None;
        cursor.object_or_skip(&mut |cursor, key| match key.literal() {
            b"content" if cursor.peek()? == Kind::Array => self.parts(cursor, key),
            b"content" => self.visible(cursor),
            b"role" => {
                self.role |= cursor.string_or_skip()?.is_some();
                Ok(())
            }
            b"reasoning" | b"reasoning_content" | b"reasoning_text" | b"thinking" | b"thinking_content"
            | b"thought"
                if cursor.peek()? == Kind::String =>
            {
                let raw = cursor.string()?;
                if raw.is_empty() {
                    self.blank = true;
                    return Ok(());
                }
                match before.replace(raw) {
                    Some(before) if before.literal() == raw.literal() => {
                        self.notes.hole(Fill::Twin, cursor.place(&raw));
                    }
                    other => {
                        self.notes.hole(Fill::Text, cursor.place(&raw));
                        if other.is_none_or(|before| before.bytes() != raw.bytes()) {
                            self.reasoning.add(raw);
                        }
                    }
                }
                Ok(())
            }
            b"refusal" => self.refusal.take(cursor, &mut self.notes).map(drop),
            b"function_call" => self.function(cursor),
            b"tool_calls" => cursor.array_or_skip(&mut |cursor| {
                cursor.object_or_skip(&mut |cursor, key| match key.literal() {
                    b"function" => self.function(cursor),
                    _ => cursor.skip(),
                })
            }),
            _ => self.unknown(cursor, key),
        })
    }

    /// A field that is not known, of any type: whether there is text in it.
    fn unknown(&mut self, cursor: &mut JsonCursor<'a>, key: Raw<'a>) -> Result<(), Bad> {
        if NO_TEXT.contains(&key.literal()) {
            return cursor.skip();
        }
        match cursor.peek()? {
            Kind::String => {
                let raw = cursor.string()?;
                if !raw.is_empty() {
                    self.notes.hole(Fill::Unread, cursor.place(&raw));
                    self.unread = true;
                }
                Ok(())
            }
            Kind::Array => cursor.array(&mut |cursor| self.unknown(cursor, key)),
            Kind::Object => cursor.object(&mut |cursor, key| self.unknown(cursor, key)),
            _ => cursor.skip(),
        }
    }

    /// The text of an answer.
    fn visible(&mut self, cursor: &mut JsonCursor<'a>) -> Result<(), Bad> {
        self.blank |= self.content.take(cursor, &mut self.notes)?;
        Ok(())
    }

    /// Content as a list of parts.
    fn parts(&mut self, cursor: &mut JsonCursor<'a>, name: Raw<'a>) -> Result<(), Bad> {
        cursor.array(&mut |cursor| {
            if cursor.peek()? != Kind::Object {
                return self.unknown(cursor, name);
            }
            cursor.object(&mut |cursor, key| match key.literal() {
                b"text" if cursor.peek()? == Kind::String => self.visible(cursor),
                _ => self.unknown(cursor, key),
            })
        })
    }

    fn function(&mut self, cursor: &mut JsonCursor<'a>) -> Result<(), Bad> {
        cursor.object_or_skip(&mut |cursor, key| match key.literal() {
            b"name" | b"arguments" => self.tool.take(cursor, &mut self.notes).map(drop),
            _ => cursor.skip(),
        })
    }

    fn usage(&mut self, cursor: &mut JsonCursor<'a>) -> Result<(), Bad> {
        if cursor.peek()? != Kind::Object {
            return cursor.skip();
        }
        self.notes.odd |= self.usage.is_some();
        let notes = &mut self.notes;
        let mut usage = Usage::default();
        cursor.object(&mut |cursor, key| match key.literal() {
            b"prompt_tokens" => keep(&mut usage.input, number(cursor, notes, Fill::Input)?),
            b"completion_tokens" => keep(&mut usage.output, number(cursor, notes, Fill::Output)?),
            b"total_tokens" => number(cursor, notes, Fill::AnyNumber).map(|_| ()),
            b"prompt_cache_hit_tokens" => keep(&mut usage.cached, number(cursor, notes, Fill::Cached)?),
            b"reasoning_tokens" => keep(&mut usage.reasoning, number(cursor, notes, Fill::Reasoning)?),
            b"prompt_tokens_details" => cursor.object_or_skip(&mut |cursor, key| match key.literal() {
                b"cached_tokens" => keep(&mut usage.cached, number(cursor, notes, Fill::Cached)?),
                _ => cursor.skip(),
            }),
            b"completion_tokens_details" => cursor.object_or_skip(&mut |cursor, key| match key.literal() {
                b"reasoning_tokens" => keep(&mut usage.reasoning, number(cursor, notes, Fill::Reasoning)?),
                _ => cursor.skip(),
            }),
            _ => cursor.skip(),
        })?;
        self.usage = Some(usage);
        Ok(())
    }

    fn delta(self) -> Delta<'a> {
        let kinds = [
            (ChunkKind::Content, &self.content),
            (ChunkKind::Reasoning, &self.reasoning),
            (ChunkKind::Tool, &self.tool),
            (ChunkKind::Refusal, &self.refusal),
        ];
        let usage = self.usage.or(self.timings);
        let (kind, text) = match kinds.iter().find(|(_, text)| text.bytes > 0) {
            Some((kind, text)) => (*kind, text.first),
            None => (self.without_text(usage), Raw::default()),
        };
        Delta {
            choice: self.choice,
            kind,
            text_bytes: kinds.iter().fold(0, |sum, (_, text)| sum.saturating_add(text.bytes)),
            text,
            tokens: usage.filter(|_| self.choice).and_then(|usage| usage.output),
            ids: self.ids,
            usage,
            finish: self.finish.map(|word| word.text()),
            model: self.model.map(|word| word.text()),
            error: self.error.or(self.message.filter(|_| !self.choice)),
            done: false,
        }
    }
}

impl Found<'_> {
    fn without_text(&self, usage: Option<Usage>) -> ChunkKind {
        match (self.choice, self.role) {
            (false, _) if usage.is_some() => ChunkKind::Usage,
            (true, false) if self.finish.is_some() => ChunkKind::Closing,
            (true, false) if self.unread => ChunkKind::Unread,
            (true, false) if self.blank => ChunkKind::Silent,
            (true, false) => ChunkKind::Bare,
            _ => ChunkKind::Empty,
        }
    }
}

/// A later value of the same key takes the place of an earlier one. Null takes nothing away.
fn keep<T>(place: &mut Option<T>, value: Option<T>) -> Result<(), Bad> {
    if value.is_some() {
        *place = value;
    }
    Ok(())
}

/// A whole number that fits, or nothing for another value, which is skipped. The place of its digits is noted where it has no others.
fn number(cursor: &mut JsonCursor<'_>, notes: &mut Notes, fill: Fill) -> Result<Option<u32>, Bad> {
    let text = cursor.value()?;
    if digits(text).is_some_and(|digits| digits.len() == text.len()) {
        notes.hole(fill, (cursor.at() - text.len(), cursor.at()));
        return Ok(whole(text));
    }
    Ok(None)
}

fn timings(cursor: &mut JsonCursor<'_>) -> Result<Option<Usage>, Bad> {
    let (mut fresh, mut usage) = (None, Usage::default());
    cursor.object_or_skip(&mut |cursor, key| match key.literal() {
        b"predicted_n" => keep(&mut usage.output, whole(cursor.value()?)),
        b"prompt_n" => keep(&mut fresh, whole(cursor.value()?)),
        b"cache_n" => keep(&mut usage.cached, whole(cursor.value()?)),
        _ => cursor.skip(),
    })?;
    usage.input = fresh.zip(usage.cached).and_then(|(fresh, cached): (u32, u32)| fresh.checked_add(cached));
    Ok(usage.output.is_some().then_some(usage))
}

/// The text of an `error`. Null, false and empty text mean no error.
fn error(cursor: &mut JsonCursor<'_>) -> Result<Option<String>, Bad> {
    match cursor.peek()? {
        Kind::Null | Kind::False => cursor.skip().map(|()| None),
        Kind::String => {
            let text = cursor.string()?;
            Ok((!text.is_empty()).then(|| one_line(&text.text(), ERROR_LIMIT)))
        }
        Kind::Object => {
            let object = cursor.value()?;
            let (mut text, mut kind, mut code) = (None, None, None);
            JsonCursor::new(object).object(&mut |cursor, key| match key.literal() {
                b"message" => keep(&mut text, cursor.string_or_skip()?.filter(|text| !text.is_empty())),
                b"type" => keep(&mut kind, cursor.string_or_skip()?.filter(|text| !text.is_empty())),
                b"code" => keep(&mut code, whole(cursor.value()?)),
                _ => cursor.skip(),
            })?;
            let Some(text) = text else { return Ok(Some(excerpt(object))) };
            let kind = kind.map(|kind| kind.text().into_owned());
            let beside: Vec<String> = kind.into_iter().chain(code.map(|code| code.to_string())).collect();
            let text = text.text();
            let text = if beside.is_empty() { text } else { format!("{text} ({})", beside.join(", ")).into() };
            Ok(Some(one_line(&text, ERROR_LIMIT)))
        }
        _ => cursor.value().map(|value| Some(excerpt(value))),
    }
}

/// Text of a `message` or `detail`. A list of findings unchanged. An object, as of other protocols, says no error.
fn message(cursor: &mut JsonCursor<'_>) -> Result<Option<String>, Bad> {
    match cursor.peek()? {
        Kind::String => error(cursor),
        Kind::Array => cursor.value().map(|value| Some(excerpt(value))),
        _ => cursor.skip().map(|()| None),
    }
}
