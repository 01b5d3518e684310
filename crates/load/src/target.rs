//! The address of a server: checked, with its credentials taken out.
//!
//! In:  a URL.  Out: [`Target`]: host, port, path of each route, the query, the header that its credentials become.
//! Not here: whether anyone answers there (see `engine`), names and addresses (see `host::net::resolve`).
//!
//! A person may give the address of the server, of its API, or of one route. `h:8000`, `http://h:8000`, `http://h:8000/v1` and
//! `http://h:8000/v1/chat/completions` all mean the same server. What comes before `/v1` is kept (`https://h/base/v1`). A route is taken as it
//! is, whatever comes before it (`https://h/api/v3/chat/completions`), and decides which API is used. A query goes with every request.
//! Credentials in the address become a header. They are printed nowhere, and neither is the query: not by `Debug`, not by
//! [`Target::shown`], not in an error.

use std::fmt;
use std::net::Ipv6Addr;

use super::settings::{Endpoint, Word};
use sparkbench_text::address::{Address, ApiPlace, from_percent};
use sparkbench_text::error::Error;
use sparkbench_text::escape::base64;

/// Longest address that is read.
const LENGTH_MAX: usize = 4096;

/// A server.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    tls: bool,
    host: String,
    port: u16,
    place: ApiPlace,
    /// What comes before the API by the address alone, without `--path`.
    root: String,
    /// The API of the route that the address or `--path` names.
    endpoint: Option<Endpoint>,
    /// Path of the route, where it is one of the user's own: below that of the server.
    own: Option<String>,
    query: Option<String>,
    authorization: Option<String>,
    secrets: Vec<String>,
}

/// Whether the part before the path ends with a port.
fn names_a_port(typed: &str) -> bool {
    let place = typed.split(['/', '?', '#']).next().unwrap_or_default();
    place.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

impl Target {
    /// Reads an address.
    ///
    /// # Errors
    /// Another scheme than http and https, no host, a bad port, a fragment, control characters, spaces, a route that no load can use.
    pub fn parse(url: &str) -> Result<Self, Error> {
        let typed = url.trim();
        let fault = |what: &str, hint: &str| Error::usage(format!("{what}: '{}'", masked(typed))).hint(hint);
        if typed.is_empty() {
            return Err(
                Error::usage("the address of the server is empty").hint("write it as --url http://localhost:8000")
            );
        }
        if typed.len() > LENGTH_MAX {
            return Err(Error::usage(format!("the address of the server is longer than {LENGTH_MAX} bytes"))
                .hint("write it as --url http://localhost:8000"));
        }
        if typed.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(fault(
                "the address has a space or a control character in it",
                "give it on one line, in quotes, with %20 for a space",
            ));
        }
        let parts = Address::split(typed);
        let scheme = match parts.scheme {
            Some(scheme) => scheme,
            // Host and port are enough, as on the command lines of the servers.
            None if names_a_port(typed) => "http",
            None => {
                let bare = typed.split(['?', '#']).next().unwrap_or_default().rsplit('@').next().unwrap_or_default();
                return Err(fault(
                    "the address has neither a scheme nor a port",
                    &format!("write it as --url http://{bare}"),
                ));
            }
        };
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => {
                return Err(fault(
                    "the scheme of the address is neither http nor https",
                    "write it as --url http://localhost:8000",
                ));
            }
        };
        if parts.fragment.is_some() {
            return Err(fault("the address has a fragment, which is never sent", "leave out the part from '#' on"));
        }
        let (host, port) =
            host_and_port(parts.place, if tls { 443 } else { 80 }).map_err(|(what, hint)| fault(what, hint))?;
        let (authorization, secrets) = match parts.login.map(basic) {
            Some(Ok((header, secrets))) => (Some(header), secrets),
            Some(Err(())) => {
                return Err(fault(
                    "the credentials in the address are not readable",
                    "write special characters as %XX (UTF-8), or give a header instead: --header 'authorization: ...'",
                ));
            }
            None => (None, Vec::new()),
        };
        if !parts.path.is_ascii() || parts.query.is_some_and(|query| !query.is_ascii()) {
            return Err(fault("the path of the address has characters beyond ASCII", "write them as %XX"));
        }
        let place = ApiPlace::of(parts.path);
        let endpoint = place.route.map(named).transpose()?;
        let query = parts.query.filter(|query| !query.is_empty()).map(str::to_owned);
        let root = place.root.clone();
        Ok(Self { tls, host, port, place, root, endpoint, own: None, query, authorization, secrets })
    }

    /// The same server with a route of the user's own, below the path of the server.
    ///
    /// # Errors
    /// When it is no path, or a route that no load can use.
    pub fn with_path(self, path: Option<&str>) -> Result<Self, Error> {
        let Some(path) = path else { return Ok(self) };
        if !path.starts_with('/') || !path.bytes().all(|byte| byte.is_ascii_graphic()) || path.contains(['?', '#']) {
            return Err(Error::usage("--path is not the path of a route")
                .hint("write it like --path /v3/chat/completions. A query belongs to the address"));
        }
        let place = ApiPlace::of(&format!("{}{path}", self.place.root));
        if let Some(route) = place.route {
            return Ok(Self { endpoint: Some(named(route)?), place, ..self });
        }
        // Of a route without a known name it is not known where the other ones are.
        let usual = path.starts_with("/v1/").then(|| ApiPlace::of(&format!("{}/v1", self.place.root)));
        Ok(Self { place: usual.unwrap_or(self.place), own: Some(path.to_owned()), ..self })
    }

    /// Where else its API may lie. Absent where the address leaves no doubt.
    pub fn elsewhere(&self) -> Option<Self> {
        let place = self.place.as_written().filter(|_| self.own.is_none())?;
        Some(Self { place, ..self.clone() })
    }

    /// The API that the address names by its route.
    pub fn endpoint(&self) -> Option<Endpoint> {
        self.endpoint
    }

    /// Whether a load may use the route that the address names.
    ///
    /// # Errors
    /// When the load is one for another.
    pub fn suits(&self, endpoint: Endpoint) -> Result<(), Error> {
        let Some(named) = self.endpoint.filter(|named| *named != endpoint) else { return Ok(()) };
        Err(Error::usage(format!(
            "the address names the route {}, but the load is for the endpoint {}",
            route_of(named),
            endpoint.word()
        ))
        .hint(format!("give --endpoint {} (endpoint in a suite), or leave the route out of the address", named.word())))
    }

    /// Path of the server, by the address alone.
    pub(crate) fn root(&self) -> &str {
        &self.root
    }

    /// Where its API lies.
    pub fn place(&self) -> &ApiPlace {
        &self.place
    }

    /// Whether the connection is encrypted.
    pub fn tls(&self) -> bool {
        self.tls
    }

    /// Whether it is this machine, by its name or its address alone.
    pub fn is_here(&self) -> bool {
        let loopback = |address: std::net::IpAddr| address.is_loopback();
        self.host().eq_ignore_ascii_case("localhost") || self.host().parse().is_ok_and(loopback)
    }

    /// Name or number of the host, an IPv6 address without its brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Value of the `host` header: with the port where it is not the usual one.
    pub fn host_header(&self) -> String {
        let usual = if self.tls { 443 } else { 80 };
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == usual { host } else { format!("{host}:{}", self.port) }
    }

    /// Path of a route, with what the server has before it, and the query.
    pub fn path(&self, endpoint: Endpoint) -> String {
        let query = self.query.as_ref().map_or_else(String::new, |query| format!("?{query}"));
        format!("{}{query}", self.place.path(self.route(endpoint)))
    }

    /// Path of a route as it is asked for beside the load: below the server, with `/v1` for its API.
    pub fn route(&self, endpoint: Endpoint) -> &str {
        self.own.as_deref().unwrap_or(endpoint.path())
    }

    /// Scheme, host, port and query, without credentials. It may hold a key and must not be printed.
    pub fn origin(&self) -> String {
        let query = self.query.as_ref().map_or_else(String::new, |query| format!("?{query}"));
        format!("{}{query}", self.server())
    }

    fn server(&self) -> String {
        format!("{}://{}", if self.tls { "https" } else { "http" }, self.host_header())
    }

    /// As it may be printed and archived: without credentials and query, with the path of the API where it is not `/v1`.
    pub fn shown(&self) -> String {
        format!("{}{}", self.server(), self.place.shown())
    }

    /// Address of a route, as it may be printed.
    pub fn shown_route(&self, endpoint: Endpoint) -> String {
        format!("{}{}", self.server(), self.place.path(self.route(endpoint)))
    }

    /// Value of the `authorization` header that the credentials of the address become.
    pub fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }

    /// Secrets that must appear in no output: user, password, and the header made of them.
    pub fn secrets(&self) -> Vec<String> {
        self.secrets.clone()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("url", &self.shown())
            .field("credentials", &self.authorization.is_some())
            .finish()
    }
}

/// The address as an error may show it: text before an `@` is removed, and so is a query.
fn masked(url: &str) -> String {
    let Address { scheme, login, place, path, .. } = Address::split(url);
    let rest = match (path.rsplit_once('@'), login) {
        // A password may have a slash in it.
        (Some((_, rest)), _) => format!("***@{rest}"),
        (None, Some(_)) => format!("***@{place}{path}"),
        (None, None) => format!("{place}{path}"),
    };
    let joined = match scheme {
        Some(scheme) if !scheme.is_empty() => format!("{scheme}://{rest}"),
        _ => rest,
    };
    joined.chars().take(200).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn host_and_port(place: &str, usual: u16) -> Result<(String, u16), (&'static str, &'static str)> {
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let Some((inside, after)) = rest.split_once(']') else {
                return Err(("the address of the host has no closing bracket", "write it as --url http://[::1]:8000"));
            };
            if inside.parse::<Ipv6Addr>().is_err() {
                return Err(("the part in brackets is not an IPv6 address", "write it as --url http://[::1]:8000"));
            }
            (inside.to_owned(), after)
        }
        None => {
            let (host, port) = place.find(':').map_or((place, ""), |at| place.split_at(at));
            if port.matches(':').count() > 1 {
                return Err(("an IPv6 address needs brackets", "write it as --url http://[::1]:8000"));
            }
            (host.to_ascii_lowercase(), port)
        }
    };
    if host.is_empty() {
        return Err(("the address has no host", "write it as --url http://localhost:8000"));
    }
    if !host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':')) {
        return Err((
            "the name of the host has characters that are not allowed",
            "write a name beyond ASCII in its form that begins with xn--",
        ));
    }
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => usual,
        Some("") => usual,
        Some(digits) => match digits.parse::<u16>() {
            Ok(port) if port > 0 && digits.bytes().all(|b| b.is_ascii_digit()) => port,
            _ => return Err(("the port is not a number from 1 to 65535", "write it as --url http://localhost:8000")),
        },
        None => return Err(("there is text between the host and its port", "write it as --url http://[::1]:8000")),
    };
    Ok((host, port))
}

/// Route of an API, without what the API begins with.
fn route_of(endpoint: Endpoint) -> &'static str {
    endpoint.path().trim_start_matches("/v1")
}

/// The API that a route is of.
fn named(route: &str) -> Result<Endpoint, Error> {
    let known = Endpoint::ALL.iter().map(|(endpoint, ..)| *endpoint).find(|endpoint| route_of(*endpoint) == route);
    known.ok_or_else(|| {
        Error::usage(format!("the route {route} cannot be measured yet"))
            .hint("give an address that ends in /chat/completions or /completions, or the address of the server")
    })
}

/// The header, and what must not be printed.
fn basic(credentials: &str) -> Result<(String, Vec<String>), ()> {
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    let (user, password) = (percent_decoded(user)?, percent_decoded(password)?);
    if user.contains(':') {
        return Err(());
    }
    let coded = base64(format!("{user}:{password}"));
    let mut secrets = vec![credentials.to_owned(), coded.clone(), password];
    // A token is often given as the user alone.
    if secrets[2].is_empty() {
        secrets.push(user);
    }
    secrets.retain(|secret| !secret.is_empty());
    Ok((format!("Basic {coded}"), secrets))
}

/// Nothing may stand for itself here: a sign that is left over is a mistake in a password.
fn percent_decoded(text: &str) -> Result<String, ()> {
    let whole =
        |piece: &str| piece.as_bytes().first_chunk::<2>().is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit));
    if !text.split('%').skip(1).all(whole) {
        return Err(());
    }
    String::from_utf8(from_percent(text)).map_err(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_name_a_server_leads_to_the_same_route() {
        let cases = [
            ("http://h:8000", "/v1/chat/completions", "http://h:8000"),
            ("http://h:8000/", "/v1/chat/completions", "http://h:8000"),
            ("http://h:8000/v1", "/v1/chat/completions", "http://h:8000"),
            ("http://h:8000/v1/", "/v1/chat/completions", "http://h:8000"),
            ("http://h:8000/v1/chat/completions", "/v1/chat/completions", "http://h:8000"),
            ("http://h:8000/base", "/base/v1/chat/completions", "http://h:8000/base"),
            ("https://h/base/v1", "/base/v1/chat/completions", "https://h/base"),
            ("HTTP://H", "/v1/chat/completions", "http://h"),
            ("http://[::1]:8000/v1", "/v1/chat/completions", "http://[::1]:8000"),
            ("https://h:443", "/v1/chat/completions", "https://h"),
        ];
        for (url, path, base) in cases {
            let target = Target::parse(url).unwrap();
            assert_eq!((target.path(Endpoint::Chat).as_str(), target.shown().as_str()), (path, base), "{url}");
        }
        assert_eq!(Target::parse("http://[::1]:8000").unwrap().host(), "::1");
        assert_eq!(Target::parse("https://h").unwrap().port(), 443);
        assert_eq!(Target::parse("http://h/v1").unwrap().path(Endpoint::Completions), "/v1/completions");
    }

    #[test]
    fn this_machine_is_known_by_its_names() {
        let here = |url: &str| Target::parse(url).unwrap().is_here();
        assert!(
            ["http://LOCALHOST:1", "http://127.0.0.3:8000", "http://[::1]:8000", "localhost:8000"]
                .into_iter()
                .all(here)
        );
        assert!(!["http://host:1", "http://10.0.0.1:8000", "https://localhost.example"].into_iter().any(here));
    }

    #[test]
    fn credentials_become_a_header_and_are_never_shown() {
        let target = Target::parse("http://Aladdin:open%20sesame@h:1/v1").unwrap();
        assert_eq!(target.authorization(), Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
        for text in [target.shown(), format!("{target}"), format!("{target:?}"), target.origin()] {
            assert!(!text.contains("sesame") && !text.contains("Aladdin") && !text.contains("QWxh"), "{text}");
        }
        assert!(target.secrets().iter().any(|secret| secret == "open sesame"));
        assert!(target.secrets().iter().any(|secret| secret == "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
        assert_eq!(Target::parse("http://token@h").unwrap().authorization(), Some("Basic dG9rZW46"));
    }

    #[test]
    fn a_route_is_taken_as_it_is_and_names_its_api() {
        for (url, endpoint, path, shown) in [
            ("http://h/api/v3/chat/completions", Endpoint::Chat, "/api/v3/chat/completions", "http://h/api/v3"),
            ("http://h/v3/completions/", Endpoint::Completions, "/v3/completions", "http://h/v3"),
            ("http://h/v1/completions", Endpoint::Completions, "/v1/completions", "http://h"),
            ("http://h/chat/completions", Endpoint::Chat, "/chat/completions", "http://h"),
            (
                "https://h/openai/deployments/m/chat/completions?api-version=2024-10-21",
                Endpoint::Chat,
                "/openai/deployments/m/chat/completions?api-version=2024-10-21",
                "https://h/openai/deployments/m",
            ),
        ] {
            let target = Target::parse(url).unwrap();
            assert_eq!((target.endpoint(), target.path(endpoint).as_str()), (Some(endpoint), path), "{url}");
            assert_eq!(target.shown(), shown, "{url}");
            assert!(target.elsewhere().is_none(), "{url}");
            assert!(target.suits(endpoint).is_ok(), "{url}");
        }
        let chat = Target::parse("http://h/v1/chat/completions").unwrap().suits(Endpoint::Completions).unwrap_err();
        assert!(chat.what.contains("/chat/completions") && chat.what.contains("endpoint completions"), "{chat}");
        assert!(Target::parse("http://h/v1").unwrap().suits(Endpoint::Completions).is_ok());
        let unbuilt = Target::parse("http://h/v1/rerank").unwrap_err();
        assert!(unbuilt.what.contains("/rerank"), "{unbuilt}");
    }

    #[test]
    fn an_api_that_is_not_at_v1_is_at_the_address_itself() {
        let elsewhere = Target::parse("http://h/api/v3").unwrap().elsewhere().unwrap();
        let found = (elsewhere.path(Endpoint::Chat), elsewhere.shown());
        assert_eq!(found, ("/api/v3/chat/completions".to_owned(), "http://h/api/v3".to_owned()));
        assert!(Target::parse("http://h").unwrap().elsewhere().is_none());
        assert!(Target::parse("http://h/base/v1").unwrap().elsewhere().is_none());
    }

    #[test]
    fn a_query_goes_with_every_route_and_is_never_shown() {
        let target = Target::parse("h:8000?version=1&key=geheim").unwrap();
        assert_eq!(target.path(Endpoint::Chat), "/v1/chat/completions?version=1&key=geheim");
        assert_eq!(target.origin(), "http://h:8000?version=1&key=geheim");
        for text in [target.shown(), format!("{target}"), format!("{target:?}"), target.shown_route(Endpoint::Chat)] {
            assert!(!text.contains("geheim"), "{text}");
        }
    }

    #[test]
    fn a_path_of_ones_own_lies_below_the_server() {
        for (url, own, path, endpoint) in [
            ("http://h", "/v3/chat/completions", "/v3/chat/completions", Some(Endpoint::Chat)),
            ("http://h/v1", "/v3/completions", "/v3/completions", Some(Endpoint::Completions)),
            ("http://h/base", "/openai/d/chat/completions", "/base/openai/d/chat/completions", Some(Endpoint::Chat)),
            ("http://h/base", "/generate", "/base/generate", None),
            ("http://h/api/v3/chat/completions", "/v1/generate", "/api/v1/generate", Some(Endpoint::Chat)),
        ] {
            let target = Target::parse(url).unwrap().with_path(Some(own)).unwrap();
            let found = (target.path(endpoint.unwrap_or_default()), target.endpoint());
            assert_eq!(found, (path.to_owned(), endpoint), "{url} {own}");
        }
        for wrong in ["generate", "/a b", "/generate?key=geheim", "/v1/embeddings", "/gener\u{e9}"] {
            let error = Target::parse("http://h").unwrap().with_path(Some(wrong)).expect_err(wrong);
            assert!(!error.to_string().contains("geheim"), "{error}");
        }
    }

    #[test]
    fn what_is_no_address_of_a_server_is_refused_with_a_hint_and_without_the_password() {
        let cases = [
            "",
            "localhost",
            "u:geheim@localhost",
            "ftp://u:geheim@h",
            "http://",
            "http://:8000",
            "http://u:geheim@",
            "http://h:0",
            "http://h:70000",
            "http://h:+80",
            "http://::1:8000",
            "http://[::1",
            "http://[nonsense]:1",
            "http://[::1]x:1",
            "http://h/#part",
            "http://u:geheim@h/v1?key=geheim#geheim",
            "h:80/?key=geheim&to=http://x#x",
            "http://h/v1?key=geheim\u{e9}",
            "localhost?key=geheim",
            "http://u:geheim@h/v1/embeddings?key=geheim",
            "http://h/v1/responses",
            "http://h\n/x",
            "http://h/a b",
            "http://h\u{e9}",
            "http://u:%GGgeheim@h",
            "http://h/\u{e9}",
        ];
        for url in cases {
            let error = Target::parse(url).expect_err(url);
            assert_eq!(error.kind.exit_code(), 2, "{url}");
            assert!(error.hint.is_some(), "{url}");
            assert!(!error.to_string().contains("geheim"), "{url}: {error}");
        }
    }
}
