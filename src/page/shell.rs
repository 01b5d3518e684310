//! What every page shares: its place in the site, its head, its style.
//!
//! In:  a path and a title.  Out: [`Shell`], which `templates/layout.html` turns into head, header and footer.
//! Not here: what a page says.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use crate::verdict::report::Tool;

/// The style sheet, without its comments. It stands in every page, because `'self'` names nothing on `file://`
/// while a hash names the same bytes everywhere.
static CSS: LazyLock<String> =
    LazyLock::new(|| strip_comments(&format!("{}\n{}", include_str!("../../static/site.css"), crate::chart::STYLE)));

/// The policy: this one style sheet, pictures that stand in the page itself, and nothing else at all.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        base64(&Sha256::digest(CSS.as_bytes()))
    )
});

/// Head and surroundings of one page.
#[derive(Debug, Clone)]
pub struct Shell {
    /// Unique in the site.
    pub title: String,
    /// One sentence for search engines and link previews.
    pub description: String,
    /// The way back to the site's folder: empty, `../` or `../../`.
    pub root: String,
    /// Which entry of the navigation this page belongs to.
    pub section: &'static str,
    /// Name and version of the program.
    pub tool: String,
    /// The policy as one line.
    pub policy: &'static str,
    /// The style sheet.
    pub css: &'static str,
}

impl Shell {
    /// The surroundings of the page at `path`.
    pub fn new(path: &str, title: impl Into<String>, section: &'static str, tool: &Tool) -> Self {
        let title = title.into();
        Self {
            description: title.clone(),
            title,
            root: "../".repeat(path.matches('/').count()),
            section,
            tool: format!("{} {}", tool.name, tool.version),
            policy: POLICY.as_str(),
            css: CSS.as_str(),
        }
    }

    /// With a sentence for those who only see the link.
    #[must_use]
    pub fn described(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// For `aria-current` in the navigation.
    pub fn is(&self, section: &str) -> bool {
        self.section == section
    }
}

fn strip_comments(css: &str) -> String {
    let mut out = String::with_capacity(css.len());
    let mut rest = css;
    while let Some((before, after)) = rest.split_once("/*") {
        out.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, tail)| tail);
    }
    out.push_str(rest);
    let lines: Vec<_> = out.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// Standard alphabet with padding; a hash source of a policy is the only thing here that needs it.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, byte| (word << 8) | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            if place <= chunk.len() {
                out.push(char::from(ALPHABET[(word >> (18 - 6 * place)) as usize & 63]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_agrees_with_rfc_4648() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn the_way_back_counts_the_folders() {
        let tool = Tool { name: "sparkbench", version: "0" };
        for (path, root) in [("index.html", ""), ("traps/index.html", "../"), ("r/x/index.html", "../../")] {
            assert_eq!(Shell::new(path, "t", "", &tool).root, root);
        }
    }

    #[test]
    fn the_style_sheet_asks_nothing_of_anyone() {
        for word in ["url(", "@import", "//", "</"] {
            assert!(!CSS.contains(word), "{word}");
        }
    }
}
