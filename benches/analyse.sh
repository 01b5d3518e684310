#!/usr/bin/env bash
# Whole analyses: wall and processor time, peak memory, size of the site. Needs GNU time (Debian: time).
# usage: benches/analyse.sh [FOLDER]   where the drawn campaign and the sites go; by default a temporary folder
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-$(mktemp -d)}
cargo build --release --quiet --bin sparkbench --features examples --example large_campaign
target=${CARGO_TARGET_DIR:-target}/release
[ -d "$folder/large" ] || "$target/examples/large_campaign" "$folder/large" 1000 1000

measure() { # NAME PATH
  for run in 1 2 3; do
    /usr/bin/time -f "$1 run $run: %e s wall, %U s user, %M KiB peak" \
      "$target/sparkbench" analyse "$2" --quiet --site "$folder/site-$1" 2>&1 | tail -n 1
  done
  printf '%s site: %s\n' "$1" "$(du -sh "$folder/site-$1" | cut -f1)"
}

measure data data
measure large "$folder/large"
