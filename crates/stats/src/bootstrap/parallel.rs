//! Spreads resamples over threads.
//!
//! In:  an output slot per resample and a function that fills consecutive slots.
//! Out: the filled slots, the same for any number of threads.
//! Not here: random numbers. A resample finds its own stream by its number.

use crate::random::lanes::LANES;
use rayon::prelude::*;

/// Below this many draws in all, starting threads costs more than it saves (a draw takes about 0.4 ns).
const WORTH_THREADS: usize = 1_000_000;

/// Segments per thread when all threads may be used, so that a slow core does not hold up the rest.
const STRETCHES_PER_THREAD: usize = 4;

/// `resamples` slots, filled by `fill(first, slots)` on `threads` threads at most (0 for all).
/// `draws_each` is the cost of a slot in draws and only decides whether threads are worth it.
pub(crate) fn resample<T, F>(resamples: usize, draws_each: usize, threads: usize, fill: F) -> Vec<T>
where
    T: Copy + Default + Send,
    F: Fn(usize, &mut [T]) + Sync,
{
    let mut slots = vec![T::default(); resamples];
    let worth_it = threads != 1 && resamples.saturating_mul(draws_each) >= WORTH_THREADS;
    let stretches = match threads {
        _ if !worth_it => 1,
        0 => match rayon::current_num_threads() {
            1 => 1,
            all => all * STRETCHES_PER_THREAD,
        },
        // One segment for each thread: at most that many run at once, without a separate pool.
        some => some,
    };
    if stretches == 1 {
        fill(0, &mut slots);
        return slots;
    }
    let length = resamples.div_ceil(stretches).next_multiple_of(LANES);
    slots.par_chunks_mut(length).enumerate().for_each(|(i, stretch)| fill(i * length, stretch));
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_is_filled_once_by_its_own_number() {
        for threads in [0, 1, 2, 3, 7] {
            let slots: Vec<usize> = resample(1_001, 10_000, threads, |first, slots| {
                slots.iter_mut().enumerate().for_each(|(i, slot)| *slot += first + i + 1);
            });
            assert!(slots.iter().enumerate().all(|(i, &slot)| slot == i + 1), "{threads} threads");
        }
    }
}
