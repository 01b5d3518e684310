//! Pages that do not move while they arrive.
//!
//! In:  a finished page.  Out: the same page, whose first paint waits for the tables that begin in its first screen, and whose
//!      long tables are marked.
//! Not here: the content of a page.
//!
//! A table finds the widths of its columns from its rows, so one that is painted half arrived moves with every further
//! row. Browsers that know `rel="expect"` (the HTML standard, link types, since 2024) wait for the element it names before
//! they paint. The others show the page as they always did. Chromium waits for the beginning of that element, not for its end, so
//! what is named is an empty one behind the table. Waiting for a whole page would be simpler, and was measured:
//! the answer then comes up to five times later.

/// How far into `main` a table may begin and still be seen in the first screen of a large window. Counted in bytes of markup without
/// drawings, because a chart of a few bars has as many bytes as a page of prose.
const FIRST_SCREEN: usize = 6_000;

/// Body rows from which the script sets a filter above a table. The style reserves its place from the first paint, by the mark. A rule that
/// counted the rows would move the table when the deciding row arrives.
const MANY: usize = 13;

/// How long a table may be and still be waited for. Its rows are alike, so a tenth of this comes over the line.
const LONGEST: usize = 120_000;

/// How little may follow the tables of the first screen for the foot to be waited for with them.
const SHORT: usize = 3_000;

/// The box around every table, as the templates write it.
const BOX: &str = "<div class=\"scroll";

/// Text after the last of these tables.
const END: &str = "<span id=\"first-tables\" hidden></span>";

/// Marks long tables and the end of the last table that begins in the first screen, and asks the browser to wait for that.
pub(super) fn page(html: String) -> String {
    let html = mark_long_tables(html);
    let Some(main) = html.find("<main ") else { return html };
    let Some(head) = html.find("</head>") else { return html };
    let screen = &html[main..];
    let boxes = screen.match_indices(BOX).map(|(at, _)| at);
    let seen = boxes.take_while(|at| at - drawn(&screen[..*at]) <= FIRST_SCREEN);
    let Some(end) = seen.filter(|at| !is_folded(&screen[..*at])).map_while(|at| end_of_table(screen, at)).last() else {
        return html;
    };
    let mut end = main + end;
    // The foot of a short page is in the first screen too, and a line of it that arrives in two pieces is broken anew.
    if let Some(foot) = html.rfind("</footer>").filter(|foot| (end..end + SHORT).contains(foot)) {
        end = foot;
    }
    if html.contains("id=\"first-tables\"") {
        return html;
    }
    format!(
        "{}<link rel=\"expect\" href=\"#first-tables\" blocking=\"render\">\n{}{END}{}",
        &html[..head],
        &html[head..end],
        &html[end..]
    )
}

/// The same page, whose boxes of tables with many rows say so.
fn mark_long_tables(html: String) -> String {
    let mut marked = String::new();
    let mut done = 0;
    for (at, _) in html.match_indices(BOX) {
        let table = html[at..].split("</table>").next().unwrap_or_default();
        let (_, body) = table.split_once("<tbody").unwrap_or_default();
        if body.match_indices("<tr").nth(MANY - 1).is_some() && !body.contains("<tbody") {
            let named = at + BOX.len();
            marked.push_str(&html[done..named]);
            marked.push_str(" many");
            done = named;
        }
    }
    if done == 0 {
        return html;
    }
    marked.push_str(&html[done..]);
    marked
}

/// Bytes of the drawings in a piece of a page.
fn drawn(piece: &str) -> usize {
    let drawings = piece.match_indices("<svg").map(|(at, _)| piece[at..].find("</svg>").unwrap_or(piece.len() - at));
    drawings.sum()
}

/// Whether what follows `before` is inside of something folded.
fn is_folded(before: &str) -> bool {
    before.matches("<details").count() > before.matches("</details").count()
}

/// Where the box that begins at `at` has ended, unless its table is longer than may be waited for.
fn end_of_table(screen: &str, at: usize) -> Option<usize> {
    let length = screen[at..].find("</table>").filter(|length| *length <= LONGEST)?;
    let end = screen[at + length..].find("</div>")?;
    Some(at + length + end + "</div>".len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(between: &str, rows: usize) -> String {
        let rows = "<tr></tr>".repeat(rows);
        page(format!(
            "<head></head><main id=\"m\">{between}<div class=\"scroll tall\"><table>{rows}</table></div></main>"
        ))
    }

    #[test]
    fn a_table_high_on_the_page_is_waited_for() {
        let html = made("<h1>x</h1>", 3);
        assert!(html.starts_with("<head><link rel=\"expect\" href=\"#first-tables\" blocking=\"render\">\n</head>"));
        assert!(html.contains("</table></div><span id=\"first-tables\" hidden></span>"), "{html}");
        assert_eq!(page(html.clone()), html, "once is enough");
    }

    #[test]
    fn the_foot_of_a_short_page_is_waited_for_with_its_table() {
        let with_foot = |between: usize| {
            let table = "<div class=\"scroll\"><table></table></div>";
            let foot = format!("{}<footer>foot</footer>", "x".repeat(between));
            page(format!("<head></head><main id=\"m\">{table}</main>{foot}"))
        };
        assert!(with_foot(10).ends_with(&format!("foot{END}</footer>")));
        assert!(with_foot(SHORT).contains(&format!("</table></div>{END}</main>")));
    }

    #[test]
    fn a_table_of_many_rows_is_marked_before_they_arrive() {
        let table = |rows: usize| {
            format!("<div class=\"scroll tall\"><table><tbody>{}</tbody></table></div>", "<tr></tr>".repeat(rows))
        };
        let both = page(format!("{}<p>x</p>{}", table(MANY), table(MANY - 1)));
        assert!(both.starts_with("<div class=\"scroll many tall\">"), "{both}");
        assert!(both.ends_with(&table(MANY - 1)), "{both}");
        let two = table(MANY).replacen("<tr>", "</tbody><tbody><tr>", 1);
        assert_eq!(page(two.clone()), two, "no filter stands above groups of rows");
    }

    #[test]
    fn a_table_below_a_drawing_is_in_the_first_screen_too() {
        let drawing = format!("<svg>{}</svg>", "x".repeat(FIRST_SCREEN));
        assert!(made(&drawing, 3).contains("expect"));
        assert!(!made(&drawing.repeat(2).replace("svg", "div"), 3).contains("expect"));
    }

    #[test]
    fn the_last_of_several_in_the_first_screen_is_waited_for() {
        let one = "<div class=\"scroll\"><table></table></div>";
        let far = "x".repeat(FIRST_SCREEN);
        let html = page(format!("<head></head><main id=\"m\"><h1>ü</h1>{one}{one}{far}{one}</main>"));
        assert!(html.contains(&format!("<h1>ü</h1>{one}{one}{END}x")), "{html}");
    }

    #[test]
    fn one_that_is_folded_far_down_or_very_long_is_not() {
        for (between, rows) in [("<details>".to_owned(), 3), ("x".repeat(FIRST_SCREEN + 1), 3), (String::new(), 14_000)]
        {
            assert!(!made(&between, rows).contains("expect"));
        }
        assert_eq!(page("<p>x</p>".into()), "<p>x</p>");
    }
}
