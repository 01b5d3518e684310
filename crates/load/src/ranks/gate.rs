//! When a part of the load begins.
//!
//! In:  the ranks.  Out: [`Gates`], asked by whatever sends.
//! Not here: the decision (see `state`).

use std::sync::Arc;

use super::Ranks;
use super::state::level;
use crate::order::{Gate, Phase};
use sparkbench_host::net::Ns;

/// See the module.
pub(super) struct Gates(Arc<Ranks>);

impl Gates {
    pub(super) const fn new(ranks: Arc<Ranks>) -> Self {
        Self(ranks)
    }
}

impl Gate for Gates {
    fn pass(&mut self, phase: Phase) -> Option<Ns> {
        self.0.pass(level(phase))
    }
}
