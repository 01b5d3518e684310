//! The thread that builds request bodies, records conversations and counts, so that the engine need not.
//!
//! In:  [`Task`]s from the source, in order.  Out: [`BuiltTurn`] orders, lines of `conversations.jsonl`, [`Figures`].
//! Not here: which conversation is next and when (see `source`), the words of a turn (see `library`).
//!
//! A conversation is kept as its serialised history. An answer is escaped once and appended, and then the next words of the user are
//! appended. The body is a copy of the bytes with the frame around them. So a turn costs its own new text and one copy of the history, which
//! the body has to carry anyway. Only histories of active conversations are kept. A warm-up step has all of them active at once.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, OnceLock};

use super::figures::{DEFINITION, Figures};
use super::frame::{Frame, Limits, push_message};
use super::library::{Library, Script, UserTurn};
use super::log::{self, ConversationHead, Ended, Request, Why};
use super::texts::Texts;
use crate::order::{Asked, Order, Phase, TurnPlace};
use crate::settings::Conversations;
use sparkbench_host::net::{Ns, Waker};
use sparkbench_text::error::Error;

/// Order of the source.
#[derive(Debug)]
pub(crate) enum Task {
    /// Begin a conversation and build its first turn.
    Open {
        /// Number over all machines.
        conversation: u32,
        /// Client over all machines.
        client: u32,
    },
    /// Build the next turn of a conversation that was parked.
    Resume {
        /// Number over all machines.
        conversation: u32,
    },
    /// A turn ended.
    Ended {
        /// Number over all machines.
        conversation: u32,
        /// Its outcome.
        ended: Box<Ended>,
        /// The answer.
        text: Option<Vec<u8>>,
        /// The next step.
        then: Then,
    },
    /// A conversation will not go on.
    Close {
        /// Number over all machines.
        conversation: u32,
        /// How it ended.
        why: Why,
    },
    /// Times of the files count from here.
    Origin(Ns),
    /// Waits of clients for their bodies, ms.
    Late(f64),
    /// The load is over.
    Finish,
}

/// Next step after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// The next turn is built at once.
    Build,
    /// It is built when the conversation is resumed.
    Park,
    /// Nothing: it ended.
    Close(Why),
}

/// A turn that is ready.
#[derive(Debug)]
pub(crate) struct BuiltTurn {
    /// Number over all machines.
    pub conversation: u32,
    /// Turns of the user that it will have.
    pub turns: u32,
    /// Without index, phase and intended time, which are the source's. Absent when there is no further turn.
    pub order: Option<Box<Order>>,
}

/// Input of the builder.
pub(crate) struct Setup {
    /// The words of the turns.
    pub library: Library,
    /// How text becomes tokens.
    pub texts: Box<dyn Texts>,
    /// The frame of the messages.
    pub frame: Frame,
    /// Limits, what is carried over, whether content is printed.
    pub chat: Conversations,
    /// Head of every request id. The conversation and the turn follow.
    pub request_ids: String,
    /// `conversations.jsonl`, where requested.
    pub log: Option<Box<dyn Write + Send>>,
    /// Output for prompts and answers, where requested.
    pub print: Option<Box<dyn Write + Send>>,
}

/// A conversation that is being led.
struct Live {
    script: Script,
    client: u32,
    messages: Vec<u8>,
    /// Length of the history without the turn that was built and not sent yet.
    answered_to: usize,
    requests: Vec<Request>,
    /// The turn that was built last.
    said: UserTurn,
    /// Tokens that the plan wants all user's turns so far to have. Absent for recorded words.
    planned: Option<u32>,
    /// Tokens of the live answers so far, by the server's count. Absent once it gave none.
    answered: Option<u32>,
    /// Tokens of all messages so far, where they are counted.
    counted: u32,
}

/// Results of the thread.
pub(crate) struct ChatOutcome {
    /// Figures of the whole load.
    pub figures: Figures,
    /// The first line that could not be written.
    pub error: Option<Error>,
}

/// See the module.
pub(crate) struct TurnBuilder {
    setup: Setup,
    lives: BTreeMap<u32, Live>,
    figures: Figures,
    origin: Ns,
    error: Option<Error>,
}

impl TurnBuilder {
    /// With nothing begun.
    pub(crate) fn new(setup: Setup) -> Self {
        let lengths = if setup.texts.exact() { "counted" } else { "estimated" };
        let figures = Figures { lengths, definition: DEFINITION, ..Figures::default() };
        Self { setup, lives: BTreeMap::new(), figures, origin: 0, error: None }
    }

    /// Works until the load is over or its source is gone.
    pub(crate) fn run(
        mut self,
        tasks: &Receiver<Task>,
        built: &Sender<BuiltTurn>,
        waker: &Arc<OnceLock<Waker>>,
    ) -> ChatOutcome {
        while let Ok(task) = tasks.recv() {
            if matches!(task, Task::Finish) {
                break;
            }
            let Some(order) = self.work(task) else { continue };
            if built.send(order).is_err() {
                break;
            }
            if let Some(waker) = waker.get() {
                waker.wake();
            }
        }
        self.finish()
    }

    /// One task. What it built.
    pub(crate) fn work(&mut self, task: Task) -> Option<BuiltTurn> {
        match task {
            Task::Open { conversation, client } => {
                self.open(conversation, client);
                Some(self.build(conversation))
            }
            Task::Resume { conversation } => Some(self.build(conversation)),
            Task::Ended { conversation, ended, text, then } => {
                self.ended(conversation, &ended, text);
                match then {
                    Then::Build => Some(self.build(conversation)),
                    Then::Park => None,
                    Then::Close(why) => {
                        self.close(conversation, why);
                        None
                    }
                }
            }
            Task::Close { conversation, why } => {
                self.close(conversation, why);
                None
            }
            Task::Origin(origin) => {
                self.origin = origin;
                None
            }
            Task::Late(ms) => {
                self.figures.built_late_ms.add(ms);
                None
            }
            Task::Finish => None,
        }
    }

    fn open(&mut self, conversation: u32, client: u32) {
        let script = self.setup.library.open(conversation);
        let mut live = Live {
            messages: Vec::new(),
            answered_to: 0,
            requests: Vec::new(),
            said: UserTurn::default(),
            planned: (!self.setup.library.is_recorded()).then_some(0),
            answered: Some(0),
            counted: 0,
            client,
            script,
        };
        if let Some(system) = live.script.system.take() {
            push_message(&mut live.messages, "system", &system);
            live.counted = if self.setup.texts.exact() { self.setup.texts.count(&system) } else { 0 };
            live.answered_to = live.messages.len();
        }
        self.lives.insert(conversation, live);
    }

    fn build(&mut self, conversation: u32) -> BuiltTurn {
        let nothing = BuiltTurn { conversation, turns: 0, order: None };
        let Some(live) = self.lives.get_mut(&conversation) else { return nothing };
        let texts = self.setup.texts.as_mut();
        let turns = live.script.turns;
        let Some(said) = self.setup.library.say(&mut live.script, texts) else { return BuiltTurn { turns, ..nothing } };
        live.answered_to = live.messages.len();
        push_message(&mut live.messages, "user", &said.user);
        let sum = |so_far: Option<u32>, more: Option<u32>| Some(so_far?.saturating_add(more?));
        live.planned = sum(live.planned, said.tokens);
        if texts.exact() {
            live.counted = live.counted.saturating_add(texts.count(&said.user));
        }
        let limits = Limits::of(&self.setup.chat, said.osl);
        let turn = u32::try_from(live.requests.len()).unwrap_or(u32::MAX);
        let order = Order {
            body: self.setup.frame.body(&live.messages, limits),
            request_id: format!("{}-{conversation}-{turn}", self.setup.request_ids),
            asked: Asked {
                isl: sum(live.planned, live.answered),
                isl_sent: texts.exact().then_some(live.counted),
                osl: limits.max,
                exact: self.setup.frame.asks_exactly(limits),
            },
            keep_text: true,
            turn: Some(TurnPlace { conversation, turn, client: live.client }),
            ..Order::default()
        };
        live.said = said;
        BuiltTurn { conversation, turns, order: Some(Box::new(order)) }
    }

    fn ended(&mut self, conversation: u32, ended: &Ended, text: Option<Vec<u8>>) {
        self.figures.add(ended);
        let Some(live) = self.lives.get_mut(&conversation) else { return };
        let answer = text.map(|bytes| {
            String::from_utf8(bytes).unwrap_or_else(|broken| {
                self.figures.answers_repaired += 1;
                String::from_utf8_lossy(broken.as_bytes()).into_owned()
            })
        });
        if let Some(out) = self.setup.print.as_mut() {
            // A terminal that is gone is no reason to lose the load.
            let _ = print(out.as_mut(), &live.script.id, ended, &live.said.user, answer.as_deref());
        }
        live.answered_to = live.messages.len();
        let mut beside = None;
        if ended.status.answered() {
            let live_answer = answer.unwrap_or_default();
            let carried = if self.setup.chat.recorded_answers { live.said.recorded.take() } else { None };
            let words = carried.as_ref().unwrap_or(&live_answer);
            if words.trim().is_empty() && ended.phase == Phase::Measured {
                self.figures.turns.without_text += 1;
                // The last answer of a conversation is in nobody's history.
                let goes_on = ended.turn.saturating_add(1) < live.script.turns;
                self.figures.turns.empty_history += u64::from(goes_on);
            }
            push_message(&mut live.messages, "assistant", words);
            live.answered_to = live.messages.len();
            if self.setup.texts.exact() {
                live.counted = live.counted.saturating_add(self.setup.texts.count(words));
            }
            let of_answer = if carried.is_some() { None } else { ended.usage.output };
            live.answered = live.answered.and_then(|sum| Some(sum.saturating_add(of_answer?)));
            if carried.is_some() {
                beside = Some(live_answer);
            }
        } else {
            beside = answer.filter(|part| !part.is_empty());
        }
        live.requests.push(Request::of(ended, beside, self.origin));
    }

    fn close(&mut self, conversation: u32, why: Why) {
        let Some(live) = self.lives.remove(&conversation) else { return };
        if live.requests.is_empty() {
            // Built ahead and never begun.
            return;
        }
        let sent = u32::try_from(live.requests.len()).unwrap_or(u32::MAX);
        let not_sent = live.script.turns.saturating_sub(sent);
        self.figures.conversations.begun += 1;
        match why {
            Why::Done => self.figures.conversations.done += 1,
            Why::Failed => {
                self.figures.conversations.failed += 1;
                self.figures.turns.not_sent += u64::from(not_sent);
            }
            Why::Cut => self.figures.conversations.cut += 1,
        }
        let Some(out) = self.setup.log.as_mut() else { return };
        let head = ConversationHead {
            id: live.script.id,
            conversation,
            client: live.client,
            ended: why,
            planned_turns: live.script.turns,
            not_sent,
        };
        let history = live.messages.get(..live.answered_to).unwrap_or(&live.messages);
        if let Err(cause) = log::write(out.as_mut(), &head, history, &live.requests) {
            self.lost(cause);
        }
    }

    fn lost(&mut self, cause: std::io::Error) {
        self.error.get_or_insert_with(|| {
            Error::archive("cannot write conversations.jsonl")
                .hint("free space on the disk of the archive. The figures are complete, the conversations are not")
                .because(cause)
        });
    }

    /// Closes what is still open. A line for each.
    pub(crate) fn finish(mut self) -> ChatOutcome {
        while let Some(conversation) = self.lives.keys().next().copied() {
            self.close(conversation, Why::Cut);
        }
        if let Some(Err(cause)) = self.setup.log.as_mut().map(|out| out.flush()) {
            self.lost(cause);
        }
        if let Some(out) = self.setup.print.as_mut() {
            let _ = out.flush();
        }
        ChatOutcome { figures: self.figures, error: self.error }
    }
}

/// One turn for a person to read.
fn print(out: &mut dyn Write, id: &str, ended: &Ended, user: &str, answer: Option<&str>) -> std::io::Result<()> {
    let tokens = ended.usage.output.map(|tokens| format!(", {tokens} tokens")).unwrap_or_default();
    writeln!(out, "== {id}, turn {}, client {} ==", ended.turn.saturating_add(1), ended.client)?;
    writeln!(out, "user: {}", printable(user))?;
    match answer {
        Some(answer) => writeln!(out, "assistant ({}{tokens}): {}", ended.status.word(), printable(answer)),
        None => writeln!(out, "assistant ({}{tokens})", ended.status.word()),
    }
}

/// Without control characters: what a server answers must not steer a terminal.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() && c != '\n' && c != '\t' { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}
