#!/bin/sh
# Times sparkbench, SciPy, NumPy and a plain C loop on the same cases, one after the other on this machine, and prints
# every ratio with the algorithm on both sides. PYTHON names an interpreter with numpy and scipy (default python3).
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Other work on the machine shows here; figures under load are not worth recording.
load() { cut -d ' ' -f 1-3 /proc/loadavg 2>/dev/null || uptime | sed 's/.*load average[s]*: //'; }

cargo bench --quiet --no-default-features --bench bootstrap --no-run
before=$(load)
cargo bench --quiet --no-default-features --bench bootstrap >"$work/ours"
"${CC:-cc}" -O3 -march=native -o "$work/rival" benches/rival.c -lm
"$work/rival" >"$work/theirs" 2>/dev/null
"${PYTHON:-python3}" benches/rivals.py >>"$work/theirs"

echo "machine: $(uname -m), $(getconf _NPROCESSORS_ONLN) cores; load averages before: $before; after: $(load)"
printf '%-40s %10s  %s\n' case ms algorithm
awk -F '\t' '
    NR == FNR { ours[$1] = $2; printf "%-40s %10.3f  %s\n", $1, $2, $3; next }
    FNR == 1  { printf "\n%-40s %10s %9s  %s\n", "case", "rival ms", "rival/us", "rival" }
    $1 in ours { printf "%-40s %10.3f %8.1fx  %s\n", $1, $2, $2 / ours[$1], $3 }
' "$work/ours" "$work/theirs"
