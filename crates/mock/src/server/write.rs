//! Bytes of answers on their way to a socket: step by step when they are due, later where it has no room.
//!
//! In:  steps of a job.  Out: writes, each timed just before it. Finished answers are recorded in the [`Truth`].
//! Not here: which bytes (see `job`), when an answer is over (see `place`).

use std::collections::VecDeque;

use crate::job::{End, Next, Step};
use crate::shape::{CUT_NS, Cut, HEAD_LINE_NS, Reply};
use crate::truth::Truth;
use sparkbench_host::net::{Interest, Ns, now};

use super::conn::{Active, Conn, ConnAction, Cutting, Mark};
use super::{Server, Todo};

/// Bytes that may wait for a slow client before its answer pauses.
const PENDING_MAX: usize = 256 << 10;
/// Bytes that the buffer of writes keeps. An answer in one write may have needed more.
const OUT_BYTES: usize = 1 << 20;

impl Server {
    /// Makes the step whose time has come, and those that follow it at once.
    pub(super) fn drive(&mut self, conn: &mut Conn, key: (u32, u32)) -> ConnAction {
        loop {
            let next = if conn.cutting.is_some() {
                match self.write_piece(conn) {
                    Some(next) => next,
                    None => return ConnAction::Close,
                }
            } else {
                if conn.pending.len() - conn.pending_at > PENDING_MAX {
                    conn.parked = true;
                    return ConnAction::Stay;
                }
                let mut active = match conn.active.take() {
                    Some(active) => active,
                    None => return ConnAction::Stay,
                };
                let made = self.steps(conn, &mut active);
                let again = active.job.timed();
                conn.active = Some(active);
                match made {
                    None => return ConnAction::Close,
                    // As fast as possible, and in turn with all others.
                    Some((tokens, Next::Now)) if tokens > 0 && !again && conn.cutting.is_none() => {
                        self.todo.push_back((key.0, key.1, Todo::Step));
                        return ConnAction::Stay;
                    }
                    Some((_, next)) => next,
                }
            };
            match next {
                Next::Now => {
                    if conn.active.as_ref().is_some_and(|active| active.job.reply() == Reply::HugeLine) {
                        self.todo.push_back((key.0, key.1, Todo::Step));
                        return ConnAction::Stay;
                    }
                }
                Next::At(due) => {
                    self.schedule(conn, key.0, due);
                    return ConnAction::Stay;
                }
                Next::End(end) => return self.finish(conn, key, end),
            }
        }
    }

    /// One step, or all of them where the answer is one write. Nothing when the client has gone.
    fn steps(&mut self, conn: &mut Conn, active: &mut Active) -> Option<(u32, Next)> {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let whole = active.job.whole();
        let (mut tokens, mut chunks) = (0, 0);
        let (mut due, mut head) = (None, false);
        let before = conn.made + conn.held.len() as u64;
        let mut last;
        loop {
            let step = active.job.step(&mut self.event, &mut out);
            let Step { tokens: count, text, .. } = step;
            last = step;
            head |= step.head;
            if count > 0 {
                conn.marks.push_back(Mark { end: before + out.len() as u64, tokens: count, text });
                (tokens, chunks, due) = (tokens + count, chunks + 1, step.due.or(due));
                if let Some(list) = &mut active.truth.due_ns {
                    list.push(step.due.unwrap_or(active.truth.started_ns));
                }
            }
            if !whole || matches!(step.next, Next::End(_)) {
                break;
            }
        }
        let (cut, gone) = (active.job.cut(), matches!(last.next, Next::End(End::Reset | End::Stall | End::Close)));
        let blocked = conn.pending_at < conn.pending.len();
        let at = now();
        if head && active.truth.headers_ns.is_none() && !out.is_empty() {
            active.truth.headers_ns = Some(at);
            active.truth.http = active.job.code();
        }
        if let Some(list) = &mut active.truth.begun_ns {
            list.extend(std::iter::repeat_n(at, chunks));
        }
        if let (Some(due), false) = (due, blocked) {
            let late = at.saturating_sub(due);
            self.late.add(late);
            active.truth.latest_ns = Some(active.truth.latest_ns.unwrap_or(0).max(late));
        }
        self.totals.tokens += u64::from(tokens);
        self.counts.generation_tokens += u64::from(tokens);
        let by_lines = last.head && active.job.reply() == Reply::SlowHead;
        let mut next = last.next;
        let fate = if by_lines || (!last.head && !whole && matches!(cut, Cut::Bytes | Cut::Random | Cut::Utf8)) {
            conn.cutting = Some(Cutting { bytes: out.clone(), at: 0, lines: by_lines, next });
            next = Next::Now;
            ConnAction::Stay
        } else if cut == Cut::Middle && !last.head && !whole {
            let mut bytes = std::mem::take(&mut conn.held);
            let half = bytes.len() + out.len() / 2;
            bytes.extend_from_slice(&out);
            let half = if matches!(next, Next::End(_)) || gone { bytes.len() } else { half };
            conn.held = bytes.split_off(half);
            self.write_of(conn, active, &bytes, at)
        } else {
            self.write_of(conn, active, &out, at)
        };
        out.shrink_to(OUT_BYTES);
        self.out = out;
        (fate != ConnAction::Close).then_some((tokens, next))
    }

    /// The next piece of a step that is cut. Nothing when the client has gone.
    fn write_piece(&mut self, conn: &mut Conn) -> Option<Next> {
        let (mut cutting, mut active) = (conn.cutting.take()?, conn.active.take()?);
        let rest = &cutting.bytes[cutting.at..];
        let length = match active.job.cut() {
            _ if cutting.lines => rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1),
            Cut::Bytes => 1,
            Cut::Random => 1 + (active.job.draw() % 64) as usize,
            // After the first byte of a character that has more.
            Cut::Utf8 => rest.iter().position(|byte| *byte >= 0xc0).map_or(rest.len(), |first| first + 1),
            Cut::Whole | Cut::Middle => rest.len(),
        };
        let length = length.min(rest.len());
        let at = now();
        let fate = self.write_of(conn, &mut active, &rest[..length], at);
        cutting.at += length;
        conn.active = Some(active);
        if fate == ConnAction::Close {
            return None;
        }
        if cutting.at >= cutting.bytes.len() {
            return Some(cutting.next);
        }
        let gap = if cutting.lines { HEAD_LINE_NS } else { CUT_NS };
        conn.cutting = Some(cutting);
        Some(Next::At(at + gap))
    }

    /// Writes bytes of an answer, and settles what they end.
    fn write_of(&mut self, conn: &mut Conn, active: &mut Active, bytes: &[u8], at: Ns) -> ConnAction {
        let fate = self.write(conn, bytes, at);
        let taken = conn.taken();
        settle(&mut conn.marks, taken, &mut active.truth, at);
        fate
    }

    /// Hands bytes to the socket, or puts them behind what it has not taken yet.
    pub(super) fn write(&mut self, conn: &mut Conn, bytes: &[u8], at: Ns) -> ConnAction {
        let mut count = 0;
        if conn.pending_at >= conn.pending.len() && !bytes.is_empty() {
            match conn.stream.send(bytes) {
                Ok(sent) => count = sent,
                Err(_) => return ConnAction::Close,
            }
            conn.last_write = at;
        }
        conn.made += bytes.len() as u64;
        if count < bytes.len() {
            conn.pending.extend_from_slice(&bytes[count..]);
            if !conn.wants_room {
                conn.wants_room = self.poller.change(&conn.stream, conn.token(), Interest::Both).is_ok();
            }
        }
        ConnAction::Stay
    }

    /// There is room in the socket again.
    pub(super) fn flush(&mut self, conn: &mut Conn, key: (u32, u32)) -> ConnAction {
        if conn.pending_at < conn.pending.len() {
            let at = now();
            match conn.stream.send(&conn.pending[conn.pending_at..]) {
                Ok(sent) => conn.pending_at += sent,
                Err(_) => return ConnAction::Close,
            }
            conn.last_write = at;
            let taken = conn.taken();
            if let Some(active) = &mut conn.active {
                settle(&mut conn.marks, taken, &mut active.truth, at);
            }
            if conn.pending_at < conn.pending.len() {
                return ConnAction::Stay;
            }
        }
        conn.pending_at = 0;
        // A client that has once been slow may be so again: the buffer stays, unless it has grown beyond what an answer pauses at.
        conn.pending.clear();
        conn.pending.shrink_to(PENDING_MAX);
        if conn.wants_room {
            conn.wants_room = self.poller.change(&conn.stream, conn.token(), Interest::Read).is_err();
        }
        if let Some(end) = conn.ending.take() {
            return self.finish(conn, key, end);
        }
        if std::mem::take(&mut conn.parked) {
            self.todo.push_back((key.0, key.1, Todo::Step));
        }
        ConnAction::Stay
    }
}

/// Events whose last byte has been taken are emitted.
fn settle(marks: &mut VecDeque<Mark>, taken: u64, truth: &mut Truth, at: Ns) {
    while let Some(mark) = marks.front().copied().filter(|mark| mark.end <= taken) {
        marks.pop_front();
        truth.first_ns.get_or_insert(at);
        truth.last_ns = Some(at);
        truth.chunks += 1;
        truth.tokens += mark.tokens;
        truth.text_bytes += u64::from(mark.text);
        if let Some(list) = &mut truth.emitted_ns {
            list.push(at);
        }
    }
}
