#!/usr/bin/env python3
"""How near the times of `sparkbench load` are to the seconds that a real engine counts about the same work.

    cargo build --release && python3 benches/engine.py target/release/sparkbench [--vllm]

In:  the program. The engines of `tests/server`, which are prepared where they are not.
Out: a table on standard output, one line a load: TPOT of the client and of llama.cpp's server, and TTFT beside the time in which the server
     read the prompt. With --vllm also what counting along costs vLLM: the latency of an answer with and without it.
Not here: what must hold on a busy machine too (`tests/engines`), and a server whose truth is known (`load_peers.py`).

A client sees each token a moment after the server's own clock did, and that moment is longer where other programs want the processors.
Exits 1 where TPOT is further from the server's step than 3 % and 10 ms an answer, where TTFT is further from the time of reading than
four such moments and a step, or where counting along makes an answer 2.5 times as long. Nothing else should run meanwhile.
"""

import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
REQUESTS, TOKENS = 12, 256
STEP_SHARE, HAND_OVER_MS, COUNTING = 0.03, 10.0, 2.5
WORDS = "the first ship would carry what they found over the sea in winter".split()


class Server:
    """An engine of `tests/server`, as long as this value is used."""

    def __init__(self, script, *options):
        command = [sys.executable, ROOT / "tests" / "server" / script, "--tied", *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().strip()

    def __enter__(self):
        if not self.url:
            sys.exit("the server did not start: run its script by hand, which says why")
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def seconds(self):
        """What llama.cpp's server counts of its time: reading prompts, making tokens."""
        text = urllib.request.urlopen(f"{self.url}/metrics").read().decode()
        found = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("llamacpp:"))
        return [float(found[f"llamacpp:{name}_seconds_total"]) for name in ("prompt", "tokens_predicted")]

    def load(self, program, folder, *options):
        command = [program, "load", "--url", self.url, "--json", "-", *options]
        return json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout)


def prompts(folder):
    """Prompts of several lengths. They go out as they are: nothing but the load is in the server's counters."""
    path = folder / "prompts.jsonl"
    cut = lambda at: " ".join(itertools.islice(itertools.cycle(WORDS), at % 7, at % 7 + 40 + 9 * at))
    path.write_text("".join(json.dumps({"prompt": f"{at} {cut(at)}"}) + "\n" for at in range(REQUESTS)))
    return path


def times(program, folder):
    """Loads of llama.cpp's server, each held against the server's own seconds. Says how many are beyond their bars."""
    beyond, steps = 0, TOKENS - 1
    print("| at a time | TPOT, ms | of the server | TTFT, ms | reading | |\n| ---: | ---: | ---: | ---: | ---: | --- |")
    with Server("serve.py", "--metrics") as server:
        for streams in (1, 2):
            before = server.seconds()
            fixed = ["--exact", "ignore-eos", "--osl", str(TOKENS), "--cache", "natural", "--prompts", prompts(folder)]
            summary = server.load(program, folder, "--concurrency", str(streams), "--requests", str(REQUESTS), *fixed)
            reading, making = ((after - was) * 1e3 / REQUESTS for after, was in zip(server.seconds(), before))
            ttft, tpot, step = summary["ttft_ms"]["mean"], summary["tpot_ms"]["mean"], making / steps
            agrees = abs(tpot - step) <= step * STEP_SHARE + HAND_OVER_MS / steps
            soon = ttft <= reading + step + 4 * HAND_OVER_MS
            beyond += not (agrees and soon)
            print(f"| {streams} | {tpot:.4f} | {step:.4f} | {ttft:.3f} | {reading:.3f} | {'' if agrees and soon else 'beyond its bar'} |")
    return beyond


def counting(program, folder):
    """Answers of vLLM with and without a count in each chunk."""
    with Server("vllm/serve.py") as server:
        common = ["--concurrency", "1", "--requests", str(REQUESTS), "--isl", "60", "--osl", "64"]
        plain, counted = (server.load(program, folder, *common, *more)["e2e_latency_ms"]["p50"] for more in ([], ["--continuous-usage"]))
    ratio = counted / plain
    over = not 1 / COUNTING < ratio < COUNTING
    print(f"vLLM: an answer takes {plain:.1f} ms, with a count in each chunk {counted:.1f} ms{', beyond its bar' if over else ''}")
    return over


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--vllm", action="store_true", help="vLLM too (6 GB)")
    asked = parser.parse_args()
    program = asked.program.resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        beyond = times(program, folder) + (counting(program, folder) if asked.vllm else 0)
    sys.exit(1 if beyond else 0)


if __name__ == "__main__":
    main()
