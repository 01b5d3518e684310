#!/usr/bin/env bash
# Runs tests again and again while every core is kept busy by other processes of the same priority. What chance can fail, fails here.
#
#   bash tests/steady.sh                     each test that starts a process, opens a socket or reads a clock: 200 times, busy
#   bash tests/steady.sh --only '^ranks::'   those whose name fits, whatever they do
#   bash tests/steady.sh --whole 5           the whole of `cargo test`, 5 times, busy
#   bash tests/steady.sh --whole 2 --core 0  the whole of `cargo test`, twice, all of it on one core
#
# --times N     how often each test is run (200)
# --minutes N   begins no further run after so many minutes, and tells how often each test was run until then (no limit)
# --jobs N      tests at once, of any program, beside what keeps the cores busy (two a core)
# --busy N      processes that do nothing but keep a core busy (one a core)
# --log FOLDER  where the output of failed runs and the list of all runs go (a new folder)
#
# Ends with 0 if every run passed and no test was run less often than asked. Tests that are skipped for what the machine lacks count as
# passed, so SPARKBENCH_REQUIRE_ALL=1 is set unless the caller says otherwise. Runs on Linux with bash and cargo.
set -u
cd "$(dirname "$0")/.." || exit 2

# What a file says whose tests are not a function of their input alone.
alive='Command::new|run_in|mock::|Listener|TcpStream|Instant::now|SystemTime|wait::|machine\(\)|thread::(spawn|sleep)|again::|Machine::new|process::'

times=200 minutes= jobs=$(($(nproc) * 2)) busy_ones=$(nproc) only= whole= core= log=
while [ $# -gt 0 ]; do
  case $1 in
    --times) times=$2 ;;
    --minutes) minutes=$2 ;;
    --jobs) jobs=$2 ;;
    --busy) busy_ones=$2 ;;
    --only) only=$2 ;;
    --whole) whole=$2 ;;
    --core) core=$2 ;;
    --log) log=$2 ;;
    *) sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
  esac
  shift 2 || exit 2
done
export SPARKBENCH_REQUIRE_ALL="${SPARKBENCH_REQUIRE_ALL-1}"
log=${log:-$(mktemp -d)}
mkdir -p "$log" || exit 2

busy=()
trap 'kill ${busy[@]+"${busy[@]}"} 2>/dev/null' EXIT
trap 'exit 130' INT TERM
keep_busy() {
  for _ in $(seq "$busy_ones"); do
    sh -c 'while :; do :; done' &
    busy+=($!)
  done
}

if [ -n "$whole" ]; then
  cargo test --no-run --quiet || exit 1
  # On one core the tests are in each other's way as it is.
  if [ -z "$core" ]; then keep_busy; fi
  failed=0
  for round in $(seq "$whole"); do
    began=$SECONDS
    ${core:+taskset -c "$core"} cargo test --no-fail-fast >"$log/whole-$round.log" 2>&1
    code=$?
    if [ $code != 0 ]; then failed=$((failed + 1)); fi
    grep -hE '^test .* \.\.\. FAILED$' "$log/whole-$round.log" | sort -u
    printf 'cargo test, time %s of %s: exit code %s after %s s\n' "$round" "$whole" "$code" "$((SECONDS - began))"
  done
  printf '%s of %s times failed, output in %s\n' "$failed" "$whole" "$log"
  exit $((failed > 0))
fi

# Programs of tests: source and path, one a line.
cargo test --no-run 2>&1 | tee "$log/build.log" | sed -nE 's/^ *Executable (unittests )?([^ ]+) \((.+)\)$/\2 \3/p' >"$log/programs"
if [ ! -s "$log/programs" ]; then cat "$log/build.log" >&2 && exit 1; fi

# The name that tests of a source file begin with, in its program.
prefix() {
  local path=${1%.rs}
  path=${path#crates/*/}
  path=${path#src/}
  path=${path#tests/}
  path=${path%/mod}
  if [ "$2" = integration ]; then path=${path#*/}; fi
  if [ "$path" = main ] || [ "$path" = lib ]; then path=; fi
  printf '%s' "${path//\//::}"
}

# The folder of the package that a program of tests is of.
package() {
  local name
  name=$(basename "$1")
  name=${name%-*}
  case $name in
    sparkbench_*) printf 'crates/%s' "${name#sparkbench_}" ;;
    *) printf '.' ;;
  esac
}
export -f package

while read -r source program; do
  # Tests of real engines pass over themselves unless they are asked for, and would prove nothing.
  if [ "$source" = tests/engines/main.rs ] && [ -z "${SPARKBENCH_REAL_SERVER:-}${SPARKBENCH_VLLM:-}" ]; then continue; fi
  # Files that are alive, as beginnings of names.
  case $source in
    tests/*) files=$(grep -rlE "$alive" "$(dirname "$source")" --include='*.rs') kind=integration ;;
    *) files=$(grep -rlE '#\[test\]' "$(package "$program")/src" --include='*.rs' | sed 's|^\./||' | xargs -r grep -lE "$alive") kind=unit ;;
  esac
  begins=$(for file in $files; do printf '%s\n' "$(prefix "$file" "$kind")"; done)
  "$program" --list --format terse 2>/dev/null | sed -n 's/: test$//p' | while read -r name; do
    if [ -n "$only" ]; then
      if [[ $name =~ $only ]]; then printf '%s %s %s\n' "$source" "$program" "$name"; fi
      continue
    fi
    for begin in $begins; do
      if [[ $name == "$begin"::* ]]; then
        printf '%s %s %s\n' "$source" "$program" "$name"
        break
      fi
    done
  done
done <"$log/programs" >"$log/tests"
# Inner tests do nothing by themselves: those that start them are here.
ignored=$(while read -r _ program; do "$program" --list --ignored --format terse 2>/dev/null | sed -n 's/: test$//p'; done <"$log/programs" | sort -u)
grep -vxF -f <(while read -r source program name; do if grep -qxF "$name" <<<"$ignored"; then printf '%s %s %s\n' "$source" "$program" "$name"; fi; done <"$log/tests"; echo) "$log/tests" >"$log/chosen"
count=$(wc -l <"$log/chosen")
printf '%s tests of %s programs, %s times each, %s at once beside %s that keep a core busy, output in %s\n' \
  "$count" "$(cut -d' ' -f2 "$log/chosen" | sort -u | wc -l)" "$times" "$jobs" "$busy_ones" "$log" >&2
if [ "$count" = 0 ]; then exit 2; fi

one() {
  local source=$1 program=$2 name=$3 round=$4 out=$log/run-$$ began code folder=$PWD
  if [ -n "$until" ] && [ "$(date +%s)" -ge "$until" ]; then return 0; fi
  # Cargo starts a program of tests in the folder of its package, and names it.
  case $source in src/*) folder=$PWD/$(package "$program") ;; esac
  began=$(date +%s%N)
  (cd "$folder" && CARGO_MANIFEST_DIR=$folder "$program" --exact "$name" --test-threads=1) >"$out" 2>&1 </dev/null
  code=$?
  printf '%s %s %s\n' "$name" "$code" "$((($(date +%s%N) - began) / 1000000))" >>"$log/runs"
  if [ $code != 0 ]; then
    mv "$out" "$log/failed-${name//::/-}-$round.log"
    printf 'failed: %s, time %s\n' "$name" "$round" >&2
  else
    rm -f "$out"
  fi
}
export -f one
export log
until=
if [ -n "$minutes" ]; then until=$(($(date +%s) + minutes * 60)); fi
export until
: >"$log/runs"
keep_busy
# Each round in another order: what stands beside what is chance, too.
for round in $(seq "$times"); do
  shuf "$log/chosen" | sed "s/$/ $round/"
done | xargs -P "$jobs" -n 4 bash -c 'one "$@"' one

awk -v times="$times" '
  { runs[$1]++; if ($2 != 0) bad[$1]++; took[$1] += $3 }
  END {
    least = -1
    for (name in runs) {
      all += runs[name]; failed += bad[name]; tests++
      if (least < 0 || runs[name] < least) least = runs[name]
      if (bad[name]) printf "%s: %d of %d runs failed\n", name, bad[name], runs[name]
    }
    printf "%d tests, %d runs, %d failed, each at least %d times\n", tests, all, failed, least
    exit (failed > 0 || least < times)
  }' "$log/runs"
