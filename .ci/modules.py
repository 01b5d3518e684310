#!/usr/bin/env python3
"""Holds the inside of each crate to two rules: no circle of imports with more than five modules, and no two public types of one name.

A module is a file. It imports another one if it names something of it, by `use` or by a path. `pub use` of a child is a door and no import:
whoever comes through it imports the child. Tests are left out. `site` may have a larger circle until it is built anew, but none larger than
today's.

    python3 .ci/modules.py           what breaks a rule. Ends with 1 if anything does
    python3 .ci/modules.py CRATE     every circle of a crate, with its imports (`sparkbench` is the program)
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LARGEST = 5
# A crate that will be built anew, with its largest circle today.
ALLOWED = {"site": 18}
VISIBLE = r"pub(?:\([^)]*\))?"


def plain(text: str) -> str:
    """A file without comments, texts and tests."""
    text = re.sub(
        r"""//[^\n]*|/\*.*?\*/|\br(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\.[^']*|[^'\\\n])'""",
        lambda found: "" if found[0].startswith("/") else '""',
        text,
        flags=re.S,
    )
    test = rf"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:{VISIBLE} )?"
    while found := re.search(rf"{test}(?:mod \w+|impl [^{{;]*|fn [^{{;]*)\s*\{{", text):
        end, depth = found.end(), 1
        while depth and end < len(text):
            depth += (text[end] == "{") - (text[end] == "}")
            end += 1
        text = text[: found.start()] + text[end:]
    return re.sub(rf"{test}(?:mod|use) [^;]*;", "", text)


def paths(tree: str) -> list[str]:
    """The paths of a `use`, without its braces and new names."""
    tree = tree.strip()
    found = re.fullmatch(r"((?:\w+\s*::\s*)*)\{(.*)\}", tree, flags=re.S)
    if not found:
        return [re.sub(r"\s", "", re.sub(r"\s+as\s+\w+", "", tree))]
    inner, depth, part = [], 0, ""
    for letter in found[2]:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            inner.append(part)
            part = ""
        else:
            part += letter
    inner += [part] if part.strip() else []
    before = re.sub(r"\s", "", found[1])
    return [before + path for part in inner for path in paths(part)]


def below(module: str | None, parent: str) -> bool:
    return module is not None and (parent == "" or module.startswith(f"{parent}::"))


class Crate:
    """The modules of a crate, by their paths, and what each of them imports."""

    def __init__(self, source: pathlib.Path):
        self.texts: dict[str, str] = {}
        for file in sorted(source.rglob("*.rs")):
            parts = list(file.relative_to(source).with_suffix("").parts)
            if parts[-1] in ("lib", "mod", "main"):
                parts.pop()
            if "tests" not in parts:
                name = "::".join(parts)
                self.texts[name] = self.texts.get(name, "") + plain(file.read_text())
        self.doors: dict[str, dict[str, str]] = collections.defaultdict(dict)
        # A door may lead to another door.
        for _ in range(3):
            for module, text in self.texts.items():
                for tree in re.findall(rf"\b{VISIBLE} use ([^;]+);", text):
                    for path in paths(tree):
                        target = self.target(module, path)
                        if target is not None and not path.endswith("*"):
                            self.doors[module][path.rpartition("::")[2]] = target
        self.imports = {module: self.imported(module, text) for module, text in self.texts.items()}

    def target(self, module: str, path: str) -> str | None:
        """The module that a path leads to, or nothing where it leads out of the crate."""
        here = module.split("::") if module else []
        first, *rest = path.split("::")
        if first == "crate":
            here = []
        elif first == "super":
            here = here[:-1]
            while rest and rest[0] == "super":
                here, rest = here[:-1], rest[1:]
        elif first != "self":
            rest = [first, *rest]
            if "::".join([*here, first]) not in self.texts:
                return None
        while rest and "::".join([*here, rest[0]]) in self.texts:
            here, rest = [*here, rest[0]], rest[1:]
        reached = "::".join(here)
        return self.doors[reached].get(rest[0], reached) if rest else reached

    def imported(self, module: str, text: str) -> set[str]:
        named = []
        for public, tree in re.findall(rf"(\b{VISIBLE} )?\buse ([^;]+);", text):
            targets = {self.target(module, path) for path in paths(tree)}
            named += [target for target in targets if not (public and below(target, module))]
        rest = re.sub(r"\buse [^;]+;", "", text)
        children = set(re.findall(r"\bmod (\w+);", rest))
        for path in re.findall(r"(?<![:\w])(\w+(?:::\w+)+)", rest):
            if path.split("::")[0] in children | {"crate", "self", "super"}:
                named.append(self.target(module, path))
        return {target for target in named if target is not None and target != module}

    def circles(self) -> list[list[str]]:
        """Sets of modules each of which reaches every other one (Tarjan's algorithm), the largest first."""
        order: dict[str, int] = {}
        low: dict[str, int] = {}
        stack: list[str] = []
        found: list[list[str]] = []

        def visit(module: str) -> None:
            order[module] = low[module] = len(order)
            stack.append(module)
            for other in sorted(self.imports[module]):
                if other not in order:
                    visit(other)
                if other in stack:
                    low[module] = min(low[module], low[other])
            if low[module] == order[module]:
                start = stack.index(module)
                found.append(sorted(stack[start:]))
                del stack[start:]

        for module in self.texts:
            if module not in order:
                visit(module)
        return sorted((circle for circle in found if len(circle) > 1), key=lambda circle: (-len(circle), circle))

    def doubles(self) -> dict[str, list[str]]:
        """Names of public types that more than one module declares."""
        homes = collections.defaultdict(list)
        for module, text in self.texts.items():
            for name in re.findall(rf"^{VISIBLE} (?:struct|enum|trait|type|union) (\w+)", text, flags=re.M):
                homes[name].append(module)
        return {name: homes[name] for name in sorted(homes) if len(homes[name]) > 1}


def main() -> int:
    sys.setrecursionlimit(10_000)
    crates = {path.parent.name: path.parent / "src" for path in sorted((ROOT / "crates").glob("*/Cargo.toml"))}
    crates["sparkbench"] = ROOT / "src"
    if len(sys.argv) > 1:
        crate = Crate(crates[sys.argv[1]])
        for circle in crate.circles():
            print(f"circle of {len(circle)}")
            for module in circle:
                print(f"  {module or 'lib'} -> {', '.join(sorted(crate.imports[module] & set(circle)))}")
        return 0
    broken = 0
    for name, source in crates.items():
        crate = Crate(source)
        for circle in crate.circles():
            if len(circle) > ALLOWED.get(name, LARGEST):
                broken += 1
                print(f"{name}: a circle of {len(circle)} modules: {', '.join(circle)}. `python3 .ci/modules.py {name}` lists its imports")
        for double, homes in crate.doubles().items():
            broken += 1
            print(f"{name}: the name {double} is taken {len(homes)} times: {', '.join(home or 'lib' for home in homes)}")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
