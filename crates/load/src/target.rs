//! The address of a server: checked, with its credentials taken out.
//!
//! In:  a URL.  Out: [`Target`]: host, port, path of each route, the header that its credentials become.
//! Not here: whether anyone answers there (see `engine`), names and addresses (see `host::net::resolve`).
//!
//! A person may give the address of the server, of its API, or of one route. `h:8000`, `http://h:8000`, `http://h:8000/v1` and
//! `http://h:8000/v1/chat/completions` all mean the same server. What comes before `/v1` is kept (`https://h/base/v1`). Credentials in the
//! address become a header and are printed nowhere: neither by `Debug` nor by [`Target::shown`], nor in an error.

use std::fmt;
use std::net::Ipv6Addr;

use super::settings::Endpoint;
use sparkbench_text::address::{Address, from_percent};
use sparkbench_text::error::Error;
use sparkbench_text::escape::base64;

/// Longest address that is read.
const LENGTH_MAX: usize = 4096;

/// Endings of a path that still mean the server: our own routes.
const ROUTES: &[&str] = &["/v1/chat/completions", "/v1/completions", "/v1/models", "/v1"];

/// A server.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    tls: bool,
    host: String,
    port: u16,
    path: String,
    authorization: Option<String>,
    secrets: Vec<String>,
}

/// Whether the part before the first slash ends with a port.
fn names_a_port(typed: &str) -> bool {
    let place = typed.split('/').next().unwrap_or_default();
    place.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

impl Target {
    /// Reads an address.
    ///
    /// # Errors
    /// Another scheme than http and https, no host, a bad port, a query, a fragment, control characters, spaces.
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
                let bare = typed.rsplit('@').next().unwrap_or_default();
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
        if parts.query.is_some() {
            return Err(fault(
                "the address has a query",
                "leave out the part from '?' on. Give a key with --api-key-env, and headers with --header",
            ));
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
        if !parts.path.is_ascii() {
            return Err(fault("the path of the address has characters beyond ASCII", "write them as %XX"));
        }
        Ok(Self { tls, host, port, path: base_path(parts.path), authorization, secrets })
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

    /// Path of a route, with what the server has before it.
    pub fn path(&self, endpoint: Endpoint) -> String {
        self.route(endpoint.path())
    }

    /// Path of any route, as `/v1/models`.
    pub fn route(&self, path: &str) -> String {
        format!("{}{path}", self.path)
    }

    /// Scheme, host, port and what comes before `/v1`, without a slash at the end and without credentials: the base of other questions.
    pub fn base(&self) -> String {
        format!("{}://{}{}", if self.tls { "https" } else { "http" }, self.host_header(), self.path)
    }

    /// As it may be printed and archived: without credentials.
    pub fn shown(&self) -> String {
        self.base()
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

/// Part before the routes, without a slash at its end.
fn base_path(path: &str) -> String {
    let path = path.trim_end_matches('/');
    let base = ROUTES.iter().find_map(|route| path.strip_suffix(route)).unwrap_or(path);
    base.trim_end_matches('/').to_owned()
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
            assert_eq!((target.path(Endpoint::Chat).as_str(), target.base().as_str()), (path, base), "{url}");
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
        for text in [target.shown(), format!("{target}"), format!("{target:?}"), target.base()] {
            assert!(!text.contains("sesame") && !text.contains("Aladdin") && !text.contains("QWxh"), "{text}");
        }
        assert!(target.secrets().iter().any(|secret| secret == "open sesame"));
        assert!(target.secrets().iter().any(|secret| secret == "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
        assert_eq!(Target::parse("http://token@h").unwrap().authorization(), Some("Basic dG9rZW46"));
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
            "http://u:geheim@h/v1?key=geheim",
            "h:80/?key=geheim&to=http://x",
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
