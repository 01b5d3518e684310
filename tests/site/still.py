#!/usr/bin/env python3
"""Pages that arrive piece by piece, as over a slow line: nothing that is there already may move.

usage: still.py SITE...

The largest page of each kind, in the first of the sites that has it, on a phone and on a desk. The next piece is sent when the browser has
drawn what it has, so a column that waits for its neighbour or a table that widens shows as movement of the layout. Exits 1 where its measure
is not 0 to three decimals.
"""

import asyncio
import functools
import threading

from playwright.async_api import async_playwright

from common import MOVED, MOVES, RESTS, Quiet, arguments, finish, kinds, options, patient, report, served

# Bytes of a piece. A large page comes in larger pieces.
PIECE = 4_000
PIECES_MAX = 100
SCREENS = ((360, 740), (1280, 900))
# Pages that are on their way at once: they mostly wait.
TOGETHER = 6

# Resolves when the browser has drawn two frames, or has had a turn without drawing where nothing may be drawn yet: a page may ask for its first
# tables to be awaited. Tells whether all of the page is there.
DRAWN = """async () => {
  const frame = () => new Promise(drawn => requestAnimationFrame(drawn));
  if (performance.getEntriesByName('first-paint').length) { await frame(); await frame(); }
  else await new Promise(turn => setTimeout(turn));
  return document.readyState === 'complete';
}"""


class Slow(Quiet):
    """Sends every file in pieces, the first at once and each further one when the look that asked for it lets it: `?3` names its place among `paces`."""

    def __init__(self, *given, paces, **named):
        self.paces = paces
        super().__init__(*given, **named)

    def copyfile(self, source, outputfile):
        whole, look = source.read(), self.path.partition("?")[2]
        piece = max(PIECE, -(-len(whole) // PIECES_MAX))
        for start in range(0, len(whole), piece):
            if start and look:
                self.paces[int(look)].acquire()
            outputfile.write(whole[start : start + piece])
            outputfile.flush()


async def look(chromium, address, paces, path, screen):
    width, height = screen
    pace = threading.Semaphore(0)
    paces.append(pace)
    context = patient(await chromium.new_context(viewport={"width": width, "height": height}))
    try:
        page = await context.new_page()
        await page.add_init_script(MOVES)
        await page.goto(f"{address}{path}?{paces.index(pace)}", wait_until="commit")
        while not await page.evaluate(DRAWN):
            pace.release()
        await page.evaluate(RESTS)
        cls, moved = await page.evaluate(MOVED)
    finally:
        # Whatever went wrong, the server is not left waiting.
        pace.release(PIECES_MAX)
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
            paces = []
            with served(site, functools.partial(Slow, paces=paces)) as address:
                # A kind that an earlier site has comes from the same template: what moves there moves here.
                here = kinds(site)
                chosen = [members[-1].relative_to(site) for name, members in here.items() if name not in seen]
                seen |= here.keys()
                looks = [in_turn(address, paces, path, screen) for path in chosen for screen in SCREENS]
                await asyncio.gather(*looks)
                looked += len(looks)
        await chromium.close()
    finish(looked)


if __name__ == "__main__":
    asyncio.run(main())
