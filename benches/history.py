#!/usr/bin/env python3
"""How well changes are found: precision, recall and F1 on series whose changes are known, beside Apache Otava on the same series.

usage: benches/history.py PROGRAM [SEEDS [FIRST]]

Needs the packages otava-test-data and apache-otava. The series are every pattern of otava-test-data with the parameters that its own viewer
offers, at its own two lengths, with SEEDS seeds (100) from FIRST (0) on. A change is found when a reported index lies within 5 points of a true one, and each
report counts once: the rule of that package. Its outliers are no changes there, nor here. Where a pattern has no change, every report is a
false alarm. Then come stable series of four kinds of noise, and the time for 10,000 points.

sparkbench runs through its public command: one CSV with a column `time` and one column a seed. Otava runs with its defaults. E-divisive with
means and 100 permutations, as Otava keeps it, takes seconds for a series, so it is held against both on short series of twenty seeds only.
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from otava.analysis import compute_change_points, compute_change_points_orig
from otava_test_data.generators import advanced, basic

TOLERANCE = 5
LENGTHS = (50, 500)
NOISE_LENGTHS = (50, 200, 1000)
FEW_SEEDS = 20

PATTERNS = {
    "constant": (basic.constant, {}),
    "noise_normal": (basic.noise_normal, {"sigma": 5.0}),
    "noise_uniform": (basic.noise_uniform, {}),
    "outlier": (basic.outlier, {"sigma": 5.0}),
    "step_function": (basic.step_function, {"sigma": 5.0}),
    "regression_fix": (basic.regression_fix, {"regression_duration": 20, "sigma": 5.0}),
    "banding": (advanced.banding, {"sigma": 2.0}),
    "variance_change": (advanced.variance_change, {}),
    "phase_change": (advanced.phase_change, {"sigma": 2.0}),
    "multiple_changes": (advanced.multiple_changes, {"sigma": 5.0}),
    "multiple_outliers": (advanced.multiple_outliers, {"n_outliers": 5, "sigma": 5.0}),
    "multiple_variance_changes": (advanced.multiple_variance_changes, {}),
    "step_function_clean": (basic.step_function, {"sigma": 0.0}),
    "multiple_changes_clean": (advanced.multiple_changes, {"sigma": 0.0}),
    "regression_fix_clean": (basic.regression_fix, {"regression_duration": 20, "sigma": 0.0}),
    "banding_clean": (advanced.banding, {"value2": 110.0, "sigma": 0.0}),
    "outlier_clean": (basic.outlier, {"sigma": 0.0}),
}


def memory(phi):
    def noise(rng, n):
        values, level = np.zeros(n + 200), 0.0
        for i, step in enumerate(rng.standard_normal(n + 200)):
            level = phi * level + step
            values[i] = level
        return 100 + 5 * values[200:]

    return noise


NOISE = {
    "normal": lambda rng, n: 100 + 5 * rng.standard_normal(n),
    "skewed: lognormal, sigma 0.5": lambda rng, n: 100 * np.exp(0.5 * rng.standard_normal(n)),
    "skewed: exponential": lambda rng, n: 100 + 10 * rng.exponential(size=n),
    "heavy tails: Student, df 3": lambda rng, n: 100 + 5 * rng.standard_t(3, n),
    "autocorrelated: AR(1), 0.3": memory(0.3),
    "autocorrelated: AR(1), 0.5": memory(0.5),
    "autocorrelated: AR(1), 0.8": memory(0.8),
    "two modes: 3 in 10 at +10, sd 1": lambda rng, n: np.where(rng.random(n) < 0.3, 110, 100) + rng.standard_normal(n),
}


def ours(program, series):
    """Indices for each series, through the public command."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "series.csv"
        with open(path, "w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(["time"] + [f"seed{k}" for k in range(len(series))])
            for row, values in enumerate(zip(*series)):
                writer.writerow([row] + [repr(float(v)) for v in values])
        said = subprocess.run([program, "history", str(path), "--json"], capture_output=True, text=True, check=True)
    found = {s["metric"]: [c["index"] for c in s["change_points"]] for s in json.loads(said.stdout)["series"]}
    return [found[f"seed{k}"] for k in range(len(series))]


def otava(series):
    return [[int(c.index) for c in compute_change_points([float(v) for v in s])[0]] for s in series]


def otava_original(series):
    return [[int(c.index) for c in compute_change_points_orig([float(v) for v in s], seed=1)[0]] for s in series]


def score(true, found):
    used, hits = set(), 0
    for index in found:
        near = next((t for t in true if t not in used and abs(t - index) <= TOLERANCE), None)
        if near is not None:
            used.add(near)
            hits += 1
    return np.array([hits, len(found) - hits, len(true) - hits])


def f1(counts):
    hits, false, missed = counts
    return 1.0 if hits + false + missed == 0 else 2 * hits / (2 * hits + false + missed)


def shares(counts):
    hits, false, missed = counts
    precision = hits / (hits + false) if hits + false else 1.0
    recall = hits / (hits + missed) if hits + missed else 1.0
    return f"{precision:.3f} | {recall:.3f}"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    rivals = {"sparkbench": lambda series: ours(program, series), "Otava": otava}

    print(f"{seeds} seeds. P: precision, R: recall, F1: mean over the series; where nothing changes, F1 is 1 without a false alarm, else 0.\n")
    print("| pattern | points | " + " | ".join(f"{name}: P | R | F1" for name in rivals) + " |")
    print("| --- | ---: |" + " ---: |" * (3 * len(rivals)))
    whole = {name: [] for name in rivals}
    by_pattern = {}
    for name, (generate, parameters) in PATTERNS.items():
        for n in LENGTHS:
            made = [generate(length=n, seed=seed, **parameters) for seed in range(first, first + seeds)]
            true = [[int(c.index) for c in s.change_points if c.change_type != "outlier"] for s in made]
            cells = []
            for rival, find in rivals.items():
                counts = [score(t, f) for t, f in zip(true, find([s.data for s in made]))]
                mean = float(np.mean([f1(c) for c in counts]))
                whole[rival].append(mean)
                by_pattern.setdefault(name, {}).setdefault(rival, []).append(mean)
                cells.append(f"{shares(sum(counts))} | {mean:.3f}")
            print(f"| {name} | {n} | " + " | ".join(cells) + " |", flush=True)
    print("| all | | " + " | ".join(f" | | {np.mean(f):.3f}" for f in whole.values()) + " |")
    behind = [
        f"{name} ({n} points)"
        for name, found in by_pattern.items()
        for n, own, theirs in zip(LENGTHS, found["sparkbench"], found["Otava"])
        if own < theirs
    ]
    print(f"\nPatterns on which sparkbench is behind Otava: {', '.join(behind) or 'none'}.\n")

    print("| noise without a change | points | " + " | ".join(f"{name}: false alarms in 1,000 points" for name in rivals) + " |")
    print("| --- | ---: |" + " ---: |" * len(rivals))
    for name, noise in NOISE.items():
        for n in NOISE_LENGTHS:
            series = [noise(np.random.default_rng(1000 + seed), n) for seed in range(first, first + seeds)]
            alarms = [sum(map(len, find(series))) for find in rivals.values()]
            print(f"| {name} | {n} | " + " | ".join(f"{1000 * a / (n * seeds):.2f}" for a in alarms) + " |", flush=True)

    methods = {**rivals, "E-divisive": otava_original}
    print(f"\n| {LENGTHS[0]} points, {min(seeds, FEW_SEEDS)} seeds | " + " | ".join(f"{name}: F1" for name in methods) + " |")
    print("| --- |" + " ---: |" * len(methods))
    for name, (generate, parameters) in PATTERNS.items():
        made = [generate(length=LENGTHS[0], seed=seed, **parameters) for seed in range(first, first + min(seeds, FEW_SEEDS))]
        true = [[int(c.index) for c in s.change_points if c.change_type != "outlier"] for s in made]
        scores = [
            np.mean([f1(score(t, f)) for t, f in zip(true, find([s.data for s in made]))]) for find in methods.values()
        ]
        print(f"| {name} | " + " | ".join(f"{x:.3f}" for x in scores) + " |", flush=True)

    print("\n| 10,000 points | seconds |\n| --- | ---: |")
    rng = np.random.default_rng(1)
    step = 100 + 5 * rng.standard_normal(10_000)
    step[6_000:] += 20
    for name, values in {"one step": step, "no change": memory(0.0)(rng, 10_000), "AR(1), 0.7": memory(0.7)(rng, 10_000)}.items():
        began = time.monotonic()
        ours(program, [values])
        print(f"| {name} | {time.monotonic() - began:.2f} |", flush=True)


if __name__ == "__main__":
    main()
