#!/usr/bin/env python3
"""The cases of bootstrap.rs in SciPy and in NumPy, one thread, 10,000 resamples.

Prints `name<TAB>milliseconds<TAB>algorithm`. SciPy runs `scipy.stats.bootstrap(method="BCa")` in its best batch size;
NumPy is written the way a careful user would: indices in the smallest type that holds them, blocks that fit a cache,
partition instead of sort, closed-form jackknife.
"""
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import math
import statistics
import sys
import time

import numpy as np
from scipy import special, stats

B = 10_000
BLOCK = 1 << 20  # draws in a block: indices and values together stay within a few MiB


def sample(n):
    i = np.arange(1, n + 1, dtype=float)
    return -100.0 * np.log(1.0 - (i * 0.6180339887498949) % 1.0)


def index_type(n):
    return np.uint8 if n <= 1 << 8 else np.uint16 if n <= 1 << 16 else np.uint32


def blocks(n):
    rows = max(1, BLOCK // n)
    for first in range(0, B, rows):
        yield first, min(rows, B - first)


def bca(draws, t, left_out, level=0.95):
    p0 = (np.count_nonzero(draws < t) + np.count_nonzero(draws <= t)) / (2 * len(draws))
    z0 = special.ndtri(p0)
    u = left_out.mean() - left_out
    a = (u**3).sum() / (6 * (u**2).sum() ** 1.5)
    z = z0 + special.ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    return np.percentile(draws, 100 * special.ndtr(z0 + z / (1 - a * z)))


def numpy_mean(x):
    rng = np.random.Generator(np.random.SFC64(42))
    n, draws = len(x), np.empty(B)
    for first, rows in blocks(n):
        draws[first : first + rows] = x[rng.integers(n, size=(rows, n), dtype=index_type(n))].mean(axis=1)
    return bca(draws, x.mean(), (x.sum() - x) / (n - 1))


def quantile_limits(x, draws, p):
    n = len(x)
    h = (n - 2) * p
    k, f = int(h), h - int(h)
    left_out = np.full(n, x[k] + f * (x[k + 1] - x[k]))
    left_out[: k + 1] = x[k + 1] + f * (x[k + 2] - x[k + 1])
    left_out[k + 1] = x[k] + f * (x[k + 2] - x[k])
    return bca(draws, np.percentile(x, 100 * p), left_out)


def numpy_quantile_by_indices(values, p):
    """The sample sorted once, so that integer ranks can be partitioned instead of floats."""
    x = np.sort(values)
    rng = np.random.Generator(np.random.SFC64(42))
    n, draws = len(x), np.empty(B)
    h = (n - 1) * p
    k, f = int(h), h - int(h)
    for first, rows in blocks(n):
        ranks = rng.integers(n, size=(rows, n), dtype=index_type(n))
        ranks.partition((k, k + 1), axis=1)
        low, high = x[ranks[:, k]], x[ranks[:, k + 1]]
        draws[first : first + rows] = low + f * (high - low)
    return quantile_limits(x, draws, p)


def numpy_quantile_by_ranks(values, p):
    x = np.sort(values)
    rng = np.random.Generator(np.random.SFC64(42))
    n = len(x)
    h = (n - 1) * p
    k, f = int(h), h - int(h)
    u = rng.beta(k + 1, n - k, B)
    v = u + (1 - u) * -np.expm1(np.log(1 - rng.random(B)) / (n - k - 1))
    low, high = (x[np.minimum(np.ceil(n * w).astype(int) - 1, n - 1)] for w in (u, v))
    return quantile_limits(x, low + f * (high - low), p)


def numpy_hierarchical(runs, p):
    rng = np.random.Generator(np.random.SFC64(42))
    r, m = runs.shape
    order = np.argsort(runs, axis=None)
    pooled = runs.ravel()[order]
    ranks = np.empty(r * m, dtype=np.uint16)
    ranks[order] = np.arange(r * m)
    n, draws = r * m, np.empty(B)
    h = (n - 1) * p
    k, f = int(h), h - int(h)
    for first, rows in blocks(n):
        picks = rng.integers(r, size=(rows, r, 1), dtype=np.uint16) * np.uint16(m)
        drawn = ranks[picks + rng.integers(m, size=(rows, r, m), dtype=np.uint16)].reshape(rows, n)
        drawn.partition((k, k + 1), axis=1)
        low, high = pooled[drawn[:, k]], pooled[drawn[:, k + 1]]
        draws[first : first + rows] = low + f * (high - low)
    return np.percentile(draws, [2.5, 97.5])


def scipy_mean(x):
    best = max(1, min(B, BLOCK // len(x)))
    return stats.bootstrap((x,), np.mean, n_resamples=B, batch=best, method="BCa", rng=np.random.default_rng(42)).confidence_interval


def permutation(a, b):
    """Random splits by sorting random keys, in blocks; the observed split counted, as in bootstrap.rs."""
    rng = np.random.Generator(np.random.SFC64(42))
    pooled, n, splits = np.concatenate([a, b]), len(a) + len(b), 99_999
    bar, total, hits, rows = abs(b.mean() - a.mean()) - 1e-12 * np.abs(pooled).max(), pooled.sum(), 0, BLOCK // n
    for first in range(0, splits, rows):
        keys = rng.random((min(rows, splits - first), n), dtype=np.float32)
        chosen = pooled[np.argpartition(keys, len(a), axis=1)[:, : len(a)]].sum(axis=1)
        hits += np.count_nonzero(np.abs(chosen / len(a) - (total - chosen) / len(b)) >= bar)
    return (1 + hits) / (1 + splits)


def main():
    wanted = sys.argv[1:]

    def measure(name, algorithm, run):
        name += " threads=1"
        if wanted and not any(w in name for w in wanted):
            return
        times, started = [], time.perf_counter()
        # A first result that takes seconds needs no warming up and no repetition.
        while not times or (len(times) < 50 and time.perf_counter() - started < 0.5):
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) * 1e3)
        print(f"{name}\t{statistics.median(times):.3f}\t{algorithm}", flush=True)

    for n in (30, 1_000, 50_000):
        x = sample(n)
        measure(f"bca-mean n={n}", "SciPy: stats.bootstrap, BCa", lambda: scipy_mean(x))
        measure(f"bca-mean n={n}", "NumPy: index resampling in blocks, BCa, closed-form jackknife", lambda: numpy_mean(x))
    for n in (1_000, 50_000):
        x = sample(n)
        measure(f"p99-by-indices n={n}", "NumPy: every index drawn, integer partition in blocks", lambda: numpy_quantile_by_indices(x, 0.99))
        measure(f"p99-by-ranks n={n}", "NumPy: order statistics from Beta variates", lambda: numpy_quantile_by_ranks(x, 0.99))
        measure(f"median-by-indices n={n}", "NumPy: every index drawn, integer partition in blocks", lambda: numpy_quantile_by_indices(x, 0.5))
    runs = np.array([sample(1_000) + r for r in range(30)])
    measure("hierarchical-p99 30x1000", "NumPy: every index drawn, integer partition of pooled ranks", lambda: numpy_hierarchical(runs, 0.99))
    measure("permutation n=50+51", "NumPy: 99,999 splits by partition of random keys", lambda: permutation(sample(50), sample(51)))


assert math.isclose(sample(1)[0], -100 * math.log(1 - 0.6180339887498949))
main()
