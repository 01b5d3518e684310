#!/usr/bin/env python3
"""How often a verdict is wrong, and how often a true effect is found: simulated campaigns through the real command.

    cargo build --release
    python3 benches/acceptance.py target/release/sparkbench [--campaigns 400] [--markdown]

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
# Whether rows are printed as a table for the documentation.
MARKDOWN = False


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


def skewed(sd, rng):
    """Mean 100, this standard deviation, the skew of a lognormal of sigma 1."""
    mean, spread = math.exp(0.5), math.sqrt((math.e - 1) * math.e)
    return 100 + sd * (math.exp(rng.gauss(0, 1)) - mean) / spread


def of_spreads(rng, n_a, n_b):
    arms = ["a"] * n_a + ["b"] * n_b
    rng.shuffle(arms)
    return rows([(arm, None) for arm in arms], rng, shape=lambda arm, rng: skewed(1 if arm == "a" else 5, rng) / 100)


def unsaid(c):
    """A wrong difference beside which nothing says that spread and numbers of runs are unlike."""
    return different(c) and not any("variance-differs" in caveat for caveat in c["verdict"]["caveats"])


case("null: skewed, sd 1 against 5, n = 10", never_more_than(0.12), different)(lambda rng: of_spreads(rng, 10, 10))
case("the same, and variance-differs is not said", lambda p, n: (p == 0, "none"), unsaid)(lambda rng: of_spreads(rng, 10, 10))
# No known test keeps its level here: what is left is to say it.
case("null: skewed, sd 1 against 5, n = 30 against 5", lambda p, n: (True, "no promise"), different)(lambda rng: of_spreads(rng, 30, 5))
case("the same, and variance-differs is not said", lambda p, n: (p == 0, "none"), unsaid)(lambda rng: of_spreads(rng, 30, 5))

SHAPES = {
    "normal": lambda rng: rng.gauss(100, 10),
    "lognormal sigma 1": lambda rng: math.exp(rng.gauss(0, 1)),
    "t of 3": lambda rng: 100 + 10 * rng.gauss(0, 1) / math.sqrt(rng.gammavariate(1.5, 2) / 3),
    "bimodal": lambda rng: rng.choice((90, 110)) + rng.gauss(0, 2),
}


def covers(c):
    """Whether the interval of the ratio holds the true one, 1. One without ends holds everything."""
    ends = c["overhead_ci"]
    return ends is None or ends["low"] <= 0 <= ends["high"]


def never_less_than(share):
    return lambda p, n: (p >= share - 2 * math.sqrt(share * (1 - share) / n), f"at least {100 * share:g} % - 2 se")


def from_shape(rng, draw, n):
    return rows(in_blocks(n, "random", rng), rng, shape=lambda arm, rng: draw(rng) / 100)


for label, draw in SHAPES.items():
    for n in (5, 10, 30):
        case(f"coverage of the ratio: {label}, n = {n}", never_less_than(0.94), covers)(
            lambda rng, draw=draw, n=n: from_shape(rng, draw, n)
        )


def two_machines(rng):
    """Identical arms, four fifths of each on another machine. The second machine is 20 % faster."""
    places = [("a", "m1")] * 8 + [("a", "m2")] * 2 + [("b", "m1")] * 2 + [("b", "m2")] * 8
    rng.shuffle(places)
    values = rows([(arm, None) for arm, _ in places], rng)
    for (_, machine), (arm, block, hours, value) in zip(places, values):
        yield arm, block, hours, value * (1.2 if machine == "m2" else 1.0), machine


case("two machines, identical arms, unequal shares", never_more_than(0.05), different)(two_machines)


def write(make, campaigns, seed, path):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        head = ["campaign", "environment", "model", "workload", "block", "started_utc", "exit_code", METRIC, "machine"]
        out.writerow(head)
        for campaign in range(campaigns):
            rng = random.Random(f"{seed}|{campaign}")
            for arm, block, hours, value, *machine in make(rng):
                moment = START + datetime.timedelta(days=10 * campaign, hours=hours)
                name = {"a": "native", "b": "docker"}[arm]
                stamp = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
                row = [f"c{campaign:04}", name, "m", "w", block or "", stamp, 0, f"{value:.8f}"]
                out.writerow(row + (machine or ["m1"]))


def judge(binary, make, campaigns, seed, folder):
    path = os.path.join(folder, "runs.csv")
    write(make, campaigns, seed, path)
    done = subprocess.run(
        [binary, "compare", path, "--json", "--margin", f"{METRIC}={MARGIN}", "--resamples", "999"],
        capture_output=True,
        text=True,
    )
    if not done.stdout.startswith("{"):
        sys.exit(f"{binary} said:\n{done.stderr}")
    return [c for c in json.loads(done.stdout)["comparisons"] if c["metric"] == METRIC]


def promises(binary, campaigns, folder):
    """Of the campaigns that promise "decided with probability 0.8": how many are decided once the promised blocks were measured."""

    def blocks(rng, count):
        effect = rng.gauss(0, 0.01)
        shuffled = in_blocks(count, "shuffled", rng)
        # The difference of two runs has a standard deviation of 3.5 %.
        return list(rows(shuffled, rng, effect=effect, sd=0.035 / math.sqrt(2)))

    most = 200
    first = judge(binary, lambda rng: blocks(rng, most)[:20], campaigns, "promise", folder)
    promised = {c["campaign"]: c["promise"]["blocks"] for c in first if c["promise"] and c["promise"]["probability"] >= 0.8}
    promised = {name: more for name, more in promised.items() if 10 + more <= most}
    kept = 0
    for name, more in promised.items():
        seed = f"promise|{int(name[1:])}"
        again = judge(binary, lambda _: blocks(random.Random(seed), most)[: 2 * (10 + more)], 1, "again", folder)
        kept += any(different(c) or equivalent(c) for c in again)
    return kept, len(promised)


def percentile(binary, campaigns, folder, runs, requests):
    """Of campaigns of so many runs of so many requests: how many get an interval of the p99, and in how many it holds the true one."""
    spread, between = 0.5, 0.05
    # The mean over runs of the p99 of a lognormal whose scale varies from run to run.
    truth = math.exp(2.3263478740408408 * spread + between**2 / 2)
    path = os.path.join(folder, "nested.txt")
    given = held = 0
    for campaign in range(campaigns):
        rng = random.Random(f"percentile|{runs}|{requests}|{campaign}")
        with open(path, "w") as file:
            for _ in range(runs):
                scale = rng.gauss(0, between)
                file.write(",".join(f"{math.exp(scale + rng.gauss(0, spread)):.6f}" for _ in range(requests)) + "\n")
        done = subprocess.run([binary, "stats", path, "--nested", "--json", "--resamples", "999"], capture_output=True, text=True)
        found = json.loads(done.stdout)["hierarchical_percentile"]["p99"]
        if found["lo"] is not None:
            given += 1
            held += found["lo"] <= truth <= found["hi"]
    return given, held


def show(name, counted, of, must):
    share = counted / of if of else math.nan
    se = math.sqrt(max(share * (1 - share), 0.05 * 0.95 / 4) / of) if of else math.nan
    held, words = must(share, of)
    low, high = max(0.0, share - 1.96 * se), min(1.0, share + 1.96 * se)
    sign = "holds" if held else "DOES NOT HOLD"
    if MARKDOWN:
        print(f"| {name} | {100 * share:.1f} % | {100 * low:.1f} to {100 * high:.1f} % | {words} | {sign} |", flush=True)
    else:
        print(f"{name:<58} {100 * share:6.1f}%  {100 * low:5.1f} to {100 * high:5.1f}  {words}: {sign}", flush=True)
    return not held


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--campaigns", type=int, default=400)
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--markdown", action="store_true", help="as a table for the documentation")
    asked = parser.parse_args()
    failed = 0
    global MARKDOWN
    MARKDOWN = asked.markdown
    if MARKDOWN:
        print("| case | share | 95 % interval | must be | outcome |\n|---|---:|---:|---|---|")
    else:
        print(f"{'case':<58} {'share':>7}  95 % interval   must be")
    for name, must, count, make in CASES:
        if asked.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = judge(asked.binary, make, asked.campaigns, name, folder)
        failed += show(name, sum(map(count, found)), len(found), must)
    with tempfile.TemporaryDirectory() as folder:
        if asked.only in "p99 over 5 runs":
            given, _ = percentile(asked.binary, asked.campaigns, folder, 5, 40)
            failed += show("p99 over 5 runs of 40 requests: has an interval", given, asked.campaigns, lambda p, n: (p == 0, "none"))
            given, held = percentile(asked.binary, asked.campaigns, folder, 5, 1000)
            failed += show("p99 over 5 runs of 1,000 requests: coverage", held, given, at_least(0.93))
        if asked.only in "promise":
            kept, promised = promises(asked.binary, asked.campaigns, folder)
            between = lambda p, n: (0.75 <= p <= 0.9, "75 to 90 %")
            failed += show(f'promise "probability 0.8" ({promised} were made)', kept, promised, between)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
