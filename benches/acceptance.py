#!/usr/bin/env python3
"""How often a verdict is wrong, and how often a true effect is found: simulated campaigns through the real command.

    cargo build --release
    python3 benches/acceptance.py target/release/sparkbench [--campaigns 400]

Each case is one table of runs with many campaigns, which `sparkbench compare TABLE --json` judges. A row of the result says what was
counted, with its 95 % interval, and whether what must hold does. The seed is fixed, so that two versions of the program judge the same
campaigns.
"""

import argparse
import csv
import datetime
import json
import math
import os
import random
import subprocess
import sys
import tempfile

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
METRIC = "output_throughput_tok_s"
MARGIN = 2.0


def ar1(n, rho, sd, rng):
    """A stationary series with this correlation of neighbours."""
    out, x = [], rng.gauss(0, sd)
    for _ in range(n):
        out.append(x)
        x = rho * x + rng.gauss(0, sd * math.sqrt(1 - rho * rho))
    return out


def in_blocks(n, order, rng):
    """Arms in the order of their runs, with the block of each: `shuffled`, `abab` or `random` (without blocks)."""
    if order == "random":
        arms = ["a"] * n + ["b"] * n
        rng.shuffle(arms)
        return [(arm, None) for arm in arms]
    places = []
    for block in range(n):
        pair = ["a", "b"]
        if order == "shuffled":
            rng.shuffle(pair)
        places += [(arm, block + 1) for arm in pair]
    return places


def one_after_the_other(n):
    return [("a", None)] * n + [("b", None)] * n


def rows(places, rng, effect=0.0, sd=0.02, block_sd=0.0, drift=0.0, rho=0.0, pause_h=0.0, per_hour=0.0, shape=None):
    """Runs of one campaign: arm, block, hours since the start, value."""
    count = len(places)
    blocks = {}
    noise = ar1(count, rho, sd, rng) if rho else [rng.gauss(0, sd) for _ in range(count)]
    for k, (arm, block) in enumerate(places):
        hours = k / 6 + (pause_h if pause_h and arm == "b" else 0.0)
        y = noise[k] + (effect if arm == "b" else 0.0) + drift * k / max(count - 1, 1) + per_hour * hours
        if block is not None and block_sd:
            y += blocks.setdefault(block, rng.gauss(0, block_sd))
        yield arm, block, hours, 100.0 * (shape(arm, rng) if shape else math.exp(y))


CASES = []


def case(name, must, count):
    def note(make):
        CASES.append((name, must, count, make))
        return make

    return note


def different(c):
    return c["verdict"]["kind"] in ("slower", "faster", "more", "less")


def equivalent(c):
    return c["verdict"]["kind"] == "equivalent"


def never_more_than(share):
    return lambda p, n: (p <= share + 2 * math.sqrt(share * (1 - share) / n), f"at most {100 * share:g} % + 2 se")


def at_least(share):
    return lambda p, n: (p >= share, f"at least {100 * share:g} %")


NULLS = {
    "shuffled in blocks": lambda rng: rows(in_blocks(10, "shuffled", rng), rng),
    "random order": lambda rng: rows(in_blocks(10, "random", rng), rng),
    "shuffled, AR(1) 0.5": lambda rng: rows(in_blocks(10, "shuffled", rng), rng, rho=0.5),
    "shuffled, AR(1) 0.8": lambda rng: rows(in_blocks(10, "shuffled", rng), rng, rho=0.8),
    "shuffled, drift 5 %": lambda rng: rows(in_blocks(10, "shuffled", rng), rng, drift=0.05),
    "shuffled, drift 20 %": lambda rng: rows(in_blocks(10, "shuffled", rng), rng, drift=0.2),
    "shuffled, block sd 5 %": lambda rng: rows(in_blocks(10, "shuffled", rng), rng, block_sd=0.05),
    "ABAB, drift 20 %": lambda rng: rows(in_blocks(10, "abab", rng), rng, drift=0.2),
    "one after the other, drift 5 %": lambda rng: rows(one_after_the_other(10), rng, drift=0.05),
    "one after the other, drift 20 %": lambda rng: rows(one_after_the_other(10), rng, drift=0.2),
    "one after the other, drift 20 %, n = 30": lambda rng: rows(one_after_the_other(30), rng, drift=0.2),
    "one after the other, pause of 14 h": lambda rng: rows(one_after_the_other(10), rng, pause_h=14, per_hour=0.0025),
    "one after the other, AR(1) 0.5": lambda rng: rows(one_after_the_other(10), rng, rho=0.5),
    "one after the other, AR(1) 0.8": lambda rng: rows(one_after_the_other(10), rng, rho=0.8),
    "one after the other, AR(1) 0.8, n = 30": lambda rng: rows(one_after_the_other(30), rng, rho=0.8),
}
for label, make in NULLS.items():
    case(f"null: {label}", never_more_than(0.05), different)(make)

AT_MARGIN = {
    # An effect at the margin: the rate is lower by what makes the overhead 2 %.
    "shuffled in blocks": lambda rng: rows(in_blocks(10, "shuffled", rng), rng, effect=-math.log(1.02), sd=0.01),
    "random order": lambda rng: rows(in_blocks(10, "random", rng), rng, effect=-math.log(1.02), sd=0.01),
    "ABAB, drift 20 %": lambda rng: rows(in_blocks(10, "abab", rng), rng, effect=-math.log(1.02), sd=0.01, drift=0.2),
    "one after the other, drift 5 %": lambda rng: rows(
        one_after_the_other(30), rng, effect=-math.log(1.02), sd=0.005, drift=0.05
    ),
}
for label, make in AT_MARGIN.items():
    case(f"at the margin: {label}", never_more_than(0.05), equivalent)(make)

case("effect 3 %, run sd 2 %, block sd 5 %, n = 10", at_least(0.8), different)(
    lambda rng: rows(in_blocks(10, "shuffled", rng), rng, effect=-math.log(1.03), block_sd=0.05)
)


def unequal(rng, sd_a, sd_b, n_a, n_b):
    arms = ["a"] * n_a + ["b"] * n_b
    rng.shuffle(arms)

    def shape(arm, rng):
        sd = sd_a if arm == "a" else sd_b
        return math.exp(rng.gauss(0, sd) - sd * sd / 2)

    return rows([(arm, None) for arm in arms], rng, shape=shape)


case("null: lognormal sigma 1, n = 5 against 30", never_more_than(0.05), different)(lambda rng: unequal(rng, 1, 1, 5, 30))


def judge(binary, make, campaigns, seed, folder):
    path = os.path.join(folder, "runs.csv")
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["campaign", "environment", "model", "workload", "block", "started_utc", "exit_code", METRIC])
        for campaign in range(campaigns):
            rng = random.Random(f"{seed}|{campaign}")
            for arm, block, hours, value in make(rng):
                moment = START + datetime.timedelta(days=10 * campaign, hours=hours)
                name = {"a": "native", "b": "docker"}[arm]
                stamp = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
                out.writerow([f"c{campaign:04}", name, "m", "w", block or "", stamp, 0, f"{value:.8f}"])
    done = subprocess.run(
        [binary, "compare", path, "--json", "--margin", f"{METRIC}={MARGIN}", "--resamples", "999"],
        capture_output=True,
        text=True,
    )
    if not done.stdout.startswith("{"):
        sys.exit(f"{binary} said:\n{done.stderr}")
    return [c for c in json.loads(done.stdout)["comparisons"] if c["metric"] == METRIC]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--campaigns", type=int, default=400)
    parser.add_argument("--only", default="", help="cases whose name holds this")
    asked = parser.parse_args()
    failed = 0
    print(f"{'case':<58} {'share':>7}  95 % interval   must be")
    for name, must, count, make in CASES:
        if asked.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = judge(asked.binary, make, asked.campaigns, name, folder)
        share = sum(map(count, found)) / len(found)
        se = math.sqrt(max(share * (1 - share), 0.05 * 0.95 / 4) / len(found))
        held, words = must(share, len(found))
        failed += not held
        low, high = max(0.0, share - 1.96 * se), min(1.0, share + 1.96 * se)
        sign = "holds" if held else "DOES NOT HOLD"
        print(f"{name:<58} {100 * share:6.1f}%  {100 * low:5.1f} to {100 * high:5.1f}  {words}: {sign}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
