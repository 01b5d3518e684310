//! What the program recommends: texts of hints, remedies and help in its sources, and the commands and options they name.
//!
//! In:  a source file.  Out: texts; names of verbs and options in them.
//! Not here: whether they exist (see `shell.rs`).

/// Calls and fields whose texts are advice.
const ADVICE: [&str; 10] = [
    ".hint(",
    "remedy:",
    "refused(",
    "warned(",
    ".fault(",
    ".fault_at(",
    ".add(",
    "wrong.push(",
    "after_help = ",
    "talk.say(",
];

/// Code alone: neither tests nor comments.
fn code(source: &str) -> String {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// String literals of a piece of code, unescaped as far as it matters here.
fn literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut letters = code.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\'' {
            // A quote as a character is no beginning of a text.
            let ahead: String = letters.clone().take(3).collect();
            if ahead.starts_with("\"'") {
                letters.nth(1);
            } else if ahead.starts_with("\\\"'") {
                letters.nth(2);
            }
        }
        if letter != '"' {
            continue;
        }
        let mut text = String::new();
        while let Some(letter) = letters.next() {
            match letter {
                '"' => break,
                '\\' => match letters.next() {
                    Some('n') => text.push('\n'),
                    Some('\n') => while letters.next_if(|next| next.is_whitespace()).is_some() {},
                    Some(other) => text.push(other),
                    None => break,
                },
                other => text.push(other),
            }
        }
        found.push(text);
    }
    found
}

/// The argument or value that begins here: to the bracket that closes it, or to the comma or semicolon behind it.
fn value(rest: &str) -> &str {
    let (mut depth, mut quoted, mut escaped) = (0_i32, false, false);
    for (at, letter) in rest.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return &rest[..at],
            ')' | ']' | '}' => depth -= 1,
            ';' if depth == 0 => return &rest[..at],
            _ => {}
        }
    }
    rest
}

/// Texts of a source file that tell people what to do.
pub fn texts(source: &str) -> Vec<String> {
    let code = code(source);
    let places = ADVICE.iter().flat_map(|call| code.match_indices(call).map(|(at, call)| at + call.len()));
    let mut texts: Vec<String> = places.flat_map(|at| literals(value(&code[at..]))).collect();
    // Named by what it does not say: a whole command stands for itself, wherever it is written.
    texts.extend(literals(&code).into_iter().filter(|text| text.contains("sparkbench ")));
    texts.sort();
    texts.dedup();
    texts
}

/// Long options that a text names.
pub fn options(text: &str) -> Vec<String> {
    let starts =
        text.match_indices("--").filter(|(at, _)| !text[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '-'));
    let names = starts.map(|(at, _)| {
        let rest = &text[at + 2..];
        rest.split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')).next().unwrap_or_default()
    });
    let real = names.filter(|name| name.len() > 1 && name.starts_with(|c: char| c.is_ascii_lowercase()));
    real.map(|name| name.trim_end_matches('-').to_owned()).collect()
}

/// Commands of this program that a text names: the word behind its name, and what follows on the same line.
pub fn commands(text: &str) -> Vec<(String, String)> {
    let lines =
        text.lines().flat_map(|line| line.match_indices("sparkbench ").map(move |(at, name)| &line[at + name.len()..]));
    lines
        .filter_map(|rest| {
            let verb = rest.split(|c: char| !(c.is_ascii_lowercase() || c == '-')).next()?;
            // A remark stands apart from the command of an example, and a sentence goes on behind a quote.
            let line = rest.split(['`', '\'', ';']).next()?.split("  ").next()?.split(" (").next()?;
            Some((verb.to_owned(), line.to_owned())).filter(|(verb, _)| !verb.is_empty())
        })
        .collect()
}
