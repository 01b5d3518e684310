//! Which rows of a file are kept: those that figures name with their surroundings, and the end.

use std::collections::{BTreeSet, VecDeque};

use super::{clean, values};
use sparkbench_model::{RawRow, RawText};

/// Named rows above which only the rows themselves are kept: together they show the surroundings of each.
const MANY: usize = 400;

/// Longest text of a row.
const ROW_BYTES: usize = 400;

/// Longest text of a row that a figure was read from.
const NAMED_BYTES: usize = 4_000;

/// Takes rows in their order and forgets most of them.
pub(super) struct Keep<'a> {
    named: &'a BTreeSet<u64>,
    around: u64,
    kept: Vec<RawRow>,
    last: VecDeque<RawRow>,
    total: u64,
}

impl<'a> Keep<'a> {
    pub(super) fn new(named: &'a BTreeSet<u64>) -> Self {
        let around = if named.len() > MANY { 0 } else { RawText::AROUND };
        Self { named, around, kept: Vec::new(), last: VecDeque::new(), total: 0 }
    }

    /// The next line of a file. `cut` when its end was skipped unread.
    pub(super) fn line(&mut self, number: u64, bytes: &[u8], cut: bool) {
        let most = if self.named.contains(&number) { NAMED_BYTES } else { ROW_BYTES };
        let (text, left) = clean::text(&values::without_texts(bytes), most);
        // The full length of an overlong line was not counted. It has at least one byte more.
        self.put(RawRow { number, text, cut: left + u64::from(cut), pointer: None });
    }

    /// The next row of a document that is written out.
    pub(super) fn take(&mut self, row: RawRow) {
        let most = if self.named.contains(&row.number) { NAMED_BYTES } else { ROW_BYTES };
        let (text, cut) = clean::text(row.text.as_bytes(), most);
        let cut = cut + row.cut;
        self.put(RawRow { text, cut, ..row });
    }

    fn put(&mut self, row: RawRow) {
        self.total = row.number;
        let near = row.number.saturating_sub(self.around)..=row.number.saturating_add(self.around);
        if self.named.range(near).next().is_some() {
            self.kept.push(row);
        } else {
            if self.last.len() == RawText::TAIL {
                self.last.pop_front();
            }
            self.last.push_back(row);
        }
    }

    /// Number of all rows, and those that are kept, in their order.
    pub(super) fn finish(mut self) -> (u64, Vec<RawRow>) {
        self.kept.extend(self.last);
        self.kept.sort_by_key(|row| row.number);
        (self.total, self.kept)
    }
}
