//! A checker for finished sites that needs no browser: links, anchors, ids, headings, tables, drawings, policy.
//!
//! In:  every file of a site by path.  Out: faults as sentences, none when the site is sound.
//! Strict on purpose: it reads the markup this program writes, where every element is closed and every attribute quoted.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

/// Elements that have no end tag.
const VOID: &[&str] = &["meta", "link", "br", "hr", "img", "input", "source", "wbr"];

/// Attributes by which an element makes a browser fetch something.
const FETCHING: &[&str] = &["src", "srcset", "poster", "data", "xlink:href", "background"];

/// Files that servers and search engines look for by name, without a link.
const FOUND: &[&str] = &["404.html", "sitemap.xml"];

struct Tag<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
    closing: bool,
    selfclosing: bool,
    /// What stands between this tag and the next.
    text: &'a str,
}

impl Tag<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }
}

/// Looks at every page of a site.
pub fn faults(files: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut pages = BTreeMap::new();
    for (path, bytes) in files.iter().filter(|(path, _)| path.ends_with(".html")) {
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                pages.insert(path.as_str(), tags(text, path, &mut faults));
            }
            Err(_) => faults.push(format!("{path}: not UTF-8")),
        }
    }
    let ids: BTreeMap<&str, BTreeSet<&str>> =
        pages.iter().map(|(path, tags)| (*path, tags.iter().filter_map(|t| t.get("id")).collect())).collect();
    let mut titles: BTreeMap<&str, &str> = BTreeMap::new();
    let mut reached = BTreeSet::from(["index.html".to_owned()]);
    let mut links: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, tags) in &pages {
        let mut fault = |text: String| faults.push(format!("{path}: {text}"));
        structure(tags, &mut fault);
        policy(path, tags, files, &mut fault);
        tables(tags, &mut fault);
        drawings(tags, &mut fault);
        if let Some(title) = tags.iter().find(|t| t.name == "title" && !t.closing).map(|t| t.text.trim()) {
            if title.is_empty() {
                fault("an empty title".into());
            }
            if let Some(other) = titles.insert(title, path) {
                fault(format!("shares its title with {other}"));
            }
        }
        // Whoever shows a link asks for its picture by its whole address.
        for picture in tags.iter().filter(|t| t.get("property") == Some("og:image")).filter_map(|t| t.get("content")) {
            match files.keys().find(|file| picture.ends_with(&format!("/{file}"))) {
                Some(file) => links.entry(path).or_default().push(file.clone()),
                None => fault(format!("the picture '{picture}' is not there")),
            }
        }
        let loaded = tags.iter().filter_map(|t| match t.name {
            "script" => t.get("src"),
            "link" if t.get("rel") == Some("stylesheet") => t.get("href"),
            _ => None,
        });
        links.entry(path).or_default().extend(loaded.filter_map(|file| resolve(path, file)));
        for href in tags.iter().filter(|t| t.name == "a").filter_map(|t| t.get("href")) {
            if href.starts_with("https://") || href.starts_with("http://") || href.starts_with("mailto:") {
                continue;
            }
            let (file, fragment) = href.split_once('#').map_or((href, None), |(file, fragment)| (file, Some(fragment)));
            let Some(target) = (if file.is_empty() { Some((*path).to_owned()) } else { resolve(path, file) }) else {
                fault(format!("link '{href}' is not relative or leaves the site"));
                continue;
            };
            if !files.contains_key(&target) {
                fault(format!("link '{href}' leads nowhere"));
            } else if let Some(fragment) = fragment
                && !ids.get(target.as_str()).is_some_and(|ids| ids.contains(fragment))
            {
                fault(format!("link '{href}' has no anchor there"));
            }
            links.entry(path).or_default().push(target);
        }
    }
    let mut queue = vec!["index.html".to_owned()];
    while let Some(page) = queue.pop() {
        for target in links.get(page.as_str()).into_iter().flatten() {
            if reached.insert(target.clone()) {
                queue.push(target.clone());
            }
        }
    }
    faults.extend(
        files
            .keys()
            .filter(|path| !reached.contains(*path) && !FOUND.contains(&path.as_str()))
            .map(|path| format!("{path}: no link leads here")),
    );
    faults
}

fn structure(tags: &[Tag<'_>], fault: &mut impl FnMut(String)) {
    let mut seen = BTreeSet::new();
    for id in tags.iter().filter_map(|t| t.get("id")) {
        if !seen.insert(id) {
            fault(format!("id '{id}' twice"));
        }
    }
    for tag in tags {
        for key in ["aria-labelledby", "aria-describedby", "for"] {
            for id in tag.get(key).into_iter().flat_map(str::split_whitespace).filter(|id| !seen.contains(id)) {
                fault(format!("{key} names '{id}', which is not there"));
            }
        }
    }
    let mut regions = BTreeSet::new();
    for label in tags.iter().filter(|t| t.get("role") == Some("region")).filter_map(|t| t.get("aria-label")) {
        if !regions.insert(label) {
            fault(format!("two regions are called '{label}'"));
        }
    }
    let levels: Vec<u8> = tags
        .iter()
        .filter(|t| !t.closing && t.name.len() == 2 && t.name.starts_with('h') && t.name.as_bytes()[1].is_ascii_digit())
        .map(|t| t.name.as_bytes()[1] - b'0')
        .collect();
    if levels.iter().filter(|level| **level == 1).count() != 1 || levels.first() != Some(&1) {
        fault("needs one h1, before every other heading".into());
    }
    if let Some(pair) = levels.windows(2).find(|pair| pair[1] > pair[0] + 1) {
        fault(format!("a heading h{} follows an h{}", pair[1], pair[0]));
    }
    if !tags.iter().any(|t| t.name == "html" && t.get("lang").is_some_and(|lang| !lang.is_empty())) {
        fault("says no language".into());
    }
    for name in ["main", "header", "footer"] {
        if tags.iter().filter(|t| t.name == name && !t.closing).count() != 1 {
            fault(format!("needs one {name}"));
        }
    }
}

/// Policy of a page that loads the style sheet and the script of the site from files.
const SHARED: &str = "default-src 'none'; style-src 'self' file:; script-src 'self' file:; img-src data:; base-uri 'none'; form-action 'none'";

fn policy(page: &str, tags: &[Tag<'_>], files: &BTreeMap<String, Vec<u8>>, fault: &mut impl FnMut(String)) {
    let head = tags.iter().position(|t| t.name == "head" && !t.closing);
    let first = head.and_then(|k| tags.get(k + 1));
    let policy =
        first.filter(|t| t.get("http-equiv") == Some("Content-Security-Policy")).and_then(|t| t.get("content"));
    let Some(policy) = policy else {
        fault("the policy is not the first thing in its head".into());
        return;
    };
    let policy = policy.replace("&#39;", "'").replace("&#x27;", "'").replace("&apos;", "'");
    let hashed = |text: &str| format!("'sha256-{}'", base64(&Sha256::digest(text.as_bytes())));
    let alone = |style: &str, script: &str| {
        let (style, script) = (hashed(style), hashed(script));
        SHARED.replacen("'self' file:", &style, 1).replacen("'self' file:", &script, 1)
    };
    let (mut styles, mut scripts) = (Vec::new(), Vec::new());
    let (mut in_page, mut beside) = (Vec::new(), Vec::new());
    let body = tags.iter().position(|t| t.name == "body" && !t.closing).unwrap_or(tags.len());
    for (k, tag) in tags.iter().enumerate().filter(|(_, t)| !t.closing) {
        match (tag.name, tag.attributes.as_slice()) {
            ("style", []) => styles.push(tag.text),
            ("link", [("rel", "stylesheet"), ("href", file)]) => beside.push(*file),
            // A block of data, which nothing runs.
            ("script", [("type", "application/ld+json")]) => in_page.push(tag.text),
            ("script", []) if k < body => scripts.push(tag.text),
            ("script", [("src", file)]) if k < body => beside.push(*file),
            ("script" | "style", _) => fault(format!("has a {} that is not the site's own", tag.name)),
            _ => {}
        }
    }
    for text in in_page {
        let json = serde_json::from_str::<serde_json::Value>(text);
        if text.contains(['<', '>', '&']) || json.is_err() {
            fault("has a block of data that is no JSON or could end its element".into());
        }
    }
    for file in &beside {
        if !resolve(page, file).is_some_and(|file| files.contains_key(&file)) {
            fault(format!("loads '{file}', which is no file of the site"));
        }
    }
    let right = match (styles.as_slice(), scripts.as_slice(), beside.len()) {
        ([], [], 2) => policy == SHARED,
        ([style], [script], 0) => policy == alone(style, script),
        _ => false,
    };
    if !right {
        fault("has a style sheet or a script that its policy does not name, or a policy that names more".into());
    }
    for tag in tags {
        for (key, value) in &tag.attributes {
            if *key == "style" || key.starts_with("on") {
                fault(format!("attribute {key} on {}, which the policy forbids", tag.name));
            }
            // Links of these kinds say where something lies, or which part of the page to wait for. No browser asks for it.
            let told =
                tag.attributes.iter().any(|(k, v)| *k == "rel" && ["alternate", "canonical", "expect"].contains(v));
            let shared = tag.name == "script" || tag.get("rel") == Some("stylesheet");
            let fetches = FETCHING.contains(key) || (tag.name == "link" && *key == "href" && !told);
            if fetches && !shared && !value.starts_with("data:") {
                fault(format!("{} fetches '{value}'", tag.name));
            }
        }
        if tag.name == "use" || tag.name == "image" || tag.name == "iframe" || tag.name == "base" {
            fault(format!("has an element {}", tag.name));
        }
    }
}

fn tables(tags: &[Tag<'_>], fault: &mut impl FnMut(String)) {
    for (k, _) in tags.iter().enumerate().filter(|(_, t)| t.name == "table" && !t.closing) {
        match tags.get(k + 1) {
            Some(next) if next.name == "caption" && !next.text.trim().is_empty() => {}
            _ => fault("a table without a caption".into()),
        }
        let end = tags[k..].iter().position(|t| t.name == "table" && t.closing).map_or(tags.len(), |n| k + n);
        if tags[k..end].iter().any(|t| t.name == "th" && !t.closing && t.get("scope").is_none()) {
            fault("a table heading without a scope".into());
        }
    }
}

fn drawings(tags: &[Tag<'_>], fault: &mut impl FnMut(String)) {
    for (k, svg) in tags.iter().enumerate().filter(|(_, t)| t.name == "svg" && !t.closing) {
        let end = tags[k..].iter().position(|t| t.name == "svg" && t.closing).map_or(tags.len(), |n| k + n);
        for part in ["title", "desc"] {
            let told = tags[k..end].iter().any(|t| t.name == part && !t.closing && !t.text.trim().is_empty());
            if !told && svg.get("aria-hidden") != Some("true") {
                fault(format!("a drawing without {part}"));
            }
        }
        for size in ["viewBox", "width", "height"] {
            if svg.get(size).is_none() {
                fault(format!("a drawing without {size}: the page would move when it arrives"));
            }
        }
    }
}

/// The file a relative link means. `None` when it is absolute or leaves the site.
fn resolve(from: &str, href: &str) -> Option<String> {
    if href.starts_with('/') || href.contains(':') || href.contains('\\') {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in href.split('/') {
        match part {
            ".." => {
                parts.pop()?;
            }
            "." | "" => {}
            other => parts.push(other),
        }
    }
    Some(parts.join("/"))
}

fn tags<'a>(html: &'a str, path: &str, faults: &mut Vec<String>) -> Vec<Tag<'a>> {
    let mut tags: Vec<Tag<'a>> = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        if let Some(tail) = rest.strip_prefix("!--") {
            rest = tail.split_once("-->").map_or("", |(_, tail)| tail);
            continue;
        }
        let Some((inside, tail)) = split_tag(rest) else {
            faults.push(format!("{path}: a tag that never ends"));
            break;
        };
        rest = tail;
        if inside.starts_with('!') {
            continue;
        }
        let closing = inside.starts_with('/');
        let selfclosing = inside.ends_with('/');
        let inside = inside.trim_start_matches('/').trim_end_matches('/');
        let name = inside.split(char::is_whitespace).next().unwrap_or("");
        // The content of these is no markup.
        let text = if !closing && (name == "style" || name == "script") {
            rest.find("</").map_or(rest, |end| &rest[..end])
        } else {
            rest.find('<').map_or(rest, |end| &rest[..end])
        };
        if !closing && (name == "style" || name == "script") {
            rest = &rest[text.len()..];
        }
        if closing {
            if open.pop() != Some(name) {
                faults.push(format!("{path}: </{name}> closes what was not opened last"));
            }
        } else if !selfclosing && !VOID.contains(&name) {
            open.push(name);
        }
        tags.push(Tag { name, attributes: attributes(&inside[name.len()..]), closing, selfclosing, text });
    }
    if !open.is_empty() {
        faults.push(format!("{path}: never closed: {}", open.join(", ")));
    }
    debug_assert!(tags.iter().all(|t| !(t.closing && t.selfclosing)));
    tags
}

/// Up to the `>` that ends the tag, which is none within quotes.
fn split_tag(text: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    for (k, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '>' if !quoted => return Some((&text[..k], &text[k + 1..])),
            _ => {}
        }
    }
    None
}

fn attributes(text: &str) -> Vec<(&str, &str)> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let key = &rest[..end];
        rest = &rest[end..];
        if let Some(tail) = rest.strip_prefix("=\"") {
            let (value, tail) = tail.split_once('"').unwrap_or((tail, ""));
            out.push((key, value));
            rest = tail;
        } else {
            out.push((key, ""));
            rest = rest.strip_prefix('=').unwrap_or(rest);
        }
        rest = rest.trim_start();
    }
    out
}

fn base64(bytes: &[u8]) -> String {
    let letters: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let bits: Vec<u8> = bytes.iter().flat_map(|b| (0..8).rev().map(move |k| (b >> k) & 1)).collect();
    let mut out: String = bits
        .chunks(6)
        .map(|six| letters[six.iter().chain([0; 6].iter().take(6 - six.len())).fold(0, |n, b| n * 2 + usize::from(*b))])
        .collect();
    while !out.len().is_multiple_of(4) {
        out.push('=');
    }
    out
}
