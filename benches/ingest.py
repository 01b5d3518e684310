#!/usr/bin/env python3
"""How fast result files of a foreign tool are read, beside Python's polars and pandas on the same files in the same invocation.

    cargo build --release
    pip install polars pandas
    python3 benches/ingest.py target/release/sparkbench [FILES] [REQUESTS]

In:  the program; 1,000 files of 500 requests (1 MB each) unless said otherwise.  Out: a Markdown table.
The files are of the shape of `vllm bench serve --save-detailed`: one object on one line, per-request lists of lengths, of times in
seconds, and a list of lists of gaps. Our side is the whole of `analyse`: reading, hashing, checking, statistics, verdicts, pages. Theirs
is reading into a data frame and the mean of two lists; nothing is hashed, checked or written.
"""

import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

POLARS = """
import sys, polars as pl
for path in sys.argv[1:]:
    frame = pl.read_json(path)
    frame.select(pl.col("ttfts").list.mean(), pl.col("itls").explode().list.mean().mean().alias("itl"))
"""
PANDAS = """
import sys, json, pandas as pd
for path in sys.argv[1:]:
    with open(path) as file:
        found = json.load(file)
    requests = pd.DataFrame({key: found[key] for key in ("input_lens", "output_lens", "ttfts", "itls")})
    requests["ttfts"].mean(), requests["itls"].explode().astype(float).mean()
"""


def write(folder, files, requests):
    draw = random.Random(1)
    for k in range(files):
        lengths = [draw.randint(60, 140) for _ in range(requests)]
        itls = [[round(draw.uniform(0.008, 0.015), 12) for _ in range(n - 1)] for n in lengths]
        ttfts = [round(draw.uniform(0.05, 0.2), 12) for _ in range(requests)]
        duration = sum(map(sum, itls)) / 32
        mean = lambda values: sum(values) / len(values)
        found = {
            "date": f"202601{1 + k % 28:02}-{k // 60 % 24:02}{k % 60:02}00", "endpoint_type": "vllm", "label": None,
            "model_id": "org/model-8b", "tokenizer_id": "org/model-8b", "num_prompts": requests, "request_rate": "inf", "burstiness": 1.0,
            "max_concurrency": (1, 8, 32, 128)[k // 2 % 4], "duration": duration, "completed": requests, "failed": 0,
            "total_input_tokens": 1024 * requests, "total_output_tokens": sum(lengths), "request_throughput": requests / duration,
            "request_goodput": None, "output_throughput": sum(lengths) / duration,
            "total_token_throughput": (sum(lengths) + 1024 * requests) / duration,
            "input_lens": [1024] * requests, "output_lens": lengths, "ttfts": ttfts, "itls": itls,
            "generated_texts": ["a few words that nobody may publish " * 8] * requests, "errors": [""] * requests,
            "mean_ttft_ms": 1000 * mean(ttfts), "median_ttft_ms": 1000 * sorted(ttfts)[requests // 2], "std_ttft_ms": 40.0,
            "p99_ttft_ms": 1000 * sorted(ttfts)[int(0.99 * requests)], "mean_tpot_ms": 1000 * mean([mean(gaps) for gaps in itls]),
            "median_tpot_ms": 11.5, "std_tpot_ms": 0.2, "p99_tpot_ms": 12.0, "mean_itl_ms": 11.5, "median_itl_ms": 11.5,
            "std_itl_ms": 2.0, "p99_itl_ms": 14.9,
        }
        (folder / f"environment-{'ab'[k % 2]}" / f"run-{k:04}.json").write_text(json.dumps(found))


def timed(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    peak, status = 0, pathlib.Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        try:
            peak = max([peak] + [int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")])
        except OSError:
            pass
        time.sleep(0.02)
    took = time.monotonic() - began
    if process.returncode:
        sys.exit(process.stderr.read())
    return took, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, peak / 1024


def main():
    program = os.path.abspath(sys.argv[1])
    files, requests = (int(word) for word in (sys.argv[2:] + ["1000", "500"][len(sys.argv) - 2:])[:2])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for environment in "ab":
            (folder / "in" / f"environment-{environment}").mkdir(parents=True)
        write(folder / "in", files, requests)
        labels = ['schema = "sparkbench.labels/1"']
        for environment in "ab":
            labels += ["[[files]]", f'glob = "environment-{environment}/**"', f'environment = "{environment}"']
        (folder / "in" / "labels.toml").write_text("\n".join(labels) + "\n")
        paths = sorted(str(path) for path in (folder / "in").glob("*/*.json"))
        total = sum(os.path.getsize(path) for path in paths) / 1e9
        print(f"{len(paths)} files, {total:.2f} GB", file=sys.stderr)
        rows = [
            ("`sparkbench analyse`, pages and all", [program, "analyse", str(folder / "in"), "--site", str(folder / "site"), "--quiet"]),
            ("Python polars, reading", [sys.executable, "-c", POLARS, *paths]),
            ("Python json and pandas, reading", [sys.executable, "-c", PANDAS, *paths]),
        ]
        print("| | wall, s | CPU, s | peak, MiB | MB/s |\n|---|---:|---:|---:|---:|")
        for what, command in rows:
            took, cpu, peak = timed(command)
            print(f"| {what} | {took:.2f} | {cpu:.2f} | {peak:,.0f} | {1000 * total / took:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
