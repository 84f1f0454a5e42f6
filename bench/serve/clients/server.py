"""A `forerun serve` for the lifetime of a client's script, and the list of the script's checks."""
import http.client
import json
import re
import subprocess
import sys

BAD = []


def check(what, ok, found=""):
    print(("ok    " if ok else "WRONG ") + what + (f": {found}" if not ok else ""), flush=True)
    if not ok:
        BAD.append(what)
    return ok


def skip(what, why):
    print(f"skip  {what}: {why}", flush=True)


def fails(what, kind, call):
    """The error, where it is of this kind."""
    try:
        call()
        check(what, False, "no error")
    except kind as why:
        check(what, True)
        return why
    except Exception as why:  # pylint: disable=broad-except
        check(what, False, repr(why))
    return None


class Server:
    """Starts it on a free port; `with` ends it, which must be with 0."""

    def __init__(self, program, model, *flags, port=0, stderr=None):
        self.process = subprocess.Popen([program, "serve", "-m", model, "--port", str(port), *flags],
                                        stdout=subprocess.PIPE, stderr=stderr, text=True)
        line = self.process.stdout.readline()
        found = re.search(r":(\d+)$", line.strip())
        if not found:
            sys.exit(f"expected 'listening on ...', found {line!r}")
        self.port = int(found.group(1))
        self.pid = self.process.pid
        self.root = f"http://127.0.0.1:{self.port}"
        self.url = self.root + "/v1"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            check("SIGTERM: it ends with 0", self.process.wait(90) == 0, self.process.returncode)
        except subprocess.TimeoutExpired:
            check("SIGTERM: it ends with 0", False, "still there after 90 s")
            self.process.kill()

    def ask(self, method, path, body=None, timeout=600, headers=None):
        """Status and bytes of the answer."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            c.request(method, path, None if body is None else json.dumps(body),
                      {"Content-Type": "application/json", **(headers or {})})
            r = c.getresponse()
            return r.status, r.read()
        finally:
            c.close()

    def status(self, name):
        """A number of /proc/PID/status: VmRSS in KB, Threads."""
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as f:
            return int(re.search(name + r":\s+(\d+)", f.read()).group(1))


def arguments(parser):
    parser.add_argument("--program", default="build/forerun")
    parser.add_argument("--model", required=True)
    return parser.parse_args()


def finish():
    if BAD:
        print(f"{len(BAD)} wrong")
    sys.exit(1 if BAD else 0)
