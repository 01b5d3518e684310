#!/bin/sh
# Builds the wheel of this machine, installs it into a new environment, and runs it: the site that it makes of data/ must be the one that
# `cargo run --release -- analyse` made. Then the packed binary of a release, which is what `sparkbench init`'s workflow installs.
#
#   sh tests/wheel.sh SITE     SITE is what `sparkbench analyse` of this machine made of data/
#
# Needs python3 with venv, and maturin from PyPI, which it installs into a folder of its own where there is none.
set -eu

site=$(realpath -- "${1:?give the site that this machine made of data/}")
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! command -v maturin >/dev/null; then
    python3 -m venv "$folder/maker"
    "$folder/maker/bin/pip" install --quiet 'maturin>=1.9,<2'
    PATH=$folder/maker/bin:$PATH
fi
maturin build --release --locked --quiet --manifest-path "$here/Cargo.toml" --out "$folder/dist"
python3 -m venv "$folder/user"
"$folder/user/bin/pip" install --quiet --no-index "$folder"/dist/*.whl
cd "$here"
"$folder/user/bin/sparkbench" --version
"$folder/user/bin/sparkbench" analyse --quiet --site "$folder/from-wheel"
diff -r "$site" "$folder/from-wheel"
sh tests/pack.sh "$folder"/dist/*.whl "$folder/sparkbench.tar.gz"
mkdir "$folder/packed"
tar -xzf "$folder/sparkbench.tar.gz" -C "$folder/packed"
# What is packed is what was just tried, byte for byte: it has to start and to know its own name.
cmp "$folder/packed/sparkbench" "$folder/user/bin/sparkbench"
"$folder/packed/sparkbench" --version
printf 'the wheel is %s: its site is the same, bit for bit, and the packed binary is the one that made it\n' "$(basename "$folder"/dist/*.whl)"
