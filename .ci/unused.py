#!/usr/bin/env python3
"""Names what nobody uses: puts all crates together as private modules of one program and lets the compiler check it.

What one crate shows to another counts as used, so the compiler of a crate cannot see it. Here `crate::x` of the crate `archive` becomes
`crate::archive::x`, `sparkbench_archive::x` becomes `crate::archive::x`, and nothing else changes. The program is made in the target folder
and never built. Items that only tests use are marked at their place, with the reason.

    python3 .ci/unused.py
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEAD = """#![deny(unused)]
#![allow(private_interfaces, reason = "a crate may show less than the program of all crates")]
#![allow(unused_imports, reason = "names that a crate shows at its door, for the other crates and for tests")]
"""


def inside(text: str, crate: str | None, crates: list[str]) -> str:
    """The text of a file, with paths as they are where each crate is a module."""
    own = f"crate::{crate}" if crate else "crate"
    text = re.sub(r"(?<![\w$])crate(?=::|;| as )", own, text)
    return re.sub(rf"\bsparkbench_({'|'.join(crates)})\b", r"crate::\1", text)


def put(source: pathlib.Path, to: pathlib.Path, crate: str | None, crates: list[str]) -> None:
    """Copies a folder of sources. Files that are included by a path lie as deep as before, seen from the top of the repository."""
    for path in sorted(source.rglob("*")):
        if path.is_dir():
            continue
        place = to / path.relative_to(source)
        if path.suffix != ".rs":
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
            continue
        if path.name == "lib.rs" and path.parent == source:
            place = place.with_name("mod.rs")
        place.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text()

        def there(found: re.Match[str]) -> str:
            to = (path.parent / found[2]).resolve()
            return f'{found[1]}{to}{"/" if found[2].endswith("/") else ""}"'

        text = re.sub(r'(include_(?:str|bytes)!\(\s*(?:concat!\(\s*)?")(\.\.?/[^"]*)"', there, text)
        if place.name != path.name:
            # The attributes of a crate are none of a module.
            text = re.sub(r"^#!\[(?:warn|cfg)\([^\n]*\)\]\n", "", text, flags=re.M)
        place.write_text(inside(text, crate, crates))


def main() -> int:
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    crates = sorted(path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml"))
    product = [crate for crate in crates if crate != "testing"]
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
    work = target / "unused"
    shutil.rmtree(work, ignore_errors=True)
    (work / "src").mkdir(parents=True)
    for crate in product:
        put(ROOT / "crates" / crate / "src", work / "src" / crate, crate, crates)
    put(ROOT / "src" / "cli", work / "src" / "cli", None, crates)
    modules = "".join(f"mod {name};\n" for name in ["cli", *product])
    (work / "src" / "main.rs").write_text(f"{HEAD}{modules}\nfn main() -> std::process::ExitCode {{\n    cli::main()\n}}\n")
    (work / "askama.toml").write_text(f'[general]\ndirs = ["{ROOT}/templates"]\nwhitespace = "minimize"\n')
    shutil.copyfile(ROOT / "Cargo.lock", work / "Cargo.lock")
    (work / "build.rs").write_text('fn main() {\n    println!("cargo::rustc-env=SPARKBENCH_SOURCE=");\n}\n')

    text = (ROOT / "Cargo.toml").read_text()
    dependencies = text[text.index("[workspace.dependencies]") : text.index("\n[dependencies]")].replace("[workspace.", "[")
    dependencies = "".join(line for line in dependencies.splitlines(True) if not line.startswith("sparkbench-"))
    # The same profile: what was built for the program serves here as well.
    profile = text[text.index("[profile.dev]") :]
    profile = re.sub(r"\[profile\.dev\.package\.sparkbench-.*\n.*\n", "", profile)
    package = manifest["workspace"]["package"]
    (work / "Cargo.toml").write_text(
        f'[workspace]\n\n[package]\nname = "sparkbench-unused"\nversion = "{package["version"]}"\nedition = "{package["edition"]}"\n'
        f'publish = false\n\n[features]\ndefault = ["analyse", "page", "collect"]\nanalyse = []\npage = []\ncollect = []\n\n{dependencies}\n{profile}'
    )
    return subprocess.run(
        ["cargo", "check", "--quiet", "--offline"], cwd=work, env=os.environ | {"CARGO_TARGET_DIR": str(target)}, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
