"""What the browser tests share: kinds of pages, a browser that may reach nothing but this machine, a server under a sub-path."""

import contextlib
import functools
import http.server
import os
import shutil
import sys
import threading
from pathlib import Path

THEMES = ("light", "dark")

# Longest wait for anything a browser does, ms. A busy machine is slow, and what takes as long as this will not come.
PATIENCE_MS = 300_000

# What moved on a page without being asked to, for a script that runs before the page. MOVED asks for it.
MOVES = """
window.__cls = 0; window.__names = [];
window.__take = entries => entries.forEach(e => {
  if (e.hadRecentInput) return;
  window.__cls += e.value;
  e.sources.forEach(s => window.__names.push(String(s.node && (s.node.className || s.node.nodeName))));
});
window.__moves = new PerformanceObserver(list => window.__take(list.getEntries()));
window.__moves.observe({ type: 'layout-shift', buffered: true });
"""

# The sum of its measure, and what it was. What the browser has noted and not yet handed over counts too.
MOVED = "(window.__take(window.__moves.takeRecords()), [window.__cls, window.__names])"

# Resolves when a page has come to rest: its letters are there, and two frames in a row were drawn with the same layout.
RESTS = """async () => {
  await document.fonts.ready;
  const frame = () => new Promise(drawn => requestAnimationFrame(drawn));
  const layout = () => {
    const { scrollWidth, scrollHeight } = document.documentElement;
    const last = document.body.lastElementChild, box = last ? last.getBoundingClientRect() : {};
    return [document.readyState, scrollWidth, scrollHeight, box.top, box.left, box.width, box.height].join();
  };
  for (let same = 0, before = null; same < 2;) {
    await frame();
    const now = layout();
    same = now === before && document.readyState === 'complete' ? same + 1 : 0;
    before = now;
  }
}"""

# Where a site lies on the server: pages must work below any path.
SUB_PATH = "/some/where/"


def arguments(usage, flags=()):
    """Folders of sites, and which of the flags were given."""
    given = [a for a in sys.argv[1:] if a.startswith("--")]
    sites = [Path(a) for a in sys.argv[1:] if not a.startswith("--")]
    if not sites or any(flag not in flags for flag in given):
        sys.exit(usage)
    for site in sites:
        if not (site / "index.html").is_file():
            sys.exit(f"{site} is no site: it has no index.html")
    return sites, given


def kind(site, page):
    """The shape of an address: `r/*/index.html`. Pages of one shape come from one template; a new shape is a new kind by itself."""
    first, *rest = page.relative_to(site).parts
    if first == "v" and len(rest) > 1:
        frozen = site / "v" / rest[0]
        return f"v/*/{kind(frozen, page)}"
    if not rest:
        return first
    *folders, name = rest
    shapes = ["*--*" if "--" in folder and first == "c" and len(folders) == 2 else "*" for folder in folders]
    return "/".join([first, *shapes, name if name == "index.html" else "*.html"])


def kinds(site):
    """Every page by kind, the smallest first."""
    found = {}
    for page in sorted(site.rglob("*.html"), key=lambda page: (page.stat().st_size, page)):
        found.setdefault(kind(site, page), []).append(page)
    return dict(sorted(found.items()))


def pages(site, everything=False):
    """One page per kind and, for kinds with many, the largest and the smallest: the rich one and the bare one."""
    found = []
    for members in kinds(site).values():
        found += members if everything else sorted({members[0], members[-1]})
    return found


def in_turn(sites, everything=False):
    """Pages of several sites, each with its site and whether its kind was looked at in a site before. Such a kind comes from the same template:
    its largest page stands for it."""
    seen = set()
    for site in sites:
        here = kinds(site)
        for name, members in here.items():
            chosen = members if everything else members[-1:] if name in seen else sorted({members[0], members[-1]})
            yield from ((site, page, name in seen) for page in chosen)
        seen |= here.keys()


def options():
    """How a browser is started: no call home, and no name of another machine resolves."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not path:
        sys.exit("no chromium found: install it, or name it in CHROMIUM")
    args = ["--no-sandbox", "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    return {"executable_path": path, "args": args, "timeout": PATIENCE_MS}


def browser(playwright):
    return playwright.chromium.launch(**options())


def patient(context):
    """A context whose pages are waited for as long as a busy machine needs, in place of the 30 s that are usual."""
    context.set_default_timeout(PATIENCE_MS)
    return context


def watch(page, home):
    """Complaints of the console and every request that leaves `home`, an address or the folder of a site."""
    home = home if isinstance(home, str) else Path(home).resolve().as_uri() + "/"
    faults = []
    page.on("console", lambda m: faults.append(f"console {m.type}: {m.text}"))
    page.on("pageerror", lambda e: faults.append(f"page error: {e}"))
    page.on("request", lambda r: None if r.url.startswith((home, "data:")) else faults.append(f"request: {r.url}"))
    page.on("requestfailed", lambda r: faults.append(f"failed request: {r.url}"))
    return faults


FAULTY = []


def report(name, how, faults):
    """Prints one look, and keeps it for the end if it had faults."""
    lines = [f"{'fault' if faults else 'ok   '} {name} ({how})", *(f"      {fault}" for fault in faults)]
    print("\n".join(lines), flush=True)
    if faults:
        FAULTY.append(lines)


def finish(looked, what="looks"):
    """Ends the program, with 1 where a look had faults. They are printed again: what is read of a long log is its end."""
    for lines in FAULTY:
        print("\n".join(lines))
    print(f"{looked} {what}, {len(FAULTY)} with faults")
    sys.exit(1 if FAULTY else 0)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Files of one folder under the sub-path, and nothing else."""

    def translate_path(self, path):
        inside = path.startswith(SUB_PATH)
        return super().translate_path("/" + path[len(SUB_PATH) :]) if inside else "/nonexistent"

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(site, how=Quiet):
    """Address of the site on a server of this process."""
    handler = functools.partial(how, directory=str(Path(site).resolve()))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{SUB_PATH}"
        finally:
            server.shutdown()
