#!/usr/bin/env python3
"""What one load of several clients reaches beside the mock on one machine, and what it costs that they are several.

    cargo build --release --no-default-features --features collect
    python3 benches/ranks.py target/release/sparkbench [REQUESTS]

In:  the program; Open MPI's mpirun.  Out: a Markdown table.
The same number of requests is sent by 1, 2, 4 and 8 ranks, and by one client without ranks; the mock answers at once. Two cases: closed,
as fast as it goes (whole answers); and 64 streams of 5 ms + 1 ms a token, in which the error of TTFT and E2E latency is held against
what the mock wrote down, request by request: the clients' lines are joined to its by the id of the request.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from load import Mock, mean, p99, truth_ms

RANKS = (None, 1, 2, 4, 8)


def run(program, folder, mock, ranks, options):
    """One load; its summary, its wall time, and where its requests lie."""
    archive = folder / f"a{ranks}"
    command = [program, "load", "--url", mock.url, "--model", "mock", "--exact", "min-tokens", "--archive", str(archive), *options]
    environment = os.environ.copy()
    if ranks is not None:
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *command]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    wall = time.monotonic() - began
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr[-2000:]}")
    summary = next(archive.glob("runs/*/summary.json"), None) or next(archive.glob("runs/*/loads/*/summary.json"))
    return json.loads(summary.read_text()), wall, summary.parent / "requests.jsonl"


def late(summary):
    """How far apart the ranks began, ms."""
    values = [line["first_late_ms"] for line in summary.get("ranks", []) if line["first_late_ms"] is not None]
    return f"{max(values):.2f}" if values else ""


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    requests = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    print("| case | clients | requests | requests/s | beside one client | client CPU s | wall s, launcher included | TTFT error, mean / p99, ms | latest first request, ms | client limited |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---|")
    for name, mock_options, load_options, count, exact in (
        ("whole answers", ["--ttft-ms=0", "--itl-ms=0", "--whole"], ["--concurrency", "64", "--isl", "16", "--osl", "128"], requests, False),
        ("64 streams, 5 ms + 1 ms a token", ["--ttft-ms=5", "--itl-ms=1"], ["--concurrency", "64", "--isl", "16", "--osl", "128"], requests // 20, True),
    ):
        alone = None
        for ranks in RANKS:
            with tempfile.TemporaryDirectory() as where:
                folder = pathlib.Path(where)
                mock = Mock(program, folder, mock_options)
                summary, wall, lines = run(program, folder, mock, ranks, [*load_options, "--requests", str(count)])
                truth = mock.stop()
                errors = []
                if exact:
                    for line in map(json.loads, open(lines)):
                        known = truth.get(line["request_id"])
                        if known and line.get("first_token_s") is not None:
                            errors.append((line["first_token_s"] - line["sent_s"]) * 1000 - truth_ms(known, "first_ns"))
            rate = summary["request_throughput_req_s"]
            alone = alone or rate
            assert summary["completed"] == count, summary
            who = "one, no ranks" if ranks is None else f"{ranks} rank{'s' if ranks > 1 else ''}"
            error = f"{mean(errors):.3f} / {p99(errors):.3f}" if errors else ""
            print(f"| {name} | {who} | {count:,} | {rate:,.0f} | {rate / alone:.2f} | {summary['client']['cpu_s']:.1f} | {wall:.1f} | {error} | {late(summary)} | {'yes' if summary['client']['limited'] else 'no'} |", flush=True)


if __name__ == "__main__":
    main()
