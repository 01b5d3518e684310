#!/usr/bin/env python3
"""What a site weighs, as a server would send it (gzip), against its bars.

usage: weight.py SITE... [--single=FILE]

Front page at most 150 KB sent and 400 KB raw, any page 500 KB sent (a frozen version counts as one file), any drawing 60 KB raw, the
script 15 KB sent. 60 runs weigh at most 12 MB on disk, and under 2 MB as one file. Sites of more runs may weigh in proportion. Exits 1 beyond
a bar.
"""

import gzip
import json
import re
import sys
from pathlib import Path

from common import kinds

KB, MB = 1_000, 1_000_000
FRONT, FRONT_RAW, PAGE, DRAWING, SCRIPT, SITE, SINGLE = 150 * KB, 400 * KB, 500 * KB, 60 * KB, 15 * KB, 12 * MB, 2 * MB
RUNS = 60
SVG = re.compile(rb"<svg[ >].*?</svg>", re.DOTALL)


def main():
    single = [Path(a.removeprefix("--single=")) for a in sys.argv[1:] if a.startswith("--single=")]
    sites = [Path(a) for a in sys.argv[1:] if not a.startswith("--")]
    if not sites:
        sys.exit(__doc__)
    bad = 0
    for site in sites:
        runs = len(json.loads((site / "data/analysis.json").read_bytes())["runs"])
        share = max(1.0, runs / RUNS)
        print(f"{site}: {runs} runs")
        for kind, members in kinds(site).items():
            sent = {page: len(gzip.compress(page.read_bytes(), 6)) for page in members}
            heaviest = max(sent, key=sent.get)
            if kind.startswith("v/"):
                # A frozen version is the whole report as one file.
                heaviest = max(members, key=lambda page: page.stat().st_size)
                bad += line(f"{kind}, heaviest of {len(members)}, as one file", heaviest.stat().st_size, int(SINGLE * share))
                continue
            bad += line(f"{kind}, heaviest of {len(members)}", sent[heaviest], FRONT if kind == "index.html" else PAGE)
        front = (site / "index.html").read_bytes()
        bad += line("index.html, raw", len(front), FRONT_RAW)
        scripts = [page.read_bytes() for page in site.glob("assets/*.js")]
        bad += line("the script", len(gzip.compress(scripts[0], 6)) if len(scripts) == 1 else SCRIPT + 1, SCRIPT)
        drawings = [len(p.read_bytes()) for p in site.rglob("*.svg")]
        drawings += [len(svg) for page in site.rglob("*.html") for svg in SVG.findall(page.read_bytes())]
        bad += line(f"largest of {len(drawings)} drawings, raw", max(drawings, default=0), DRAWING)
        files = [p for p in site.rglob("*") if p.is_file()]
        bad += line(f"{len(files)} files", sum(p.stat().st_size for p in files), int(SITE * share))
        for one in single:
            bad += line(f"{one.name}, as one file", one.stat().st_size, int(SINGLE * share))
    sys.exit(1 if bad else 0)


def line(what, weight, bar):
    print(f"  {'heavy' if weight > bar else 'ok   '} {weight:>10} of {bar:>10} bytes  {what}")
    return weight > bar


if __name__ == "__main__":
    main()
