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
root=${SPARKBENCH_SMOKE_ROOT:-$here/smoke/root}
tag=sparkbench-smoke:latest
packages=python3-minimal,python3-numpy,libopenblas0-pthread
variables='PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LANG=C.UTF-8'

say() { printf 'smoke-prepare: %s\n' "$*" >&2; }

[ "$(id -u)" = 0 ] || { say "needs root: sudo sh $0"; exit 1; }

. /etc/os-release
case ${ID:-} in
    debian) release=$VERSION_CODENAME components=main keyring=debian-archive-keyring ;;
    ubuntu) release=$VERSION_CODENAME components=main,universe keyring=ubuntu-keyring ;;
    *) release=bookworm components=main keyring=debian-archive-keyring
       say "this machine is neither Debian nor Ubuntu: its native Python will differ from that of the root" ;;
esac

# Installed only when something is missing, so that a prepared machine needs no network.
missing=
for program in debootstrap systemd-nspawn; do
    command -v "$program" >/dev/null 2>&1 || missing=yes
done
ldconfig -p | grep -q openblas || missing=yes
/usr/bin/python3 -c 'import numpy' 2>/dev/null || missing=yes
if [ -n "$missing" ]; then
    command -v apt-get >/dev/null || { say "install debootstrap, systemd-nspawn, python3 with numpy, and OpenBLAS by hand"; exit 1; }
    say "installing debootstrap, systemd-container, python3-numpy, libopenblas0-pthread"
    apt-get update -q >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
        debootstrap systemd-container python3 python3-numpy libopenblas0-pthread "$keyring" >&2
fi

if [ -e "$root/etc/os-release" ]; then
    say "keeping $root"
else
    say "making $root ($release, $(dpkg --print-architecture 2>/dev/null || uname -m))"
    mkdir -p "$(dirname -- "$root")"
    # Made aside and renamed: a root is there whole, or it is not there.
    rm -rf --one-file-system -- "$root.new"
    # shellcheck disable=SC2086
    debootstrap --variant=minbase --components="$components" --include="$packages" \
        "$release" "$root.new" ${SPARKBENCH_SMOKE_MIRROR:-} >"$root.log" 2>&1 || {
        tail -n 5 "$root.log" >&2
        say "debootstrap failed; its whole output is in $root.log"
        exit 1
    }
    rm -rf -- "$root.new/var/cache/apt/archives" "$root.new/var/lib/apt/lists" "$root.log"
    mv -- "$root.new" "$root"
fi
printf '%s\n' "$variables" >"$root.env"

if command -v docker >/dev/null 2>&1 && docker version >/dev/null 2>&1; then
    # The hash of the package list stands on the image, so that it is made anew when the root is another one.
    hash=$(sha256sum "$root/var/lib/dpkg/status" | cut -d ' ' -f 1)
    have=$(docker image inspect -f '{{index .Config.Labels "org.sparkbench.smoke"}}' "$tag" 2>/dev/null || true)
    if [ "$hash" = "$have" ]; then
        say "keeping the image $tag"
    else
        say "importing $root as $tag"
        set --
        for variable in $variables; do
            set -- "$@" --change "ENV $variable"
        done
        tar -C "$root" --one-file-system --exclude=./sparkbench -c . |
            docker import "$@" --change "LABEL org.sparkbench.smoke=$hash" - "$tag" >/dev/null
    fi
    docker image inspect -f '{{.Id}}' "$tag"
else
    say "no Docker engine answers: the environment docker of the suite will be refused"
fi
