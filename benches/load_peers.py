"""Holds what other load generators report against what a server with known emission times did, and sparkbench beside them.

    cargo build --release && python3 benches/load_peers.py [--streams 64] [--program target/release/sparkbench]

In:  the program, whose mock (`sparkbench mock`) is the server for all; the peers, which are installed from the package index.
Out: a table on standard output: reported minus true, in milliseconds, for each client.
Not here: judging. The mock writes down when it had each request and when it wrote each first and last token, whatever the
     clients say; all share the machine with it, so a client that needs much of the processor also delays the mock, and that
     delay is in the truth, not in the error.

Each client runs a closed loop of the same number of streams: 50 ms to the first token, then one every 10 ms, 128 tokens.
Nothing else should run meanwhile; the load of the machine is printed with the figures.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "server"))
import make_model  # noqa: E402  (the vocabulary that peers want before they send anything)

TTFT_MS, ITL_MS, TOKENS = 50, 10, 128
INPUT_TOKENS = 100
ROUNDS = 10
"""Requests of each stream."""
MODEL = "mock"
MS_PER_S, NS_PER_MS = 1e3, 1e6
PINS = {"aiperf": "aiperf==0.13.0", "genai-bench": "genai-bench==0.0.5", "guidellm": "guidellm==0.8.1"}
"""Versions that this script was made for. guidellm brings 3 GB with it and is run only when it is named."""


def install(name, home):
    """The peer's program, in a virtual environment of its own."""
    program = home / name / "bin" / name
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", home / name], check=True)
        subprocess.run([home / name / "bin" / "pip", "install", "-q", "--disable-pip-version-check", PINS[name]], check=True)
    return program


def tokenizer(folder):
    """A tokenizer in the form in which hubs give them."""
    make_model.make_tokenizer(folder / "tokenizer.json", make_model.Vocabulary())
    kind = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": make_model.MARK_END, "model_max_length": 131072}
    (folder / "tokenizer_config.json").write_text(json.dumps(kind))
    return folder


class Mock:
    """The server, from its start to the truths that it leaves."""

    def __init__(self, program, folder):
        self.truth = folder / "truth.jsonl"
        times = ["--ttft-ms", str(TTFT_MS), "--itl-ms", str(ITL_MS), "--tokens", str(TOKENS)]
        self.process = subprocess.Popen(
            [program, "mock", "--quiet", "--model", MODEL, *times, "--truth", self.truth],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = self.process.stdout.readline().strip()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        return [json.loads(line) for line in self.truth.read_text().splitlines()]


def figures(ttft, tpot, e2e):
    """Mean and 99th percentile of the time to the first token, means of the others; ms."""
    cuts = statistics.quantiles(ttft, n=100, method="inclusive")
    return {"ttft": statistics.fmean(ttft), "ttft_p99": cuts[98], "tpot": statistics.fmean(tpot), "e2e": statistics.fmean(e2e)}


def true_figures(truths):
    """The same figures, from what the mock did."""
    done = [one for one in truths if one["outcome"] == "complete" and one["tokens"] == TOKENS]
    had = [one["received_ns"] or one["received_user_ns"] for one in done]
    ttft = [(one["first_ns"] - start) / NS_PER_MS for one, start in zip(done, had)]
    tpot = [(one["last_ns"] - one["first_ns"]) / NS_PER_MS / (TOKENS - 1) for one in done]
    e2e = [(one["last_ns"] - start) / NS_PER_MS for one, start in zip(done, had)]
    return figures(ttft, tpot, e2e), len(done)


def run_sparkbench(program, url, streams, folder):
    command = [program, "load", "--url", url, "--concurrency", streams, "--requests", streams * ROUNDS]
    command += ["--isl", INPUT_TOKENS, "--osl", TOKENS, "--exact", "ignore-eos", "--json", folder / "summary.json"]
    call(command, folder)
    summary = json.loads((folder / "summary.json").read_text())
    reported = {name: summary[f"{name}_ms"]["mean"] for name in ("ttft", "tpot")}
    return reported | {"ttft_p99": summary["ttft_ms"]["p99"], "e2e": summary["e2e_latency_ms"]["mean"]}


def run_aiperf(program, url, streams, folder):
    command = [program, "profile", "-m", MODEL, "--tokenizer", folder, "--url", url, "--endpoint-type", "chat", "--streaming"]
    command += ["--concurrency", streams, "--request-count", streams * ROUNDS, "--isl", INPUT_TOKENS, "--osl", TOKENS]
    command += ["--extra-inputs", "ignore_eos:true", "--use-server-token-count", "--ui", "none", "--no-gpu-telemetry"]
    call([*command, "--no-server-metrics", "--artifact-dir", folder / "aiperf"], folder)
    report = json.loads((folder / "aiperf" / "profile_export_aiperf.json").read_text())
    names = {"ttft": "time_to_first_token", "tpot": "inter_token_latency", "e2e": "request_latency"}
    reported = {ours: report[theirs]["avg"] for ours, theirs in names.items()}
    return reported | {"ttft_p99": report["time_to_first_token"]["p99"]}


def run_genai_bench(program, url, streams, folder):
    command = [program, "benchmark", "--api-backend", "openai", "--api-base", url, "--api-key", "none", "--api-model-name", MODEL]
    command += ["--model-tokenizer", folder, "--task", "text-to-text", "--traffic-scenario", f"D({INPUT_TOKENS},{TOKENS})"]
    command += ["--num-concurrency", streams, "--max-requests-per-run", streams * ROUNDS, "--max-time-per-run", 5]
    call([*command, "--server-engine", "vLLM", "--experiment-base-dir", folder / "genai"], folder)
    (report,) = (folder / "genai").glob("*/D*_concurrency_*.json")
    each = json.loads(report.read_text())["individual_request_metrics"]
    seconds = ([one[name] for one in each] for name in ("ttft", "tpot", "e2e_latency"))
    return figures(*([value * MS_PER_S for value in values] for values in seconds))


def run_guidellm(program, url, streams, folder):
    command = [program, "benchmark", "run", "--target", url, "--model", MODEL, "--processor", folder, "--profile", "concurrent"]
    command += ["--rate", streams, "--max-requests", streams * ROUNDS, "--disable-console", "--output-path", folder / "guidellm.json"]
    call([*command, "--data", f"prompt_tokens={INPUT_TOKENS},output_tokens={TOKENS}"], folder)
    (benchmark,) = json.loads((folder / "guidellm.json").read_text())["benchmarks"]
    names = {"ttft": "time_to_first_token_ms", "tpot": "inter_token_latency_ms", "e2e": "request_latency"}
    told = {ours: benchmark["metrics"][theirs]["successful"] for ours, theirs in names.items()}
    reported = {name: told[name]["mean"] for name in ("ttft", "tpot")}
    return reported | {"ttft_p99": told["ttft"]["percentiles"]["p99"], "e2e": told["e2e"]["mean"] * MS_PER_S}


CLIENTS = {"sparkbench": run_sparkbench, "aiperf": run_aiperf, "genai-bench": run_genai_bench, "guidellm": run_guidellm}


def call(command, folder):
    """Runs a client; what it says is shown only when it fails."""
    with open(folder / "client.log", "w+") as log:
        ended = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder)
        if ended.returncode != 0:
            log.seek(0)
            sys.exit(f"{command[0]} ended with {ended.returncode}:\n{log.read()}")


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(name, program, mock_program, streams):
    """One line of the table."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sparkbench-peers-"))
    try:
        tokenizer(folder)
        mock = Mock(mock_program, folder)
        processor, began = processor_seconds(), time.monotonic()
        reported = CLIENTS[name](program, mock.url, streams, folder)
        processor, took = processor_seconds() - processor, time.monotonic() - began
        true, requests = true_figures(mock.end())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    cells = [name, streams, requests]
    cells += [f"{reported[key]:.2f} - {true[key]:.2f} = {reported[key] - true[key]:.2f}" for key in ("ttft", "ttft_p99")]
    cells += [f"{reported[key] - true[key]:.3f}" for key in ("tpot", "e2e")]
    cells += [f"{processor / (requests * TOKENS / 1000):.4f}", f"{took:.1f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", default="sparkbench,aiperf,genai-bench", help=f"with commas between: {', '.join(CLIENTS)}")
    parser.add_argument("--streams", default="64", help="with commas between")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "target" / "release" / "sparkbench")
    parser.add_argument("--home", type=pathlib.Path, default=ROOT / "target" / "peers", help="where the peers are installed")
    asked = parser.parse_args()
    program = asked.program.absolute()
    clients = asked.clients.split(",")
    programs = {name: program if name == "sparkbench" else install(name, asked.home.absolute()) for name in clients}

    print(f"{os.cpu_count()} cores; load averages before: {' '.join(map(str, os.getloadavg()))}")
    print("| client | streams | requests | TTFT mean: reported - true | TTFT p99 | TPOT error | E2E error | CPU s / 1,000 tokens | whole run, s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for streams in map(int, asked.streams.split(",")):
        for name in clients:
            print(measure(name, programs[name], program, streams), flush=True)
    print(f"load averages after: {' '.join(map(str, os.getloadavg()))}")


if __name__ == "__main__":
    main()
