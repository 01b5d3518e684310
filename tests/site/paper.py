#!/usr/bin/env python3
"""Pages on paper: one PDF of each kind of page on A4 and on Letter, read back as text.

usage: paper.py SITE... [--keep=FOLDER]

What is folded on the screen is printed, links that leave the site show where they lead, and every sheet has its number. --keep
leaves PDFs and pictures of their sheets to be looked at. Needs pdftotext and pdftoppm. Exits 1 on a fault.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from common import RESTS, browser, finish, kinds, patient, report

FORMATS = ("A4", "Letter")

# What a page must show: the last words of every folded block, and the addresses of other sites.
WANTED = """() => ({
  folded: [...document.querySelectorAll('details')].map(d => [...d.querySelectorAll('td, li, dd, p')].pop()).filter(e => e)
    .map(e => e.textContent.trim().split(/\\s+/).slice(-2).join(' ')),
  links: [...document.querySelectorAll('main a[href^="http"]')].map(a => a.href),
})"""


def main():
    keep = [Path(a.removeprefix("--keep=")) for a in sys.argv[1:] if a.startswith("--keep=")]
    sites = [Path(a) for a in sys.argv[1:] if not a.startswith("--")]
    if not sites:
        sys.exit(__doc__)
    looked = 0
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        chromium = browser(playwright)
        for site in sites:
            for kind, members in kinds(site).items():
                for paper in FORMATS:
                    stem = re.sub(r"[^a-z0-9]+", "-", kind).strip("-") + f"-{paper.lower()}"
                    pdf = (keep[0] if keep else Path(scratch)) / f"{stem}.pdf"
                    pdf.parent.mkdir(parents=True, exist_ok=True)
                    report(members[-1].relative_to(site), paper, sheets(chromium, members[-1], paper, pdf))
                    looked += 1
                    if keep:
                        subprocess.run(["pdftoppm", "-r", "60", "-png", pdf, pdf.with_suffix("")], check=True)
        chromium.close()
    finish(looked, "prints")


def sheets(chromium, path, paper, pdf):
    """Prints one page and says what its PDF lacks."""
    context = patient(chromium.new_context(viewport={"width": 1280, "height": 900}))
    page = context.new_page()
    page.goto(path.resolve().as_uri())
    page.evaluate(RESTS)
    wanted = page.evaluate(WANTED)
    page.pdf(path=pdf, format=paper, prefer_css_page_size=False)
    context.close()
    text = subprocess.run(["pdftotext", "-raw", pdf, "-"], check=True, capture_output=True, text=True).stdout
    whole = re.sub(r"\s+", "", text)
    # Words may break anywhere in a narrow column: they are looked for without their spaces and hyphens.
    held = lambda words: re.sub(r"[\s\u00ad]+", "", words) in whole
    faults = [f"folded and not printed: …{words}" for words in wanted["folded"] if not held(words)]
    faults += [f"an address is not printed: {link}" for link in sorted(set(wanted["links"])) if not held(link) and not held(link.rstrip("/"))]
    pages = text.split("\f")[:-1]
    if not all(f"{k + 1} / {len(pages)}" in sheet or f"{k + 1}/{len(pages)}" in sheet for k, sheet in enumerate(pages)):
        faults.append("a sheet without its number")
    return faults


if __name__ == "__main__":
    main()
