//! Eight streams side by side, and the widest vector instructions that the machine has.
//!
//! In:  the base of a job and the number of the first of eight consecutive resamples.
//! Out: for each step one `u64` of each of the eight streams, the bits of [`Stream`](super::Stream).
//! Not here: what the draws are used for.
//!
//! One xoshiro256++ is a chain of dependent operations. Eight of them fill the vector units. The lanes are
//! plain arrays that the compiler vectorises, but for AVX2, where it does not (`avx2`). The results are the same on
//! every machine: lanes never meet in an addition, and floating-point contraction is off in Rust.

use super::{GAMMA, mix, stream_start};

/// Streams advanced together: one AVX-512 register, two of AVX2, four of NEON or SSE2.
pub(crate) const LANES: usize = 8;

/// Words of each stream that [`Lanes::fill`] writes at most: 16 KiB in all, well inside the nearest cache.
pub(crate) const BLOCK: usize = 512;

/// Steps that are generated together before they are sorted into rows.
const TILE: usize = 8;

/// A segment of words of every stream.
pub(crate) type Rows = [[u32; BLOCK]; LANES];

/// The generators of [`LANES`] consecutive resamples.
#[derive(Clone)]
pub(crate) struct Lanes {
    s: [[u64; LANES]; 4],
}

impl Lanes {
    /// The streams of resamples `first`, `first + 1`, ... of the job that starts at `base`.
    #[inline(always)]
    pub(crate) fn new(base: u64, first: u64) -> Lanes {
        let mut s = [[0; LANES]; 4];
        for lane in 0..LANES {
            let start = stream_start(base, first.wrapping_add(lane as u64));
            for (i, word) in s.iter_mut().enumerate() {
                word[lane] = mix(start.wrapping_add(GAMMA.wrapping_mul(i as u64 + 1)));
            }
        }
        Lanes { s }
    }

    /// The next `u64` of every stream.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> [u64; LANES] {
        let [s0, s1, s2, s3] = &mut self.s;
        let mut out = [0; LANES];
        for l in 0..LANES {
            out[l] = s0[l].wrapping_add(s3[l]).rotate_left(23).wrapping_add(s0[l]);
            let shifted = s1[l] << 17;
            s2[l] ^= s0[l];
            s3[l] ^= s1[l];
            s1[l] ^= s2[l];
            s0[l] ^= s3[l];
            s2[l] ^= shifted;
            s3[l] = s3[l].rotate_left(45);
        }
        out
    }

    /// Fills `steps` with the next `u64`s of every stream.
    ///
    /// A loop that only generates and stores is one the compiler turns into vector instructions. Mixed with
    /// look-ups it stays scalar, at twice the cost. So draws go through a buffer in the nearest cache.
    #[inline(always)]
    pub(crate) fn fill_steps(&mut self, steps: &mut [[u64; LANES]]) {
        #[cfg(target_arch = "x86_64")]
        if has_avx2() && !has_avx512() {
            // SAFETY: the features that it is compiled for were detected on the line above.
            unsafe { super::avx2::fill_steps(&mut self.s, steps) };
            return;
        }
        for step in steps {
            *step = self.next();
        }
    }

    /// The next `words` words of every stream, at most [`BLOCK`]. Generates whole tiles: what is asked for beyond
    /// a multiple of 16 words must be the end of what a stream is asked for.
    #[inline(always)]
    pub(crate) fn fill(&mut self, rows: &mut Rows, words: usize) {
        let mut steps = [[0; LANES]; TILE];
        for first in (0..words.min(BLOCK)).step_by(2 * TILE) {
            self.fill_steps(&mut steps);
            for (lane, row) in rows.iter_mut().enumerate() {
                for (pair, step) in row[first..first + 2 * TILE].chunks_exact_mut(2).zip(&steps) {
                    pair[0] = step[lane] as u32;
                    pair[1] = (step[lane] >> 32) as u32;
                }
            }
        }
    }
}

/// A loop worth compiling for several instruction sets. `run` must be `#[inline(always)]`.
pub(crate) trait Kernel {
    /// Result of the loop.
    type Out;
    /// The loop.
    fn run(self) -> Self::Out;
}

/// Runs `kernel` in the variant for the widest vectors of this machine. Every variant is the same Rust code
/// and gives the same bits.
pub(crate) fn widest<K: Kernel>(kernel: K) -> K::Out {
    #[cfg(target_arch = "x86_64")]
    {
        if has_avx512() {
            // SAFETY: the features that `with_avx512` is compiled for were detected on the line above.
            return unsafe { with_avx512(kernel) };
        }
        if has_avx2() {
            // SAFETY: the features that `with_avx2` is compiled for were detected on the line above.
            return unsafe { with_avx2(kernel) };
        }
    }
    kernel.run()
}

/// AVX2 and what came with it: without them counting and finding the bits of a mask are a dozen instructions each.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512dq,avx512vl")]
fn with_avx512<K: Kernel>(kernel: K) -> K::Out {
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn with_avx2<K: Kernel>(kernel: K) -> K::Out {
    kernel.run()
}

#[cfg(test)]
mod tests {
    use super::super::{Stream, job_base};
    use super::*;

    struct Draw(u64, u64, usize);
    impl Kernel for Draw {
        type Out = Vec<[u64; LANES]>;
        #[inline(always)]
        fn run(self) -> Self::Out {
            let mut lanes = Lanes::new(self.0, self.1);
            (0..self.2).map(|_| lanes.next()).collect()
        }
    }

    #[test]
    fn every_lane_is_the_stream_of_its_resample_on_every_instruction_set() {
        let base = job_base(42, "m|ttft_ms|native|mean");
        #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "one vector width, one variant"))]
        let mut sets = vec![("widest", widest(Draw(base, 16, 100))), ("plain", Draw(base, 16, 100).run())];
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            // SAFETY: detected on the line above.
            sets.push(("avx2", unsafe { with_avx2(Draw(base, 16, 100)) }));
        }
        for (name, rows) in sets {
            for lane in 0..LANES {
                let mut stream = Stream::new(base, 16 + lane as u64);
                assert!(rows.iter().all(|row| row[lane] == stream.next_u64()), "{name}, lane {lane}");
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn steps_by_named_instructions_are_those_of_the_plain_loop() {
        if !has_avx2() {
            eprintln!("skipped: this machine has no AVX2");
            return;
        }
        for count in [0, 1, 7, 100] {
            let (mut lanes, mut plain) = (Lanes::new(5, 8), Lanes::new(5, 8));
            let mut steps = vec![[0; LANES]; count];
            // SAFETY: detected above.
            unsafe { super::super::avx2::fill_steps(&mut lanes.s, &mut steps) };
            assert!(steps.iter().all(|step| *step == plain.next()), "{count} steps");
            assert_eq!(lanes.s, plain.s, "the state after {count} steps");
        }
    }

    #[test]
    fn rows_hold_the_words_of_each_stream_in_order() {
        let mut lanes = Lanes::new(5, 8);
        let mut rows: Rows = [[0; BLOCK]; LANES];
        let mut streams: Vec<Stream> = (0..LANES as u64).map(|lane| Stream::new(5, 8 + lane)).collect();
        for words in [BLOCK, 16, 1] {
            lanes.fill(&mut rows, words);
            for (row, stream) in rows.iter().zip(&mut streams) {
                assert!(row[..words].iter().all(|&word| word == stream.next_word()), "{words} words");
            }
        }
    }
}
