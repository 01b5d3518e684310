//! Loads against one server, from the first query to the summary.
//!
//! In:  a host, a [`Target`], [`Settings`], a folder.  Out: the raw files of each load in its folder, and its summary.
//! Not here: options (see `cli::load`, `suite`), starting a server (see `workload`), which points a sweep has (see `sweep`).
//!
//! A [`Session`] asks the server once what it is: its model, its limits, how it counts tokens, which exact lengths it honours. Every load of
//! a sweep or matrix then builds on the same answers. So no two points differ by the result of a query.

mod attempt;
pub mod earlier;
mod feed;
pub(crate) mod follow;
pub mod gauge;
mod known;
mod lengths;
mod one_load;
pub mod passes;
mod question;
mod recount;
pub mod search;
mod shown_settings;
mod view;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

pub use attempt::attempt;
pub use known::{Known, settled, web};
pub use one_load::{Loaded, PREEMPTED, SUMMARY_FILE};

pub use super::live::Live;
use super::plan::lengths::LONGEST;
use super::ranks::Ranks;
use super::secrets;
use super::server::{self, routes};
use super::settings::Settings;
use super::summary::Summary;
use super::target::Target;
use super::tokens::Recipe;
use sparkbench_archive::mask::Secrets;
use sparkbench_host::Host;
use sparkbench_host::net::Ns;
use sparkbench_text::error::Error;

/// Receives progress messages.
pub trait Watcher: Sync {
    /// A line of plain news.
    fn say(&self, line: &str);
    /// Something needs attention.
    fn warn(&self, line: &str);
    /// A moment of a load. A few times a second, and once at its end.
    fn live(&self, live: &Live);
    /// A measured load is over. Told at once, so that nothing is lost when a later one breaks.
    fn measured(&self, _: &Loaded) {}
    /// Measurements of a load whose files could no longer be written. The load still fails.
    fn broken(&self, _: &Loaded) {}
}

/// A server that was asked what it is.
pub struct Session<'a> {
    host: Arc<dyn Host>,
    target: Target,
    watcher: &'a dyn Watcher,
    known: Known,
    /// What the server was given and must not be repeated. Bodies of single loads are not among it.
    secrets: Secrets,
    /// Set from outside to end the load in flight in order.
    stop: Arc<AtomicBool>,
    /// How prompts of a wanted length are made, once it has been found out.
    recipe: Mutex<Option<Recipe>>,
    /// The other clients of the same loads.
    ranks: Option<Arc<Ranks>>,
}

impl<'a> Session<'a> {
    /// Asks a server what it is. `settings` are those that all loads share (model, route, connection). `stop` ends a load in order when
    /// it is set.
    ///
    /// # Errors
    /// When the address makes no sense, the server does not answer, wants a key, or does not serve what was asked for.
    pub fn open(
        host: &Arc<dyn Host>,
        url: &str,
        settings: &Settings,
        watcher: &'a dyn Watcher,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, Error> {
        let mut target = Target::parse(url)?.with_path(settings.path.as_deref())?;
        target.suits(settings.endpoint)?;
        let secrets = secrets::of(host.as_ref(), url, settings);
        let asked = Known::ask(host.as_ref(), &mut target, settings, &secrets.veil(), watcher);
        let known = asked.map_err(|error| secrets.veil().error(error))?;
        Ok(Self {
            host: Arc::clone(host),
            target,
            watcher,
            known,
            secrets,
            stop,
            recipe: Mutex::new(None),
            ranks: None,
        })
    }

    /// Loads together with other clients.
    #[must_use]
    pub fn with(self, ranks: Option<Arc<Ranks>>) -> Self {
        Self { ranks, ..self }
    }

    /// Answer of the server.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// What to do about a load that no request of found its route. Absent for any other.
    pub fn remedy(&self, summary: &Summary) -> Option<String> {
        let nowhere = summary.completed == 0 && !summary.http.is_empty();
        let lost = nowhere && summary.http.keys().all(|status| routes::is_missing(*status));
        lost.then(|| routes::remedy(&self.known.web, &self.target, &self.known.model.id, server::LIMIT))
    }

    /// Whether the longest request of a plan is within the server's limit: prompt (where it is known) and answer, tokens.
    ///
    /// # Errors
    /// A usage error when it is not.
    fn fits(&self, (isl, osl): (Option<u32>, u32)) -> Result<(), Error> {
        let Some(most) = self.known.most_tokens() else { return Ok(()) };
        let longest = u64::from(isl.unwrap_or(0)) + u64::from(osl);
        if longest <= most {
            return Ok(());
        }
        if longest > u64::from(LONGEST) {
            return Err(Error::usage(format!(
                "a length has no upper limit, but the server accepts at most {most} tokens"
            ))
            .hint("give the distribution limits, e.g. lognormal:512,128,1,4096, or give --requests"));
        }
        Err(Error::usage(format!("the longest request has {longest} tokens, but the server accepts at most {most}"))
            .hint("shorten --isl or --osl, or start the server with a longer limit (--max-model-len, -c)"))
    }
}

/// Of a moment or a time.
fn seconds(at: Ns) -> f64 {
    at as f64 / 1e9
}
