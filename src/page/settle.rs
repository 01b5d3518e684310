//! Pages that do not move while they arrive.
//!
//! In:  a finished page.  Out: the same page, whose first paint waits for the table that stands in its first screen.
//! Not here: what a page says.
//!
//! A table finds the widths of its columns from its rows, so one that is painted half arrived moves with every further
//! row. Browsers that know `rel="expect"` (the HTML standard, link types, since 2024) wait for the element it names before
//! they paint; the others show the page as they always did. Chromium waits for the beginning of that element, not for its end, so
//! what is named is an empty one behind the table. Waiting for a whole page would be simpler, and was measured:
//! the answer then comes up to five times later.

/// How far into `main` a table may begin and still be seen in the first screen of a large window, in bytes of markup.
const FIRST_SCREEN: usize = 6_000;

/// How long a table may be and still be waited for: longer ones fill the screen with their first rows.
const LONGEST: usize = 60_000;

/// The box every table stands in, as the templates write it.
const BOX: &str = "<div class=\"scroll";

/// What stands behind the first table.
const END: &str = "<span id=\"first-table\" hidden></span>";

/// Marks the end of the first table and asks the browser to wait for it, where it stands high on the page.
pub fn page(html: String) -> String {
    let Some(main) = html.find("<main ") else { return html };
    let Some(at) = html[main..].find(BOX).map(|at| main + at) else { return html };
    let before = &html[main..at];
    let folded = before.matches("<details").count() > before.matches("</details").count();
    let Some(length) = html[at..].find("</table>") else { return html };
    let Some(end) = html[at + length..].find("</div>").map(|end| at + length + end + "</div>".len()) else {
        return html;
    };
    if at - main > FIRST_SCREEN || folded || length > LONGEST || html.contains("id=\"first-table\"") {
        return html;
    }
    let Some(style) = html.find("<style>") else { return html };
    format!(
        "{}<link rel=\"expect\" href=\"#first-table\" blocking=\"render\">\n{}{END}{}",
        &html[..style],
        &html[style..end],
        &html[end..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(between: &str, rows: usize) -> String {
        let rows = "<tr></tr>".repeat(rows);
        page(format!(
            "<style></style><main id=\"m\">{between}<div class=\"scroll tall\"><table>{rows}</table></div></main>"
        ))
    }

    #[test]
    fn a_table_high_on_the_page_is_waited_for() {
        let html = made("<h1>x</h1>", 3);
        assert!(html.starts_with("<link rel=\"expect\" href=\"#first-table\" blocking=\"render\">\n<style>"));
        assert!(html.contains("</table></div><span id=\"first-table\" hidden></span>"), "{html}");
        assert_eq!(page(html.clone()), html, "once is enough");
    }

    #[test]
    fn one_that_is_folded_far_down_or_very_long_is_not() {
        for (between, rows) in [("<details>".to_owned(), 3), ("x".repeat(FIRST_SCREEN + 1), 3), (String::new(), 7_000)]
        {
            assert!(!made(&between, rows).contains("expect"));
        }
        assert_eq!(page("<p>x</p>".into()), "<p>x</p>");
    }
}
