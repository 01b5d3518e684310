//! One connection, from the greeting to its end.
//!
//! In:  a socket on which both sides have shown that they know the secret.  Out: frames to a [`Handler`], and outgoing frames sent.
//! Not here: admission (see `server` and `client`).

use std::time::Duration;

use ring::hmac::Key;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};
use tokio::time::{Instant, interval, timeout};

use super::frame::{Frame, LONGEST, NUMBER, Side, TAG};
use super::{Clock, Event, Handler, TRIPS, WORD};
use crate::net::{Ns, now};

/// Parts of files that may wait to be sent. The sender waits for the link.
const WAITING: usize = 8;

/// Outgoing data of a connection.
#[derive(Debug)]
pub(super) enum Out {
    /// This.
    Frame(Frame),
    /// Questions for the clock, one after the other.
    Clock,
    /// Nothing more: the connection ends when all before is sent.
    End,
}

/// The end of a connection that is written to.
#[derive(Debug, Clone)]
pub(super) struct Outbox {
    /// Overtakes parts of files.
    words: UnboundedSender<Out>,
    parts: Sender<Out>,
}

impl Outbox {
    pub(super) fn new() -> (Self, Inbox) {
        let (words, words_out) = unbounded_channel();
        let (parts, parts_out) = channel(WAITING);
        (Self { words, parts }, Inbox { words: words_out, parts: parts_out })
    }

    /// Something short. A side that is gone hears nothing, and its end was told.
    pub(super) fn say(&self, out: Out) {
        let _ = self.words.send(out);
    }

    /// In the order of the parts of files: waits while the link is busy. False where the other side is gone.
    pub(super) fn part(&self, frame: Frame) -> bool {
        self.parts.blocking_send(Out::Frame(frame)).is_ok()
    }

    /// The end, behind the parts.
    pub(super) fn end(&self) {
        let _ = self.parts.blocking_send(Out::End);
    }
}

/// The end of it that is read from.
#[derive(Debug)]
pub(super) struct Inbox {
    words: UnboundedReceiver<Out>,
    parts: Receiver<Out>,
}

/// What both sides of a connection have agreed on: the keys of its two directions, and the silence after which a side counts as gone.
#[derive(Debug)]
pub(super) struct Terms {
    pub ours: Key,
    pub theirs: Key,
    pub silence: Duration,
}

/// Talks until one side ends it. `rank` is the other side's, `side` ours. Gives the reason of the end. Nothing where we ended it.
pub(super) async fn connection(
    stream: TcpStream,
    terms: Terms,
    (rank, side): (u32, Side),
    inbox: Inbox,
    handler: Handler,
) -> Option<String> {
    let (reading, writing) = stream.into_split();
    let (heard, answers) = unbounded_channel();
    let reader = tokio::spawn(read(reading, terms.theirs, terms.silence, heard));
    let writer = Writer { writing, key: terms.ours, silence: terms.silence, number: 0 };
    let ended = write(writer, (rank, side), inbox, answers, &handler).await;
    reader.abort();
    ended
}

/// Received message, with the time at which it was complete.
type Heard = Result<(Frame, Ns), String>;

async fn read(mut reading: OwnedReadHalf, key: Key, silence: Duration, heard: UnboundedSender<Heard>) {
    for number in 0.. {
        let next = match timeout(silence, frame(&mut reading, &key, number)).await {
            Ok(next) => next,
            Err(_) => Err(format!("nothing was heard of it for {} s", silence.as_secs())),
        };
        let last = next.is_err();
        if heard.send(next).is_err() || last {
            return;
        }
    }
}

async fn frame(reading: &mut OwnedReadHalf, key: &Key, number: u64) -> Heard {
    let gone = |_| "the connection to it ended".to_owned();
    let length = reading.read_u32().await.map_err(gone)? as usize;
    if length == 0 || length > LONGEST {
        return Err(format!("it sent a message of {length} bytes, which is none"));
    }
    let mut body = vec![0; NUMBER + length];
    let mut tag = [0; TAG];
    reading.read_exact(body.get_mut(NUMBER..).unwrap_or_default()).await.map_err(gone)?;
    reading.read_exact(&mut tag).await.map_err(gone)?;
    let at = now();
    let frame = Frame::decode(body, &tag, key, number);
    frame.map(|frame| (frame, at)).ok_or_else(|| "what came from it was changed on the way".to_owned())
}

struct Writer {
    writing: OwnedWriteHalf,
    key: Key,
    silence: Duration,
    number: u64,
}

impl Writer {
    async fn send(&mut self, frame: &Frame) -> Result<(), String> {
        let bytes = frame.encode(&self.key, self.number);
        self.number += 1;
        match timeout(self.silence, self.writing.write_all(&bytes)).await {
            Ok(written) => written.map_err(|cause| format!("it can no longer be written to ({cause})")),
            Err(_) => Err(format!("it took nothing for {} s", self.silence.as_secs())),
        }
    }
}

/// Round trips under way.
#[derive(Default)]
struct Trips {
    left: u32,
    id: u64,
    asked: Ns,
    best: Option<Clock>,
}

async fn write(
    mut writer: Writer,
    (rank, side): (u32, Side),
    mut inbox: Inbox,
    mut answers: UnboundedReceiver<Heard>,
    handler: &Handler,
) -> Option<String> {
    let mut trips = Trips::default();
    let mut word = interval(WORD);
    word.reset_after(WORD);
    let mut silent_since = Instant::now();
    loop {
        let out = tokio::select! {
            biased;
            heard = answers.recv() => {
                let Some(Ok((frame, at))) = heard else {
                    return Some(heard.and_then(Result::err).unwrap_or_default());
                };
                match frame {
                    Frame::Message(value) => handler(Event::Message(rank, value)),
                    Frame::Bytes(bytes) => handler(Event::Bytes(rank, bytes)),
                    Frame::Ping(id) => {
                        let answer = Frame::Pong(id, now());
                        if let Err(why) = writer.send(&answer).await {
                            return Some(why);
                        }
                    }
                    Frame::Pong(id, answered) if id == trips.id && trips.left > 0 => {
                        let clock = Clock::of(trips.asked, answered, at);
                        trips.best = Some(trips.best.map_or(clock, |best| best.better(clock)));
                        trips.left -= 1;
                        if trips.left == 0 {
                            handler(Event::Clock(rank, trips.best.take().unwrap_or_default()));
                        } else if let Err(why) = ask(&mut writer, &mut trips).await {
                            return Some(why);
                        }
                    }
                    Frame::Pong(..) => {}
                }
                continue;
            }
            out = inbox.words.recv() => out,
            out = inbox.parts.recv() => out,
            _ = word.tick() => {
                // Rank 0 asks and is answered: both sides have heard of each other.
                if side == Side::Head && trips.left == 0 && silent_since.elapsed() >= WORD {
                    silent_since = Instant::now();
                    if let Err(why) = writer.send(&Frame::Ping(0)).await {
                        return Some(why);
                    }
                }
                continue;
            }
        };
        let sent = match out {
            Some(Out::Frame(frame)) => writer.send(&frame).await,
            Some(Out::Clock) => {
                trips.left = TRIPS;
                ask(&mut writer, &mut trips).await
            }
            Some(Out::End) | None => {
                let _ = writer.writing.shutdown().await;
                return None;
            }
        };
        if let Err(why) = sent {
            return Some(why);
        }
    }
}

async fn ask(writer: &mut Writer, trips: &mut Trips) -> Result<(), String> {
    trips.id += 1;
    trips.asked = now();
    writer.send(&Frame::Ping(trips.id)).await
}

/// A thread for connections, with the runtime that drives them.
pub(super) fn thread(
    name: &str,
    work: impl std::future::Future<Output = ()> + Send + 'static,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    std::thread::Builder::new().name(name.to_owned()).spawn(move || runtime.block_on(work))
}
