//! The head of a request, as bytes.
//!
//! In:  method, path, host, headers, the number of the request.  Out: bytes to send before the body.
//! Not here: checking what a user gave (see `load::target`), the body.
//!
//! A line end in a value would be a second header, so every control character of a value is sent as a space. Names lose them.

use std::io::Write;

/// Appends the head of a request: request line, `host`, `headers` in their order, `x-request-id` unless empty,
/// `content-length`, the empty line.
///
/// - `path`: from the first `/`, with its query.
/// - `host`: with its port where that is not the scheme's own.
/// - `body_len`: bytes of the body. 0 says nothing about a body for `GET`.
pub fn request_head(
    into: &mut Vec<u8>,
    method: &str,
    path: &str,
    host: &str,
    headers: &[(String, String)],
    request_id: &str,
    body_len: usize,
) {
    let word = |into: &mut Vec<u8>, text: &str| into.extend(text.bytes().filter(|b| *b > b' ' && *b != 0x7f));
    let value = |into: &mut Vec<u8>, text: &str| {
        into.extend(text.trim().bytes().map(|b| if b < b' ' || b == 0x7f { b' ' } else { b }));
        into.extend_from_slice(b"\r\n");
    };
    word(into, method);
    into.push(b' ');
    word(into, if path.is_empty() { "/" } else { path });
    into.extend_from_slice(b" HTTP/1.1\r\nhost: ");
    value(into, host);
    for (name, text) in headers {
        into.extend(name.bytes().filter(|b| *b > b' ' && *b != b':' && *b < 0x7f));
        into.extend_from_slice(b": ");
        value(into, text);
    }
    if !request_id.is_empty() {
        into.extend_from_slice(b"x-request-id: ");
        value(into, request_id);
    }
    if body_len > 0 || !matches!(method, "GET" | "HEAD") {
        // Writing to a Vec cannot fail.
        let _ = write!(into, "content-length: {body_len}\r\n");
    }
    into.extend_from_slice(b"\r\n");
}
