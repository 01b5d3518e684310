//! Error messages of a server or the system, made safe to show.
//!
//! In:  bytes and texts of others, secrets.  Out: one line, bounded, without control characters, without the secrets.
//! Not here: which status a failure has.

use std::borrow::Cow;

use crate::load::target::Target;

/// Characters of an error that are kept.
pub(super) const LINE: usize = 400;
/// Characters of a foreign body that are shown.
pub(super) const EXCERPT: usize = 200;
/// Shorter secrets are not looked for: they would be found everywhere.
const SECRET_MIN: usize = 4;

/// Secrets that must not appear in an error. Servers tend to repeat the key that they refuse.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    /// Credentials of the address and the values of headers that carry them.
    pub(super) fn new(target: &Target, headers: &[(String, String)]) -> Self {
        let mut secrets = target.secrets();
        for (_, value) in headers {
            secrets.push(value.clone());
            secrets.extend(value.split_whitespace().map(str::to_owned));
        }
        secrets.retain(|secret| secret.len() >= SECRET_MIN && !["Bearer", "Basic"].contains(&secret.as_str()));
        // The longest first, so that no part of it is left over.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self(secrets)
    }

    /// Text without them, on one line, bounded.
    pub(super) fn clean(&self, text: &str) -> String {
        let mut text = Cow::Borrowed(text);
        for secret in &self.0 {
            if text.contains(secret.as_str()) {
                text = Cow::Owned(text.replace(secret.as_str(), "***"));
            }
        }
        line(&text, LINE)
    }
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

    #[test]
    fn a_key_that_the_server_repeats_is_not_shown() {
        let target = Target::parse("http://user:sesame-open@h").unwrap();
        let secrets = Secrets::new(&target, &[("authorization".into(), "Bearer sk-12345".into())]);
        let text = secrets.clean("wrong key sk-12345\nof Bearer sk-12345, password sesame-open, Bearer");
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
