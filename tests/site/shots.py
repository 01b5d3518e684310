#!/usr/bin/env python3
"""Screenshots of every kind of page, light and dark, 360 and 1280 px wide.

usage: shots.py SITE FOLDER
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from common import THEMES, browser, pages

WIDTHS = (360, 1280)
# Chromium draws no picture taller than this.
TALLEST = 16_000


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    site, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        chromium = browser(playwright)
        for path in pages(site):
            name = str(path.relative_to(site)).removesuffix("index.html").strip("/").replace("/", "-") or "front"
            for theme in THEMES:
                for width in WIDTHS:
                    context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=theme)
                    page = context.new_page()
                    page.goto(path.resolve().as_uri())
                    height = min(page.evaluate("document.documentElement.scrollHeight"), TALLEST)
                    out = folder / f"{name}-{theme}-{width}.png"
                    page.screenshot(path=out, full_page=True, clip={"x": 0, "y": 0, "width": width, "height": height})
                    print(out)
                    context.close()
        chromium.close()


if __name__ == "__main__":
    main()
