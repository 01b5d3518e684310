//! The parts of an address of the web.
//!
//! In:  an address as somebody wrote it.  Out: [`Address`], slices of it.
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
    fn what_is_written_with_percent_signs_is_read_and_half_of_it_stands_for_itself() {
        for (text, meant) in [("p%40ss%2fw", "p@ss/w"), ("%zz%4", "%zz%4"), ("%+f%%41", "%+f%A"), ("", "")] {
            assert_eq!(from_percent(text), meant.as_bytes(), "{text}");
        }
    }
}
