//! What must hold of every drawing, whatever it was made from, and the values and labels that try it.

use sparkbench::chart::Figure;

/// One SVG on a page must stay below this.
pub const MOST_BYTES: usize = 60_000;

/// Values that are drawn or left out, but never break a drawing.
pub const ODD: [&[f64]; 11] = [
    &[1.0],
    &[0.0],
    &[7.0, 7.0, 7.0, 7.0],
    &[f64::NAN, 1.0, 2.0],
    &[f64::INFINITY, f64::NEG_INFINITY],
    &[f64::MAX, f64::MIN, 1e300],
    &[1e99, -1e99],
    &[5e-324, 1e-300],
    &[1e15, 1e15 + 1.0],
    &[-3.0, -2.0, -1.0],
    &[0.3, 44.0, -250.0, 0.01],
];

/// Labels that must stay text.
pub fn hostile() -> Vec<String> {
    let short = [
        "<script>alert(1)</script>",
        "\"><svg onload=\"x",
        "]]>&amp;&#0;",
        "\u{0}\u{1b}[31m\u{202e}x",
        "日本語のラベル",
        "",
    ];
    short.into_iter().map(str::to_owned).chain(["an endless label ".repeat(400)]).collect()
}

/// Opening and closing tags match, and every attribute is quoted. Gives the names of the elements.
pub fn elements(svg: &str) -> Vec<String> {
    let mut open = Vec::new();
    let mut seen = Vec::new();
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if tag.starts_with('?') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "tags close in order");
            continue;
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes match in <{tag}>");
        let name = tag.split([' ', '/']).next().unwrap_or_default().to_owned();
        seen.push(name.clone());
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    seen
}

/// What must hold of every drawing.
pub fn sound(what: &str, figure: &Figure) {
    for svg in [&figure.svg, &figure.narrow] {
        elements(svg);
        assert!(svg.len() < MOST_BYTES, "{what}: {} bytes", svg.len());
        for word in ["<script", "NaN", "inf", "javascript:", "\u{0}", "\u{202e}", "onload=\"", "not finite"] {
            assert!(!svg.contains(word), "{what}: `{word}` in the drawing");
        }
    }
    for row in &figure.table.rows {
        assert_eq!(row.cells.len(), figure.table.columns.len(), "{what}");
        assert!(row.href.as_deref().is_none_or(|href| !href.contains("javascript")), "{what}");
    }
}
