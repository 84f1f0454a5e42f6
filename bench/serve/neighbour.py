"""A neighbour on a server: a client that requests short greedy answers while other clients load the
server. It also records the memory of the server's process."""
import http.client
import json
import threading
import time

PROMPT = "Once upon a time"


class Answer:
    """What came of one request, in seconds from its beginning: the first text, and all."""

    def __init__(self):
        self.status, self.first, self.seconds, self.text, self.why = 0, None, None, "", ""


def read_events(reply, answer, began, until):
    """False: the time was over."""
    for line in reply:
        if time.monotonic() > until:
            return False
        if not line.startswith(b"data: {"):
            continue
        event = json.loads(line[6:])
        if "error" in event:
            answer.status, answer.why = event["error"].get("code", 500), event["error"].get("message", "")
            return True
        answer.text += event.get("content", "")
        if answer.text and answer.first is None:
            answer.first = time.monotonic() - began
    return True


def ask(port, body, source=None, key=None, limit=600, answer=None, path="/completion"):
    """The Answer to a body as a stream of /completion's, with the text that came within `limit` seconds. `source`: the
    address that it comes from. `answer`: where all of it is put as it comes."""
    answer, began = answer or Answer(), time.monotonic()
    headers = {"Content-Type": "application/json", **({"Authorization": "Bearer " + key} if key else {})}
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=limit, source_address=(source, 0) if source else None)
    try:
        c.request("POST", path, json.dumps({**body, "stream": True}), headers)
        reply = c.getresponse()
        answer.status = reply.status
        if reply.status != 200:
            answer.why = json.loads(reply.read())["error"]["message"]
        elif not read_events(reply, answer, began, began + limit):
            answer.why = "no end in %.0f s" % limit
    except (OSError, http.client.HTTPException, ValueError, LookupError) as why:
        answer.why = repr(why)
    finally:
        c.close()
    answer.seconds = time.monotonic() - began
    return answer


def short(tokens=64, prompt=PROMPT):
    return {"prompt": prompt, "n_predict": tokens, "temperature": 0, "seed": 1, "ignore_eos": True, "cache_prompt": False}


def resident(pid):
    """VmRSS in MB; 0 where the process is gone."""
    try:
        with open("/proc/%d/status" % pid, encoding="ascii") as f:
            return next((int(line.split()[1]) / 1024 for line in f if line.startswith("VmRSS:")), 0)
    except OSError:
        return 0


class Watch(threading.Thread):
    """Samples the size of a process, and asks as a neighbour where a port is given, until it is ended.

    rows: (seconds, MB, seconds of the neighbour's answer or None)."""

    def __init__(self, pid, port=None, every=0.1, key=None, tokens=16):
        super().__init__(daemon=True)
        self.pid, self.port, self.every, self.key, self.tokens = pid, port, every, key, tokens
        self.rows, self.over, self.began = [], threading.Event(), time.monotonic()
        self.start()

    def run(self):
        while not self.over.wait(self.every):
            took = None
            if self.port:
                answer = ask(self.port, short(self.tokens), key=self.key, limit=120)
                took = answer.seconds if answer.status == 200 and not answer.why else None
            self.rows.append((time.monotonic() - self.began, resident(self.pid), took))

    def end(self):
        self.over.set()
        self.join(150)
        return self.rows

    def peak(self):
        return max((mb for _, mb, _ in self.rows), default=0)

    def write(self, path):
        with open(path, "w", encoding="ascii") as f:
            f.write("seconds,mb,neighbour_seconds\n")
            for at, mb, took in self.rows:
                f.write("%.1f,%.1f,%s\n" % (at, mb, "" if took is None else "%.3f" % took))

