//! The conversations of a load: the user's words in each, turn by turn.
//!
//! In:  [`Settings`] with [`Conversations`], the files they name.  Out: [`Library`], which opens conversation i as a [`Script`].
//! Not here: answers (see `builder`), send times (see `source`), the body (see `frame`).
//!
//! Every fault of a file is found when the library is read, before the first request. After that nothing can fail, because opening a
//! conversation and giving its next turn need no file. Each conversation has its own stream of random numbers, made of the seed and its
//! number. So conversation i is the same for every client, order and number of machines.
//!
//! The first turn is joined like this. Absent parts take no room.
//!
//! ```text
//! [nonce of the load] common prefix [nonce of the conversation] own prefix, words of the turn
//! ```
//!
//! The nonces are there where the cache contract is `cold`. Then nothing that an earlier load left in the server's prefix cache matches.
//! Within the load, the common prefix is shared byte for byte, and a conversation finds its own history again. That is what multi-turn
//! measures. A nonce before every single turn would prevent it. Nonces count as part of the tokens of the text after them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::draw::Draw;
use super::faults::Faults;
use super::generate::{self, Generation, user_turns};
use super::recorded::{self, Counts, Recorded};
use super::texts::{Corpus, Texts};
use crate::settings::{Cache, ConversationInput, Conversations, Settings, Work};
use sparkbench_archive::given::refuse_endless;
use sparkbench_archive::shown;
use sparkbench_stats::random::{Stream, job_base, mix};
use sparkbench_text::error::Error;

/// Where the words come from.
#[derive(Debug, Clone, PartialEq)]
enum Words {
    Recorded(Vec<Recorded>),
    Cut(Corpus),
    Made,
}

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Library {
    words: Words,
    count: Option<u64>,
    turns: Draw,
    /// Turns that are drawn count both sides.
    both_sides: bool,
    common: u32,
    own: Draw,
    isl: Draw,
    osl: Draw,
    max_turns: Option<u32>,
    base: u64,
    nonce: Option<u64>,
    notes: Vec<String>,
}

/// A conversation as far as it is planned, and how far it has been said.
#[derive(Debug, Clone)]
pub struct Script {
    /// Number of the conversation in the plan of all machines.
    pub number: u32,
    /// Its name: of the file, else `conversation-N`.
    pub id: String,
    /// A system message at its head.
    pub system: Option<String>,
    /// Turns of the user. At least 1.
    pub turns: u32,
    next: u32,
    stream: Stream,
    /// Byte of the corpus from which the next turn is cut.
    cursor: usize,
}

/// One turn of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserTurn {
    /// Everything that the message says.
    pub user: String,
    /// Tokens that the plan wants it to have. Absent for recorded words.
    pub tokens: Option<u32>,
    /// Tokens of the answer: drawn, or of the recorded answer. Absent where there is none.
    pub osl: Option<u32>,
    /// The recorded answer.
    pub recorded: Option<String>,
}

impl Library {
    /// Reads every file that the settings name.
    ///
    /// # Errors
    /// When the settings contradict each other, a file cannot be read, or holds faults: all of them at once.
    pub fn read(settings: &Settings) -> Result<Self, Error> {
        let Work::Conversations(chat) = &settings.work else {
            return Err(Error::usage("this load has no conversations"));
        };
        super::settings::check(settings, chat)?;
        let mut library = Self {
            words: Words::Made,
            count: chat.count.map(u64::from),
            turns: Draw::of(chat.turns),
            both_sides: false,
            common: 0,
            own: Draw::of(chat.own_prefix),
            isl: Draw::of(chat.isl),
            osl: Draw::of(chat.osl),
            max_turns: chat.max_turns,
            base: job_base(settings.seed, "chat|conversation"),
            nonce: (settings.cache == Cache::Cold).then(|| mix(job_base(settings.seed, "chat|nonce") ^ settings.nonce)),
            notes: Vec::new(),
        };
        let mut common = Draw::of(chat.common_prefix);
        match &chat.input {
            ConversationInput::Synthetic => {}
            ConversationInput::Texts(paths) => library.words = Words::Cut(corpus(paths, None)?),
            ConversationInput::File(path) | ConversationInput::Generate(path) => {
                let text = text_of(path, &mut library.notes)?;
                match (sniff(&text), &chat.input) {
                    (Kind::Generation, _) | (_, ConversationInput::Generate(_)) => {
                        let plan = generation(path, &text)?;
                        common = plan.common_prefix.clone();
                        library.take(plan, chat, path)?;
                    }
                    (Kind::Conversations, _) => {
                        let (found, counts) = conversations(path, &text)?;
                        library.record(found, &counts, chat);
                    }
                    (Kind::Text, _) => {
                        let words = Corpus::of(&[text]).ok_or_else(|| empty(path))?;
                        library.words = Words::Cut(words);
                    }
                }
            }
        }
        library.common = common.draw(&mut Stream::new(job_base(settings.seed, "chat|common"), 0), 0);
        if library.count.is_none() && matches!(library.words, Words::Made | Words::Cut(_)) {
            super::settings::needs_an_end(settings, chat)?;
        }
        Ok(library)
    }

    /// Takes the plan of a generation file. `--conversations` and `--max-turns` win over it.
    fn take(&mut self, plan: Generation, chat: &Conversations, path: &Path) -> Result<(), Error> {
        self.words = Words::Cut(corpus(&plan.text_files, path.parent())?);
        self.count = Some(chat.count.map_or(plan.conversations, u64::from));
        self.turns = plan.num_turns;
        self.both_sides = true;
        self.own = plan.own_prefix;
        self.isl = plan.isl;
        self.osl = plan.osl;
        if plan.print_stats {
            self.notes.push(self.statistics());
        }
        Ok(())
    }

    fn record(&mut self, mut found: Vec<Recorded>, counts: &Counts, chat: &Conversations) {
        self.notes.extend(counts.notes());
        if let Some(most) = chat.count {
            found.truncate(most as usize);
        }
        self.count = Some(found.len() as u64);
        self.words = Words::Recorded(found);
    }

    /// Conversations in all. Absent when they have no end.
    pub fn count(&self) -> Option<u64> {
        self.count
    }

    /// Notes for the reader: repairs, and parts left out.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether the words, and with them the answers, are recorded ones.
    pub fn is_recorded(&self) -> bool {
        matches!(self.words, Words::Recorded(_))
    }

    /// Conversation of a number below [`Library::count`].
    pub fn open(&self, number: u32) -> Script {
        let mut stream = Stream::new(self.base, u64::from(number));
        let (id, system, turns) = match &self.words {
            Words::Recorded(list) => {
                let one = list.get(number as usize);
                let turns = one.map_or(1, |one| u32::try_from(one.turns.len()).unwrap_or(u32::MAX));
                (one.map_or_else(String::new, |one| one.id.clone()), one.and_then(|one| one.system.clone()), turns)
            }
            Words::Cut(_) | Words::Made => {
                let drawn = self.turns.draw(&mut stream, 1);
                (format!("conversation-{number}"), None, if self.both_sides { user_turns(drawn) } else { drawn })
            }
        };
        let turns = self.max_turns.map_or(turns, |most| turns.min(user_turns(most)));
        let cursor = match &self.words {
            Words::Cut(corpus) => corpus.word_from(stream.next_u64() as usize % corpus.bytes().max(1)),
            _ => 0,
        };
        Script { number, id, system, turns: turns.max(1), next: 0, stream, cursor }
    }

    /// The next turn of a conversation. Absent when all have been said.
    pub fn say(&self, script: &mut Script, texts: &mut dyn Texts) -> Option<UserTurn> {
        if script.next >= script.turns {
            return None;
        }
        let at = script.next;
        script.next += 1;
        let mut head = String::new();
        let mut planned = 0_u32;
        if at == 0 {
            if let Some(nonce) = self.nonce {
                head.push_str(&format!("[{nonce:016x}] "));
            }
            planned = planned.saturating_add(self.common);
            self.common_prefix(&mut head, texts);
            if let Some(nonce) = self.nonce {
                head.push_str(&format!("[{:08x}] ", mix(nonce ^ u64::from(script.number)) as u32));
            }
        }
        if let Words::Recorded(list) = &self.words {
            let said = list.get(script.number as usize)?.turns.get(at as usize)?;
            let osl = said.answer.as_ref().map(|answer| texts.count(answer).max(1));
            return Some(UserTurn { user: head + &said.user, tokens: None, osl, recorded: said.answer.clone() });
        }
        if at == 0 {
            let own = self.own.draw(&mut script.stream, 0);
            planned = planned.saturating_add(own);
            self.words_of(script, own, &mut head, texts);
        }
        let isl = self.isl.draw(&mut script.stream, 1);
        let osl = self.osl.draw(&mut script.stream, 1);
        planned = planned.saturating_add(isl);
        // The nonces are words of the turn too. A turn has at least one word beside them.
        let taken = if at == 0 && self.nonce.is_some() { texts.count(NONCES) } else { 0 };
        self.words_of(script, isl.saturating_sub(taken).max(1), &mut head, texts);
        Some(UserTurn { user: head, tokens: Some(planned), osl: Some(osl), recorded: None })
    }

    /// The same words for every conversation.
    fn common_prefix(&self, into: &mut String, texts: &mut dyn Texts) {
        if self.common == 0 {
            return;
        }
        let piece = match &self.words {
            Words::Cut(corpus) => corpus.cut(0, self.common, texts).0,
            _ => texts.made(&mut Stream::new(self.base ^ COMMON, 0), self.common),
        };
        into.push_str(&piece.text);
        into.push(' ');
    }

    fn words_of(&self, script: &mut Script, tokens: u32, into: &mut String, texts: &mut dyn Texts) {
        if tokens == 0 {
            return;
        }
        if !into.is_empty() && !into.ends_with(char::is_whitespace) {
            into.push(' ');
        }
        match &self.words {
            Words::Cut(corpus) => {
                let (piece, end) = corpus.cut(script.cursor, tokens, texts);
                script.cursor = corpus.word_from(end);
                into.push_str(piece.text.trim());
            }
            _ => into.push_str(&texts.made(&mut script.stream, tokens).text),
        }
    }

    /// Turns drawn for the conversations of the plan, for `print_stats`.
    fn statistics(&self) -> String {
        let count = self.count.unwrap_or_default().min(100_000);
        let turns: Vec<u32> =
            (0..count).map(|number| self.open(u32::try_from(number).unwrap_or(u32::MAX)).turns).collect();
        let sum: u64 = turns.iter().map(|turns| u64::from(*turns)).sum();
        format!(
            "{count} conversations of {} to {} user turns ({:.1} on average), {sum} requests",
            turns.iter().min().copied().unwrap_or_default(),
            turns.iter().max().copied().unwrap_or_default(),
            sum as f64 / (turns.len().max(1)) as f64
        )
    }
}

/// Sets the stream of the common prefix apart from those of conversations.
const COMMON: u64 = 0x636F_6D6D_6F6E;
/// Sample of both nonces, to measure their cost in tokens.
const NONCES: &str = "[0123456789abcdef] [01234567] ";

/// Kind of a file, by its first character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Generation,
    Conversations,
    Text,
}

fn sniff(text: &str) -> Kind {
    let start = text.trim_start();
    if start.starts_with('[') {
        return Kind::Conversations;
    }
    if !start.starts_with('{') {
        return Kind::Text;
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(object)) if generate::is_one(&object) => Kind::Generation,
        // One object without messages, or broken. A "filetype" means a generation file, and its reader reports the fault.
        _ if start.contains("\"filetype\"")
            && !start.contains("\"messages\"")
            && !start.contains("\"conversations\"") =>
        {
            Kind::Generation
        }
        _ => Kind::Conversations,
    }
}

/// Kind of input at a path, for a command line that takes any of them.
///
/// # Errors
/// When it cannot be read.
pub fn recognise(path: &Path) -> Result<ConversationInput, Error> {
    let text = text_of(path, &mut Vec::new())?;
    Ok(match sniff(&text) {
        Kind::Generation => ConversationInput::Generate(path.to_owned()),
        Kind::Conversations => ConversationInput::File(path.to_owned()),
        Kind::Text => ConversationInput::Texts(vec![path.to_owned()]),
    })
}

fn generation(path: &Path, text: &str) -> Result<Generation, Error> {
    let mut faults = Faults::default();
    let plan = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(object)) => generate::read(text, &object, &mut faults),
        Ok(other) => {
            let what = format!("is {}", recorded::kind(&other));
            faults.add(1, "(file)", &what, "give an object. See generate_multi_turn.json of vLLM");
            None
        }
        Err(error) => {
            let what = format!("is not JSON: {}", recorded::message(&error));
            faults.add(error.line(), "(file)", &what, "correct this part of the file");
            None
        }
    };
    faults.into_result(path, "a generation file")?;
    plan.ok_or_else(|| Error::usage(format!("'{}' cannot be used as a generation file", shown(path))))
}

fn conversations(path: &Path, text: &str) -> Result<(Vec<Recorded>, Counts), Error> {
    let mut faults = Faults::default();
    let found = recorded::read(text, &mut faults);
    faults.into_result(path, "conversations")?;
    Ok(found)
}

fn corpus(paths: &[PathBuf], beside: Option<&Path>) -> Result<Corpus, Error> {
    let mut texts = Vec::with_capacity(paths.len());
    for path in paths {
        // Beside the file that names it, else where the program runs, as the known script has it.
        let near = beside.map(|folder| folder.join(path)).filter(|near| near.exists());
        texts.push(text_of(near.as_deref().unwrap_or(path), &mut Vec::new())?);
    }
    Corpus::of(&texts).ok_or_else(|| empty(paths.first().map_or(Path::new(""), PathBuf::as_path)))
}

fn empty(path: &Path) -> Error {
    Error::usage(format!("'{}' holds no text to cut turns from", shown(path))).hint("name a text with several pages")
}

/// A file as text: without a byte order mark, with what is no UTF-8 replaced and said.
fn text_of(path: &Path, notes: &mut Vec<String>) -> Result<String, Error> {
    refuse_endless(path)?;
    let bytes = std::fs::read(path).map_err(|cause| {
        Error::archive(format!("cannot read '{}'", shown(path)))
            .hint("name an existing file of conversations, a generation file, or a text")
            .because(cause)
    })?;
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    let text = String::from_utf8_lossy(bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        let replaced = text.matches(char::REPLACEMENT_CHARACTER).count();
        notes.push(format!("'{}' is not all UTF-8: {replaced} places were replaced", shown(path)));
    }
    Ok(text.into_owned())
}
