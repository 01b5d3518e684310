#!/usr/bin/env python3
"""axe-core on every page template of a site, in light, dark and forced colours.

usage: axe.py SITE... [--all]

Exits 1 on any violation, any request that leaves the site's folder, any complaint of the console, and any page that
scrolls sideways at 320 px, or scrolls or cuts text with the spacing of WCAG 1.4.12 or letters twice as large (1.4.4). --all looks at every
page instead of two of each kind. A kind that an earlier site has is looked at by one page and fewer times.
"""

from concurrent.futures import ProcessPoolExecutor

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from common import RESTS, arguments, browser, finish, in_turn, patient, report, served, watch

# Colours, whether forced ones are on.
SETTINGS = (("light", "none"), ("dark", "none"), ("light", "active"))
# What readers may set for themselves: spacing of text, by the figures of WCAG 1.4.12, and the size of letters in their browser.
SPACING = (
    "* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important } p { margin-bottom: 2em !important }"
)
LETTERS = {"standard": 32, "fixed": 26}
READERS = (("text spacing", 320), ("letters twice as large", 320), ("letters twice as large", 1280))
# Elements whose text is cut: they hide what overflows, and something does. What is for screen readers alone is one pixel large by intent.
# The text is asked for last: it takes a look at all that an element holds.
CUT = """[...document.querySelectorAll('body *')].filter(e => {
  if (e instanceof SVGElement) return false;
  const s = getComputedStyle(e), hides = v => v === 'hidden' || v === 'clip';
  const cut = (hides(s.overflowX) && e.scrollWidth > e.clientWidth + 1) || (hides(s.overflowY) && e.scrollHeight > e.clientHeight + 1);
  return cut && !e.closest('.sr') && e.innerText?.trim();
}).map(e => `${e.tagName.toLowerCase()}.${e.className}: ${e.innerText.trim().slice(0, 60)}`)"""
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Rules whose outcome depends on colours.
COLOURS = ["color-contrast", "link-in-text-block"]
# Bytes above which a frozen version is passed over.
LARGE = 3_000_000
# The browser of this process.
CHROMIUM = None


def main():
    sites, flags = arguments(__doc__, ("--all",))
    # A large report as one file has the parts of the other pages over and over: minutes a look. Those of small sites are looked at.
    tasks = [
        (site, path, again and "--all" not in flags)
        for site, path, again in in_turn(sites, "--all" in flags)
        if not (path.relative_to(site).parts[0] == "v" and path.stat().st_size > LARGE)
    ]
    checked = 0
    # A browser draws a page on one core: as many of them as there are cores.
    with ProcessPoolExecutor(initializer=begin) as pool:
        for name, looks in pool.map(look, tasks):
            for how, faults in looks:
                report(name, how, faults)
            checked += len(looks)
    finish(checked)


def begin():
    global CHROMIUM
    CHROMIUM = browser(sync_playwright().start())


def look(task):
    """Every look at one page, with its faults. Of a kind that was looked at before in all settings one look of each sort is enough: its
    template and its colours are the same, and what it holds is not."""
    site, path, again = task
    most = 1 if again else None
    looks = axe(CHROMIUM, site, path, SETTINGS[:most])
    looks.append(("320 px, own policy", narrow(CHROMIUM, site, path)))
    last = READERS[-1:] if again else READERS
    looks += [(f"{setting}, {width} px", readers(CHROMIUM, site, path, setting, width)) for setting, width in last]
    return path.relative_to(site), looks


def axe(chromium, site, path, settings):
    """Violations of one page in each of the settings. What a rule finds depends on the colours for those of COLOURS alone: the others are asked
    once."""
    # axe is injected as a script, which the pages' own policy forbids; the policy has its own look below. It asks for the style sheet once
    # more, which a browser gives from a server alone.
    with served(site) as home:
        return axe_from(chromium, home, str(path.relative_to(site)), settings)


def axe_from(chromium, home, path, settings):
    context = patient(chromium.new_context(viewport={"width": 1280, "height": 900}, bypass_csp=True))
    page = context.new_page()
    faults = watch(page, home)
    looks = []
    for scheme, forced in settings:
        page.emulate_media(color_scheme=scheme, forced_colors=forced)
        if not looks:
            page.goto(home + path)
            # What is folded is looked at too.
            page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
            run = {"runOnly": {"type": "tag", "values": TAGS}, "rules": {"target-size": {"enabled": True}}}
        else:
            run = {"runOnly": {"type": "rule", "values": COLOURS}}
        page.evaluate(RESTS)
        # Of what fits one node is named: a page of many thousands would hand over each of them.
        result = Axe().run(page, options={**run, "resultTypes": ["violations"]})
        for violation in result.response["violations"]:
            nodes = violation["nodes"]
            faults.append(f"{violation['id']}: {violation['help']} ({len(nodes)} nodes)")
            faults += [f"    {node['target']} {node.get('failureSummary', '')[:300]}" for node in nodes[:3]]
        looks.append((f"{scheme}, forced colours {forced}", list(faults)))
        faults.clear()
    context.close()
    return looks


def narrow(chromium, site, path):
    """Faults of one page on the narrowest screen, under the page's own policy."""
    context = patient(chromium.new_context(viewport={"width": 320, "height": 640}))
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


def readers(chromium, site, path, setting, width):
    """Faults of one page as a reader has set it."""
    context = patient(chromium.new_context(viewport={"width": width, "height": 800}, bypass_csp=True))
    page = context.new_page()
    faults = watch(page, site)
    if setting != "text spacing":
        context.new_cdp_session(page).send("Page.setFontSizes", {"fontSizes": LETTERS})
    page.goto(path.resolve().as_uri())
    if setting == "text spacing":
        page.add_style_tag(content=SPACING)
    elif page.evaluate("getComputedStyle(document.documentElement).fontSize") != f"{LETTERS['standard']}px":
        faults.append("the size of letters that the reader set is not taken")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wide > 0:
        faults.append(f"scrolls sideways by {wide} px")
    faults += [f"cut: {what}" for what in page.evaluate(CUT)[:5]]
    context.close()
    return faults


if __name__ == "__main__":
    main()
