//! Random numbers that give the same bits for any number of threads and on any machine.
//!
//! In:  a seed, the key of a job (`model|metric|arm|statistic`) and the number of a resample.
//! Out: one stream of 32-bit words per resample, and indices drawn from it.
//! Not here: the use of the draws (see `bootstrap`, `permutation`, `hierarchical`).
//!
//! A stream depends on (seed, key, resample) and on nothing else. So the order and the number of threads in which resamples are computed
//! cannot show in a result. `rand` guarantees no bits across its releases, which is why the forty lines of generator are our own. A test
//! holds them to `rand_xoshiro`.
//!
//! Source: Blackman and Vigna, ACM TOMS 47 (2021), xoshiro256++ 1.0. Steele, Lea and Flood (2014), SplitMix64.
//! Fowler, Noll and Vo, FNV-1a. Lemire, ACM TOMACS 29 (2019), for the index by multiplication.

#[cfg(target_arch = "x86_64")]
mod avx2;
pub(crate) mod lanes;

/// The golden-ratio increment of SplitMix64.
pub(crate) const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Up to this sample size an index costs half a `u64`: the bias stays below 2.5e-4 of 1/n.
pub const WORD_INDEX_MAX: usize = 1 << 20;

/// FNV-1a, 64 bits, of the UTF-8 bytes of `text`.
pub fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3))
}

/// The SplitMix64 finaliser.
#[inline(always)]
pub const fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Where the streams of one job start: mixes the seed with the key of the job.
pub fn job_base(seed: u64, key: &str) -> u64 {
    mix(seed ^ fnv1a(key))
}

/// The SplitMix64 state from which resample `b` fills its generator.
#[inline(always)]
pub(crate) const fn stream_start(base: u64, b: u64) -> u64 {
    mix(base.wrapping_add(b.wrapping_add(1).wrapping_mul(GAMMA)))
}

/// The stream of one resample: xoshiro256++, handed out in 32-bit words or whole.
#[derive(Debug, Clone)]
pub struct Stream {
    state: [u64; 4],
    /// The high half of the last `u64`, when only its low half has been used.
    pending: Option<u32>,
}

impl Stream {
    /// The stream of resample `b` of the job that starts at `base` (see [`job_base`]).
    pub fn new(base: u64, b: u64) -> Stream {
        let start = stream_start(base, b);
        let state = std::array::from_fn(|i| mix(start.wrapping_add(GAMMA.wrapping_mul(i as u64 + 1))));
        Stream { state, pending: None }
    }

    /// The next whole `u64`. A half word left over from [`Stream::next_word`] is dropped.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.pending = None;
        let [s0, s1, s2, s3] = &mut self.state;
        let out = s0.wrapping_add(*s3).rotate_left(23).wrapping_add(*s0);
        let shifted = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= shifted;
        *s3 = s3.rotate_left(45);
        out
    }

    /// The next 32-bit word: the low half of a `u64`, then its high half.
    #[inline]
    pub fn next_word(&mut self) -> u32 {
        if let Some(word) = self.pending.take() {
            return word;
        }
        let both = self.next_u64();
        self.pending = Some((both >> 32) as u32);
        both as u32
    }

    /// An index below `n`, uniform to within 2.5e-4 of 1/n. `n` is at least 1.
    #[inline]
    pub fn index(&mut self, n: usize) -> usize {
        if n <= WORD_INDEX_MAX { word_index(self.next_word(), n) } else { wide_index(self.next_u64(), n) }
    }

    /// A number strictly between 0 and 1, a multiple of 2^-54.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64)
    }
}

/// The index that a 32-bit word stands for among `n` values, `n` at most [`WORD_INDEX_MAX`].
#[inline(always)]
pub(crate) const fn word_index(word: u32, n: usize) -> usize {
    ((word as u64 * n as u64) >> 32) as usize
}

/// The index that a whole `u64` stands for among `n` values.
#[inline(always)]
pub(crate) const fn wide_index(whole: u64, n: usize) -> usize {
    ((whole as u128 * n as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    #[test]
    fn fnv_of_known_strings_is_the_published_one() {
        assert_eq!(fnv1a(""), 0xCBF2_9CE4_8422_2325);
        assert_eq!(fnv1a("a"), 0xAF63_DC4C_8601_EC8C);
        assert_eq!(fnv1a("foobar"), 0x8594_4171_F739_67E8);
    }

    #[test]
    fn splitmix_from_zero_is_the_published_sequence() {
        let outputs: Vec<u64> = (1..=3).map(|i| mix(GAMMA.wrapping_mul(i))).collect();
        assert_eq!(outputs, [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]);
    }

    #[test]
    fn a_stream_is_xoshiro_seeded_by_splitmix() {
        for b in [0, 1, 9_999, u64::MAX] {
            let base = job_base(42, "qwen7b|ttft_ms|native|mean");
            let mut ours = Stream::new(base, b);
            let mut theirs = Xoshiro256PlusPlus::seed_from_u64(stream_start(base, b));
            for _ in 0..1_000 {
                assert_eq!(ours.next_u64(), theirs.next_u64());
            }
        }
    }

    #[test]
    fn words_come_low_half_first() {
        let mut whole = Stream::new(7, 3);
        let mut halves = whole.clone();
        for _ in 0..10 {
            let expected = whole.next_u64();
            let (low, high) = (halves.next_word(), halves.next_word());
            assert_eq!(u64::from(low) | u64::from(high) << 32, expected);
        }
    }

    #[test]
    fn an_index_is_the_high_part_of_the_product() {
        assert_eq!(word_index(0, 10), 0);
        assert_eq!(word_index(u32::MAX, 10), 9);
        assert_eq!(word_index(0x8000_0000, 10), 5);
        assert_eq!(wide_index(u64::MAX, 3_000_000), 2_999_999);
        assert_eq!(wide_index(1 << 63, 3_000_000), 1_500_000);
    }

    #[test]
    fn a_sample_above_a_million_takes_a_whole_u64_for_each_index() {
        let mut stream = Stream::new(1, 1);
        let mut wholes = stream.clone();
        for _ in 0..10 {
            assert_eq!(stream.index(WORD_INDEX_MAX + 1), wide_index(wholes.next_u64(), WORD_INDEX_MAX + 1));
        }
    }

    #[test]
    fn uniforms_stay_inside_the_open_interval() {
        let mut stream = Stream::new(2, 0);
        let draws: Vec<f64> = (0..10_000).map(|_| stream.uniform()).collect();
        assert!(draws.iter().all(|&u| u > 0.0 && u < 1.0));
        let mean = draws.iter().sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 6.0 * (1.0f64 / 12.0 / 10_000.0).sqrt(), "mean {mean}");
    }
}
