//! Several starts of one server in one log.
//!
//! In:  the beginning of a start, and the sign of a start that came up.  Out: the last one that did, or else the last one.
//! Not here: what a start prints.
//!
//! A server that is killed and started again appends to its log. Figures of two starts must not be mixed: the second may have another pool.

/// The starts of one log. Only two are held.
#[derive(Debug, Default)]
pub(super) struct Boots<T> {
    now: T,
    /// Line where the present one began.
    began: u64,
    up: Option<(T, u64)>,
    started: u64,
    failed: u64,
}

impl<T: Default> Boots<T> {
    /// A start begins at this line.
    pub(super) fn start(&mut self, line: u64, is_up: impl Fn(&T) -> bool) {
        if self.started > 0 {
            let before = std::mem::take(&mut self.now);
            if is_up(&before) {
                self.up = Some((before, self.began));
            } else {
                self.failed += 1;
            }
        }
        self.started += 1;
        self.began = line;
    }

    /// The present one.
    pub(super) fn now(&mut self) -> &mut T {
        &mut self.now
    }

    /// True when it holds for any that is held.
    pub(super) fn any(&self, holds: impl Fn(&T) -> bool) -> bool {
        holds(&self.now) || self.up.as_ref().is_some_and(|(before, _)| holds(before))
    }

    /// The one to report, and what to say of the others.
    pub(super) fn finish(self, is_up: impl Fn(&T) -> bool) -> (T, Vec<String>) {
        let mut notes = Vec::new();
        let last_is_up = is_up(&self.now);
        if self.started > 1 {
            let down = self.failed + u64::from(!last_is_up);
            notes.push(format!(
                "the server started {} times in this log, {down} of them without coming up",
                self.started
            ));
        }
        match self.up {
            Some((before, line)) if !last_is_up => {
                notes.push(format!("its last start did not come up. The one that begins at line {line} is read"));
                (before, notes)
            }
            _ => {
                if self.started > 1 {
                    notes.push(format!("the start that begins at line {} is read", self.began));
                }
                (self.now, notes)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_start_that_came_up_is_the_one_that_is_read() {
        let up = |value: &u32| *value >= 10;
        let mut boots = Boots::<u32>::default();
        for (line, value) in [(1, 10), (5, 11), (9, 2)] {
            boots.start(line, up);
            *boots.now() = value;
        }
        let (value, notes) = boots.finish(up);
        assert_eq!(value, 11);
        assert!(notes[1].contains("begins at line 5"), "{notes:?}");
    }

    #[test]
    fn without_any_that_came_up_the_last_one_is_read() {
        let mut boots = Boots::<u32>::default();
        *boots.now() = 3;
        assert_eq!(boots.finish(|value| *value > 5), (3, vec![]));
    }
}
