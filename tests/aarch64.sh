#!/bin/sh
# Builds sparkbench for aarch64, the processor of a DGX Spark, and runs it under emulation: the site that it makes must be the same, bit
# for bit, as the one that the build of this machine made.
#
#   sh tests/aarch64.sh --prepare          fetches the compiler and the dependencies, and no more
#   sh tests/aarch64.sh SITE [PATH...]     SITE is what `sparkbench analyse PATH...` of this machine made, of data/ where no path is given
#
# Emulation takes many times as long, so a landing gives it the campaigns with few files.
# Needs root, Debian or Ubuntu on x86-64, debootstrap, qemu-user-static, about 4 GB and 10 minutes on two cores. The compiler is that of
# Debian testing, since it comes with a standard library for arm64. It lies in a tree of its own, SPARKBENCH_AARCH64_TREE, and is kept.
set -eu

site=${1:?give the site that this machine made, or --prepare}
shift
if [ "$site" != --prepare ]; then site=$(realpath -- "$site"); fi
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
tree=${SPARKBENCH_AARCH64_TREE:-${TMPDIR:-/tmp}/sparkbench-aarch64}
mirror=${SPARKBENCH_SMOKE_MIRROR:-http://deb.debian.org/debian}
target=aarch64-unknown-linux-gnu
say() { printf 'aarch64: %s\n' "$*" >&2; }
quietly() { "$@" >"$tree.log" 2>&1 || { tail -n 20 "$tree.log" >&2; say "failed: $*"; exit 1; }; }

# One at a time: the tree is shared, and each run puts its own sources into it.
exec 9>"$tree.lock"
flock 9

if [ ! -e "$tree/usr/bin/cargo" ] || [ ! -e "$tree/usr/lib/rustlib/$target" ]; then
    say "making $tree: Debian testing with a compiler for arm64"
    rm -rf --one-file-system -- "$tree"
    quietly debootstrap --variant=minbase --include=ca-certificates testing "$tree" "$mirror"
    printf 'deb %s testing main\n' "$mirror" >"$tree/etc/apt/sources.list"
    chroot "$tree" dpkg --add-architecture arm64
    # A mirror may lag behind by more than the lists are valid for. Their signature still counts.
    quietly chroot "$tree" apt-get -o Acquire::Check-Valid-Until=false update -q
    quietly chroot "$tree" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
        cargo rustc gcc libc6-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross libstd-rust-dev:arm64
fi
say "$(chroot "$tree" rustc --version)"

# The sources as Git has them, with every dependency beside them: the tree needs no network and no registry of its own.
rm -rf --one-file-system -- "$tree/source"
mkdir -p "$tree/source"
git -C "$here" ls-files -z | (cd "$here" && xargs -0 cp --parents -t "$tree/source")
quietly env -C "$tree/source" cargo vendor --locked --quiet vendor
mkdir -p "$tree/source/.cargo"
printf '[source.crates-io]\nreplace-with = "beside"\n[source.beside]\ndirectory = "vendor"\n' >"$tree/source/.cargo/config.toml"
if [ "$site" = --prepare ]; then exit 0; fi

# Our own code at level 1, which takes two thirds of the time: the figures must not depend on it.
say "building"
quietly chroot "$tree" env -C /source HOME=/root CARGO_TARGET_DIR=/target CARGO_PROFILE_RELEASE_OPT_LEVEL=1 \
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc \
    cargo build --release --locked --offline --target "$target"
program=$tree/target/$target/release/sparkbench

say "making the site under emulation"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
qemu-aarch64-static -L "$tree/usr/aarch64-linux-gnu" "$program" --version
(cd "$here" && quietly qemu-aarch64-static -L "$tree/usr/aarch64-linux-gnu" "$program" analyse "$@" --quiet --site "$made/site")
diff -r "$site" "$made/site"
say "the site is the same, bit for bit: $(find "$site" -type f | wc -l) files"
