//! Steps of eight streams by the vector instructions of AVX2, named one by one.
//!
//! In:  the state of eight generators and room for steps.
//! Out: the room filled and the state moved on, the bits of [`Lanes::next`](super::lanes::Lanes).
//! Not here: whether the machine has these instructions (`lanes`).
//!
//! AVX2 has no rotation. LLVM then estimates that eight scalar generators cost less, although they spill to the stack. It leaves the loop
//! unchanged, at four times the cost.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi64, _mm256_extract_epi64, _mm256_or_si256, _mm256_setr_epi64x, _mm256_slli_epi64,
    _mm256_srli_epi64, _mm256_xor_si256,
};

use super::lanes::LANES;

/// Streams in one register.
const WIDE: usize = 4;

/// Fills `steps` with the next words of every stream.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn fill_steps(state: &mut [[u64; LANES]; 4], steps: &mut [[u64; LANES]]) {
    for first in (0..LANES).step_by(WIDE) {
        let mut s = state.map(|word| get(&word[first..first + WIDE]));
        for out in &mut *steps {
            put(step(&mut s), &mut out[first..first + WIDE]);
        }
        for (word, s) in state.iter_mut().zip(s) {
            put(s, &mut word[first..first + WIDE]);
        }
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn step(s: &mut [__m256i; 4]) -> __m256i {
    let out = _mm256_add_epi64(rotate::<23, 41>(_mm256_add_epi64(s[0], s[3])), s[0]);
    let shifted = _mm256_slli_epi64::<17>(s[1]);
    s[2] = _mm256_xor_si256(s[2], s[0]);
    s[3] = _mm256_xor_si256(s[3], s[1]);
    s[1] = _mm256_xor_si256(s[1], s[2]);
    s[0] = _mm256_xor_si256(s[0], s[3]);
    s[2] = _mm256_xor_si256(s[2], shifted);
    s[3] = rotate::<45, 19>(s[3]);
    out
}

/// To the left by `LEFT`. `RIGHT` is what is left of 64.
#[target_feature(enable = "avx2")]
#[inline]
fn rotate<const LEFT: i32, const RIGHT: i32>(word: __m256i) -> __m256i {
    const { assert!(LEFT + RIGHT == 64) };
    _mm256_or_si256(_mm256_slli_epi64::<LEFT>(word), _mm256_srli_epi64::<RIGHT>(word))
}

#[target_feature(enable = "avx2")]
#[inline]
fn get(from: &[u64]) -> __m256i {
    _mm256_setr_epi64x(from[0] as i64, from[1] as i64, from[2] as i64, from[3] as i64)
}

#[target_feature(enable = "avx2")]
#[inline]
fn put(word: __m256i, to: &mut [u64]) {
    to.copy_from_slice(&[
        _mm256_extract_epi64::<0>(word) as u64,
        _mm256_extract_epi64::<1>(word) as u64,
        _mm256_extract_epi64::<2>(word) as u64,
        _mm256_extract_epi64::<3>(word) as u64,
    ]);
}
