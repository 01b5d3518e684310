#!/bin/sh
# Makes what suites/clients.sh needs: the engine and its models in /opt/sparkbench-vllm (6 GB), and each load client in a virtual
# environment of its own in /opt/sparkbench-clients (9 GB). What is there already is kept. About fifteen minutes; needs PyPI.
#
#   sudo sh suites/clients-prepare.sh
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
home=${CLIENTS:-/opt/sparkbench-clients}
python=/usr/bin/python3

"$python" "$here/../tests/server/vllm/serve.py" --home /opt/sparkbench-vllm --prepare >&2

# client FOLDER PACKAGES...: made anew when the packages change.
client() {
    folder=$home/$1
    shift
    if [ "$(cat "$folder/packages" 2>/dev/null)" = "$*" ]; then return; fi
    echo "clients-prepare: $*" >&2
    rm -rf "$folder"
    "$python" -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check "$@" >&2
    echo "$*" >"$folder/packages"
}

mkdir -p "$home"
client guidellm guidellm==0.8.1
client aiperf aiperf==0.13.0
client genai-bench genai-bench==0.0.5
client llama-benchy llama-benchy==0.4.0
# It makes prompts of a text and takes one that it has fetched before from a file of this name.
text=$home/llama-benchy/home/.cache/llama-benchy
mkdir -p "$text"
cp /usr/share/common-licenses/GPL-3 "$text/$(printf licence | md5sum | cut -d ' ' -f 1).txt"
# Of SGLang only the client is used, which runs in the environment of vLLM and needs a little beside it.
client sglang --no-deps sglang==0.5.23
"$home/sglang/bin/pip" install --quiet --disable-pip-version-check orjson==3.13.0 ipython==9.18.1 datasets==5.2.0 >&2
"$home/sglang/bin/pip" install --quiet --disable-pip-version-check --no-deps torchvision==0.28.0 gguf==0.19.0 >&2
