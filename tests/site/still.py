#!/usr/bin/env python3
"""Pages that arrive piece by piece, as over a slow line: nothing that is there already may move.

usage: still.py SITE...

The largest page of each kind, in the first of the sites that has it, on a phone and on a desk. The browser paints between the pieces, so a column that waits for its neighbour
or a table that widens shows as movement of the layout. Exits 1 where its measure is not 0 to three decimals.
"""

import asyncio
import time

from playwright.async_api import async_playwright

from common import MOVES, Quiet, arguments, finish, kinds, options, report, served

# Bytes of a piece, and seconds between two: some frames of the screen. A large page comes in larger pieces.
PIECE = 4_000
PIECES_MAX = 100
PAUSE_S = 0.03
SCREENS = ((360, 740), (1280, 900))
# Pages that are on their way at once: they mostly wait.
TOGETHER = 6


class Slow(Quiet):
    """Sends every file in pieces."""

    def copyfile(self, source, outputfile):
        whole = source.read()
        piece = max(PIECE, -(-len(whole) // PIECES_MAX))
        for start in range(0, len(whole), piece):
            outputfile.write(whole[start : start + piece])
            outputfile.flush()
            time.sleep(PAUSE_S)


async def look(chromium, address, path, screen):
    width, height = screen
    context = await chromium.new_context(viewport={"width": width, "height": height})
    page = await context.new_page()
    await page.add_init_script(MOVES)
    page.set_default_timeout(120_000)
    await page.goto(address + str(path), wait_until="load")
    await page.wait_for_timeout(300)
    cls, moved = await page.evaluate("[window.__cls, window.__moved.map(String)]")
    await context.close()
    faults = [f"moved by {cls:.3f}: {', '.join(moved[:5])}"] if round(cls, 3) > 0 else []
    report(path, f"{width} px", faults)


async def main():
    sites, _ = arguments(__doc__)
    looked = 0
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(**options())
        free = asyncio.Semaphore(TOGETHER)

        async def in_turn(*asked):
            async with free:
                await look(chromium, *asked)

        seen = set()
        for site in sites:
            with served(site, Slow) as address:
                # A kind that an earlier site has comes from the same template: what moves there moves here.
                here = kinds(site)
                chosen = [members[-1].relative_to(site) for name, members in here.items() if name not in seen]
                seen |= here.keys()
                looks = [in_turn(address, path, screen) for path in chosen for screen in SCREENS]
                await asyncio.gather(*looks)
                looked += len(looks)
        await chromium.close()
    finish(looked)


if __name__ == "__main__":
    asyncio.run(main())
