//! Which rows of a file are kept: those that figures name with their surroundings, the beginning, and the end.

use std::collections::{BTreeSet, VecDeque};

use super::{clean, values};
use sparkbench_model::RawRow;

/// Rows shown before and after one that a figure was read from.
const AROUND: u64 = 8;

/// Named rows above which only the rows themselves are kept: together they show the surroundings of each.
const MANY: usize = 400;

/// Longest text of a row.
const ROW_BYTES: usize = 1_200;

/// Longest text of a row that a figure was read from.
const NAMED_BYTES: usize = 8_000;

/// Bytes that a row takes beside its text, in memory and on a page.
const BESIDE: usize = 80;

/// Takes rows in their order and forgets most of them.
pub(super) struct Keep<'a> {
    named: &'a BTreeSet<u64>,
    around: u64,
    head: usize,
    tail: usize,
    kept: Vec<RawRow>,
    last: VecDeque<RawRow>,
    last_bytes: usize,
    total: u64,
}

impl<'a> Keep<'a> {
    /// Keeps `room` bytes beside the named rows: half from the beginning, half from the end.
    pub(super) fn new(named: &'a BTreeSet<u64>, room: usize) -> Self {
        let around = if named.len() > MANY { 0 } else { AROUND };
        Self {
            named,
            around,
            head: room / 2,
            tail: room - room / 2,
            kept: Vec::new(),
            last: VecDeque::new(),
            last_bytes: 0,
            total: 0,
        }
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
        let weight = row.text.len() + BESIDE;
        let near = row.number.saturating_sub(self.around)..=row.number.saturating_add(self.around);
        if self.named.range(near).next().is_some() {
            self.kept.push(row);
        } else if self.head >= weight {
            self.head -= weight;
            self.kept.push(row);
        } else {
            // What follows the first row without room is no longer the beginning.
            self.head = 0;
            self.last_bytes += weight;
            self.last.push_back(row);
            while self.last_bytes > self.tail {
                let Some(first) = self.last.pop_front() else { break };
                self.last_bytes -= first.text.len() + BESIDE;
            }
        }
    }

    /// Number of all rows, and those that are kept, in their order.
    pub(super) fn finish(mut self) -> (u64, Vec<RawRow>) {
        self.kept.extend(self.last);
        self.kept.sort_by_key(|row| row.number);
        (self.total, self.kept)
    }
}
