//! The parts of an address of the web.
//!
//! In:  an address as somebody wrote it.  Out: [`Address`], slices of it; [`ApiPlace`], where an API lies below a path.
//! Not here: which parts an address must have, and which it must not (see `load::target`, `host::web`).
//!
//! The parts are those of RFC 3986, section 3. Nothing is refused and nothing is changed. So the same reading serves those who check an
//! address and those who take its secrets out of a message.

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address<'a> {
    /// What is before `://`, where that is there.
    pub scheme: Option<&'a str>,
    /// User and password, as they are written. They may hold an `@`.
    pub login: Option<&'a str>,
    /// Host and port, as they are written.
    pub place: &'a str,
    /// From its first slash on. May be empty.
    pub path: &'a str,
    /// Behind the first `?`.
    pub query: Option<&'a str>,
    /// Behind the first `#`.
    pub fragment: Option<&'a str>,
}

impl<'a> Address<'a> {
    /// Takes an address apart.
    pub fn split(text: &'a str) -> Self {
        let (rest, fragment) = text.split_once('#').map_or((text, None), |(rest, fragment)| (rest, Some(fragment)));
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let (scheme, rest) = rest.split_once("://").map_or((None, rest), |(scheme, rest)| (Some(scheme), rest));
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let (login, place) =
            authority.rsplit_once('@').map_or((None, authority), |(login, place)| (Some(login), place));
        Self { scheme, login, place, path, query, fragment }
    }
}

/// Where the API of a server begins by custom.
const V1: &str = "/v1";

/// Endings of a path that name one route of an API, without what an API begins with.
const ROUTES: &[&str] =
    &["/chat/completions", "/completions", "/responses", "/messages", "/embeddings", "/rerank", "/score"];

/// The list of models, which means the server, below a version.
const MODELS: &str = "/models";

/// Where a server and its API lie, as paths without a slash at their end.
///
/// An address names the server (`/base`), its API (`/base/v1`, `/api/v3`) or one route (`/api/v3/chat/completions`). An API begins by custom
/// at `/v1`. Where an address names no route and does not end in `/v1`, this is a guess, and [`ApiPlace::as_written`] is the other one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiPlace {
    /// Before the API: here are `/health`, `/metrics` and their like.
    pub root: String,
    /// From there to the routes: `/v1` by custom. May be empty.
    pub api: String,
    /// The route that the address names, without what is before it.
    pub route: Option<&'static str>,
    guessed: bool,
}

impl ApiPlace {
    /// What the path of an address means.
    pub fn of(path: &str) -> Self {
        let path = path.trim_end_matches('/');
        if let Some((route, above)) = ROUTES.iter().find_map(|route| Some((*route, path.strip_suffix(route)?))) {
            return Self { route: Some(route), ..Self::at(above) };
        }
        if let Some(listed) = path.strip_suffix(MODELS).map(Self::at).filter(Self::has_version) {
            return listed;
        }
        match path.strip_suffix(V1) {
            Some(_) => Self::at(path),
            None => Self { root: path.to_owned(), api: V1.to_owned(), route: None, guessed: true },
        }
    }

    /// An API that begins just there.
    fn at(path: &str) -> Self {
        let path = path.trim_end_matches('/');
        let (root, api) = path.rfind('/').map_or((path, ""), |at| path.split_at(at));
        let (root, api) = if is_version(api) { (root.trim_end_matches('/'), api) } else { (path, "") };
        Self { root: root.to_owned(), api: api.to_owned(), route: None, guessed: false }
    }

    /// The place where nothing is added to what was written. Absent where the address leaves no doubt, or names a host alone.
    pub fn as_written(&self) -> Option<Self> {
        (self.guessed && !self.root.is_empty()).then(|| Self::at(&self.root))
    }

    /// Whether the last part of the API is a version, as in `/v3`.
    pub fn has_version(&self) -> bool {
        is_version(&self.api)
    }

    /// The path of what lies by custom at `path`: what begins with `/v1/` belongs to the API, the rest to the server.
    pub fn path(&self, path: &str) -> String {
        match path.strip_prefix(V1).filter(|below| below.starts_with('/')) {
            Some(below) => format!("{}{}{below}", self.root, self.api),
            None => format!("{}{path}", self.root),
        }
    }

    /// Path of the server, with that of its API where it is not the usual one.
    pub fn shown(&self) -> String {
        if self.api == V1 { self.root.clone() } else { format!("{}{}", self.root, self.api) }
    }
}

/// `/v3`, `/v1beta`
fn is_version(segment: &str) -> bool {
    segment.strip_prefix("/v").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The bytes that a text with `%40` and the like stands for. A sign that two hexadecimal digits do not follow stands for itself.
pub fn from_percent(text: &str) -> Vec<u8> {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let pair = digit(tail.first()).zip(digit(tail.get(1))).filter(|_| *first == b'%');
        let meant = pair.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        out.push(meant.unwrap_or(*first));
        rest = if meant.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_falls_into_its_parts() {
        let whole = Address::split("https://ann:p@ss@[::1]:8000/v1/x@y?a=b/c?d#e?f#g");
        let parts = Address {
            scheme: Some("https"),
            login: Some("ann:p@ss"),
            place: "[::1]:8000",
            path: "/v1/x@y",
            query: Some("a=b/c?d"),
            fragment: Some("e?f#g"),
        };
        assert_eq!(whole, parts);
        let bare = Address { scheme: None, login: None, place: "h:8000", path: "", query: None, fragment: None };
        assert_eq!(Address::split("h:8000"), bare);
        assert_eq!(Address::split(""), Address { place: "", ..bare });
        assert_eq!(Address::split("@/"), Address { login: Some(""), place: "", path: "/", ..bare });
        assert_eq!(Address::split("h:8000?to=http://a@b"), Address { query: Some("to=http://a@b"), ..bare });
    }

    #[test]
    fn a_path_names_a_server_its_api_or_one_route() {
        for (path, list, health, route) in [
            ("", "/v1/models", "/health", None),
            ("/", "/v1/models", "/health", None),
            ("/v1/", "/v1/models", "/health", None),
            ("/base", "/base/v1/models", "/base/health", None),
            ("/base/v1", "/base/v1/models", "/base/health", None),
            ("/v1/models", "/v1/models", "/health", None),
            ("/models", "/models/v1/models", "/models/health", None),
            ("/v1/chat/completions", "/v1/models", "/health", Some("/chat/completions")),
            ("/v1/completions", "/v1/models", "/health", Some("/completions")),
            ("/api/v3/chat/completions/", "/api/v3/models", "/api/health", Some("/chat/completions")),
            ("/chat/completions", "/models", "/health", Some("/chat/completions")),
            ("/v1beta/openai/completions", "/v1beta/openai/models", "/v1beta/openai/health", Some("/completions")),
            ("/api/v3", "/api/v3/v1/models", "/api/v3/health", None),
        ] {
            let place = ApiPlace::of(path);
            let found = (place.path("/v1/models"), place.path("/health"), place.route);
            assert_eq!(found, (list.to_owned(), health.to_owned(), route), "{path}");
        }
    }

    #[test]
    fn what_was_written_is_another_place_only_where_the_address_leaves_a_doubt() {
        for (path, written) in [
            ("/api/v3", Some(("/api/v3/models", "/api/metrics", "/api/v3"))),
            ("/v3/", Some(("/v3/models", "/metrics", "/v3"))),
            ("/v1beta/openai", Some(("/v1beta/openai/models", "/v1beta/openai/metrics", "/v1beta/openai"))),
            ("", None),
            ("/base/v1", None),
            ("/api/v3/completions", None),
        ] {
            let place = ApiPlace::of(path).as_written();
            let found = place.as_ref().map(|place| (place.path("/v1/models"), place.path("/metrics"), place.shown()));
            let written = written.map(|(list, metrics, shown)| (list.to_owned(), metrics.to_owned(), shown.to_owned()));
            assert_eq!(found, written, "{path}");
            assert_eq!(place.and_then(|place| place.as_written()), None, "{path}");
        }
    }

    #[test]
    fn what_is_written_with_percent_signs_is_read_and_half_of_it_stands_for_itself() {
        for (text, meant) in [("p%40ss%2fw", "p@ss/w"), ("%zz%4", "%zz%4"), ("%+f%%41", "%+f%A"), ("", "")] {
            assert_eq!(from_percent(text), meant.as_bytes(), "{text}");
        }
    }
}
