//! Queries over HTTP beside the load: models, health, token counts. Nothing here is timed.
//!
//! In:  an address, headers, how TLS is trusted.  Out: [`HttpAnswer`], whatever its status, or an error in plain words.
//! Not here: requests that are measured (see `load::engine`), what an answer means (see `load::server`).
//!
//! Redirects are not followed, because the load would then measure another server than the one that was named. No proxy from the environment
//! is used, for the same reason. Names and passwords in an address become a header at once and appear in no message.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use ureq::http::Response;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use super::net::tls::untrusted;
use sparkbench_text::address::{Address, ApiPlace, from_percent};
use sparkbench_text::error::{Error, Kind};
use sparkbench_text::escape::{base64, shown};
use sparkbench_text::excerpt::excerpt;

/// Longest body that is read, bytes. The largest `/metrics` seen has half a megabyte. More is no answer to any question of ours.
pub const BODY_MAX: u64 = 8 << 20;

/// Longest part of a body that a message quotes, characters.
const QUOTED: usize = 200;

/// Whom to trust under TLS.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tls {
    /// Do not check the certificate.
    pub insecure: bool,
    /// Certificate authorities, PEM. Absent are those of the machine.
    pub ca_file: Option<PathBuf>,
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpAnswer {
    /// Status line's code.
    pub status: u16,
    /// `Content-Type` as given.
    pub content_type: Option<String>,
    /// `Server` as given.
    pub server: Option<String>,
    /// `Retry-After` as given.
    pub retry_after: Option<String>,
    /// `Location` of a redirect, which is not followed.
    pub location: Option<String>,
    /// The body, whole.
    pub body: Vec<u8>,
}

impl HttpAnswer {
    /// Status 200 to 299.
    pub const fn ok(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// The body as text, invalid bytes replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON. `None` where it is not JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// Status and the first line of the body, for messages.
    pub fn gist(&self) -> String {
        if let Some(to) = &self.location {
            return format!("status {}, a redirect to {}", self.status, bare(to));
        }
        let text = self.text();
        let message = self.json().and_then(|json| {
            let error = json.get("error").cloned().unwrap_or_else(|| json.clone());
            let message = error.get("message").or_else(|| error.get("detail")).unwrap_or(&error);
            message.as_str().map(str::to_owned)
        });
        let line =
            message.unwrap_or_else(|| text.lines().find(|line| !line.trim().is_empty()).unwrap_or("").to_owned());
        // A blank for each line end keeps words apart, and the sign at a cut tells it from an end.
        let line = excerpt(line.trim().chars().map(|c| if c.is_control() { ' ' } else { c }), QUOTED);
        if line.is_empty() { format!("status {}", self.status) } else { format!("status {}: {line}", self.status) }
    }
}

/// A server to be asked. Cloning shares its connections.
#[derive(Debug, Clone)]
pub struct Web {
    agent: Agent,
    /// Scheme, host and port.
    origin: String,
    place: ApiPlace,
    /// Goes with every question. It may hold a key and is never printed.
    query: Option<String>,
    headers: Vec<(String, String)>,
    authorized: bool,
}

impl Web {
    /// Looks at the address and at the certificates. Nothing is sent.
    ///
    /// - `address`: `http://` or `https://`, host, port. A path may follow, which is read as [`ApiPlace`] says, and a query.
    /// - `headers`: sent with each question, e.g. `Authorization`. Never printed.
    ///
    /// # Errors
    /// When the address is invalid, or the certificates cannot be read.
    pub fn new(address: &str, headers: &[(String, String)], tls: &Tls) -> Result<Self, Error> {
        let Typed { origin, place, query, login } = read(address)?;
        let mut headers = headers.to_vec();
        if let Some(login) = login
            && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
        {
            headers.push(("Authorization".to_owned(), format!("Basic {}", base64(login))));
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(concat!("sparkbench/", env!("CARGO_PKG_VERSION")));
        if origin.starts_with("https:") {
            config = config.tls_config(trust(tls)?);
        }
        let authorized = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        Ok(Self { agent: config.build().new_agent(), origin, place, query, headers, authorized })
    }

    /// The same server with its API at another place.
    #[must_use]
    pub fn at(&self, place: ApiPlace) -> Self {
        Self { place, ..self.clone() }
    }

    /// The same server, where a header other than `Authorization` has the key.
    #[must_use]
    pub fn with_key(self, authorized: bool) -> Self {
        Self { authorized: self.authorized || authorized, ..self }
    }

    /// Where its API lies.
    pub fn place(&self) -> &ApiPlace {
        &self.place
    }

    /// Whether every question carries a key or a login.
    pub fn authorized(&self) -> bool {
        self.authorized
    }

    /// The address of the server without its secrets, with the path of its API where it is not the usual one.
    pub fn base(&self) -> String {
        format!("{}{}", self.origin, self.place.shown())
    }

    /// The address that is asked for `path`, without its secrets.
    pub fn asked(&self, path: &str) -> String {
        format!("{}{}", self.origin, self.place.path(path))
    }

    /// Asks. `path` begins with `/`, `limit` holds for the whole exchange. `/v1/` in front stands for the API, wherever it lies.
    ///
    /// # Errors
    /// When no answer came. An answer of any status is an answer.
    pub fn get(&self, path: &str, limit: Duration) -> Result<HttpAnswer, Error> {
        let mut request = self.agent.get(self.url(path));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let sent = request.config().timeout_global(Some(limit)).build().call();
        self.answer(path, limit, sent)
    }

    /// Asks with a JSON body.
    ///
    /// # Errors
    /// Like [`Web::get`].
    pub fn post_json(&self, path: &str, body: &Value, limit: Duration) -> Result<HttpAnswer, Error> {
        let mut request = self.agent.post(self.url(path)).header("Content-Type", "application/json");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let sent = request.config().timeout_global(Some(limit)).build().send(body.to_string());
        self.answer(path, limit, sent)
    }

    fn url(&self, path: &str) -> String {
        let asked = self.asked(path);
        match &self.query {
            Some(query) => format!("{asked}{}{query}", if asked.contains('?') { '&' } else { '?' }),
            None => asked,
        }
    }

    fn answer(
        &self,
        path: &str,
        limit: Duration,
        sent: Result<Response<Body>, ureq::Error>,
    ) -> Result<HttpAnswer, Error> {
        let mut response = sent.map_err(|error| self.explain(path, limit, error))?;
        let header = |name: &str| {
            response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let answer = HttpAnswer {
            status: response.status().as_u16(),
            content_type: header("content-type"),
            server: header("server"),
            retry_after: header("retry-after"),
            location: header("location"),
            body: Vec::new(),
        };
        let body = response
            .body_mut()
            .with_config()
            .limit(BODY_MAX)
            .read_to_vec()
            .map_err(|error| self.explain(path, limit, error))?;
        Ok(HttpAnswer { body, ..answer })
    }

    /// The failure in words, and its remedy.
    fn explain(&self, path: &str, limit: Duration, error: ureq::Error) -> Error {
        let url = self.asked(path);
        let (why, hint) = match &error {
            ureq::Error::Timeout(_) => (
                format!("no answer within {} s", limit.as_secs_f64()),
                "read in the log of the server whether it is still starting or stuck",
            ),
            ureq::Error::HostNotFound => (
                "the name of the host is unknown".to_owned(),
                "check the spelling of the address, or give an IP address",
            ),
            ureq::Error::BodyExceedsLimit(_) => (
                format!("its answer is longer than {} MiB", BODY_MAX >> 20),
                "is this the address of an OpenAI-compatible server?",
            ),
            ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) => (
                format!("its answer is no HTTP: {}", plain(&error.to_string())),
                "check the port, and whether the address has to begin with https://",
            ),
            ureq::Error::Http(_) => {
                ("a header of the request is not valid".to_owned(), "look for line ends or blanks in keys and headers")
            }
            ureq::Error::Rustls(inner) => handshake(inner),
            ureq::Error::Io(inner) => match inner.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                Some(inner) => handshake(inner),
                None => io_words(inner),
            },
            other => (plain(&other.to_string()), "try the same address with curl -v"),
        };
        Error::new(Kind::Workload, format!("cannot ask {url}: {why}")).hint(hint)
    }
}

fn io_words(error: &io::Error) -> (String, &'static str) {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => (
            "the connection is refused".to_owned(),
            "start the server, or check host and port (a container may not publish its port). A load waits for it with --wait",
        ),
        io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => (
            "the connection was closed before an answer came".to_owned(),
            "check the log of the server, and whether the address has to begin with https://",
        ),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            ("there is no way to this host".to_owned(), "check the address and the network of this machine")
        }
        io::ErrorKind::TimedOut => {
            ("no answer in time".to_owned(), "check the address and the network of this machine")
        }
        _ => {
            // What the resolver says of a name that it does not know has no kind of its own.
            let text = plain(&error.to_string());
            if text.contains("lookup") || text.contains("resolve") || text.contains("Name or service") {
                (
                    "the name of the host is unknown".to_owned(),
                    "check the spelling of the address, or give an IP address",
                )
            } else {
                (text, "try the same address with curl -v")
            }
        }
    }
}

fn handshake(error: &rustls::Error) -> (String, &'static str) {
    match error {
        rustls::Error::InvalidCertificate(why) => {
            let (what, remedy) = untrusted(why);
            (plain(&what), remedy)
        }
        rustls::Error::InvalidMessage(_) => {
            ("it does not speak TLS".to_owned(), "write http:// instead of https://, or check the port")
        }
        other => (format!("TLS failed: {}", plain(&other.to_string())), "try the same address with curl -v"),
    }
}

/// One line without control characters, bounded.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(QUOTED).collect()
}

/// An address in its parts.
#[derive(Debug, PartialEq, Eq)]
struct Typed {
    origin: String,
    place: ApiPlace,
    query: Option<String>,
    login: Option<String>,
}

fn read(text: &str) -> Result<Typed, Error> {
    let wrong = |why: &str| {
        Error::usage(format!("'{}' is not an address of a server: {why}", plain(&bare(text))))
            .hint("write it like http://localhost:8000")
    };
    let parts = Address::split(text.trim());
    let scheme = parts.scheme.map(str::to_ascii_lowercase).filter(|scheme| scheme == "http" || scheme == "https");
    let scheme = scheme.ok_or_else(|| wrong("it does not begin with http:// or https://"))?;
    if parts.fragment.is_some() {
        return Err(wrong("a fragment has no place in it"));
    }
    let host = parts.place;
    if host.is_empty() || host.starts_with(':') || host.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(wrong("it names no host"));
    }
    let origin = format!("{scheme}://{host}");
    let query = parts.query.filter(|query| !query.is_empty()).map(str::to_owned);
    let asked = query.as_ref().map_or_else(String::new, |query| format!("?{query}"));
    let whole = format!("{origin}{}{asked}", parts.path);
    if whole.parse::<ureq::http::Uri>().is_err() {
        return Err(wrong("host, port, path or query cannot be read"));
    }
    let login = parts.login.map(|login| String::from_utf8_lossy(&from_percent(login)).into_owned());
    Ok(Typed { origin, place: ApiPlace::of(parts.path), query, login })
}

/// An address without name, password and query, for messages about it.
fn bare(text: &str) -> String {
    let Address { scheme, place, path, .. } = Address::split(text);
    match (scheme, path.rsplit_once('@')) {
        (Some(scheme), _) => format!("{scheme}://{place}{path}"),
        // Where the scheme is missing, a password with a slash looks like a path.
        (None, Some((_, rest))) => rest.to_owned(),
        (None, None) => format!("{place}{path}"),
    }
}

fn trust(tls: &Tls) -> Result<TlsConfig, Error> {
    let builder = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .disable_verification(tls.insecure);
    if tls.insecure {
        return Ok(builder.root_certs(RootCerts::new_with_certs(&[])).build());
    }
    let certificates: Vec<Certificate<'static>> = match &tls.ca_file {
        Some(path) => {
            let name = shown(path);
            // A pipe would be waited for, and a device can be endless.
            if fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
                return Err(Error::archive(format!("'{name}' is not a regular file"))
                    .hint("give a file in PEM format, with read access"));
            }
            let bytes = fs::read(path).map_err(|error| {
                Error::archive(format!("cannot read the certificate authorities in '{name}'"))
                    .because(error)
                    .hint("give a file in PEM format, with read access")
            })?;
            parse_pem(&bytes)
                .filter_map(|item| match item {
                    Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
                    Ok(_) => None,
                    Err(error) => Some(Err(error)),
                })
                .collect::<Result<_, _>>()
                .map_err(|error| {
                    Error::usage(format!("'{name}' holds no certificates in PEM")).detail(plain(&error.to_string()))
                })?
        }
        None => rustls_native_certs::load_native_certs()
            .certs
            .iter()
            .map(|certificate| Certificate::from_der(certificate.as_ref()).to_owned())
            .collect(),
    };
    if certificates.is_empty() {
        let whose = tls.ca_file.as_ref().map_or_else(|| "this machine".to_owned(), |path| format!("'{}'", shown(path)));
        return Err(Error::usage(format!("{whose} has no certificate authorities to trust"))
            .hint("give a file with them (--ca-file, or ca_file in a suite), or --insecure for a server of your own"));
    }
    Ok(builder.root_certs(RootCerts::new_with_certs(&certificates)).build())
}

#[cfg(test)]
mod tests;
