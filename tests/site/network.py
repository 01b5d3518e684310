#!/usr/bin/env python3
"""Pages of a site in a real browser, from disk and from a server under a sub-path, with all its requests recorded.

usage: network.py SITE... [--all]

A page asks for itself, the style sheet and the script of its site, and nothing else, and the console says nothing. --all looks at every page
instead of two of each kind.
Exits 1 otherwise.
"""

import asyncio

from playwright.async_api import async_playwright

from common import RESTS, arguments, finish, options, pages, patient, report, served, watch

# Pages open at a time in one browser.
AT_ONCE = 4


async def main():
    sites, flags = arguments(__doc__, ("--all",))
    looked = 0
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(**options())
        for site in sites:
            every = pages(site, "--all" in flags)
            shared = [str(p.relative_to(site)) for p in site.glob("assets/*")]
            with served(site) as address:
                for home in (site.resolve().as_uri() + "/", address):
                    gate = asyncio.Semaphore(AT_ONCE)
                    found = await asyncio.gather(*(look(gate, chromium, home, str(p.relative_to(site)), shared) for p in every))
                    for path, faults in found:
                        if faults:
                            report(path, home, faults)
                    looked += len(found)
                    print(f"{len(found)} pages of {site} from {home}")
        await chromium.close()
    finish(looked)


async def look(gate, chromium, home, path, shared):
    """Requests and complaints of one page."""
    async with gate:
        context = patient(await chromium.new_context(viewport={"width": 1280, "height": 900}))
        page = await context.new_page()
        faults = watch(page, home)
        asked = []
        page.on("request", lambda r: asked.append(r.url) if not r.url.startswith("data:") else None)
        page.on("response", lambda r: faults.append(f"answer {r.status}: {r.url}") if r.status >= 400 else None)
        await page.goto(home + path, wait_until="load")
        # What is folded might hold something that is only fetched when seen.
        await page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        await page.evaluate(RESTS)
        await page.wait_for_load_state("networkidle")
        # The style sheet and the script of the site. The page of what is missing and the versions that never change carry both themselves.
        alone = path == "404.html" or path.startswith("v/")
        own = set() if alone else {home + file for file in shared}
        if asked[:1] != [home + path] or set(asked[1:]) != own or len(asked) != 1 + len(own):
            faults.append(f"asked for {asked}")
        if not await page.evaluate("document.documentElement.classList.contains('scripted')"):
            faults.append("the script did not run")
        await context.close()
        return path, faults


if __name__ == "__main__":
    asyncio.run(main())
