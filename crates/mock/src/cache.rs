//! A prefix cache as vLLM counts it: whole blocks of tokens, each known by everything before it.
//!
//! In:  the tokens of a prompt, as hashes.  Out: how many of them were known.
//! Not here: what a hit saves (see `server`).
//!
//! The last token of a prompt is never taken from the cache, since its output is wanted. So a repeated prompt of exactly two blocks hits one
//! block.

use std::collections::HashSet;

/// Blocks by the hash of all tokens up to their end.
#[derive(Debug)]
pub(crate) struct Cache {
    block: usize,
    capacity: usize,
    /// The younger half and the older half. When the younger is full, the older is forgotten.
    young: HashSet<u64>,
    old: HashSet<u64>,
}

/// Hash of a token.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    // FNV-1a: short words, no adversary.
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

impl Cache {
    /// Size of a block in tokens (0 caches nothing), and number of blocks.
    pub(crate) fn new(block_tokens: u32, capacity: usize) -> Self {
        Self { block: block_tokens as usize, capacity, young: HashSet::new(), old: HashSet::new() }
    }

    /// Whether anything is ever known.
    pub(crate) const fn is_off(&self) -> bool {
        self.block == 0 || self.capacity == 0
    }

    /// Tokens of the prompt's head that were known. From now on all its whole blocks are.
    pub(crate) fn take(&mut self, tokens: &[u64]) -> u32 {
        if self.is_off() {
            return 0;
        }
        let mut chain: u64 = 0x9e37_79b9_7f4a_7c15;
        let (mut hits, mut all_known) = (0, true);
        for block in tokens.chunks_exact(self.block) {
            for token in block {
                chain = (chain.rotate_left(5) ^ token).wrapping_mul(0x517c_c1b7_2722_0a95);
            }
            all_known &= self.known(chain);
            hits += usize::from(all_known);
        }
        let usable = tokens.len().saturating_sub(1) / self.block;
        u32::try_from(hits.min(usable) * self.block).unwrap_or(u32::MAX)
    }

    /// Whether a block was known. It is now.
    fn known(&mut self, block: u64) -> bool {
        if self.young.contains(&block) {
            return true;
        }
        let known = self.old.contains(&block);
        if self.young.len() >= self.capacity.div_ceil(2) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(block);
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(words: std::ops::Range<u32>) -> Vec<u64> {
        words.map(|word| hash(&word.to_le_bytes())).collect()
    }

    #[test]
    fn whole_blocks_of_a_prompt_seen_before_are_hits_but_never_its_last_token() {
        let mut cache = Cache::new(4, 100);
        assert_eq!(cache.take(&prompt(0..10)), 0);
        assert_eq!(cache.take(&prompt(0..10)), 8);
        assert_eq!(cache.take(&prompt(0..8)), 4, "two whole blocks, of which the last holds the last token");
        assert_eq!(cache.take(&prompt(1..11)), 0, "shifted by one token, no block is the same");
    }

    #[test]
    fn a_full_cache_forgets_and_an_absent_one_knows_nothing() {
        let mut cache = Cache::new(1, 4);
        cache.take(&prompt(0..2));
        cache.take(&prompt(10..20));
        assert_eq!(cache.take(&prompt(0..2)), 0);
        let mut off = Cache::new(0, 4);
        assert!(off.is_off());
        assert_eq!(off.take(&prompt(0..2)) + off.take(&prompt(0..2)), 0);
    }
}
