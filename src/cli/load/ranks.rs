//! `mpirun -n 8 sparkbench load`: this process as one of several clients.
//!
//! In:  what was typed, what the launcher says.  Out: [`Ranks`] that have met; the loads of a rank that is not 0.
//! Not here: how ranks load together (see `load::ranks`).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::args::LoadArgs;
use super::plan::Loads;
use super::scratch::Scratch;
use crate::cli::talk::Talk;
use sparkbench_host::{Host, Question};
use sparkbench_load::ranks::Ranks;
use sparkbench_load::ranks::place::{self, Place};
use sparkbench_load::secrets;
use sparkbench_load::session::{Live, Session, Watcher};
use sparkbench_load::settings::Share;
use sparkbench_text::error::Error;

/// Which rank this is. Nothing where the clients, if there are several, do not meet.
///
/// # Errors
/// As [`Place::find`].
pub(super) fn place(args: &LoadArgs, host: &dyn Host) -> Result<Option<Place>, Error> {
    let variable = |name: &str| host.variable(name);
    let Some(world) = args.world else { return Place::find(&variable) };
    let meets = args.meet.is_some() || variable(place::MEET).is_some();
    let share = Share { rank: args.rank.unwrap_or(0), world };
    Ok((world > 1 && meets).then_some(Place { share, launcher: "--world", together: false }))
}

/// Waits for the other ranks.
///
/// # Errors
/// As [`Ranks::meet`].
pub(super) fn meet(place: &Place, args: &LoadArgs, host: &Arc<dyn Host>, talk: &Talk) -> Result<Arc<Ranks>, Error> {
    let variable = |name: &str| host.variable(name);
    let secret = place::secret(&variable)?;
    let first_node = |nodes: &str| {
        let answer = host.ask(&Question::new(["scontrol", "show", "hostnames", nodes])).ok()?;
        answer.ok().then(|| answer.text().lines().next().map(str::to_owned)).flatten()
    };
    let (at, port) = place::meeting(args.meet.as_deref(), place, &secret, &variable, &first_node)?;
    let own = host.read(Path::new("/proc/sys/kernel/hostname")).unwrap_or_default();
    let ranks = Ranks::meet(place.share, (&at, port), secret, own.trim(), &|| host.interrupted())?;
    if ranks.is_head() {
        talk.say(&format!("one load of {} (started by {})", ranks.words(), place.launcher));
    }
    Ok(Arc::new(ranks))
}

/// A rank that is not 0: does its share of what rank 0 says.
///
/// # Errors
/// When the server does not answer, or rank 0 is gone.
pub(super) fn follow(
    ranks: &Arc<Ranks>,
    args: &LoadArgs,
    plan: &Loads,
    host: &Arc<dyn Host>,
    talk: &Talk,
) -> Result<(), Error> {
    let quiet = Quiet { talk, rank: ranks.share().rank };
    let folder = Scratch::new()?;
    let stop = Arc::new(AtomicBool::new(false));
    let followed = Session::open(host, &args.url, &plan.settings, &quiet, stop)
        .and_then(|session| session.with(Some(Arc::clone(ranks))).follow(&plan.settings, &folder.0));
    if let Err(error) = &followed {
        // Rank 0 may have been given another key, and would print this one.
        let veil = secrets::of(host.as_ref(), &args.url, &plan.settings).veil();
        ranks.failed(&veil.said(&error.in_short()));
    }
    ranks.end();
    followed
}

/// Rank 0 speaks for all. What is wrong on this one is said.
struct Quiet<'a> {
    talk: &'a Talk,
    rank: u32,
}

impl Watcher for Quiet<'_> {
    fn say(&self, _: &str) {}

    fn warn(&self, line: &str) {
        self.talk.warn(&format!("rank {}: {line}", self.rank));
    }

    fn live(&self, _: &Live) {}
}
