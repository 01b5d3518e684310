#!/usr/bin/env python3
"""How fast pages show in headless Chromium slowed down four times, served below a sub-path.

usage: pages.py SITE...

Front page, largest campaign, largest run and largest page of each site, on a phone and on a desk: the largest contentful paint in under
1.2 s, and no movement of the layout (to three decimals of its measure). A time is the least of three loads, since a busy machine only ever
adds. Exits 1 beyond a bar. It wants a machine that does nothing else, and what `tests/site/requirements.txt` names.
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "site"))
from common import MOVED, MOVES, RESTS, arguments, browser, kinds, patient, served

SLOWER = 4
LCP_MS = 1_200
LOADS = 3
SCREENS = ((360, 740), (1280, 900))

RECORD = MOVES + """
window.__lcp = 0;
window.__shown = entries => entries.forEach(e => window.__lcp = e.startTime);
window.__paints = new PerformanceObserver(list => window.__shown(list.getEntries()));
window.__paints.observe({ type: 'largest-contentful-paint', buffered: true });
"""
# Resolves when something was painted.
PAINTED = """() => new Promise(done => {
  const look = () => window.__lcp > 0 ? done() : requestAnimationFrame(look);
  look();
})"""
LCP = "(window.__shown(window.__paints.takeRecords()), window.__lcp)"


def main():
    sites, _ = arguments(__doc__)
    bad = 0
    with sync_playwright() as playwright:
        chromium = browser(playwright)
        print(f"{'LCP, ms':>8} {'CLS':>6} {'width':>6}  page")
        for site in sites:
            with served(site) as address:
                for path in chosen(site):
                    for width, height in SCREENS:
                        lcp, cls, moved = measure(chromium, address + str(path), width, height)
                        over = not 0 < lcp < LCP_MS or round(cls, 3) > 0
                        print(f"{lcp:>8.0f} {cls:>6.3f} {width:>6}  {path}{'  beyond its bar ' + ', '.join(moved[:3]) if over else ''}")
                        bad += over
        chromium.close()
    sys.exit(1 if bad else 0)


def chosen(site):
    """The pages that are measured, each once."""
    found = kinds(site)
    every = sorted((p for members in found.values() for p in members), key=lambda p: (p.stat().st_size, p))
    wanted = [site / "index.html", *(found[k][-1] for k in ("c/*/index.html", "r/*/index.html") if k in found), every[-1]]
    return [p.relative_to(site) for p in dict.fromkeys(wanted)]


def measure(chromium, url, width, height):
    """Least paint time, greatest movement and what moved, of several loads."""
    loads = []
    for _ in range(LOADS):
        context = patient(chromium.new_context(viewport={"width": width, "height": height}))
        page = context.new_page()
        page.add_init_script(RECORD)
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        page.goto(url, wait_until="load")
        page.evaluate(PAINTED)
        page.evaluate(RESTS)
        loads.append((page.evaluate(LCP), *page.evaluate(MOVED)))
        context.close()
    worst = max(loads, key=lambda load: load[1])
    return min(lcp for lcp, _, _ in loads), worst[1], worst[2]


if __name__ == "__main__":
    main()
