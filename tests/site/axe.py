#!/usr/bin/env python3
"""axe-core on every page template of a site, in light, dark and forced colours.

usage: axe.py SITE... [--all]

Exits 1 on any violation, any request that leaves the site's folder, any complaint of the console, and any page that
scrolls sideways at 320 px. --all looks at every page instead of two of each kind.
"""


from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from common import arguments, browser, finish, pages, report, watch

# Colours, whether forced ones are on.
SETTINGS = (("light", "none"), ("dark", "none"), ("light", "active"))
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def main():
    sites, flags = arguments(__doc__, ("--all",))
    checked = 0
    with sync_playwright() as playwright:
        chromium = browser(playwright)
        for site in sites:
            for path in pages(site, "--all" in flags):
                for scheme, forced in SETTINGS:
                    report(path.relative_to(site), f"{scheme}, forced colours {forced}", axe(chromium, site, path, scheme, forced))
                report(path.relative_to(site), "320 px, own policy", narrow(chromium, site, path))
                checked += len(SETTINGS) + 1
        chromium.close()
    finish(checked)


def axe(chromium, site, path, scheme, forced):
    """Violations of one page in one setting."""
    # axe is injected as a script, which the pages' own policy forbids; the policy has its own look below.
    context = chromium.new_context(
        viewport={"width": 1280, "height": 900}, color_scheme=scheme, forced_colors=forced, bypass_csp=True
    )
    page = context.new_page()
    faults = watch(page, site)
    page.goto(path.resolve().as_uri())
    # What is folded is looked at too.
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    result = Axe().run(page, options={"runOnly": {"type": "tag", "values": TAGS}, "rules": {"target-size": {"enabled": True}}})
    for violation in result.response["violations"]:
        nodes = violation["nodes"]
        faults.append(f"{violation['id']}: {violation['help']} ({len(nodes)} nodes)")
        faults += [f"    {node['target']} {node.get('failureSummary', '')[:300]}" for node in nodes[:3]]
    context.close()
    return faults


def narrow(chromium, site, path):
    """Faults of one page on the narrowest screen, under the page's own policy."""
    context = chromium.new_context(viewport={"width": 320, "height": 640})
    page = context.new_page()
    faults = watch(page, site)
    page.goto(path.resolve().as_uri())
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wide > 0:
        faults.append(f"scrolls sideways by {wide} px")
    if page.evaluate("getComputedStyle(document.querySelector('.mark')).fontWeight") != "700":
        faults.append("the style sheet was not applied under the page's own policy")
    if not page.evaluate("document.documentElement.classList.contains('scripted') && !!document.querySelector('.tools select')"):
        faults.append("the script did not run under the page's own policy")
    context.close()
    return faults


if __name__ == "__main__":
    main()
