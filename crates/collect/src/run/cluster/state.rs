//! The head's knowledge of the other machines.
//!
//! In:  messages.  Out: [`Peer`] for each, and a way to wait for a change.
//! Not here: the orders (see `mod`).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::say::{self, Word};
use crate::run::nodes::About;
use sparkbench_archive::FileName;
use sparkbench_host::meet::{Clock, Event, Handler};
use sparkbench_host::net::now;
use sparkbench_model::{ClockOffset, Finding};

/// Another machine.
#[derive(Debug, Default)]
pub(super) struct Peer {
    /// It has said who it is.
    pub greeted: bool,
    pub about: About,
    /// On the way to the head.
    pub address: String,
    /// Why it is no longer there.
    pub gone: Option<String>,
    /// Why it wants the run under way to end.
    pub ending: Option<String>,
    /// Number of the order that it was given last, and its answer to that.
    pub number: u64,
    pub answer: Option<Word>,
    /// Its messages in between.
    pub news: Vec<Word>,
    pub gates: Vec<Finding>,
    pub clock: Option<Clock>,
    pub clock_before: Option<ClockOffset>,
    pub clock_after: Option<ClockOffset>,
    /// Where its files go.
    pub folder: Option<PathBuf>,
    file: Option<File>,
    broken: Option<io::Error>,
}

impl Peer {
    /// Its answer, or why there will be none. Nothing while it may still come. `limit` is a moment.
    pub(super) fn answered(&mut self, limit: Option<u64>, interrupted: bool) -> Option<Result<Word, String>> {
        match (self.answer.take(), &self.gone) {
            (Some(Word::Unable { why }), _) => Some(Err(why)),
            (Some(word), _) => Some(Ok(word)),
            (None, Some(why)) => Some(Err(format!("it is gone: {why}"))),
            (None, None) if limit.is_some_and(|limit| now() > limit) => {
                Some(Err("it did not answer within the time limit".to_owned()))
            }
            (None, None) if interrupted => Some(Err("a signal asked to stop".to_owned())),
            (None, None) => None,
        }
    }

    /// No more files come. Gives why not all could be kept, where that is so.
    pub(super) fn close_files(&mut self) -> Option<String> {
        (self.file, self.folder) = (None, None);
        self.broken.take().map(|cause| cause.to_string())
    }

    fn open(&mut self, path: &FileName) {
        self.file = None;
        let Some(folder) = self.folder.as_ref().filter(|_| self.broken.is_none()) else { return };
        match made(folder, path) {
            Ok(file) => self.file = Some(file),
            Err(cause) => self.broken = Some(cause),
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(file) = &mut self.file
            && let Err(cause) = file.write_all(bytes)
        {
            (self.file, self.broken) = (None, Some(cause));
        }
    }

    /// It is given the next order. Gives its number.
    pub(super) fn next(&mut self) -> u64 {
        self.number += 1;
        self.answer = None;
        self.news.clear();
        self.number
    }

    fn heard(&mut self, number: u64, word: Word) {
        match word {
            Word::Hello { about, address } => (self.about, self.address, self.greeted) = (*about, address, true),
            Word::Ending { why } => {
                self.ending.get_or_insert(why);
            }
            Word::File { path } => self.open(&path),
            // Too late: another order was given since.
            _ if number != self.number => {}
            word if word.answers() => self.answer = Some(word),
            word => self.news.push(word),
        }
    }
}

/// A file below a folder. A path that leads elsewhere is refused: a machine may write into its own folder of a run and nowhere else.
fn made(folder: &Path, path: &FileName) -> io::Result<File> {
    if !path.is_below() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("'{path}' is not a path below its folder")));
    }
    let path = folder.join(path);
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    File::create_new(path)
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct State {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    peers: BTreeMap<u32, Peer>,
    refused: Option<String>,
}

impl State {
    /// Looks at them, or changes something.
    pub(super) fn with<T>(&self, look: impl FnOnce(&mut BTreeMap<u32, Peer>) -> T) -> T {
        let found = look(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner).peers);
        self.changed.notify_all();
        found
    }

    /// Looks again after each change, and every `pause`, until there is something.
    pub(super) fn wait<T>(&self, pause: Duration, mut look: impl FnMut(&mut BTreeMap<u32, Peer>) -> Option<T>) -> T {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(found) = look(&mut inner.peers) {
                return found;
            }
            inner = self.changed.wait_timeout(inner, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Why someone was not let in.
    pub(super) fn refused(&self) -> Option<String> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).refused.clone()
    }
}

/// Messages to the head.
pub(super) fn handler(state: &Arc<State>) -> Handler {
    let state = Arc::downgrade(state);
    Arc::new(move |event| {
        let Some(state) = state.upgrade() else { return };
        let at = |rank: u32, change: &dyn Fn(&mut Peer)| state.with(|peers| change(peers.entry(rank).or_default()));
        match event {
            Event::Joined(rank) => at(rank, &|_| ()),
            Event::Message(rank, value) => match say::heard::<Word>(value) {
                Ok((number, word)) => at(rank, &|peer| peer.heard(number, word.clone())),
                Err(why) => at(rank, &|peer| peer.gone = Some(why.clone())),
            },
            Event::Bytes(rank, bytes) => at(rank, &|peer| peer.write(&bytes)),
            Event::Clock(rank, clock) => at(rank, &|peer| peer.clock = Some(clock)),
            Event::Left(rank, why) => at(rank, &|peer| {
                peer.gone.get_or_insert_with(|| why.clone());
            }),
            Event::Refused(why) => {
                state.inner.lock().unwrap_or_else(PoisonError::into_inner).refused.get_or_insert(why);
                state.changed.notify_all();
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_writes_into_its_own_folder_and_nowhere_else() {
        let folder = sparkbench_testing::Folder::new("peer");
        let mut peer = Peer { folder: Some(folder.to_path_buf()), ..Peer::default() };
        peer.heard(0, Word::File { path: "work/out.txt".into() });
        peer.write(b"one ");
        peer.write(b"two");
        assert_eq!(peer.close_files(), None);
        assert_eq!(fs::read_to_string(folder.join("work/out.txt")).unwrap(), "one two");
        // A name that is no text comes through the message and stays what it is.
        let odd = FileName::new(*b"work/\xf6\n.txt");
        let word = serde_json::to_string(&Word::File { path: odd.clone() }).unwrap();
        let mut peer = Peer { folder: Some(folder.to_path_buf()), ..Peer::default() };
        peer.heard(0, serde_json::from_str(&word).unwrap());
        peer.write(b"three");
        assert_eq!(peer.close_files(), None);
        assert_eq!(fs::read_to_string(folder.join(odd)).unwrap(), "three");
        for path in ["../x", "/etc/x", "", "a/../../x"] {
            let mut peer = Peer { folder: Some(folder.to_path_buf()), ..Peer::default() };
            peer.heard(0, Word::File { path: path.into() });
            peer.write(b"x");
            assert!(peer.close_files().unwrap().contains("not a path below"), "{path}");
        }
    }

    #[test]
    fn an_answer_comes_or_the_machine_is_gone_or_the_time_is_over() {
        let mut peer = Peer::default();
        assert!(peer.answered(None, false).is_none());
        peer.heard(0, Word::Ending { why: "memory".into() });
        assert!(peer.answered(None, false).is_none(), "that is not an answer");
        peer.heard(0, Word::Started);
        assert!(matches!(peer.answered(None, false), Some(Ok(Word::Started))));
        peer.heard(0, Word::Unable { why: "no such program".into() });
        assert_eq!(peer.answered(None, false).unwrap().unwrap_err(), "no such program");
        assert!(peer.answered(Some(0), false).unwrap().unwrap_err().contains("time limit"));
        assert!(peer.answered(None, true).unwrap().unwrap_err().contains("signal"));
        assert_eq!(peer.next(), 1);
        peer.heard(0, Word::Started);
        assert!(peer.answered(None, false).is_none(), "that was the answer to another order");
        peer.gone = Some("the connection to it ended".into());
        assert!(peer.answered(None, false).unwrap().unwrap_err().contains("gone"));
    }
}
