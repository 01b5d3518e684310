#!/bin/sh
# Packs the binary of a wheel as an archive: `sparkbench`, the licences, nothing else. The same wheel gives the same bytes.
#
#   sh tests/pack.sh WHEEL ARCHIVE.tar.gz
set -eu

wheel=$(realpath -- "$1")
archive=$(realpath -m -- "$2")
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && python3 -m zipfile -e "$wheel" wheel)
mkdir "$folder/packed"
cp "$folder"/wheel/sparkbench-*.data/scripts/sparkbench "$here"/LICENSE* "$folder/packed/"
chmod 755 "$folder/packed/sparkbench"
(cd "$folder/packed" && tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -- *) | gzip -n >"$archive"
