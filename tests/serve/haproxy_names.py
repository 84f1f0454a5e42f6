"""deploy/haproxy.cfg in use: requests of one conversation go to one replica, and conversations are dealt among both, whatever form they have."""
import argparse
import http.server
import json
import os
import sys
import tempfile
import threading
import urllib.request

sys.path.insert(1, os.path.join(os.environ["FR_SOURCE_DIR"], "bench", "serve"))

import replicas


class Replica(http.server.BaseHTTPRequestHandler):
    """Says yes to everything: HAProxy tells who was asked."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_):
        pass


def message(role, text):
    return {"role": role, "content": text}


def parts(role, text):
    return message(role, [{"type": "text", "text": text}])


FORMS = {
    "string": lambda text, i: {"prompt": text},
    "list": lambda text, i: {"prompt": [text]},
    "ids": lambda text, i: {"model": "m", "prompt": [1, 300 + i, *range(200)]},
    "lists of ids": lambda text, i: {"model": "m", "prompt": [[1, 300 + i, *range(200)]]},
    "prompt_string": lambda text, i: {"prompt": {"prompt_string": text}},
    "list of prompt_string": lambda text, i: {"prompt": [{"prompt_string": text}]},
    "input_prefix": lambda text, i: {"input_prefix": text, "input_suffix": ""},
    "cache key": lambda text, i: {"prompt_cache_key": text, "messages": [message("user", "x")]},
    "chat": lambda text, i: {"messages": [message("user", text)]},
    "parts": lambda text, i: {"messages": [parts("user", text)]},
    "system": lambda text, i: {"messages": [message("system", "x"), message("user", text)]},
    "system, parts": lambda text, i: {"messages": [message("system", "x"), parts("user", text)]},
    "two systems": lambda text, i: {"messages": [message("system", "x"), message("developer", "y"), message("user", text)]},
    "two systems, parts": lambda text, i: {"messages": [message("system", "x"), message("developer", "y"), parts("user", text)]},
    "input": lambda text, i: {"input": text},
    "input's message": lambda text, i: {"input": [message("user", text)]},
    "input's message, parts": lambda text, i: {"input": [parts("user", text)]},
    "input's developer": lambda text, i: {"input": [message("developer", "x"), message("user", text)]},
    "input's developer, parts": lambda text, i: {"input": [message("developer", "x"), parts("user", text)]},
    "input, two systems": lambda text, i: {"input": [message("system", "x"), message("developer", "y"), message("user", text)]},
}


def replica_of(port, body):
    request = urllib.request.Request("http://127.0.0.1:%d/v1/x" % port, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.headers["X-Replica"]


def longer(prompt):
    """A prompt with more behind it, in the same form."""
    if isinstance(prompt, str):
        return prompt + " and its answer"
    if isinstance(prompt, dict):
        return {"prompt_string": longer(prompt["prompt_string"])}
    return prompt + [7, 8, 9] if isinstance(prompt[0], int) else [longer(prompt[0])]


def turns(body):
    """The body of a conversation's next turn: more behind what it began with."""
    for name in "messages", "input":
        if isinstance(body.get(name), list):
            return {**body, name: body[name] + [message("assistant", "y"), message("user", "z")]}
    for name in "prompt", "input_prefix":
        if name in body:
            return {**body, name: longer(body[name])}
    return {**body, "max_tokens": 5}


def check(port):
    for name, form in FORMS.items():
        bodies = [form("conversation %d, as long as what is read of it: " % i + "word " * 60, i) for i in range(16)]
        asked = [replica_of(port, body) for body in bodies]
        assert set(asked) == {"a", "b"}, "%s: all go to replica %s" % (name, asked[0])
        assert asked == [replica_of(port, turns(body)) for body in bodies], "%s: another replica at the next turn" % name


def main():
    servers = {name: http.server.ThreadingHTTPServer(("127.0.0.1", 0), Replica) for name in "ab"}
    for server in servers.values():
        threading.Thread(target=server.serve_forever, daemon=True).start()
    ports = {name: argparse.Namespace(port=server.server_port) for name, server in servers.items()}
    with tempfile.TemporaryDirectory() as folder:
        proxy = replicas.Proxy(argparse.Namespace(haproxy="haproxy", balance=None), folder, ports)
        try:
            for name in ports:
                proxy.await_status(name, "UP")
            check(proxy.port)
        finally:
            proxy.process.terminate()
            proxy.process.wait()


if __name__ == "__main__":
    main()
