#!/usr/bin/env python3
"""How soon a site follows: one run more, and one less, among a thousand, while `analyse --watch` stays.

usage: benches/watch.py PROGRAM CAMPAIGN [TIMES]

CAMPAIGN is a folder that `examples/large_campaign.rs` wrote; one of its runs is moved out and in again. A table of 1,000 rows is measured
too; a row is added and taken away. Wall time counts from the change to the line that the program says when the site is up to date, so it
holds the wait for the next look; processor time is that of all its threads. Linux only: both come from /proc.
"""

import os
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time

TICK = os.sysconf("SC_CLK_TCK")
SAID = re.compile(r"(\d+) runs, (\d+) files written, (\d+) removed, ([\d.]+) s")
SETTLED = 6  # files younger than four seconds are read again, which is not what is measured here
FOLLOWS = "the largest downloads follow"


class Watch:
    def __init__(self, program, paths, site):
        self.process = subprocess.Popen(
            [program, "analyse", *map(str, paths), "--site", str(site), "--watch"], stderr=subprocess.PIPE, text=True
        )
        self.lines = queue.SimpleQueue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stderr:
            self.lines.put(line)
        self.lines.put(None)

    def cpu(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def peak_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) // 1024

    def until(self, pattern):
        while (line := self.lines.get()) is not None:
            found = re.search(pattern, line)
            if found:
                return found
        sys.exit("the program ended")

    def change(self, name, change):
        cpu, began = self.cpu(), time.monotonic()
        change()
        said = self.until(SAID)
        wall, used = time.monotonic() - began, self.cpu() - cpu
        print(f"| {name} | {said[1]} | {wall:.2f} | {said[4]} | {used:.2f} | {said[2]} | {said[3]} |", flush=True)
        # What can wait belongs to the same change.
        if FOLLOWS in said.string:
            said = self.until(SAID)
            wall, used = time.monotonic() - began, self.cpu() - cpu
            print(f"| … and the largest downloads | {said[1]} | {wall:.2f} | {said[4]} | {used:.2f} | {said[2]} | {said[3]} |", flush=True)
        time.sleep(SETTLED)


def measure(program, paths, changes, times):
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        watch = Watch(program, paths, pathlib.Path(folder) / "site")
        watch.until("watching")
        print(f"| first site |  | {time.monotonic() - began:.2f} |  | {watch.cpu():.2f} |  |  |", flush=True)
        time.sleep(SETTLED)
        for _ in range(times):
            for name, change in changes:
                watch.change(name, change)
        idle, began = watch.cpu(), time.monotonic()
        time.sleep(10)
        print(f"idle: {100 * (watch.cpu() - idle) / (time.monotonic() - began):.1f} % of a core; peak {watch.peak_mib()} MiB")
        watch.process.send_signal(2)
        watch.process.wait()


def table(path, rows):
    lines = ["environment,model,workload,started_utc,ttft_ms,output_throughput_tok_s"]
    for row in range(rows):
        environment, model = ("native", "docker")[row % 2], "abcde"[row // 2 % 5]
        at = f"2026-01-{1 + row // 288:02}T{row // 12 % 24:02}:{row % 12 * 5:02}:00Z"
        lines.append(f"{environment},model-{model},chat,{at},{40 + row * 7 % 11 / 10},{100 + row * 5 % 13 / 10}")
    aside = path.with_suffix(".part")
    aside.write_text("\n".join(lines) + "\n")
    os.replace(aside, path)


def main():
    program, campaign = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    head = "| change | runs | wall, s | the program's own word, s | processor, s | files written | removed |\n|---|---:|---:|---:|---:|---:|---:|"
    with tempfile.TemporaryDirectory() as folder:
        rows = pathlib.Path(folder) / "runs.csv"
        table(rows, 1000)
        print("table of 1,000 rows\n\n" + head)
        measure(program, [folder], [("a row more", lambda: table(rows, 1001)), ("a row less", lambda: table(rows, 1000))], times)
    run = sorted((campaign / "runs").iterdir())[-1]
    aside = campaign / f".{run.name}"
    print(f"\n{campaign.name}: one run of its own moved out and in\n\n{head}")
    changes = [("a run less", lambda: os.rename(run, aside)), ("a run more", lambda: os.rename(aside, run))]
    measure(program, [campaign], changes, times)


if __name__ == "__main__":
    main()
