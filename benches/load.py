#!/usr/bin/env python3
"""What `sparkbench load` reaches beside the mock on one machine, with a bare hyper client by turns.

    cargo build --release --no-default-features --features collect
    cargo build --release --manifest-path benches/load_baseline/Cargo.toml
    python3 benches/load.py target/release/sparkbench benches/load_baseline/target/release/load_baseline

In:  the program, the bare client.  Out: two Markdown tables.
Error is what a client reports minus what the server did, request by request: the mock writes down when it received each
request and when it let each token go (`--truth`), on the same clock. The bare client's is from its mean alone.
"""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile

CASES = [
    # name, mock options, load options, streams, requests
    ("64 streams, 50 ms + 10 ms a token", ["--ttft-ms=50", "--itl-ms=10"], ["--concurrency", "64"], 64, 640),
    ("256 streams", ["--ttft-ms=50", "--itl-ms=10"], ["--concurrency", "256"], 256, 2560),
    ("1,000 streams", ["--ttft-ms=50", "--itl-ms=10"], ["--concurrency", "1000"], 1000, 5000),
    ("10,000 streams, 1 s + 0.5 s a token", ["--ttft-ms=1000", "--itl-ms=500"], ["--concurrency", "10000"], 10000, 10000),
    ("one write a token, 64 streams", ["--ttft-ms=0", "--itl-ms=0"], ["--concurrency", "64"], 64, 10000),
    ("whole answers, 64 streams", ["--ttft-ms=0", "--itl-ms=0", "--whole"], ["--concurrency", "64"], 64, 20000),
    ("open loop, 1,000 requests a second", ["--ttft-ms=5", "--itl-ms=0", "--whole"], ["--rate", "1000"], None, 5000),
]
TOKENS = 128


def mean(values):
    return sum(values) / len(values) if values else float("nan")


def p99(values):
    values = sorted(values)
    return values[min(len(values) - 1, int(0.99 * len(values)))] if values else float("nan")


class Mock:
    def __init__(self, program, folder, options):
        self.truth = folder / "truth.jsonl"
        command = [program, "mock", "--port=0", f"--truth={self.truth}", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().strip()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        lines = (json.loads(line) for line in open(self.truth))
        return {line["id"]: line for line in lines if line["tokens"] >= TOKENS}


def truth_ms(line, key):
    return (line[key] - (line.get("received_ns") or line["received_user_ns"])) / 1e6


def ours(program, folder, mock, load, requests):
    archive, summary = folder / "archive", folder / "summary.json"
    server = Mock(program, folder, mock)
    command = [program, "load", "--url", server.url, "--exact", "min-tokens", "--isl", "64", "--osl", str(TOKENS),
               "--requests", str(requests), *load, "--archive", archive, "--json", summary, "--quiet"]
    subprocess.run([str(part) for part in command], check=True)
    truth, found = server.stop(), json.load(open(summary))
    ttft, e2e = [], []
    for path in archive.glob("runs/*/requests.jsonl"):
        for line in map(json.loads, open(path)):
            known = truth.get(line.get("request_id"))
            if known and line["status"] == "ok":
                ttft.append((line["first_token_s"] - line["sent_s"]) * 1e3 - truth_ms(known, "first_ns"))
                e2e.append((line["last_token_s"] - line["sent_s"]) * 1e3 - truth_ms(known, "last_ns"))
    steps = mean([(line["last_ns"] - line["first_ns"]) / 1e6 / (TOKENS - 1) for key, line in truth.items() if key.startswith("sparkbench-")])
    client = found["client"]
    lag, late = client["read_lag_ms"] or {}, client["schedule_lag_ms"] or {}
    return [len(ttft), f"{mean(ttft):.3f} / {p99(ttft):.3f}", f"{mean(e2e):.3f} / {p99(e2e):.3f}", f"{found['tpot_ms']['mean'] - steps:.4f}",
            f"{found['output_throughput_tok_s']:,.0f}", f"{found['steady']['concurrency_mean']:,.1f}" if found["steady"] else "",
            f"{client['cpu_s'] / found['output_tokens'] * 1e3:.4f}", f"{client['peak_rss_mib']:.0f}", f"{lag.get('p99') or 0:.3f}",
            f"{late['p99']:.3f}" if late else "", "yes" if client["limited"] else "no"]


def theirs(program, client, folder, mock, streams, requests):
    server = Mock(program, folder, mock)
    command = [client, server.url + "/v1/chat/completions", "--concurrency", str(streams), "--requests", str(requests), "--max-tokens", str(TOKENS)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    truth = server.stop()
    error = found["ttft_ms"]["mean"] - mean([truth_ms(line, "first_ns") for line in truth.values()])
    return [f"{error:.3f}", f"{found['output_tok_s']:,.0f}", f"{found['cpu_s_per_1000_tokens']:.4f}", f"{found['peak_rss_mib']:.0f}"]


def main():
    program, client = sys.argv[1:3]
    rows = []
    for name, mock, load, streams, requests in CASES:
        with tempfile.TemporaryDirectory() as folder:
            row = [name, *ours(program, pathlib.Path(folder), mock, load, requests)]
        if streams:
            with tempfile.TemporaryDirectory() as folder:
                row += theirs(program, client, pathlib.Path(folder), mock, streams, requests)
        rows.append(row)
        print(f"{name}: done", file=sys.stderr)
    print("| case | requests | TTFT error, mean / p99, ms | E2E error, mean / p99, ms | TPOT error, mean, ms | tok/s | in flight | CPU s per 1,000 tokens | peak MiB | read lag p99, ms | schedule lag p99, ms | client limited |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row[:12]) + " |")
    print("\n| bare hyper client, same case | TTFT error, mean, ms | tok/s | CPU s per 1,000 tokens | peak MiB |")
    print("|---|---:|---:|---:|---:|")
    for row in rows:
        if len(row) > 12:
            print("| " + " | ".join(str(cell) for cell in [row[0], *row[12:]]) + " |")


if __name__ == "__main__":
    main()
