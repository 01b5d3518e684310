//! The error shape: what happened, where, what to do, and the cause.
//!
//! In:  facts known at the place of failure.
//! Out: [`Error`], printed by `main`, whose [`Kind`] alone decides the exit code.
//! Not here: printing, and any decision to go on or stop.

use std::fmt;
use std::sync::Arc;

/// What kind of failure this is. The exit code follows from it and from nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The command line, or a file that belongs to it, does not make sense.
    Usage,
    /// An archive or an input could not be read, or an output could not be written.
    Archive,
    /// The environment refuses: a gate of the pre-flight said no.
    Preflight,
    /// A workload failed.
    Workload,
}

impl Kind {
    /// The exit code scripts rely on.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Usage => 2,
            Self::Preflight => 3,
            Self::Workload => 4,
            Self::Archive => 5,
        }
    }
}

/// Where something went wrong, as precisely as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A line of a text file, counted from 1.
    Line(u64),
    /// A field, as a JSON pointer, a column or a key.
    Field(String),
    /// A field on a line.
    LineField(u64, String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Field(field) => write!(f, "field '{field}'"),
            Self::LineField(line, field) => write!(f, "line {line}, field '{field}'"),
        }
    }
}

/// Everything a person needs to go on.
#[derive(Debug, Clone)]
pub struct Error {
    /// Decides the exit code.
    pub kind: Kind,
    /// A lower-case fragment that fits after "error: ".
    pub what: String,
    /// File position, field or run.
    pub place: Option<Place>,
    /// What was expected and what was found at the place.
    pub detail: Option<String>,
    /// An action, written where the knowledge is.
    pub hint: Option<String>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error with its sentence. The rest is added by the builder methods.
    pub fn new(kind: Kind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), place: None, detail: None, hint: None, source: None }
    }

    /// Shorthand for an input or output that could not be read or written.
    pub fn archive(what: impl Into<String>) -> Self {
        Self::new(Kind::Archive, what)
    }

    /// Shorthand for a command line that does not make sense.
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(Kind::Usage, what)
    }

    /// Says where.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Says what was expected and what was found.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Says what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// All of it as part of a sentence, on one line.
    pub fn in_a_line(&self) -> String {
        self.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// What went wrong and why, on one line. The remedy is separate.
    pub fn in_short(&self) -> String {
        let detail = self.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
        let cause = self.source.as_ref().map(|cause| format!(" ({cause})")).unwrap_or_default();
        format!("{}{detail}{cause}", self.what).replace('\n', " ")
    }

    /// The same error in other words: each text of it, that of its cause too, becomes what `words` makes of it.
    #[must_use]
    pub fn reworded(self, words: &dyn Fn(&str) -> String) -> Self {
        let place = self.place.map(|place| match place {
            Place::Field(field) => Place::Field(words(&field)),
            Place::LineField(line, field) => Place::LineField(line, words(&field)),
            Place::Line(line) => Place::Line(line),
        });
        // A cause that says the same stays what it is, for those who ask for its kind.
        let source = self.source.map(|cause| {
            let said = cause.to_string();
            let new = words(&said);
            if new == said { cause } else { Arc::new(Cause(new)) as Arc<dyn std::error::Error + Send + Sync> }
        });
        let (detail, hint) = (self.detail.map(|text| words(&text)), self.hint.map(|text| words(&text)));
        Self { kind: self.kind, what: words(&self.what), place, detail, hint, source }
    }

    /// Keeps the cause.
    #[must_use]
    pub fn because(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        match (&self.place, &self.detail) {
            (Some(place), Some(detail)) => write!(f, "\n  where: {place}: {detail}")?,
            (Some(place), None) => write!(f, "\n  where: {place}")?,
            (None, Some(detail)) => write!(f, "\n  where: {detail}")?,
            (None, None) => {}
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  try:   {hint}")?;
        }
        if let Some(source) = &self.source {
            write!(f, "\n  cause: {source}")?;
        }
        Ok(())
    }
}

/// A cause of which the words alone are left.
#[derive(Debug)]
struct Cause(String);

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Cause {}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|cause| cause as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_where_and_what_to_do() {
        let error = Error::archive("cannot read 'run.json' as a run")
            .at(Place::Field("exit_code".into()))
            .detail("expected a number, found \"n/a\"")
            .hint("open the file: the benchmark may have stopped early");
        assert_eq!(
            error.to_string(),
            "cannot read 'run.json' as a run\n  where: field 'exit_code': expected a number, found \"n/a\"\n  \
             try:   open the file: the benchmark may have stopped early"
        );
        assert_eq!(error.kind.exit_code(), 5);
    }

    #[test]
    fn in_other_words_an_error_keeps_its_kind_and_loses_the_old_words_in_its_cause_too() {
        let error = Error::usage("no door").at(Place::Field("door".into())).detail("door 1").hint("open the door");
        let error =
            error.because(std::io::Error::other("the door is shut")).reworded(&|text| text.replace("door", "gate"));
        assert_eq!(error.kind, Kind::Usage);
        assert_eq!(
            error.to_string(),
            "no gate\n  where: field 'gate': gate 1\n  try:   open the gate\n  cause: the gate is shut"
        );
    }

    #[test]
    fn on_one_line_an_error_tells_all_and_in_short_what_and_why() {
        let error = Error::archive("cannot read 'a'").detail("two\nlines").hint("look").because(fmt::Error);
        assert_eq!(
            error.in_a_line(),
            "cannot read 'a' where: two lines try: look cause: an error occurred when formatting an argument"
        );
        assert_eq!(error.in_short(), "cannot read 'a' (two lines) (an error occurred when formatting an argument)");
    }
}
