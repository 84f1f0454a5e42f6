"""The server as a process on a tiny model; `FORERUN` and `model` of the environment say which."""
import http.client
import json
import os
import re
import subprocess

ASK = {"prompt": "abc abc abc", "max_tokens": 400, "temperature": 0, "ignore_eos": True}


class Server:
    def __init__(self, *flags, port=0, stderr=subprocess.DEVNULL, **more):
        self.process = subprocess.Popen(
            [os.environ["FORERUN"], "serve", "-m", os.environ["model"], "--parallel", "2", "--drafter", "none",
             "--drain", "600", "--port", str(port), *flags], stdout=subprocess.PIPE, stderr=stderr, text=True, **more)
        self.line = self.process.stdout.readline().strip()
        found = re.search(r":(\d+)$", self.line)
        assert found, "expected 'listening on ...', found %r" % self.line
        self.port = int(found.group(1))

    def ask(self, method="POST", path="/v1/completions", body=ASK, headers=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        try:
            c.request(method, path, json.dumps(body), {"Connection": "close", **(headers or {})})
            reply = c.getresponse()
            return reply.status, reply.read()
        finally:
            c.close()

    def document(self, method, path, body=ASK):
        status, said = self.ask(method, path, body)
        assert status == 200, said
        return json.loads(said)

    def text(self, body=ASK):
        return self.document("POST", "/v1/completions", body)["choices"][0]["text"]

    def end(self):
        self.process.terminate()
        assert self.process.wait(600) == 0


def refused(*flags):
    """Exit code and sentence of a server that does not start."""
    found = subprocess.run([os.environ["FORERUN"], "serve", "-m", os.environ["model"], "--port", "0", *flags],
                           capture_output=True, text=True, timeout=60)
    assert found.returncode and not found.stdout, (flags, found)
    return found.returncode, found.stderr
