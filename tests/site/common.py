"""What axe.py and shots.py share: the kinds of page in a site, and a browser that may reach nothing but the disk."""

import os
import shutil
import sys
from pathlib import Path

KINDS = ("index.html", "c/*/index.html", "r/*/index.html", "traps/index.html", "cost/index.html", "method/index.html", "data/index.html")
THEMES = ("light", "dark")


def pages(site, everything=False):
    """One page per kind and, for kinds with many, the largest and the smallest: the rich one and the bare one."""
    found = []
    for kind in KINDS:
        members = sorted(site.glob(kind), key=lambda page: (page.stat().st_size, page))
        if not members:
            sys.exit(f"no page of kind {kind} in {site}")
        found += members if everything else sorted({members[0], members[-1]})
    return found


def browser(playwright):
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not path:
        sys.exit("no chromium found: install it, or name it in CHROMIUM")
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-background-networking"])


def watch(page, site):
    """Complaints of the console and every request that leaves the site's folder."""
    home = Path(site).resolve().as_uri() + "/"
    faults = []
    page.on("console", lambda m: faults.append(f"console {m.type}: {m.text}") if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: faults.append(f"page error: {e}"))
    page.on("request", lambda r: None if r.url.startswith((home, "data:")) else faults.append(f"request: {r.url}"))
    page.on("requestfailed", lambda r: faults.append(f"failed request: {r.url}"))
    return faults
