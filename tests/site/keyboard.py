#!/usr/bin/env python3
"""Every page template by keyboard alone.

usage: keyboard.py SITE...

Tab reaches every link, button, fold, field and scroll region in the order of the page, the first 400 of a longer one, and from the end of it
back by 60 stops. The focus is visible and not hidden under anything, and nothing traps it. What the script adds works by keys too. Exits 1
otherwise.
"""


from concurrent.futures import ProcessPoolExecutor

from playwright.sync_api import sync_playwright

from common import RESTS, arguments, browser, finish, kinds, patient, report, watch

# Everything that should take part, in the order of the document, numbered so that a stop can be named.
EXPECTED = """() => {
  document.querySelectorAll('details').forEach(d => d.open = true);
  const parts = 'a[href], button, summary, input, select, textarea, [tabindex="0"]';
  const seen = [...document.querySelectorAll(parts)].filter(e => e.checkVisibility({ visibilityProperty: true }) && e.tabIndex >= 0);
  seen.forEach((e, k) => e.__stop = k);
  window.scrollTo(0, 0);
  return seen.map(e => `${e.nodeName.toLowerCase()} '${(e.getAttribute('aria-label') || e.textContent).trim().slice(0, 50)}'`);
}"""

# Where the focus is, whether a ring shows it, and whether a point of it is on top. Marks of one drawing lie where their values are, so one may
# share its place with another; what a finger hits around a mark is not painted.
STOP = """() => {
  const e = document.activeElement;
  if (!e || e === document.body || e === document.documentElement) return null;
  const hit = e.nodeName === 'a' && e.closest('svg') && e.querySelector('.hit');
  const style = getComputedStyle(hit || e);
  const ring = hit ? style.stroke !== 'none' && parseFloat(style.strokeWidth) > 0 : style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
  const boxes = [...e.getClientRects()].filter(b => b.width > 0 && b.height > 0);
  const points = boxes.flatMap(b => [[.5, .5], [.1, .5], [.9, .5], [.5, .15], [.5, .85]].map(([x, y]) => [b.left + x * b.width, b.top + y * b.height]))
    .map(([x, y]) => [Math.min(Math.max(x, 1), innerWidth - 2), Math.min(Math.max(y, 1), innerHeight - 2)]);
  const top = points.some(([x, y]) => { const on = document.elementFromPoint(x, y); return on && (e.contains(on) || hit && on.closest('svg') === e.closest('svg') || on.contains(e) && on.closest('a, button, summary, svg, .scroll') === e.closest('a, button, summary, svg, .scroll')); });
  return { stop: e.__stop, name: e.nodeName + ' ' + (e.getAttribute('aria-label') || e.textContent || '').trim().slice(0, 40), ring, top };
}"""


# Stops that are walked forwards: a page of thousands, such as a whole report as one file, would take a quarter of an hour.
MOST = 400
# Stops that are walked backwards, from the end of the page.
BACK = 60


# The browser of this process.
CHROMIUM = None


def main():
    sites, _ = arguments(__doc__)
    # The largest page of each kind, in the first of the sites that has it: the same template works by the same keys.
    tasks, seen = [], set()
    for site in sites:
        here = kinds(site)
        tasks += [(site, members[-1]) for name, members in here.items() if name not in seen]
        seen |= here.keys()
    with ProcessPoolExecutor(initializer=begin) as pool:
        for name, stops, faults in pool.map(look, tasks):
            report(name, f"{stops} stops", faults)
    finish(len(tasks))


def begin():
    global CHROMIUM
    CHROMIUM = browser(sync_playwright().start())


def look(task):
    """One page from end to end by keys, with its faults."""
    site, path = task
    context = patient(CHROMIUM.new_context(viewport={"width": 1280, "height": 900}))
    page = context.new_page()
    faults = watch(page, site)
    page.goto(path.resolve().as_uri())
    page.evaluate(RESTS)
    stops = page.evaluate(EXPECTED)
    faults += walk(page, stops, "Tab") + walk(page, stops, "Shift+Tab")
    faults += features(page)
    context.close()
    return path.relative_to(site), len(stops), faults


def walk(page, stops, key):
    """Presses the key from one end of the page to the other."""
    faults = []
    order = list(range(len(stops)))
    last = order[-1]
    if key == "Tab":
        order = order[:MOST]
        page.evaluate("document.activeElement.blur(), window.getSelection().removeAllRanges()")
    else:
        order = order[: -BACK - 1 : -1]
    for k in order:
        if k != order[0] or key == "Tab":
            page.keyboard.press(key)
        at = page.evaluate(STOP)
        if at is None or at["stop"] != k:
            return faults + [f"{key} led to {at and at['name']} instead of {stops[k]}"]
        if not at["ring"]:
            faults.append(f"{key}: no visible focus on {stops[k]}")
        if not at["top"]:
            faults.append(f"{key}: {stops[k]} has the focus under something else")
    if key == "Tab":
        focus = "k => [...document.querySelectorAll('*')].find(e => e.__stop === k).focus()"
        if order[-1] != last:
            page.evaluate(focus, last)
        page.keyboard.press(key)
        at = page.evaluate(STOP)
        # After the last stop the browser's own controls come; then the page from its first.
        if at is not None and at["stop"] != 0:
            faults.append(f"the focus does not leave the page, but goes to {at['name']}")
        page.evaluate(focus, last)
    return faults


def features(page):
    """Folds, sorting, filtering, colours and marks, by keys; what a page has not is passed over."""
    faults = []

    def hold(true, what):
        None if true else faults.append(what)

    fold = page.locator("details > summary").first
    if fold.count():
        fold.focus()
        page.keyboard.press("Enter")
        hold(not page.evaluate("document.querySelector('details').open"), "Enter does not fold")
        page.keyboard.press("Space")
        hold(page.evaluate("document.querySelector('details').open"), "Space does not unfold")
    sort = page.locator(".sort").first
    if sort.count():
        head = page.locator("th.sorts").first
        sort.focus()
        for key, state in (("Enter", "ascending"), ("Space", "descending"), ("Enter", None)):
            page.keyboard.press(key)
            hold(head.get_attribute("aria-sort") == state, f"{key} does not sort {state}")
            hold(sort.evaluate("e => e === document.activeElement"), "sorting loses the focus")
    field = page.locator(".filter input").first
    if field.count():
        rows = page.locator(".filter + .scroll tbody").first.locator("tr")
        everything = rows.count()
        field.focus()
        page.keyboard.type("no row has these words")
        hold(rows.locator("visible=true").count() == 0, "the filter keeps rows that have not its words")
        hold("0 of" in page.locator("[role=status].sr").inner_text(), "the filter does not say what is left")
        page.keyboard.press("Escape")
        hold(rows.locator("visible=true").count() == everything, "Escape does not bring the rows back")
    page.locator(".tools select").focus()
    page.keyboard.press("End")
    hold(page.evaluate("document.documentElement.dataset.theme") == "dark", "the keyboard does not choose colours")
    page.keyboard.press("Home")
    hold(page.evaluate("document.documentElement.dataset.theme") is None, "the keyboard does not choose the system's colours")
    mark = page.locator("svg.chart a[aria-label]:visible").first
    if mark.count():
        mark.focus()
        for key in ("ArrowRight", "End", "Home"):
            page.keyboard.press(key)
            told = page.locator(".tip:visible").all_inner_texts()
            hold(told == [page.evaluate("document.activeElement.getAttribute('aria-label')")], f"{key} on a mark reads {told}")
        page.keyboard.press("Escape")
        hold(page.locator(".tip:visible").count() == 0, "Escape does not put the reading away")
    return faults


if __name__ == "__main__":
    main()
