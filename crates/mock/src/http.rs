//! Requests of HTTP/1.1, as they come in, and the frames of responses.
//!
//! In:  bytes of a connection.  Out: [`Head`], the body once it is whole.
//! Not here: what the body means (see `ask`).

use super::shape::Shape;
use super::{shape, text};

/// Largest body that is taken.
pub(super) const BODY_MAX: usize = 64 << 20;
/// Largest head that is taken.
pub(super) const HEAD_MAX: usize = 64 << 10;
/// Header lines that are taken.
const LINES_MAX: usize = 64;

/// The request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// `GET /v1/models`.
    Models,
    /// `GET /health`, `/ping`.
    Health,
    /// `GET /metrics`.
    Metrics,
    /// `POST /tokenize`.
    Tokenize,
    /// `POST /v1/chat/completions`.
    Chat,
    /// `POST /v1/completions`.
    Completions,
    /// A path of ours with another method.
    WrongMethod,
    /// Any other path.
    Unknown,
}

/// The head of a request.
#[derive(Debug, Clone)]
pub(super) struct Head {
    /// The request.
    pub route: Route,
    /// `x-request-id`.
    pub id: Option<String>,
    /// What `Authorization: Bearer` gives.
    pub key: Option<String>,
    /// `x-mock-shape`. The word itself where there is no such shape.
    pub shape: Option<Result<&'static Shape, String>>,
    /// Whether the connection stays after the response.
    pub keep_alive: bool,
    /// `Expect: 100-continue`.
    pub expects: bool,
    /// Bytes of the head.
    pub bytes: usize,
    /// How the body comes.
    pub body: Body,
}

/// Coding of a body, and the part that has arrived.
#[derive(Debug, Clone)]
pub(super) enum Body {
    /// A number of bytes after the head.
    Length(usize),
    /// In chunks: what is decoded, and where in the input the next chunk begins.
    Chunked {
        /// Decoded so far.
        bytes: Vec<u8>,
        /// Place in the input, from the request's first byte.
        next: usize,
    },
}

/// Why a request cannot be read. The connection ends after the error is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// No HTTP.
    Malformed,
    /// Head or body beyond the limits.
    TooLarge,
}

/// Reads a head. Nothing while it is not whole.
///
/// # Errors
/// When it is no head.
pub(super) fn head(input: &[u8]) -> Result<Option<Head>, Fault> {
    let mut lines = [httparse::EMPTY_HEADER; LINES_MAX];
    let mut request = httparse::Request::new(&mut lines);
    let bytes = match request.parse(input) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) if input.len() > HEAD_MAX => return Err(Fault::TooLarge),
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(Fault::Malformed),
    };
    let mut head = Head {
        route: route(request.method.unwrap_or_default(), request.path.unwrap_or_default()),
        id: None,
        key: None,
        shape: None,
        keep_alive: request.version == Some(1),
        expects: false,
        bytes,
        body: Body::Length(0),
    };
    for line in request.headers.iter() {
        let value = || std::str::from_utf8(line.value).map(str::trim).map_err(|_| Fault::Malformed);
        let is = |name: &str| line.name.eq_ignore_ascii_case(name);
        if is("content-length") {
            let length: usize = value()?.parse().map_err(|_| Fault::Malformed)?;
            if length > BODY_MAX {
                return Err(Fault::TooLarge);
            }
            head.body = Body::Length(length);
        } else if is("transfer-encoding") && value()?.eq_ignore_ascii_case("chunked") {
            head.body = Body::Chunked { bytes: Vec::new(), next: bytes };
        } else if is("connection") {
            let words = value()?;
            let has = |word: &str| words.split(',').any(|each| each.trim().eq_ignore_ascii_case(word));
            head.keep_alive = (head.keep_alive && !has("close")) || has("keep-alive");
        } else if is("x-request-id") {
            head.id = Some(value()?.to_owned());
        } else if is("authorization") {
            head.key = value()?.split_once(' ').map(|(_, key)| key.trim().to_owned());
        } else if is("x-mock-shape") {
            let word = value()?;
            head.shape = Some(shape::find(word).ok_or_else(|| word.to_owned()));
        } else if is("expect") {
            head.expects = value()?.eq_ignore_ascii_case("100-continue");
        }
    }
    Ok(Some(head))
}

fn route(method: &str, target: &str) -> Route {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let (wanted, route) = match path {
        "/v1/models" => ("GET", Route::Models),
        "/health" | "/ping" => ("GET", Route::Health),
        "/metrics" => ("GET", Route::Metrics),
        "/tokenize" => ("POST", Route::Tokenize),
        "/v1/chat/completions" => ("POST", Route::Chat),
        "/v1/completions" => ("POST", Route::Completions),
        _ => return Route::Unknown,
    };
    if method == wanted { route } else { Route::WrongMethod }
}

impl Head {
    /// Goes on reading the body. Gives the length of the whole request once it is there.
    ///
    /// # Errors
    /// When its chunks are malformed.
    pub(super) fn whole(&mut self, input: &[u8]) -> Result<Option<usize>, Fault> {
        match &mut self.body {
            Body::Length(length) => Ok((input.len() >= self.bytes + *length).then_some(self.bytes + *length)),
            Body::Chunked { bytes, next } => loop {
                let rest = input.get(*next..).unwrap_or_default();
                let (at, size) = match httparse::parse_chunk_size(rest) {
                    Ok(httparse::Status::Complete((at, size))) => (at, size),
                    Ok(httparse::Status::Partial) => return Ok(None),
                    Err(_) => return Err(Fault::Malformed),
                };
                let size = usize::try_from(size).map_err(|_| Fault::TooLarge)?;
                if bytes.len().saturating_add(size) > BODY_MAX {
                    return Err(Fault::TooLarge);
                }
                if size == 0 {
                    // Trailers are allowed. They end with an empty line.
                    let mut trailers = &rest[at..];
                    loop {
                        let Some(end) = trailers.windows(2).position(|pair| pair == b"\r\n") else { return Ok(None) };
                        trailers = &trailers[end + 2..];
                        if end == 0 {
                            return Ok(Some(input.len() - trailers.len()));
                        }
                    }
                }
                let Some(chunk) = rest.get(at..at + size + 2) else { return Ok(None) };
                bytes.extend_from_slice(&chunk[..size]);
                *next += at + size + 2;
            },
        }
    }

    /// The body of a request that is whole.
    pub(super) fn body<'a>(&'a self, input: &'a [u8]) -> &'a [u8] {
        match &self.body {
            Body::Length(length) => input.get(self.bytes..self.bytes + length).unwrap_or_default(),
            Body::Chunked { bytes, .. } => bytes,
        }
    }
}

/// Words of a status line.
pub(super) const fn reason(code: u16) -> &'static str {
    match code {
        200 => "OK",
        307 => "Temporary Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Unknown",
    }
}

/// Status line and header lines that every response has. The empty line is not there yet.
pub(super) fn push_status(out: &mut Vec<u8>, code: u16, content_type: &str, id: Option<&str>) {
    for part in ["HTTP/1.1 ", &code.to_string(), " ", reason(code), "\r\nserver: sparkbench-mock\r\ncontent-type: "] {
        out.extend_from_slice(part.as_bytes());
    }
    out.extend_from_slice(content_type.as_bytes());
    if let Some(id) = id {
        out.extend_from_slice(b"\r\nx-request-id: ");
        out.extend_from_slice(id.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

pub(super) fn push_response(
    out: &mut Vec<u8>,
    code: u16,
    content_type: &str,
    id: Option<&str>,
    more: &str,
    body: &[u8],
) {
    push_status(out, code, content_type, id);
    out.extend_from_slice(more.as_bytes());
    out.extend_from_slice(b"content-length: ");
    push_number(out, body.len() as u64);
    out.extend_from_slice(b"\r\n\r\n");
    out.extend_from_slice(body);
}

/// An error object as vLLM writes it.
pub(super) fn error_body(code: u16, kind: &str, message: &str) -> Vec<u8> {
    let error = serde_json::json!({ "error": { "message": message, "type": kind, "param": null, "code": code } });
    error.to_string().into_bytes()
}

/// A number in decimal digits.
pub(super) fn push_number(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0_u8; 20];
    let (mut at, mut rest) = (digits.len(), number);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// A chunk of a chunked body. An empty one would end the body, and is left out.
pub(super) fn push_chunk(out: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let mut digits = [0_u8; 16];
    let (mut at, mut rest) = (digits.len(), bytes.len());
    while rest > 0 {
        at -= 1;
        digits[at] = b"0123456789abcdef"[rest & 15];
        rest >>= 4;
    }
    out.extend_from_slice(&digits[at..]);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Answer of `/tokenize`.
pub(super) fn tokenized(count: u32, max_model_len: u32) -> Vec<u8> {
    // The numbers themselves mean nothing here. There are as many as tokens.
    let tokens: Vec<u32> = (0..count).map(|k| k % text::WORDS.len() as u32).collect();
    serde_json::json!({ "count": count, "max_model_len": max_model_len, "tokens": tokens }).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_whole_when_its_last_byte_is_there() {
        let request =
            b"POST /v1/completions?x=1 HTTP/1.1\r\nHost: a\r\nX-Request-ID: r-1\r\nAuthorization: Bearer k\r\n\
                        Content-Length: 2\r\n\r\n{}GET";
        for end in 0..request.len() - 5 {
            assert!(head(&request[..end]).unwrap().is_none());
        }
        let mut head = head(request).unwrap().unwrap();
        assert_eq!((head.route, head.id.as_deref(), head.key.as_deref()), (Route::Completions, Some("r-1"), Some("k")));
        assert!(head.keep_alive);
        assert_eq!(head.whole(&request[..head.bytes + 1]), Ok(None));
        assert_eq!(head.whole(request), Ok(Some(request.len() - 3)));
        assert_eq!(head.body(request), b"{}");
    }

    #[test]
    fn a_chunked_body_is_put_together_and_its_trailers_are_passed_over() {
        let request = b"POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{\"\r\n3\r\na\":\r\n0\r\nA: b\r\n\r\nGET";
        let mut head = head(request).unwrap().unwrap();
        for end in head.bytes..request.len() - 3 {
            assert_eq!(head.whole(&request[..end]), Ok(None), "{end}");
        }
        assert_eq!(head.whole(request), Ok(Some(request.len() - 3)));
        assert_eq!(head.body(request), b"{\"a\":");
    }

    #[test]
    fn what_is_no_request_is_refused() {
        assert_eq!(head(b"\x16\x03\x01\x02").unwrap_err(), Fault::Malformed);
        let large = b"POST /tokenize HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n";
        assert_eq!(head(large).unwrap_err(), Fault::TooLarge);
        assert!(!head(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap().unwrap().keep_alive);
        assert_eq!(head(b"PUT /metrics HTTP/1.1\r\n\r\n").unwrap().unwrap().route, Route::WrongMethod);
    }

    #[test]
    fn numbers_and_chunks_are_as_http_wants_them() {
        let mut out = Vec::new();
        push_number(&mut out, 0);
        push_number(&mut out, 1_234_567_890);
        push_chunk(&mut out, &[b'x'; 26]);
        push_chunk(&mut out, b"");
        assert_eq!(out, b"012345678901a\r\nxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n");
    }
}
