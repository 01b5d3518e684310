"""Records what the real server answers, byte for byte, as fixtures for the readers of streams, errors and counters.

    python3 tests/server/record.py tests/fixtures/load/llama-server

In:  a folder; the server of `serve.py`, which it starts itself, once for each group of cases.
Out: for each case `NAME.http`, the answer from its status line to its last byte as it came over the socket (chunked bodies stay
     chunked), and `requests.json`: what was sent for it, the media type, how many reads the client needed.
Not here: checking anything. Times are not kept; a recording is for shapes.
"""

import argparse
import json
import pathlib
import socket
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MODEL = "tiny-random"
USAGE = {"stream_options": {"include_usage": True}}
EXACT = {"ignore_eos": True, "temperature": 0, "seed": 1}


class Server:
    """A server that lives as long as this value is used."""

    def __init__(self, *options):
        command = [sys.executable, str(HERE / "serve.py"), "--tied", "--metrics", *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.port = int(self.process.stdout.readline().decode().rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def ask(self, method, path, body=None, headers=()):
        """The bytes of one answer, and in how many reads they came."""
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        head = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers]
        if body is not None:
            head += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
        with socket.create_connection(("127.0.0.1", self.port), timeout=300) as link:
            link.sendall("\r\n".join([*head, "", ""]).encode() + data)
            return read_answer(link)


def read_answer(link):
    """Reads to the end that the answer's own framing gives, so that the connection may stay open."""
    raw, reads = b"", 0
    while not complete(raw):
        piece = link.recv(1 << 16)
        if not piece:
            break
        raw, reads = raw + piece, reads + 1
    return raw, reads


def complete(raw):
    head, mark, body = raw.partition(b"\r\n\r\n")
    if not mark:
        return False
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    if b"chunked" in fields.get(b"transfer-encoding", b""):
        return body.endswith(b"0\r\n\r\n") and (body == b"0\r\n\r\n" or body.endswith(b"\r\n0\r\n\r\n"))
    return len(body) >= int(fields.get(b"content-length", b"0"))


def user(text):
    return {"model": MODEL, "messages": [{"role": "user", "content": text}]}


QUESTION = "What did the first ship bring over the sea"
LONG = " ".join(["plan"] * 300)

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
PLAIN_CASES = [
    ("health", "GET", "/health", None),
    ("models", "GET", "/v1/models", None),
    ("props", "GET", "/props", None),
    ("tokenize", "POST", "/tokenize", {"content": QUESTION}),
    ("tokenize-special", "POST", "/tokenize", {"content": "<|im_start|>user\n漢字<|im_end|>", "parse_special": True, "with_pieces": True}),
    ("detokenize", "POST", "/detokenize", {"tokens": [1506, 1507, 1508]}),
    ("apply-template", "POST", "/apply-template", user(QUESTION)),
    ("metrics-before", "GET", "/metrics", None),
    ("chat-stream", "POST", CHAT, user(QUESTION) | EXACT | USAGE | {"max_tokens": 16, "stream": True}),
    ("chat-stream-no-usage", "POST", CHAT, user(QUESTION) | EXACT | {"max_tokens": 8, "stream": True}),
    ("chat-stream-one-token", "POST", CHAT, user(QUESTION) | EXACT | USAGE | {"max_tokens": 1, "stream": True}),
    ("chat-stream-stop", "POST", CHAT, user("Tell the") | USAGE | {"temperature": 0, "max_tokens": 300, "stream": True}),
    ("chat-stream-timings", "POST", CHAT, user(QUESTION) | EXACT | USAGE | {"max_tokens": 6, "stream": True, "timings_per_token": True}),
    (
        "chat-stream-progress",
        "POST",
        CHAT,
        user(LONG + " " + QUESTION) | EXACT | USAGE | {"max_tokens": 4, "stream": True, "return_progress": True},
    ),
    ("chat-stream-logprobs", "POST", CHAT, user(QUESTION) | EXACT | USAGE | {"max_tokens": 4, "stream": True, "logprobs": True, "top_logprobs": 2}),
    (
        "chat-stream-split-letters",
        "POST",
        CHAT,
        user(QUESTION) | EXACT | USAGE | {"max_tokens": 24, "stream": True, "grammar": 'root ::= ("é" | "漢" | "🚀" | "字")+'},
    ),
    ("chat-stream-two-choices", "POST", CHAT, user(QUESTION) | EXACT | USAGE | {"max_tokens": 4, "stream": True, "n": 2}),
    ("chat-whole", "POST", CHAT, user(QUESTION) | EXACT | {"max_tokens": 16}),
    (
        "chat-stream-second-turn",
        "POST",
        CHAT,
        EXACT
        | USAGE
        | {
            "model": MODEL,
            "stream": True,
            "max_tokens": 8,
            "messages": [
                {"role": "system", "content": "You help"},
                {"role": "user", "content": QUESTION},
                {"role": "assistant", "content": " paint usual big multiply"},
                {"role": "user", "content": "And then"},
            ],
        },
    ),
    ("completions-stream", "POST", COMPLETIONS, {"model": MODEL, "prompt": QUESTION, "max_tokens": 16, "stream": True} | EXACT | USAGE),
    ("completions-stream-no-usage", "POST", COMPLETIONS, {"model": MODEL, "prompt": QUESTION, "max_tokens": 8, "stream": True} | EXACT),
    ("completions-stream-cached", "POST", COMPLETIONS, {"model": MODEL, "prompt": QUESTION, "max_tokens": 4, "stream": True} | EXACT | USAGE),
    ("completions-whole", "POST", COMPLETIONS, {"model": MODEL, "prompt": QUESTION, "max_tokens": 16} | EXACT),
    ("completion-native-stream", "POST", "/completion", {"prompt": QUESTION, "n_predict": 8, "stream": True} | EXACT),
    ("responses-stream", "POST", "/v1/responses", {"model": MODEL, "input": QUESTION, "max_output_tokens": 8, "stream": True} | EXACT),
    ("wrong-model", "POST", CHAT, user(QUESTION) | EXACT | USAGE | {"model": "no-such-model", "max_tokens": 2, "stream": True}),
    ("error-too-long", "POST", CHAT, user(" ".join(["plan"] * 5000)) | EXACT | USAGE | {"max_tokens": 2, "stream": True}),
    ("error-no-messages", "POST", CHAT, {"model": MODEL, "stream": True}),
    ("error-bad-json", "POST", CHAT, b'{"model": '),
    ("error-bad-grammar", "POST", CHAT, user(QUESTION) | {"stream": True, "max_tokens": 2, "grammar": "root ::= ("}),
    ("error-no-such-path", "POST", "/v1/no-such-path", {}),
    ("error-wrong-method", "GET", CHAT, None),
    ("slots", "GET", "/slots", None),
    ("metrics-after", "GET", "/metrics", None),
]
THINKING = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['reasoning_content'] %}<think>\n{{ message['reasoning_content'] }}\n</think>\n\n{% endif %}"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
)
"""A template of a model that thinks first: what comes before `</think>` is sent as `reasoning_content`."""


def record_all(keep):
    with Server("-np", "4", "-c", "16384") as server:
        for name, method, path, body in PLAIN_CASES:
            keep(name, method, path, body, server.ask(method, path, body))
        body = user(QUESTION) | EXACT | USAGE | {"max_tokens": 4, "stream": True}
        keep("chat-stream-close", "POST", CHAT, body, server.ask("POST", CHAT, body, ["Connection: close"]))

    with Server("--api-key", "sesame") as server:
        body = user(QUESTION) | {"max_tokens": 2, "stream": True}
        keep("error-no-key", "POST", CHAT, body, server.ask("POST", CHAT, body))
        keep("error-wrong-key", "POST", CHAT, body, server.ask("POST", CHAT, body, ["Authorization: Bearer open"]))

    with Server("-np", "1", "-c", "256") as server:
        body = user(" ".join(["plan"] * 230)) | EXACT | USAGE | {"max_tokens": 64, "stream": True}
        keep("chat-stream-context-full", "POST", CHAT, body, server.ask("POST", CHAT, body))

    with Server("-np", "1", "-c", "8192", "-b", "8192", "-ub", "8192", "--sse-ping-interval", "1") as server:
        # One step over the whole prompt takes some seconds; the server fills them with comments.
        body = user(" ".join(["plan"] * 8100)) | EXACT | USAGE | {"max_tokens": 4, "stream": True, "return_progress": True}
        keep("chat-stream-comments", "POST", CHAT, body, server.ask("POST", CHAT, body))

    with Server("--chat-template", THINKING) as server:
        body = user(QUESTION) | USAGE | {"temperature": 0, "max_tokens": 24, "stream": True}
        body["grammar"] = 'root ::= " plan" " paint" " usual\\n</think>\\n\\n" "The" " ship" " and" " the" " sea"'
        keep("chat-stream-reasoning", "POST", CHAT, body, server.ask("POST", CHAT, body))
        body = user(QUESTION) | EXACT | USAGE | {"max_tokens": 6, "stream": True}
        keep("chat-stream-reasoning-only", "POST", CHAT, body, server.ask("POST", CHAT, body))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    sent = {}

    def keep(name, method, path, body, answer):
        raw, reads = answer
        (folder / f"{name}.http").write_bytes(raw)
        if isinstance(body, bytes):
            body = body.decode()
        if isinstance(body, dict) and len(json.dumps(body)) > 4000:
            body = body | {"messages": "one message of the user, thousands of words"}
        sent[name] = {"method": method, "path": path, "body": body, "reads": reads}
        status = raw.partition(b"\r\n")[0].decode() or "nothing"
        print(f"{name}: {status}, {len(raw)} bytes in {reads} reads")

    record_all(keep)
    (folder / "requests.json").write_text(json.dumps(sent, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
