#!/usr/bin/env python3
"""Processor time and throughput of `sparkbench load` and of a bare hyper client, by turns against the same mock on one machine.

    cargo build --release --no-default-features --features collect
    cargo build --release --manifest-path benches/load_baseline/Cargo.toml
    python3 benches/load_turns.py target/release/sparkbench benches/load_baseline/target/release/load_baseline [TURNS] [CASES]

In:  the program, the bare client; three turns of the first three cases unless said otherwise.  Out: a Markdown table, a row a turn.
Both count their tokens and times and write nothing down; who goes first changes from turn to turn. Processor time is that of the whole
process, from its start to its end, as the kernel counts it.
"""

import os
import re
import signal
import subprocess
import sys

PACED = ["--ttft-ms=50", "--itl-ms=10"]
CASES = [
    # name, mock options, streams, requests
    ("64 streams", PACED, 64, 640),
    ("256 streams", PACED, 256, 2560),
    ("1,000 streams", PACED, 1000, 5000),
    ("one write a token, 64 streams", ["--ttft-ms=0", "--itl-ms=0"], 64, 8000),
    ("whole answers, 64 streams", ["--ttft-ms=0", "--itl-ms=0", "--whole"], 64, 20000),
]
TOKENS = 128


def ours(program, url, streams, requests):
    return [program, "load", "--url", url, "--exact", "min-tokens", "--isl", "64", "--osl", str(TOKENS), "--requests", str(requests),
            "--concurrency", str(streams), "--quiet", "--json", "-"]


def theirs(client, url, streams, requests):
    return [client, url + "/v1/chat/completions", "--concurrency", str(streams), "--requests", str(requests), "--max-tokens", str(TOKENS)]


def turn(mock, options, command):
    """Processor seconds and tokens a second of one client against a mock of its own."""
    server = subprocess.Popen([mock, "mock", "--port=0", *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    url = server.stdout.readline().strip()
    client = subprocess.Popen(command(url), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    said = client.stdout.read()
    _, status, usage = os.wait4(client.pid, 0)
    server.send_signal(signal.SIGTERM)
    server.wait()
    if status:
        sys.exit(f"{command(url)} failed")
    rate = re.search(r'"output_(?:throughput_tok_s|tok_s)": *([0-9.e+]+)', said)
    return usage.ru_utime + usage.ru_stime, float(rate[1])


def main():
    program, client = sys.argv[1:3]
    turns = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    cases = CASES[: int(sys.argv[4])] if len(sys.argv) > 4 else CASES[:3]
    print("| case | CPU s, sparkbench | CPU s, bare hyper | ratio | tok/s, sparkbench | tok/s, bare hyper | ratio |\n|---|---:|---:|---:|---:|---:|---:|")
    for name, options, streams, requests in cases:
        for number in range(turns):
            sides = [lambda url: ours(program, url, streams, requests), lambda url: theirs(client, url, streams, requests)]
            order = (0, 1) if number % 2 else (1, 0)
            found = dict(zip(order, [turn(program, options, sides[side]) for side in order]))
            (cpu, rate), (bare_cpu, bare_rate) = found[0], found[1]
            print(f"| {name} | {cpu:.2f} | {bare_cpu:.2f} | {cpu / bare_cpu:.2f} | {rate:,.0f} | {bare_rate:,.0f} | {rate / bare_rate:.2f} |", flush=True)


if __name__ == "__main__":
    main()
