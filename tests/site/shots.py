#!/usr/bin/env python3
"""Screenshots of every kind of page, light and dark, 360 and 1280 px wide.

usage: shots.py SITE FOLDER [--all] [--forced]

--all takes every page instead of two of each kind; --forced adds forced colours.
"""

import asyncio
import sys
from pathlib import Path

from playwright.async_api import Error, async_playwright

from common import RESTS, THEMES, options, pages, patient

WIDTHS = (360, 1280)
# Chromium draws no picture taller than this.
TALLEST = 16_000
# Pages drawn at a time in one browser.
AT_ONCE = 4


async def main():
    flags = [a for a in sys.argv[1:] if a.startswith("--")]
    places = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(places) != 2 or set(flags) - {"--all", "--forced"}:
        sys.exit(__doc__)
    site, folder = map(Path, places)
    folder.mkdir(parents=True, exist_ok=True)
    settings = [(theme, "none") for theme in THEMES] + ([("light", "active")] if "--forced" in flags else [])
    gate = asyncio.Semaphore(AT_ONCE)
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(**options())
        shots = [
            shot(gate, chromium, path, folder, name(site, path), theme, forced, width)
            for path in pages(site, "--all" in flags)
            for theme, forced in settings
            for width in WIDTHS
        ]
        lost = [fault for fault in await asyncio.gather(*shots) if fault]
        await chromium.close()
    print("\n".join([*lost, f"{len(shots) - len(lost)} pictures in {folder}"]))
    sys.exit(1 if lost else 0)


def name(site, path):
    """`r/run-01/index.html` as `r-run-01`."""
    return str(path.relative_to(site)).removesuffix("index.html").removesuffix(".html").strip("/").replace("/", "-") or "front"


async def shot(gate, chromium, path, folder, stem, theme, forced, width):
    """Takes one picture; gives what was in the way."""
    out = folder / f"{stem}-{'forced' if forced == 'active' else theme}-{width}.png"
    async with gate:
        context = patient(await chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=theme, forced_colors=forced))
        try:
            page = await context.new_page()
            await page.goto(path.resolve().as_uri())
            # A tall window, not a picture of the whole page: of the whole report, which is taller than any picture, that takes minutes.
            whole = await page.evaluate("document.documentElement.scrollHeight")
            height = min(whole, TALLEST)
            await page.set_viewport_size({"width": width, "height": height})
            await page.evaluate(RESTS)
            for piece, top in enumerate(range(0, whole, TALLEST), start=1):
                # What is taller than any picture is several: the last shows the end, and what it has in common with the one before.
                await page.evaluate("top => window.scrollTo({ top, behavior: 'instant' })", top)
                await page.screenshot(path=out if piece == 1 else out.with_stem(f"{out.stem}-{piece}"))
            return None
        except Error as error:
            return f"{out.name}: {str(error).splitlines()[0]}"
        finally:
            await context.close()


if __name__ == "__main__":
    asyncio.run(main())
