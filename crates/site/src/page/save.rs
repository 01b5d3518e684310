//! Charts and their tables as files of their own, beside the page that shows them.
//!
//! In:  our own finished page.  Out: the page with a line below each figure, and the files that it leads to.
//! Not here: drawing.
//!
//! Like `single`, this reads the markup of our own templates, in which every `<` of a text is escaped. It is no parser for the HTML of
//! others.

use super::Page;
use crate::chart::figure::standalone;
use sparkbench_text::escape;

/// Whether the charts of this page become files. Those of runs and of single cells are most of the charts of a site, and few are ever opened.
/// The drawing in the page is the same.
pub(super) fn wanted(path: &str) -> bool {
    let below_campaign = path.starts_with("c/") && path.matches('/').count() > 2;
    path.ends_with("index.html") && !path.starts_with("r/") && !below_campaign
}

/// The page with its links, and what they lead to.
pub(super) fn figures(path: &str, html: &str) -> (String, Vec<Page>) {
    let folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let mut files = Vec::new();
    let mut out = String::with_capacity(html.len() + html.len() / 64);
    let mut rest = html;
    while let Some(start) = rest.find("<figure ") {
        let Some(length) = rest.get(start..).and_then(|figure| figure.find("</figure>")) else { break };
        let (before, figure) =
            (rest.get(..start).unwrap_or_default(), rest.get(start..start + length).unwrap_or_default());
        out.push_str(before);
        out.push_str(figure);
        if let Some(id) = id_of(figure) {
            let links = of_figure(&folder, id, figure, &mut files);
            if !links.is_empty() {
                out.push_str(&format!("<p class=\"note saves\">This chart: {}</p>\n", links.join(", ")));
            }
        }
        rest = rest.get(start + length..).unwrap_or_default();
    }
    out.push_str(rest);
    (out, files)
}

/// `x` of `id="x-figure"`, where it is a plain name.
fn id_of(figure: &str) -> Option<&str> {
    let tag = figure.get(..figure.find('>')?)?;
    let id = between(tag, " id=\"", "\"")?;
    let id = id.strip_suffix("-figure").unwrap_or(id);
    let plain = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    plain.then_some(id)
}

fn of_figure(folder: &str, id: &str, figure: &str, files: &mut Vec<Page>) -> Vec<String> {
    let title = between(figure, "<strong>", "</strong>").unwrap_or(id).trim_end_matches('.');
    // The id holds names of models and environments.
    let base = escape::file_name(id);
    let mut links = Vec::new();
    let mut link = |name: &str, what: &str| {
        // A label cannot hold markup. A title with some is said by hidden text.
        links.push(if title.contains(['<', '"']) {
            format!("<a href=\"{name}\" download>{what}<span class=\"sr\"> of: {title}</span></a>")
        } else {
            format!("<a href=\"{name}\" download aria-label=\"{what} of: {title}\">{what}</a>")
        });
    };
    let drawings: Vec<&str> = drawings(figure);
    for (k, svg) in drawings.iter().enumerate() {
        let (name, what) = match k {
            0 => (format!("{base}.svg"), "SVG".to_owned()),
            k => (format!("{base}-{}.svg", k + 1), format!("SVG {}", k + 1)),
        };
        link(&name, &what);
        files.push(Page::new(format!("{folder}{name}"), standalone(&padded(svg))));
    }
    if drawings.is_empty() {
        return links;
    }
    if let Some(csv) = between(figure, "<table", "</table>").and_then(table) {
        let name = format!("{base}.csv");
        link(&name, "CSV");
        files.push(Page::new(format!("{folder}{name}"), csv));
    }
    links
}

/// Every drawing. Where one is there in two widths, the wide one.
fn drawings(figure: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut rest = figure;
    while let Some(start) = rest.find("<svg ") {
        let Some(end) = rest.get(start..).and_then(|svg| svg.find("</svg>")) else { break };
        let end = start + end + "</svg>".len();
        all.push(rest.get(start..end).unwrap_or_default());
        rest = rest.get(end..).unwrap_or_default();
    }
    let is_wide = |svg: &&str| svg.get(..svg.find('>').unwrap_or(0)).is_some_and(|head| head.contains("chart wide"));
    if all.iter().any(is_wide) { all.into_iter().filter(is_wide).collect() } else { all }
}

/// With room around: in the page the column gives it. A drawing of another shape stays as it is.
fn padded(svg: &str) -> String {
    const ROOM: f64 = 16.0;
    let whole = || -> Option<String> {
        let (head, rest) = svg.split_once('>')?;
        let size = between(head, "viewBox=\"0 0 ", "\"")?;
        let (width, height) = size.split_once(' ')?;
        let (w, h) = (width.parse::<f64>().ok()? + 2.0 * ROOM, height.parse::<f64>().ok()? + 2.0 * ROOM);
        let head = head
            .replace(&format!("viewBox=\"0 0 {size}\""), &format!("viewBox=\"-{ROOM} -{ROOM} {w} {h}\""))
            .replace(&format!("width=\"{width}\""), &format!("width=\"{w}\""))
            .replace(&format!("height=\"{height}\""), &format!("height=\"{h}\""));
        Some(format!("{head}>{rest}"))
    };
    whole().unwrap_or_else(|| svg.to_owned())
}

/// The table of a figure as CSV. Numbers without the blanks that group their digits.
fn table(html: &str) -> Option<Vec<u8>> {
    let mut writer = csv::WriterBuilder::new().flexible(true).terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    let mut rows = 0;
    for row in html.split("<tr").skip(1) {
        let cells: Vec<String> = row.split("<t").skip(1).filter_map(cell).collect();
        if !cells.is_empty() {
            writer.write_record(&cells).ok()?;
            rows += 1;
        }
    }
    (rows > 1).then(|| writer.into_inner().ok()).flatten()
}

/// `h scope="row">text</th>...`, a cell whose `<t` was cut off.
fn cell(markup: &str) -> Option<String> {
    let (tag, rest) = markup.split_once('>')?;
    if !tag.starts_with(['h', 'd']) || tag.starts_with("head") {
        return None;
    }
    let inner = rest.split_once("</t").map_or(rest, |(inner, _)| inner);
    let mut text = String::new();
    let mut within = false;
    for c in inner.chars() {
        match c {
            '<' => within = true,
            '>' if within => within = false,
            c if !within => text.push(c),
            _ => {}
        }
    }
    Some(plain(&unescaped(&text)))
}

/// A number as programs read it. Other text kept from being read as a formula.
fn plain(text: &str) -> String {
    let text = text.trim();
    let number = text.replace(['\u{202f}', '\u{2009}'], "").replace('\u{2212}', "-");
    if number.parse::<f64>().is_ok_and(f64::is_finite) { number } else { escape::cell(&text.replace('\u{a0}', " ")) }
}

/// The five characters that our templates escape, by name or by number.
fn unescaped(text: &str) -> String {
    const NAMES: &[(&str, &str)] = &[
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#34;", "\""),
        ("&#x27;", "'"),
        ("&#38;", "&"),
        ("&amp;", "&"),
    ];
    NAMES.iter().fold(text.to_owned(), |text, (name, character)| text.replace(name, character))
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(inner, _)| inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<main><figure class=\"fig\" id=\"a-b-figure\" aria-labelledby=\"c\">\n<figcaption><strong>Speed &amp; more.</strong></figcaption>\
        <svg class=\"chart wide\" viewBox=\"0 0 760 10\" width=\"760\" height=\"10\"><title>T</title><a href=\"../../r/x/index.html\"><g/></a></svg>\
        <svg class=\"chart narrow\"><title>N</title></svg>\
        <table class=\"plotted\"><caption>x</caption><thead><tr><th scope=\"col\">Run</th><th scope=\"col\">ms</th></tr></thead>\
        <tbody><tr><th scope=\"row\"><a href=\"r\">=1&amp;2</a></th><td>\u{2212}1\u{202f}234.5</td></tr></tbody></table>\n</figure></main>";

    #[test]
    fn a_figure_gets_its_drawing_and_its_table_as_files() {
        let (html, files) = figures("c/x/index.html", PAGE);
        let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(names, ["c/x/a-b.svg", "c/x/a-b.csv"]);
        let svg = String::from_utf8(files[0].bytes.clone()).unwrap();
        assert!(
            svg.starts_with("<?xml")
                && svg.contains("xmlns=\"http://www.w3.org/2000/svg\"")
                && svg.contains("<title>T</title>")
        );
        assert!(svg.contains("viewBox=\"-16 -16 792 42\" width=\"792\" height=\"42\""), "{svg:.200}");
        assert!(svg.contains("prefers-color-scheme") && !svg.contains("<title>N"), "both themes, one drawing");
        assert_eq!(String::from_utf8(files[1].bytes.clone()).unwrap(), "Run,ms\r\n'=1&2,-1234.5\r\n");
        assert!(html.contains("<a href=\"a-b.svg\" download aria-label=\"SVG of: Speed &amp; more\">SVG</a>"));
        assert!(html.ends_with("</figure></main>") && html.len() > PAGE.len());
    }

    #[test]
    fn a_figure_without_a_drawing_or_a_plain_id_stays_as_it_is() {
        for page in [
            "<figure id=\"a-figure\"><table><tr><th>x</th></tr></table></figure>",
            "<figure id=\"a/../b-figure\"><svg ></svg></figure>",
            "<p>",
        ] {
            let (html, files) = figures("index.html", page);
            assert_eq!((html.as_str(), files.len()), (page, 0));
        }
    }
}
