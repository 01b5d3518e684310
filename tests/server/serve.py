"""Starts a real inference server on this machine: llama.cpp's own HTTP server, with the tiny random model of `make_model.py`.

    python3 tests/server/serve.py --metrics    # prints its address when it is ready; Ctrl-C ends it

In:  options, those of `llama-server` by their own names; a folder of its own (`--home`), by default in the target folder of the build.
Out: one line on standard output, `http://127.0.0.1:PORT`, when the server answers; its log on standard error.
Not here: measuring. `tests/engines/real_server.rs` does that, through the program.

The first start makes a virtual environment with what `requirements.txt` pins (34 MB from the package index, some 10 seconds) and
the model (one second); later ones take a tenth of a second. Two starts at once wait for one another while something is made.

The package holds llama.cpp's server as a library, so the very server that `llama-server` is, with its own threads and its own
sockets, runs inside a Python process that does nothing else. It ends when it is told to, and with `--tied` also when standard
input closes, so that a test that dies leaves no server behind.
"""

import argparse
import fcntl
import hashlib
import os
import pathlib
import signal
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
PREPARED = "prepared"
"""Name of the file that says that a home is complete, with the digest of what it was made from."""

FLASH_ATTENTION = {name: f"LLAMA_FLASH_ATTN_TYPE_{word}" for name, word in (("on", "ENABLED"), ("off", "DISABLED"), ("auto", "AUTO"))}


def default_home():
    target = os.environ.get("CARGO_TARGET_DIR") or HERE.parent.parent / "target"
    return pathlib.Path(target) / "tmp" / "server"


def recipe():
    """Digest of all that a home is made from: when it changes, the home is made anew."""
    digest = hashlib.sha256(sys.version.encode())
    for name in ("requirements.txt", "make_model.py"):
        digest.update((HERE / name).read_bytes())
    return digest.hexdigest()


def is_prepared(home):
    mark = home / PREPARED
    return mark.is_file() and mark.read_text() == recipe()


def prepare(home):
    """Makes what is missing; by one process at a time."""
    home.mkdir(parents=True, exist_ok=True)
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_prepared(home):
            return
        (home / PREPARED).unlink(missing_ok=True)
        python = home / "venv" / "bin" / "python"
        for command in (
            [sys.executable, "-m", "venv", "--clear", home / "venv"],
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
            + ["-r", HERE / "requirements.txt"],
            [python, HERE / "make_model.py", home / "model"],
        ):
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)
        (home / PREPARED).write_text(recipe())


def settings(asked, engine):
    """The server's settings, by their names in llama.cpp."""
    params = engine.CommonParams()
    params.model.path = str(asked.model)
    params.model_alias = {asked.alias}
    params.hostnames = [asked.host]
    params.port = asked.port
    params.n_parallel = asked.parallel
    params.n_ctx = asked.ctx_size
    params.n_batch = asked.batch_size
    params.n_ubatch = asked.ubatch_size
    params.cpuparams.n_threads = asked.threads
    params.cpuparams_batch.n_threads = asked.threads
    params.n_gpu_layers = asked.gpu_layers
    params.flash_attn_type = getattr(engine.llama_flash_attn_type, FLASH_ATTENTION[asked.flash_attn])
    params.endpoint_metrics = asked.metrics
    params.sse_ping_interval = asked.sse_ping_interval
    params.ui = False
    if asked.api_key is not None:
        params.api_keys = [asked.api_key]
    if asked.chat_template is not None:
        params.chat_template = asked.chat_template
    return params


def serve(asked, answer):
    """Runs the server until this process is told to end."""
    import xllamacpp as engine

    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: ended.set())
    if asked.tied:
        threading.Thread(target=lambda: (sys.stdin.buffer.read(), ended.set()), daemon=True).start()
    server = engine.Server(settings(asked, engine))
    os.write(answer, f"{server.listening_address}\n".encode())
    ended.wait()
    # Requests in flight would be waited for; whoever ends a server under them wants them broken.
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", type=pathlib.Path, default=default_home(), help="where the engine and the model are kept")
    parser.add_argument("--prepare", action="store_true", help="make what is missing and end")
    parser.add_argument("--prepared", action="store_true", help="fail at once if something is missing, rather than make it")
    parser.add_argument("--tied", action="store_true", help="end when standard input closes")
    engine = parser.add_argument_group("as llama-server has them")
    engine.add_argument("-m", "--model", type=pathlib.Path, help="a file (default: the model made in the home folder)")
    engine.add_argument("-a", "--alias", default="tiny-random", help="name of the model")
    engine.add_argument("--host", default="127.0.0.1")
    engine.add_argument("--port", type=int, default=0, help="0: any free one (default)")
    engine.add_argument("-np", "--parallel", type=int, default=8, help="requests that are worked on at once (default: 8)")
    engine.add_argument("-c", "--ctx-size", type=int, default=8 * 4096, help="tokens of all these together (default: 32768)")
    engine.add_argument("-b", "--batch-size", type=int, default=512, help="tokens in one call of the model (default: 512)")
    engine.add_argument("-ub", "--ubatch-size", type=int, default=512, help="tokens in one step of the processor (default: 512)")
    engine.add_argument("-ngl", "--gpu-layers", type=int, default=-1, help="layers on a GPU; this build has none to put them on")
    engine.add_argument("-fa", "--flash-attn", choices=FLASH_ATTENTION, default="auto")
    engine.add_argument("--no-webui", action="store_true", help="no pages for people; there are none in any case")
    engine.add_argument("-t", "--threads", type=int, default=1, help="threads that compute (default: 1)")
    engine.add_argument("--metrics", action="store_true", help="count for /metrics")
    engine.add_argument("--api-key", help="key that every request must bring")
    engine.add_argument("--chat-template", help="template in place of the model's")
    engine.add_argument("--sse-ping-interval", type=int, default=30, help="seconds of silence before a comment in a stream")
    asked = parser.parse_args()
    asked.home = asked.home.resolve()

    if asked.prepared and not is_prepared(asked.home):
        sys.exit(f"nothing is prepared in {asked.home}: run python3 tests/server/serve.py --prepare")
    python = asked.home / "venv" / "bin" / "python"
    if pathlib.Path(sys.prefix).resolve() != asked.home / "venv":
        prepare(asked.home)
        if asked.prepare:
            print(asked.home)
            return
        os.execv(python, [str(python), *sys.argv])

    if asked.model is None:
        asked.model = pathlib.Path("model/model.gguf")
    else:
        asked.model = asked.model.absolute()
    # The server tells the path of its model to whoever asks; from its home that is a name without the machine's folders.
    os.chdir(asked.home)
    # The engine writes some of its log to standard output, which is for the address alone.
    answer = os.dup(1)
    os.dup2(2, 1)
    serve(asked, answer)


if __name__ == "__main__":
    main()
