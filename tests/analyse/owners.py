"""The figures that the first sentence about a folder of an owner has to hold, read from the owner's files.

Shares nothing with the program: a few lines for each way in which owners write. Prints a list of figures with three digits, as JSON.
Usage: owners.py NAME FOLDER
"""

import csv
import glob
import json
import re
import sys
from collections import defaultdict
from statistics import mean


def paths(folder, pattern):
    return sorted(glob.glob(f"{folder}/**/{pattern}", recursive=True))


def text(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table_rows(content):
    """Rows of Markdown tables as mappings, each with the last heading of ### before it."""
    heading, header = "", None
    for line in content.splitlines():
        if line.startswith("###"):
            heading = re.sub(r"\s*\(.*\)\s*$", "", line.strip("# "))
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.strip().startswith("|"):
            header = None
        elif header is None:
            header = cells
        elif not set(line) <= set("|-: "):
            yield heading, dict(zip(header, cells))


def rate(cell):
    return float(cell.split("±")[0])


def knee(points):
    """Throughput at the least load, and at the least that comes within 5 % of the best."""
    most = max(points.values())
    return [points[min(points)], next(points[load] for load in sorted(points) if points[load] >= 0.95 * most)]


def two_gpus(folder):
    """Decode rate of the best combination of build, flash attention, batch and GPUs."""
    found = defaultdict(list)
    for path in paths(folder, "*.txt"):
        content = text(path)
        build = re.search(r"^build: (\S+)", content, re.M).group(1)
        for heading, row in table_rows(content):
            if row["test"] == "tg128":
                found[build, heading, row["fa"], row.get("n_batch")].append(rate(row["t/s"]))
    return [max(mean(values) for values in found.values())]


def users(folder):
    """Output throughput of the longest sweep: consoles of vllm bench serve, a folder a point."""
    sweeps = defaultdict(dict)
    for path in paths(folder, "*.log"):
        content = text(path)
        number = lambda label: float(re.search(re.escape(label) + r":\s+(\S+)", content).group(1))
        sweep = "old" if "01_old" in path else "new"
        sweeps[sweep][number("Maximum request concurrency")] = number("Output token throughput (tok/s)")
    return knee(max(sweeps.values(), key=len))


def cache(folder):
    """The least and the most memory for the KV cache, of the model of 7B."""
    sizes = [float(re.search(r"Available KV cache memory: (\S+) GiB", text(path)).group(1)) for path in paths(folder, "vllm-7B-*.log")]
    return [min(sizes), max(sizes)]


def context(folder):
    """TTFT of each model at the least and the most context."""
    found = defaultdict(list)
    for row in rows(paths(folder, "master_ledger.csv")[0]):
        found[row["model"], int(row["context_length"])].append(float(row["ttft_ms"]))
    models, lengths = {model for model, _ in found}, {length for _, length in found}
    return [mean(found[model, length]) for model in models for length in (min(lengths), max(lengths))]


def leaderboard(folder):
    """Decode rates of the models, at the first kind of prompt by name."""
    entries = json.loads(text(paths(folder, "leaderboard-*.json")[0]))["entries"]
    return [entry["generation_tok_s"]["context_4k"] for entry in entries]


def providers(folder):
    """Throughput of two models for one user and for all."""
    found = []
    for path in paths(folder, "*_summary.json"):
        points = json.loads(text(path))
        found += [points["1"]["throughput_token_per_s"], points["128"]["throughput_token_per_s"]]
    return found


def depths(folder):
    """Decode rate with and without a draft, at the least context."""
    return [float(rows(path)[0]["gen_tps"]) for path in paths(folder, "*.csv")]


def points(folder):
    """Output throughput of the points of a sweep of AIPerf."""
    lines = [line for path in paths(folder, "profile_export_aiperf.csv") for line in text(path).splitlines()]
    return [float(line.split(",")[1]) for line in lines if line.startswith("Output Token Throughput (tokens/sec)")]


def precisions(folder):
    """Decode rate of one user in each precision."""
    chats = [path for path in paths(folder, "*01-chat.md") if re.search("bf16|fp8|nvfp4", path)]
    return [float(row["t/s (req)"].split()[0]) for path in chats for _, row in table_rows(text(path)) if row["test"] == "tg1024 (c1)"]


def builds(folder):
    """Decode rate of the smallest model with the fastest build."""
    lines = [json.loads(line) for path in paths(folder, "llama32-1b*.jsonl") for line in text(path).splitlines() if line.startswith("{")]
    return [max(test["avg_ts"] for test in lines if test["n_gen"] == 128 and test["n_prompt"] == 0 and not test.get("n_depth"))]


def setups(folder):
    """Throughput of one user with the fastest setup."""
    lists = [json.loads(text(path)) for path in paths(folder, "bench-*.json")]
    return [max(row["aggregate_tps"] for found in lists for row in found if row["concurrency"] == 1)]


def versions(folder):
    """Throughput of one user before and after, mean of the trials."""
    found = []
    for path in paths(folder, "*v021dev-identical.json") + paths(folder, "*v0251-candidate.json"):
        trials = json.loads(text(path)).get("trials", [])
        rates = [trial["aggregate_token_tps"] for trial in trials if trial["concurrency"] == 1]
        found += [mean(rates)] if rates else []
    return found


def arena(folder):
    """Decode rates of both targets."""
    return [json.loads(text(path))["current"]["decodeTps"] for path in paths(folder, "*leaderboard.json")]


OWNERS = {
    "Sapid-Labs": arena,
    "lhl": builds,
    "luisefigueroa": setups,
    "nepenth": versions,
    "1337hero": two_gpus,
    "Wentao274": users,
    "akamaslabs": points,
    "dennislee22": cache,
    "dilbersha": context,
    "djangodevreng": precisions,
    "joerawr": leaderboard,
    "philschmid": providers,
    "redhunt07": depths,
}


def shown(value):
    """Three digits, and no zeros behind the point."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    of = next((of for owner, of in OWNERS.items() if sys.argv[1].startswith(owner + "__")), None)
    print(json.dumps([shown(value) for value in of(sys.argv[2])] if of else []))
