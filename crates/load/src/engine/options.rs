//! Options of the engine, and whether this process may open so many connections.
//!
//! In:  values.  Out: [`Options`], and a raised limit of descriptors where needed.
//! Not here: the requests and their times (see `load::settings`).

use crate::settings::Endpoint;
use sparkbench_archive::mask::Secrets;
use sparkbench_host::net::tls::Trust;
use sparkbench_host::net::{Ns, limits};
use sparkbench_text::error::{Error, Kind};

/// Descriptors that are not connections: files of the load, the poller, what the program has open anyway.
const OTHER_DESCRIPTORS: u64 = 128;

/// Which answers on a kept connection are early enough to be watched (see `unasked`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlyRule {
    /// The quickest first token from which on an early answer can be told from a quick one, ns.
    pub slow: Ns,
    /// Early is at most this part of the quickest first token.
    pub part: Ns,
    /// Shortest and longest time of watching, ns.
    pub watch: (Ns, Ns),
}

impl Default for EarlyRule {
    /// Any model takes longer than what a second answer takes to follow the first.
    fn default() -> Self {
        Self { slow: 40_000_000, part: 20, watch: (0, 10_000_000_000) }
    }
}

/// How to send.
#[derive(Clone)]
pub struct Options {
    /// Route.
    pub endpoint: Endpoint,
    /// Further headers, as names and values. Values are printed nowhere.
    pub headers: Vec<(String, String)>,
    /// Name of the one that has the key, where it is not `authorization`.
    pub key_header: Option<String>,
    /// Time limit of a request, ns.
    pub timeout: Ns,
    /// Times that a request is sent again after 429, 503 or a connection that did not come about.
    pub retries: u32,
    /// Connections that are opened before the first request.
    pub preconnect: usize,
    /// Largest number of concurrent requests, where it is known. Descriptors for them are reserved beforehand.
    pub streams: Option<u64>,
    /// Time limit for requests in flight after `Next::Done`, ns. Absent: no limit.
    pub drain: Option<Ns>,
    /// Longest event.
    pub max_event_bytes: usize,
    /// Which answers came so early that they may be those of nobody. Absent: none.
    pub early: Option<EarlyRule>,
    /// Whom TLS trusts.
    pub trust: Trust,
    /// Further secrets that a server may repeat, beside those of the address and the headers.
    pub secrets: Secrets,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            endpoint: Endpoint::Chat,
            headers: Vec::new(),
            key_header: None,
            timeout: 600_000_000_000,
            retries: 0,
            preconnect: 0,
            streams: None,
            drain: None,
            max_event_bytes: 16 << 20,
            early: Some(EarlyRule::default()),
            trust: Trust::default(),
            secrets: Secrets::default(),
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Options")
            .field("endpoint", &self.endpoint)
            .field("headers", &headers)
            .field("key_header", &self.key_header)
            .field("timeout", &self.timeout)
            .field("retries", &self.retries)
            .field("preconnect", &self.preconnect)
            .field("streams", &self.streams)
            .field("drain", &self.drain)
            .field("max_event_bytes", &self.max_event_bytes)
            .field("early", &self.early)
            .field("trust", &self.trust)
            .field("secrets", &self.secrets)
            .finish()
    }
}

/// Makes sure of descriptors, as many as there can be where the number of streams is not known.
pub(super) fn descriptors(options: &Options) -> Result<u64, Error> {
    let wanted =
        options.streams.map(|streams| streams.max(options.preconnect as u64).saturating_add(OTHER_DESCRIPTORS));
    // A machine's own limit (fs.nr_open) is 2^20 unless someone raised it. Asking for more fails as a whole.
    let got = limits::descriptors(wanted.unwrap_or(1 << 20))
        .map_err(|error| Error::new(Kind::Preflight, "cannot read the limit of descriptors").because(error))?;
    match wanted {
        Some(wanted) if got < wanted => Err(Error::new(
            Kind::Preflight,
            format!(
                "{} streams need {wanted} descriptors, but this process may have {got}",
                wanted - OTHER_DESCRIPTORS
            ),
        )
        .hint(format!("raise the limit with ulimit -n {wanted} (as root, or in limits.conf), or use fewer streams"))),
        _ => Ok(got),
    }
}
