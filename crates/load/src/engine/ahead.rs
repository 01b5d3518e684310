//! Connections before the clock of the load starts.
//!
//! In:  how many.  Out: that many idle ones, or why there are none.
//! Not here: how one connection is made (see `connect`).

use std::sync::atomic::Ordering::Relaxed;

use super::{Ends, Engine};
use crate::order::Status;
use sparkbench_host::net::{self, Ns};
use sparkbench_text::error::{Error, Kind};

/// Connections on their way at once while they are opened ahead: fewer than any server lets wait.
const COMING: usize = 64;
/// Connections opened ahead must be there by then, ns.
const PRECONNECT: Ns = 10_000_000_000;
/// The kernel begins to stamp some milliseconds after it was asked, ns.
const STAMPING: Ns = 10_000_000;

impl Engine {
    /// Opens connections before the clock of the load starts.
    pub(super) fn preconnect(&mut self, ends: &mut Ends<'_>) -> Result<(), Error> {
        let began = net::now();
        let mut ready = Vec::new();
        let mut opened = 0;
        while !ends.control.stop.load(Relaxed) {
            let coming = self.pool.coming();
            for _ in coming..COMING.min(coming + self.options.preconnect - opened) {
                self.connect(None, ends);
                opened += 1;
            }
            if let Some((status, said)) = self.refused.take() {
                let what = if status == Status::Tls { "cannot agree on TLS with" } else { "cannot connect to" };
                return Err(Error::new(Kind::Workload, format!("{what} {}", self.shown)).detail(said).hint(
                    "check that the server is running at this address and port, for example with curl and '/v1/models' behind it",
                ));
            }
            let now = net::now();
            let coming = self.pool.coming();
            let stamping = self.stamping_since + STAMPING;
            if coming == 0 && opened == self.options.preconnect && now >= stamping {
                break;
            }
            let until = if coming == 0 { stamping } else { began + PRECONNECT };
            if now >= began + PRECONNECT {
                return Err(Error::new(
                    Kind::Workload,
                    format!("{} accepts no connection within {} seconds", self.shown, PRECONNECT / 1_000_000_000),
                )
                .hint("check whether the server is overloaded or a firewall drops packets"));
            }
            self.poller.wait(Some(until), &mut ready).map_err(|error| {
                Error::new(Kind::Workload, "the client cannot watch its connections").because(error)
            })?;
            for look in &ready {
                self.look(*look, ends);
            }
        }
        Ok(())
    }
}
