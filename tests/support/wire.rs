//! Reading a stream in any pieces, and what must hold whatever the bytes are. Used by the seeded tests and by the fuzz targets.

use sparkbench::load::wire::{Delta, Deltas, EventStream, Fault, Response, ResponsePart, ResponseProgress};

/// What came of a stream: its events as name, data and size, and whether it ended in a fault of some kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Events {
    pub events: Vec<(Vec<u8>, Vec<u8>, u32)>,
    pub fault: Option<String>,
}

/// What came of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub heads: Vec<String>,
    pub body: Vec<u8>,
    /// Bytes that belong to it, where it is complete.
    pub used: Option<usize>,
    pub fault: Option<String>,
}

/// Which fault it was, without the excerpt, which depends on what had come when it was seen.
fn kind(fault: &Fault) -> String {
    let text = format!("{fault:?}");
    text.split('{').next().unwrap_or_default().trim().to_owned()
}

/// Reads pieces as an event stream.
pub fn read_events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, limit: usize) -> Events {
    let mut stream = EventStream::new(limit);
    let mut events = Vec::new();
    let mut on = |event: sparkbench::load::wire::Event<'_>| {
        assert!(event.data.len() <= limit, "an event over the limit");
        events.push((event.name.to_vec(), event.data.to_vec(), event.bytes));
    };
    let mut fault = None;
    for piece in pieces {
        if let Err(found) = stream.feed(piece, &mut on) {
            assert_eq!(stream.feed(b"data: more\n\n", &mut on), Err(found.clone()), "a fault stays");
            fault = Some(kind(&found));
            break;
        }
    }
    if fault.is_none() {
        fault = stream.closed(&mut on).err().map(|found| kind(&found));
    }
    Events { events, fault }
}

/// Reads pieces as a response, up to its end.
pub fn read_response<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Answer {
    let mut response = Response::new();
    let mut answer = Answer { heads: Vec::new(), body: Vec::new(), used: None, fault: None };
    let mut fed_before = 0;
    for piece in pieces {
        let fed = response.feed(piece, &mut |part| match part {
            ResponsePart::Head(head) => answer.heads.push(format!("{head:?}")),
            ResponsePart::Body(body) => {
                assert!(!body.is_empty() && !answer.heads.is_empty());
                answer.body.extend_from_slice(body);
            }
        });
        match fed {
            Ok(ResponseProgress::More) => fed_before += piece.len(),
            Ok(ResponseProgress::Complete { used }) => {
                assert!(used <= piece.len());
                assert_eq!(response.closed(), Ok(()));
                answer.used = Some(fed_before + used);
                return answer;
            }
            Err(fault) => {
                assert_eq!(response.feed(piece, &mut |_| ()), Err(fault.clone()), "a fault stays");
                answer.fault = Some(kind(&fault));
                return answer;
            }
        }
    }
    assert!(answer.heads.len() <= 1);
    answer.fault = response.closed().err().map(|fault| kind(&fault));
    answer
}

/// Cuts bytes into pieces whose lengths `length` gives. 0 counts as 1.
pub fn cut(bytes: &[u8], mut length: impl FnMut() -> usize) -> Vec<&[u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(length().clamp(1, rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Whatever the bytes and wherever they are split: the same events, within the limit.
pub fn event_stream_holds(bytes: &[u8], limit: usize, length: impl FnMut() -> usize) -> Events {
    let whole = read_events([bytes], limit);
    assert_eq!(read_events(cut(bytes, || 1), limit), whole, "byte by byte");
    assert_eq!(read_events(cut(bytes, length), limit), whole, "in pieces");
    let counted: u64 = whole.events.iter().map(|event| u64::from(event.2)).sum();
    assert!(counted <= bytes.len() as u64, "more bytes counted than fed");
    whole
}

/// Whatever the bytes and wherever they are split: the same answer.
pub fn response_holds(bytes: &[u8], length: impl FnMut() -> usize) -> Answer {
    let whole = read_response([bytes]);
    assert_eq!(read_response(cut(bytes, || 1)), whole, "byte by byte");
    assert_eq!(read_response(cut(bytes, length)), whole, "in pieces");
    whole
}

/// Whatever was read before: the answer of the parser. And the parser agrees with `serde_json` on what is JSON.
pub fn delta_holds(deltas: &mut Deltas, data: &[u8]) -> bool {
    let anew = Deltas::read_anew(data);
    assert_eq!(deltas.read(data), anew, "{}", String::from_utf8_lossy(data));
    // The second time its shape is known, if it can be.
    assert_eq!(deltas.read(data), anew, "{}", String::from_utf8_lossy(data));
    let tree = serde_json::from_slice::<serde_json::Value>(data);
    match (&anew, &tree) {
        (Ok(delta), Ok(tree)) => agrees(data, delta, tree),
        (Ok(delta), Err(error)) => {
            let allowed = delta.done || data.trim_ascii().is_empty() || only_ours(data);
            assert!(allowed, "serde_json refuses with {error}: {}", String::from_utf8_lossy(data));
        }
        (Err(fault), tree) => {
            assert!(!tree.as_ref().is_ok_and(serde_json::Value::is_object), "{fault}");
            assert!(!fault.to_string().contains(|c: char| c.is_control()));
        }
    }
    anew.is_ok()
}

/// Lengths of pieces that a byte chooses.
fn steps(first: u8) -> impl FnMut() -> usize {
    let mut length = usize::from(first);
    move || {
        length = (length * 31 + 7) % 97;
        length
    }
}

/// An input of the target `event_stream`: the first two bytes choose the limit and where to split.
pub fn event_stream_input(bytes: &[u8]) {
    let [limit, step, stream @ ..] = bytes else { return };
    event_stream_holds(stream, 16 + 8 * usize::from(*limit), steps(*step));
}

/// An input of the target `response`: the first byte chooses where to split.
pub fn response_input(bytes: &[u8]) {
    let [step, response @ ..] = bytes else { return };
    response_holds(response, steps(*step));
}

/// An input of the target `delta`: an event a line.
pub fn delta_input(bytes: &[u8]) {
    let mut deltas = Deltas::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        delta_holds(&mut deltas, line.strip_prefix(b"data: ").unwrap_or(line));
    }
}

/// What we read and `serde_json` does not: broken UTF-8, half a surrogate pair, numbers beyond a double.
fn only_ours(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    std::str::from_utf8(data).is_err() || text.contains("\\u") || text.contains(['e', 'E'])
}

/// What a plain event says is in the tree. Not compared: a key that stands twice, of which a tree keeps the last, and keys with escapes.
fn agrees(data: &[u8], delta: &Delta<'_>, tree: &serde_json::Value) {
    let mut text = Vec::new();
    delta.text.unescape_into(&mut text);
    assert_eq!(text.len(), delta.text.unescaped_len() as usize);
    assert!(delta.text_bytes as usize >= text.len());
    let spelt = String::from_utf8_lossy(data);
    let keys = ["choices", "delta", "content", "text", "model"];
    if spelt.contains("\\u00") || keys.iter().any(|key| spelt.matches(&format!("\"{key}\"")).count() > 1) {
        return;
    }
    let choices = tree["choices"].as_array();
    assert_eq!(delta.choice, choices.is_some_and(|choices| !choices.is_empty()));
    if let Some([choice]) = choices.map(Vec::as_slice)
        && let Some(content) = choice["delta"]["content"].as_str().filter(|content| !content.is_empty())
        && choice.get("text").is_none()
    {
        assert_eq!(String::from_utf8_lossy(&text), content);
    }
    if let Some(model) = tree["model"].as_str() {
        assert_eq!(delta.model.as_deref(), Some(model));
    }
}
