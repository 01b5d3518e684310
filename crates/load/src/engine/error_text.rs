//! Error messages of a server or the system, made safe to show.
//!
//! In:  bytes and texts of others, secrets.  Out: one line, bounded, without control characters, without the secrets.
//! Not here: which status a failure has.

use sparkbench_archive::mask::Veil;

/// Characters of an error that are kept.
pub(super) const LINE: usize = 400;
/// Characters of a foreign body that are shown.
pub(super) const EXCERPT: usize = 200;

/// What others said, without secrets, on one line, bounded. Servers tend to repeat the key that they refuse.
pub(super) fn clean(veil: &Veil, text: &str) -> String {
    // Once more behind the cut, which may go through a secret that was written in another form.
    veil.said(&line(&veil.said(text), LINE))
}

/// One line with a limited number of characters. Whitespace and control characters become one space.
pub(super) fn line(text: &str, most: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = String::new();
    let mut count = 0;
    for word in words {
        if count > 0 {
            line.push(' ');
            count += 1;
        }
        for c in word.chars() {
            if count >= most {
                line.push('…');
                return line;
            }
            line.push(c);
            count += 1;
        }
    }
    line
}

/// The beginning of a body, for a message.
pub(super) fn excerpt(body: &[u8]) -> String {
    // Four bytes at most for a character.
    line(&String::from_utf8_lossy(&body[..body.len().min(4 * EXCERPT)]), EXCERPT)
}

/// The message of an error as the servers of this field write it: `{"error": {"message": ..}}`, `{"error": ".."}`, `{"message": ..}`,
/// `{"detail": ..}`.
pub(super) fn message(body: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        serde_json::Value::Null => None,
        serde_json::Value::Object(object) => match object.get("message") {
            Some(serde_json::Value::String(text)) if !text.trim().is_empty() => Some(text.clone()),
            _ => Some(value.to_string()),
        },
        other => Some(other.to_string()),
    };
    ["error", "message", "detail"].iter().find_map(|member| text(value.get(member)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_archive::mask::Secrets;

    #[test]
    fn a_key_that_the_server_repeats_is_not_shown() {
        let mut secrets = Secrets::default();
        secrets.learn_address("--url", "http://user:sesame-open@h");
        secrets.learn_header("authorization", "Bearer sk-12345");
        let text = clean(&secrets.veil(), "wrong key sk-12345\nof Bearer sk-12345, password sesame-open, Bearer");
        assert_eq!(text, "wrong key *** of ***, password ***, Bearer");
    }

    #[test]
    fn a_body_becomes_one_bounded_line() {
        assert_eq!(line(" a\r\n\tb\u{1b}[31m c ", 100), "a b [31m c");
        assert_eq!(line(&"x".repeat(300), 5), "xxxxx…");
        assert_eq!(excerpt(b"\xff<html>\n<body>"), "\u{fffd}<html> <body>");
    }

    #[test]
    fn errors_are_read_as_servers_write_them() {
        let cases: [(&str, Option<&str>); 7] = [
            (r#"{"error":{"message":"no such model","code":404}}"#, Some("no such model")),
            (r#"{"error":"queue full"}"#, Some("queue full")),
            (r#"{"object":"error","message":"too long"}"#, Some("too long")),
            (r#"{"detail":[{"msg":"field required"}]}"#, Some(r#"[{"msg":"field required"}]"#)),
            (r#"{"error":null,"detail":"Not Found"}"#, Some("Not Found")),
            (r#"{"ok":true}"#, None),
            ("<html>", None),
        ];
        for (body, expected) in cases {
            assert_eq!(message(body.as_bytes()).as_deref(), expected, "{body}");
        }
    }
}
