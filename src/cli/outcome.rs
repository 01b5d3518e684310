//! How a verb ended, and the exit code that says so.
//!
//! In:  nothing.  Out: [`Outcome`].
//! Not here: exit codes of errors (see `text::error`).

/// How a verb ended, when it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything done.
    Done,
    /// A gate said no.
    #[cfg(feature = "analyse")]
    Refused,
    /// No verdict could be reached.
    #[cfg(feature = "analyse")]
    Undecided,
}

impl Outcome {
    /// Exit code of the program.
    pub(super) const fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            #[cfg(feature = "analyse")]
            Self::Refused => 1,
            #[cfg(feature = "analyse")]
            Self::Undecided => 6,
        }
    }
}
