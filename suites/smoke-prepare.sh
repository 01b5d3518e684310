#!/bin/sh
# Makes what suites/smoke.toml needs: a small root file system in suites/smoke/root, its variables in suites/smoke/root.env, and an
# image of the same files, sparkbench-smoke:latest. What is there already is kept; remove suites/smoke/root to make it anew.
#
# The root is of the machine's own release (Debian or Ubuntu; else Debian bookworm), so that all environments run the same Python,
# NumPy and OpenBLAS. About one minute and 400 MiB. Needs root and a mirror of the distribution. Works on amd64 and arm64.
#
#   sudo sh suites/smoke-prepare.sh
#
# SPARKBENCH_SMOKE_ROOT    another place for the root (the suite names suites/smoke/root)
# SPARKBENCH_SMOKE_MIRROR  another mirror
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
name=smoke-prepare
. "$here/prepare-root.sh"

must_be_root
know_release
# Installed only when something is missing, so that a prepared machine needs no network.
missing=
for program in debootstrap systemd-nspawn; do
    command -v "$program" >/dev/null 2>&1 || missing=yes
done
ldconfig -p | grep -q openblas || missing=yes
/usr/bin/python3 -c 'import numpy' 2>/dev/null || missing=yes
if [ -n "$missing" ]; then
    install_packages debootstrap systemd-container python3 python3-numpy libopenblas0-pthread "$keyring"
fi

smoke=${SPARKBENCH_SMOKE_ROOT:-$here/smoke/root}
make_root "$smoke" python3-minimal,python3-numpy,libopenblas0-pthread "${SPARKBENCH_SMOKE_MIRROR:-}"
import_image "$smoke" sparkbench-smoke:latest
