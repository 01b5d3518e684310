#!/bin/sh
# Runs one of the two suites of load clients against a server that it starts and ends: sh suites/clients.sh vllm | mock
#
# In:  what suites/clients-prepare.sh made; the program sparkbench in PATH or in SPARKBENCH.  Out: archive/clients or archive/clients-mock.
# More options go to `sparkbench collect`, e.g. --resume.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
sparkbench=${SPARKBENCH:-sparkbench}
which=${1:?vllm or mock}
shift
export CLIENTS="${CLIENTS:-/opt/sparkbench-clients}" VENV=/opt/sparkbench-vllm/venv MODEL_PATH=/opt/sparkbench-vllm/small
log=$(mktemp)
case $which in
vllm)
    suite=clients
    export MODEL=llama-random
    /usr/bin/python3 "$here/../tests/server/vllm/serve.py" --home /opt/sparkbench-vllm --model small --served-model-name "$MODEL" \
        --log "$log.server" >"$log" &
    ;;
mock)
    suite=clients-mock
    export MODEL=mock-model
    "$sparkbench" mock --port 0 --model "$MODEL" --ttft-ms 20 --itl-ms 4 >"$log" 2>&1 &
    ;;
*)
    echo "clients.sh: vllm or mock, not '$which'" >&2
    exit 2
    ;;
esac
server=$!
trap 'kill $server 2>/dev/null || true; wait $server 2>/dev/null || true; rm -f "$log" "$log.server"' EXIT
# It says its address when it answers. Where it cannot start it ends, and says why.
while kill -0 $server 2>/dev/null; do
    SERVER=$(grep -o 'http://[0-9.:]*' "$log" | head -n 1) && [ -n "$SERVER" ] && break
    sleep 1
done
if [ -z "${SERVER:-}" ]; then
    echo "clients.sh: the server did not come up:" >&2
    tail -n 20 "$log" "$log.server" >&2 || true
    exit 1
fi
SPARKBENCH=$(command -v -- "$sparkbench")
export SERVER SPARKBENCH
"$sparkbench" collect "$here/$suite.toml" "$@"
