#!/usr/bin/env python3
"""How fast result files of a foreign tool are read, beside Python's polars and pandas on the same files in the same invocation.

    cargo build --release --bin sparkbench --features examples --example read_results
    pip install polars pandas
    python3 benches/ingest.py target/release [FILES] [REQUESTS] [--reading] [--times DIGITS]

In:  the folder of the programs; 1,000 files of 500 requests (1 MB each) unless said otherwise.  Out: a Markdown table, with the load of the machine.
The files are of the shape of `vllm bench serve --save-detailed`: one object on one line, per-request lists of lengths, of times in
seconds, and a list of lists of gaps; `--times` is the number of digits behind the point of a time (12; Python's clock gives 16 to 19). Our side is
once reading alone (`examples/read_results.rs`: hashed and checked, to the runs and their tables of requests), once the whole of
`analyse`: reading, statistics, verdicts, pages; `--reading` leaves that out. Theirs is reading into a data frame and the mean of two
lists; nothing is hashed, checked or written. All sides read from the page cache: each file was just written.
"""

import argparse
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


def write(folder, files, requests, digits):
    draw = random.Random(1)
    for k in range(files):
        lengths = [draw.randint(60, 140) for _ in range(requests)]
        itls = [[round(draw.uniform(0.008, 0.015), digits) for _ in range(n - 1)] for n in lengths]
        ttfts = [round(draw.uniform(0.05, 0.2), digits) for _ in range(requests)]
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
    before = processor()
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
    return took, processor() - before, peak / 1024


def processor():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("programs", type=lambda name: pathlib.Path(name).resolve())
    ask.add_argument("files", type=int, nargs="?", default=1000)
    ask.add_argument("requests", type=int, nargs="?", default=500)
    ask.add_argument("--reading", action="store_true")
    ask.add_argument("--times", type=int, default=12)
    asked = ask.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for environment in "ab":
            (folder / "in" / f"environment-{environment}").mkdir(parents=True)
        write(folder / "in", asked.files, asked.requests, asked.times)
        labels = ['schema = "sparkbench.labels/1"']
        for environment in "ab":
            labels += ["[[files]]", f'glob = "environment-{environment}/**"', f'environment = "{environment}"']
        (folder / "in" / "labels.toml").write_text("\n".join(labels) + "\n")
        paths = sorted(str(path) for path in (folder / "in").glob("*/*.json"))
        total = sum(os.path.getsize(path) for path in paths) / 1e9
        print(f"{len(paths)} files, {total:.2f} GB, load averages {os.getloadavg()}", file=sys.stderr)
        rows = [
            ("sparkbench, reading", [asked.programs / "examples" / "read_results", str(folder / "in")]),
            ("Python polars, reading", [sys.executable, "-c", POLARS, *paths]),
            ("Python json and pandas, reading", [sys.executable, "-c", PANDAS, *paths]),
        ]
        if not asked.reading:
            analyse = [asked.programs / "sparkbench", "analyse", str(folder / "in"), "--site", str(folder / "site"), "--quiet"]
            rows.insert(1, ("`sparkbench analyse`, pages and all", analyse))
        print("| | wall, s | CPU, s | peak, MiB | MB/s |\n|---|---:|---:|---:|---:|")
        for what, command in rows:
            took, cpu, peak = timed(command)
            print(f"| {what} | {took:.2f} | {cpu:.2f} | {peak:,.0f} | {1000 * total / took:,.0f} |", flush=True)
        print(f"load averages {os.getloadavg()}", file=sys.stderr)


if __name__ == "__main__":
    main()
