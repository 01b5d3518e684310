#!/bin/sh
# Makes what suites/llama-cpu.toml needs: all of suites/vllm-cpu-prepare.sh, llama.cpp's server in /opt/sparkbench-llama, and the model
# of vLLM once more in its format. What is there already is kept. Needs root, PyPI and a mirror of the distribution.
#
#   sudo sh suites/llama-cpu-prepare.sh
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
home=/opt/sparkbench-llama
sh "$here/vllm-cpu-prepare.sh"
/usr/bin/python3 "$here/../tests/server/serve.py" --home "$home" --prepare >&2
cp "$here/../tests/server/serve.py" "$home/serve.py"
[ -e /opt/sparkbench-vllm/small/model.gguf ] || /usr/bin/python3 "$here/../tests/server/vllm/to_gguf.py" /opt/sparkbench-vllm/small >&2
cp /opt/sparkbench-vllm/small/model.gguf "$home/small.gguf"
