#!/usr/bin/env python3
"""A real workload without a GPU: matrix products and memory copies with NumPy, and what they took.

Writes `sparkbench.result/1` (docs/archive.md) to the file named by --out, aside and then renamed, so that a crash leaves no half file.
"""

import argparse
import json
import os
import time

import numpy as np


def timed(work, warmup, iterations):
    """Seconds of each iteration, in order; those of the warm-up are not counted."""
    for _ in range(warmup):
        work()
    seconds = []
    for _ in range(iterations):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return seconds


def gemm(n, iterations, rng):
    """FP32 product of two n x n matrices: seconds of each, and TFLOP/s over all of them. 2 n^3 operations a product."""
    a = rng.standard_normal((n, n), dtype=np.float32)
    b = rng.standard_normal((n, n), dtype=np.float32)
    c = np.empty((n, n), dtype=np.float32)
    seconds = timed(lambda: np.matmul(a, b, out=c), 2, iterations)
    # A library that returned without multiplying would be very fast: one row is checked against plain sums in double precision.
    row = a[0].astype(np.float64) @ b.astype(np.float64)
    if not np.allclose(c[0], row, rtol=1e-2, atol=1e-2 * np.sqrt(n)):
        raise SystemExit("the product is wrong")
    return seconds, 2.0 * n**3 * iterations / sum(seconds) / 1e12


def copy(mib, iterations):
    """Copy of one array to another, as in STREAM: seconds of each, and GB/s over all of them, counting what is read and what is written."""
    a = np.ones(mib * (1 << 20) // 8)
    b = np.zeros_like(a)
    seconds = timed(lambda: np.copyto(b, a), 2, iterations)
    if b[-1] != 1.0:
        raise SystemExit("the copy is wrong")
    return seconds, 2.0 * a.nbytes * iterations / sum(seconds) / 1e9


def blas():
    """Path of the BLAS library in use: another one is another measurement."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {line.split()[-1] for line in maps if "/" in line}
    return sorted(os.path.basename(path) for path in paths if "blas" in os.path.basename(path).lower())


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", required=True)
    options.add_argument("--n", type=int, nargs="+", default=[1024, 2048])
    options.add_argument("--iterations", type=int, default=10)
    options.add_argument("--copy-mib", type=int, default=256)
    options.add_argument("--seed", type=int, default=1)
    options = options.parse_args()

    rng = np.random.default_rng(options.seed)
    iterations = []
    tflops = None
    for n in options.n:
        seconds, tflops = gemm(n, options.iterations, rng)
        iterations.append({"name": f"gemm {n}", "values": seconds})
    seconds, bandwidth = copy(options.copy_mib, options.iterations)
    iterations.append({"name": f"copy {options.copy_mib} MiB", "values": seconds})

    result = {
        "schema": "sparkbench.result/1",
        # Of the largest product: the small one mostly shows what a call costs.
        "metrics": {"gemm_tflops": tflops, "memory_bandwidth_gb_s": bandwidth},
        "iterations": iterations,
        "seen": {"engine": "numpy", "engine_version": np.__version__, "requests": options.iterations},
        "notes": [
            f"FP32, n = {options.n[-1]}, threads = {os.environ.get('OPENBLAS_NUM_THREADS', 'as the library likes')}",
            f"BLAS: {', '.join(blas()) or 'built into NumPy'}",
        ],
    }
    with open(options.out + ".new", "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    os.replace(options.out + ".new", options.out)
    print(f"gemm {tflops:.4f} TFLOP/s, copy {bandwidth:.2f} GB/s")


if __name__ == "__main__":
    main()
