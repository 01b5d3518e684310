//! Joins the shares of all ranks.
//!
//! In:  what each rank handed in.  Out: one [`Stored`] and one set of files, as one client would have left them.
//! Not here: figures (see `load::summary`).
//!
//! Files of every rank count from the same moment, each on its own clock, so their lines and blocks go together as they are. Rows have
//! absolute times and are moved by the difference of the two origins.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, BufReader, Seek as _};
use std::path::Path;

use super::incoming::{Incoming, RankFile};
use super::report::RankReport;
use super::state::RanksState;
use crate::chat::log::CONVERSATIONS_FILE;
use crate::store::Stored;
use crate::summary::RankLine;
use sparkbench_archive::manifest::REQUESTS_FILE;
use sparkbench_host::meet::Clock;
use sparkbench_text::error::Error;

/// See the module.
#[derive(Debug, Default)]
pub struct Whole {
    /// Every rank, in order.
    pub lines: Vec<RankLine>,
    /// Reports of ranks that handed something in, in order of rank.
    pub reports: Vec<(u32, RankReport)>,
    /// Why it is not the whole load.
    pub broken: Option<String>,
}

/// Puts those of all `world` ranks together. `before` are the clocks before the load.
pub(super) fn merge(
    state: &RanksState,
    world: u32,
    stored: &mut Stored,
    folder: &Path,
    own: RankReport,
    before: &BTreeMap<u32, Clock>,
) -> Result<Whole, Error> {
    let mut whole = Whole::default();
    let own_host = state.with(|inner| inner.own_host.clone());
    whole.lines.push(line(0, own_host, &own));
    whole.reports.push((0, own));
    for rank in 1..world {
        let Some((host, report, unable, mut incoming, after)) = state.with(|inner| {
            let peer = inner.peers.get_mut(&rank)?;
            let incoming = std::mem::take(&mut peer.incoming);
            Some((peer.host.clone(), peer.report.take(), peer.unable.clone(), incoming, peer.clock))
        }) else {
            continue;
        };
        let Some(report) = report else {
            let why = unable.unwrap_or_else(|| "it left the load".to_owned());
            whole.lines.push(RankLine { rank, host, missing: Some(why), ..RankLine::default() });
            continue;
        };
        take_in(stored, folder, &mut incoming, &report)?;
        let clock = before.get(&rank).copied();
        let milliseconds = |ns: f64| ns / 1e6;
        whole.lines.push(RankLine {
            clock_bound_ms: clock.map(|clock| milliseconds(clock.bound_ns as f64)),
            clock_drift_ms: clock
                .zip(after)
                .map(|(before, after)| milliseconds((after.ahead_ns - before.ahead_ns) as f64)),
            ..line(rank, host, &report)
        });
        whole.reports.push((rank, *report));
    }
    whole.broken = state.with(|inner| inner.broken.clone().or_else(|| inner.stopped.clone()));
    Ok(whole)
}

fn line(rank: u32, host: String, report: &RankReport) -> RankLine {
    RankLine {
        rank,
        host,
        planned: report.planned,
        completed: report.completed,
        failed: report.failed,
        cancelled: report.cancelled,
        first_late_ms: report.first_late_ns.map(|ns| ns as f64 / 1e6),
        client: Some(report.client.clone()),
        ..RankLine::default()
    }
}

fn take_in(stored: &mut Stored, folder: &Path, incoming: &mut Incoming, report: &RankReport) -> Result<(), Error> {
    let unread = |cause: io::Error| Error::archive("cannot put together what the ranks measured").because(cause);
    if let Some(mut rows) = incoming.file(RankFile::Rows)? {
        rows.rewind().map_err(unread)?;
        let moved = stored.origin.wrapping_sub(report.origin);
        stored.rows.take_from(&mut BufReader::with_capacity(1 << 18, rows), |at| at.wrapping_add(moved))?;
    }
    for (part, name) in [(RankFile::Requests, REQUESTS_FILE), (RankFile::Conversations, CONVERSATIONS_FILE)] {
        if let Some(mut file) = incoming.file(part)? {
            let mut ours = OpenOptions::new().append(true).create(true).open(folder.join(name)).map_err(unread)?;
            file.rewind().and_then(|()| io::copy(&mut file, &mut ours)).map_err(unread)?;
        }
    }
    if let Some(file) = incoming.file(RankFile::Chunks)? {
        stored.take_blocks(file, report.failure.is_none())?;
    }
    report.tally.add_to(stored);
    Ok(())
}
