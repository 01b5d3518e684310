//! The parameters of a request to the model.
//!
//! In:  the JSON body, the [`Settings`].  Out: an [`Ask`], or the refusal that a real server would give.
//! Not here: HTTP (see `http`), when and how it is answered (see `job`).

use std::borrow::Cow;

use serde::Deserialize;

use sparkbench_host::net::Ns;

use super::cache::hash;
use super::settings::Settings;
use super::shape::{self, Shape};
use super::text;

/// What is asked for, with every default filled in.
#[derive(Debug, Clone)]
pub struct Ask {
    /// `/v1/chat/completions`, not `/v1/completions`.
    pub chat: bool,
    /// Whether a stream is requested.
    pub stream: bool,
    /// Whether usage is requested at a stream's end.
    pub usage: bool,
    /// Whether usage is requested in every chunk.
    pub continuous: bool,
    /// Tokens of the prompt, with the template's.
    pub prompt_tokens: u32,
    /// Tokens that the answer will have.
    pub tokens: u32,
    /// Whether it ends because of `max_tokens`, not of itself.
    pub by_length: bool,
    pub shape: &'static Shape,
    /// From received to the first token, without what the prompt adds.
    pub ttft_ns: Ns,
    /// Between tokens.
    pub itl_ns: Ns,
    /// Tokens before a fault, where the request says so.
    pub after: Option<u32>,
    /// The response in one write.
    pub whole: bool,
}

/// A refusal: status 400 or 404, and words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Status code.
    pub code: u16,
    /// For a person.
    pub message: String,
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    messages: Option<Vec<Message<'a>>>,
    #[serde(borrow)]
    prompt: Option<Prompt<'a>>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    min_tokens: Option<u32>,
    min_new_tokens: Option<u32>,
    ignore_eos: Option<bool>,
    n: Option<u32>,
    #[serde(borrow)]
    mock: Option<Wishes<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<Content<'a>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(#[serde(borrow)] Cow<'a, str>),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Prompt<'a> {
    Text(#[serde(borrow)] Cow<'a, str>),
    Ids(Vec<u32>),
    Texts(Vec<String>),
    IdLists(Vec<Vec<u32>>),
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
    continuous_usage_stats: Option<bool>,
}

/// The member `mock`: what a test wants of this one answer.
#[derive(Deserialize)]
struct Wishes<'a> {
    #[serde(borrow)]
    shape: Option<Cow<'a, str>>,
    ttft_ms: Option<f64>,
    itl_ms: Option<f64>,
    natural_tokens: Option<u32>,
    after: Option<u32>,
    whole: Option<bool>,
}

impl Refusal {
    fn bad(message: impl Into<String>) -> Self {
        Self { code: 400, message: message.into() }
    }
}

/// Milliseconds of a request or the command line as nanoseconds. Nothing for what is no time.
pub fn from_ms(ms: f64) -> Option<Ns> {
    (ms.is_finite() && (0.0..1e12).contains(&ms)).then(|| (ms * 1e6).round() as Ns)
}

/// Reads a body. The hashes of the prompt's tokens are put into `tokens`, which is emptied first.
///
/// # Errors
/// Answer of a server to a request that is invalid or too long.
pub fn read(body: &[u8], chat: bool, settings: &Settings, tokens: &mut Vec<u64>) -> Result<Ask, Refusal> {
    tokens.clear();
    let body: Body<'_> =
        serde_json::from_slice(body).map_err(|cause| Refusal::bad(format!("the body cannot be read: {cause}")))?;
    if let Some(model) = body.model.as_deref().filter(|model| *model != settings.model) {
        return Err(Refusal { code: 404, message: format!("The model `{model}` does not exist.") });
    }
    if body.n.is_some_and(|n| n != 1) {
        return Err(Refusal::bad("n must be 1 here"));
    }
    prompt(&body, chat, tokens)?;
    let prompt_tokens = u32::try_from(tokens.len()).unwrap_or(u32::MAX);
    let limit = settings.max_model_len;
    let asked = body.max_completion_tokens.or(body.max_tokens);
    let room = limit.saturating_sub(prompt_tokens);
    if asked == Some(0) {
        return Err(Refusal::bad("max_tokens must be at least 1, got 0."));
    }
    if room == 0 || asked.is_some_and(|asked| asked > room) {
        let part = if chat { "messages" } else { "prompt" };
        let more = asked.map_or_else(String::new, |asked| format!(", {asked} in the completion"));
        return Err(Refusal::bad(format!(
            "This model's maximum context length is {limit} tokens. However, you requested {} tokens ({prompt_tokens} in the \
             {part}{more}). Please reduce the length of the {part} or completion.",
            u64::from(prompt_tokens) + u64::from(asked.unwrap_or(0)),
        )));
    }
    let wishes = body.mock.as_ref();
    let time = |ms: Option<f64>, otherwise: Ns| match ms {
        Some(ms) => from_ms(ms).ok_or_else(|| Refusal::bad("a time of `mock` is not a time")),
        None => Ok(otherwise),
    };
    let shape = match wishes.and_then(|wishes| wishes.shape.as_deref()) {
        Some(name) => {
            shape::find(name).ok_or_else(|| Refusal::bad(format!("there is no shape `{name}`, see `mock --shapes`")))?
        }
        None => settings.shape,
    };
    let most = asked.unwrap_or(settings.tokens).min(room).max(1);
    let natural = wishes.and_then(|wishes| wishes.natural_tokens).or(settings.natural_tokens).unwrap_or(u32::MAX);
    let honours = settings.honours;
    let endless = honours.ignore_eos && body.ignore_eos == Some(true);
    let least = [(honours.min_tokens, body.min_tokens), (honours.min_new_tokens, body.min_new_tokens)];
    let least = least.iter().filter_map(|(honoured, least)| least.filter(|_| *honoured)).max().unwrap_or(1);
    let length = if endless { most } else { natural.max(least).clamp(1, most) };
    let options = body.stream_options.as_ref();
    let usage = options.and_then(|options| options.include_usage).unwrap_or(false);
    Ok(Ask {
        chat,
        stream: body.stream.unwrap_or(false),
        usage,
        continuous: usage && options.and_then(|options| options.continuous_usage_stats).unwrap_or(false),
        prompt_tokens,
        tokens: length,
        by_length: length == most,
        shape,
        ttft_ns: time(wishes.and_then(|wishes| wishes.ttft_ms), settings.ttft_ns)?,
        itl_ns: time(wishes.and_then(|wishes| wishes.itl_ms), settings.itl_ns)?,
        after: wishes.and_then(|wishes| wishes.after).or(settings.after),
        whole: wishes.and_then(|wishes| wishes.whole).unwrap_or(settings.whole),
    })
}

/// Tokens of a body of `/tokenize`: `prompt`, or `messages` with the template.
///
/// # Errors
/// When there is neither.
pub fn tokenize(body: &[u8], tokens: &mut Vec<u64>) -> Result<u32, Refusal> {
    tokens.clear();
    let body: Body<'_> =
        serde_json::from_slice(body).map_err(|cause| Refusal::bad(format!("the body cannot be read: {cause}")))?;
    prompt(&body, body.messages.is_some(), tokens)?;
    Ok(u32::try_from(tokens.len()).unwrap_or(u32::MAX))
}

/// Hashes of the prompt's tokens, the template's among them.
fn prompt(body: &Body<'_>, chat: bool, tokens: &mut Vec<u64>) -> Result<(), Refusal> {
    let mut add = |text: &str| tokens.extend(text::words(text).map(|word| hash(word.as_bytes())));
    if chat {
        let messages = body.messages.as_deref().unwrap_or_default();
        if messages.is_empty() {
            return Err(Refusal::bad("messages: a list with at least one message is wanted"));
        }
        for message in messages {
            for _ in 0..text::TEMPLATE_TOKENS {
                // One token each, that no word of a text is.
                add(&format!("<|{}|>", message.role.replace(char::is_whitespace, "_")));
            }
            match &message.content {
                Some(Content::Text(text)) => add(text),
                Some(Content::Parts(parts)) => parts.iter().filter_map(|part| part.text.as_deref()).for_each(&mut add),
                None => {}
            }
        }
        return Ok(());
    }
    let ids = |ids: &[u32], tokens: &mut Vec<u64>| tokens.extend(ids.iter().map(|id| hash(&id.to_le_bytes())));
    match &body.prompt {
        Some(Prompt::Text(text)) => add(text),
        Some(Prompt::Texts(texts)) if texts.len() == 1 => add(&texts[0]),
        Some(Prompt::Ids(list)) => ids(list, tokens),
        Some(Prompt::IdLists(lists)) if lists.len() == 1 => ids(&lists[0], tokens),
        Some(_) => return Err(Refusal::bad("prompt: one prompt a request is taken here")),
        None => return Err(Refusal::bad("prompt: a text or a list of token ids is wanted")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(body: &str, chat: bool, settings: &Settings) -> Result<Ask, Refusal> {
        read(body.as_bytes(), chat, settings, &mut Vec::new())
    }

    #[test]
    fn the_tokens_of_a_prompt_are_its_words_and_the_template() {
        let settings = Settings::default();
        let chat = r#"{"model":"mock","messages":[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"a b c"}]}]}"#;
        assert_eq!(ask(chat, true, &settings).unwrap().prompt_tokens, 2 + 3 + 2 * text::TEMPLATE_TOKENS);
        assert_eq!(ask(r#"{"prompt":"a\nb  c"}"#, false, &settings).unwrap().prompt_tokens, 3);
        assert_eq!(ask(r#"{"prompt":[5,6,7,8]}"#, false, &settings).unwrap().prompt_tokens, 4);
        assert_eq!(tokenize(br#"{"prompt":"a b"}"#, &mut Vec::new()), Ok(2));
        assert_eq!(ask(r#"{"prompt":["a","b"]}"#, false, &settings).unwrap_err().code, 400);
        assert_eq!(ask(r#"{"model":"gpt","prompt":"a"}"#, false, &settings).unwrap_err().code, 404);
    }

    #[test]
    fn an_answer_is_as_long_as_what_is_honoured_makes_it() {
        let with = |honours: &str| Settings {
            natural_tokens: Some(10),
            honours: super::super::settings::Honours::parse(honours).unwrap(),
            ..Settings::default()
        };
        let tokens = |rest: &str, honours: &str| {
            let ask = ask(&format!(r#"{{"prompt":"a","max_tokens":20{rest}}}"#), false, &with(honours)).unwrap();
            (ask.tokens, ask.by_length)
        };
        assert_eq!(tokens("", "ignore_eos,min_tokens"), (10, false));
        assert_eq!(tokens(r#","ignore_eos":true"#, "ignore_eos"), (20, true));
        assert_eq!(tokens(r#","ignore_eos":true"#, "min_tokens"), (10, false));
        assert_eq!(tokens(r#","min_tokens":15"#, "min_tokens"), (15, false));
        assert_eq!(tokens(r#","min_tokens":15"#, "none"), (10, false));
        assert_eq!(tokens(r#","min_new_tokens":20"#, "min_new_tokens"), (20, true));
    }

    #[test]
    fn a_request_beyond_the_models_length_is_refused_with_the_figures() {
        let settings = Settings { max_model_len: 10, ..Settings::default() };
        let refusal = ask(r#"{"prompt":"a b c d","max_tokens":7}"#, false, &settings).unwrap_err();
        assert_eq!(refusal.code, 400);
        assert!(refusal.message.contains("maximum context length is 10 tokens"), "{}", refusal.message);
        assert!(refusal.message.contains("you requested 11 tokens (4 in the prompt, 7 in the completion)"));
        assert_eq!(ask(r#"{"prompt":"a b c d"}"#, false, &settings).unwrap().tokens, 6);
    }

    #[test]
    fn a_request_may_wish_for_a_shape_and_times_of_its_own() {
        let settings = Settings::default();
        let wished = ask(
            r#"{"prompt":"a","stream":true,"stream_options":{"include_usage":true},"mock":{"shape":"reset","ttft_ms":1.5,"after":3}}"#,
            false,
            &settings,
        )
        .unwrap();
        assert_eq!((wished.shape.name, wished.ttft_ns, wished.after), ("reset", 1_500_000, Some(3)));
        assert!(wished.stream && wished.usage && !wished.continuous);
        assert_eq!(ask(r#"{"prompt":"a","mock":{"shape":"x"}}"#, false, &settings).unwrap_err().code, 400);
        assert_eq!(ask(r#"{"prompt":"a","mock":{"ttft_ms":-1}}"#, false, &settings).unwrap_err().code, 400);
    }
}
