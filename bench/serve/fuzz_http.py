#!/usr/bin/env python3
"""Arbitrary input to `forerun serve`: does it stay up, give valid answers, and give proper requests
the same bytes as before?

    bench/serve/fuzz_http.py --model MODEL.gguf [--program build-sanitize/forerun] [--seconds 60] [--seed 1] [--json]
    bench/serve/fuzz_http.py --model MODEL.gguf --replay FILE

Peers send invalid request lines, headers, lengths and chunks, pipelines, requests that are cut or
reset, every method on every route, and bodies of every endpoint with random changes of fields and
bytes (fuzz_inputs.py). These must hold:

- A whole answer is valid and has a sensible status (fuzz_answers.py: no 5xx except 501 and 503).
- A whole request gets a whole answer.
- /health answers within seconds.
- A plain request gets the same bytes as at the beginning.
- At the end the server is no larger than after the first third of the time, and ends with 0.

The exit code is 1 if one does not hold. What was sent then is appended to --failures, one line
each, and --replay sends these lines again. SIGTERM ends the run early, with its summary. Time in
which the machine or this process stood still does not count.
"""
import argparse
import collections
import http.client
import json
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import fuzz_answers
import fuzz_inputs
import load
import servers

FLAGS = ["--parallel", "4", "--slot-ctx", "256", "--n-predict", "4", "--queue", "64", "--cache-ram", "32", "--timeout", "60",
         "--request-time", "60", "--metrics", "--quiet", "--drafters", "lookahead"]
WAIT = 0.25        # seconds without a byte after which nothing more is expected of a peer that may get no answer
PATIENCE = 180     # seconds in which a whole request must have its answer
HEALTH = 15        # seconds in which /health must have its own
LAST = 40          # inputs that are kept, for the case that the server ends
MOST = 20          # failures after which it stops
PLAIN = {"prompt": "The lighthouse keeper climbed", "max_tokens": 12, "temperature": 0, "logprobs": 2, "seed": 1, "cache_prompt": False}


class Clock:
    """Seconds in which this process ran: one that is stopped and goes on has not waited."""

    STEP = 0.1

    def __init__(self):
        self.ran, self.stops = 0.0, 0
        threading.Thread(target=self.tick, daemon=True).start()

    def tick(self):
        before = time.monotonic()
        while True:
            time.sleep(self.STEP)
            now = time.monotonic()
            self.ran += min(now - before, 10 * self.STEP)
            self.stops += now - before > 20 * self.STEP
            before = now


# ---------------------------------------------------------------- one input

class Peer:
    """Plays an input and keeps what comes back. `ended` is "closed", "reset" or None, by the server."""

    def __init__(self, port, one, clock):
        self.one, self.clock, self.raw, self.ended, self.hung_up, self.late = one, clock, b"", None, False, False
        self.heads = b"HEAD" in one.sent()
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.socket.setblocking(False)
        try:
            for step, data in one.steps:
                self.play(step, data)
            if not self.ended and not self.hung_up:
                self.listen()
        finally:
            self.socket.close()

    def play(self, step, data):
        if self.ended:
            return
        if step == "send":
            self.send(data)
        elif step == "wait":
            time.sleep(data)
        elif step == "half":
            self.hung_up = True
            try:
                self.socket.shutdown(socket.SHUT_WR)
            except OSError:
                self.ended = "reset"
            self.hear(WAIT)
        else:
            self.hung_up = True
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def send(self, data):
        """Reads meanwhile, so that neither side waits for the other."""
        until = self.clock.ran + 60
        while data and not self.ended and self.clock.ran < until:
            readable, writable, _ = select.select([self.socket], [self.socket], [], 1)
            if readable:
                self.read()
            if writable and not self.ended:
                try:
                    data = data[self.socket.send(data[:1 << 20]):]
                except BlockingIOError:
                    pass
                except OSError:
                    self.read_rest()

    def read(self):
        try:
            data = self.socket.recv(1 << 16)
            self.raw += data
            if not data:
                self.ended = "closed"
        except BlockingIOError:
            pass
        except OSError:
            self.ended = "reset"

    def read_rest(self):
        while not self.ended and select.select([self.socket], [], [], 0)[0]:
            self.read()
        self.ended = self.ended or "reset"

    def hear(self, seconds):
        """Until nothing came for so long."""
        until = self.clock.ran + seconds
        while not self.ended and self.clock.ran <= until:
            if select.select([self.socket], [], [], max(0, min(seconds, Clock.STEP)))[0]:
                self.read()
                until = self.clock.ran + seconds

    def answers(self):
        return fuzz_answers.answers_of(self.raw, self.ended == "closed", self.heads)

    def listen(self):
        """Until the required answers are there, or, if none are required, no bytes arrive."""
        if not self.one.answers:
            self.hear(WAIT)
            if self.raw and not self.ended and not all(a.whole for a in self.answers()):
                self.wait_for(1)
            return
        self.wait_for(self.one.answers)

    def wait_for(self, n):
        until = self.clock.ran + PATIENCE
        while not self.ended:
            self.hear(Clock.STEP)
            found = self.answers()
            if len(found) >= n and all(a.whole for a in found):
                return
            if self.clock.ran > until:
                self.late = True
                return


def judge(peer):
    """Statuses of the answers. Raises Wrong where one may not be, or is missing."""
    one, found = peer.one, peer.answers()
    whole = [a for a in found if a.whole]
    for answer in whole:
        if not (answer.status == 499 and peer.hung_up):  # a client that has hung up may still read this status
            fuzz_answers.check(answer)
    if one.never_ok and any(a.status == 200 for a in whole):
        raise fuzz_answers.Wrong("200 for what is no request: %r" % whole[0].body[:300])
    if peer.late:
        raise fuzz_answers.Wrong("no whole answer after %d s: %r" % (PATIENCE, peer.raw[:300]))
    if one.answers and len(whole) != one.answers:
        raise fuzz_answers.Wrong("expected %d whole answers, found %d, then %s: %r" % (one.answers, len(whole), peer.ended, peer.raw[-300:]))
    if peer.ended == "closed" and not peer.hung_up and len(whole) != len(found):
        raise fuzz_answers.Wrong("an answer is cut: %r" % peer.raw[-300:])
    return [a.status for a in whole]


# ---------------------------------------------------------------- many of them

class Fuzz:
    def __init__(self, server, o):
        self.server, self.o, self.clock, self.lock = server, o, Clock(), threading.Lock()
        self.counts, self.statuses, self.ends = collections.Counter(), collections.Counter(), collections.Counter()
        self.failed, self.health, self.plain, self.last = [], [], 0, collections.deque(maxlen=LAST)
        self.over = False

    def fails(self, why, inputs):
        """Writes down what was sent."""
        with self.lock:
            self.failed.append(why)
            print("failed:", why, file=sys.stderr, flush=True)
            with open(self.o.failures, "a", encoding="ascii") as f:
                for one in inputs:
                    f.write(json.dumps({"why": why, **one.as_json()}) + "\n")
            self.over = self.over or len(self.failed) >= MOST

    def once(self, one):
        """A whole request that lost its connection while the machine stood still is asked again."""
        with self.lock:
            self.last.append(one)
        for _ in range(3):
            stops = self.clock.stops
            try:
                peer = Peer(self.server.port, one, self.clock)  # which reads answers already
                statuses = judge(peer)
                break
            except fuzz_answers.Wrong as why:
                time.sleep(5 * Clock.STEP)  # until the clock has seen a stop that has just been
                if stops == self.clock.stops:
                    self.fails("%s: %s" % (one.kind, why), [one])
                    return
        else:
            return
        with self.lock:
            self.counts[one.kind] += 1
            self.statuses.update(statuses or ["none"])
            self.ends[peer.ended or "open"] += 1

    def user(self, inputs):
        for one in inputs:
            if self.over:
                return
            try:
                self.once(one)
            except OSError as why:
                if self.server.child.poll() is None:
                    self.fails("%s: cannot connect: %s" % (one.kind, why), [one])
                self.over = self.over or self.server.child.poll() is not None
            except Exception as why:  # of this program itself: whatever it is, it is no success
                self.fails("%s: %r" % (one.kind, why), [one])

    def endless(self, number):
        """The same inputs for the same --seed and number."""
        rng, until = random.Random("%d %d" % (self.o.seed, number)), self.clock.ran + self.o.seconds
        while self.clock.ran < until:
            yield fuzz_inputs.an_input(rng)

    def ask(self, method, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=600)
        try:
            c.request(method, path, body and json.dumps(body))
            r = c.getresponse()
            return r.status, r.read()
        finally:
            c.close()

    def ask_plainly(self):
        """The answer to a plain request, without the members that depend on its time."""
        for _ in range(300):
            status, text = self.ask("POST", "/v1/completions", PLAIN)
            if status != 503:  # else: many wait
                break
            time.sleep(0.2)
        if status != 200:
            return "status %d: %r" % (status, text[:200])
        found = json.loads(text)
        for name in ("id", "created", "timings"):
            found.pop(name, None)
        return json.dumps(found)

    def look(self, path_is_health):
        stops, began = self.clock.stops, self.clock.ran
        try:
            if path_is_health:
                status, _ = self.ask("GET", "/health")
                took = self.clock.ran - began
                self.health.append(took)
                if status != 200 or took > HEALTH:
                    self.fails("/health: status %d after %.1f s" % (status, took), list(self.last))
                return
            said, self.plain = self.ask_plainly(), self.plain + 1
            time.sleep(5 * Clock.STEP)
            if said != self.right and stops == self.clock.stops:
                self.fails("a plain request: expected %s, found %s" % (self.right, said), list(self.last))
        except (OSError, http.client.HTTPException, ValueError, LookupError) as why:
            if self.server.child.poll() is None and stops == self.clock.stops:
                self.fails("%s: %r" % ("/health" if path_is_health else "a plain request", why), list(self.last))

    def watch(self, path_is_health, pause):
        while not self.over:
            self.look(path_is_health)
            if self.server.child.poll() is not None:
                self.over = True
            time.sleep(pause)

    def run(self):
        if self.o.replay:
            with open(self.o.replay, encoding="ascii") as f:
                lists = [[fuzz_inputs.Input.of_json(json.loads(line)) for line in f]]
        else:
            lists = [self.endless(i) for i in range(self.o.users)]
        self.right = self.ask_plainly()
        users = [threading.Thread(target=self.user, args=(inputs,)) for inputs in lists]
        watches = [threading.Thread(target=self.watch, args=(True, 0.5)), threading.Thread(target=self.watch, args=(False, 3))]
        for t in users + watches:
            t.start()
        until, early = self.clock.ran + self.o.seconds / 3, None
        while any(t.is_alive() for t in users):
            time.sleep(0.2)
            if early is None and self.clock.ran > until and self.server.child.poll() is None:
                early = rss(self.server.child.pid)
        self.over = True
        for t in watches:
            t.join()
        return early

    def settle(self):
        """Until nothing is at work. False: not in time."""
        until = self.clock.ran + PATIENCE
        while self.clock.ran < until:
            if all(not slot["is_processing"] for slot in json.loads(self.ask("GET", "/slots")[1])):
                return True
            time.sleep(0.2)
        return False


def rss(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024


def judge_end(fuzz, early):
    """Memory, work and the exit code. Returns (RSS in MB, exit code)."""
    child = fuzz.server.child
    late = None
    if child.poll() is None:
        if not fuzz.settle():
            fuzz.fails("a slot is at work though nobody asks", list(fuzz.last))
        if (said := fuzz.ask_plainly()) != fuzz.right:
            fuzz.fails("a plain request afterwards: expected %s, found %s" % (fuzz.right, said), list(fuzz.last))
        late = rss(child.pid)
        if early and late > early * 1.1 + 30:
            fuzz.fails("memory: %.0f MB after a third, %.0f MB at the end" % (early, late), [])
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(600)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    if child.returncode:
        fuzz.fails("the server ended with %d" % child.returncode, list(fuzz.last))
    return late, child.returncode


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--program", default="build/forerun")
    a.add_argument("--model", required=True)
    a.add_argument("--seconds", type=float, default=60)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--users", type=int, default=4)
    a.add_argument("--failures", default="fuzz_http.jsonl", help="file that inputs with wrong answers are added to")
    a.add_argument("--replay", metavar="FILE", help="send the inputs of such a file, once each")
    a.add_argument("--json", action="store_true")
    o = a.parse_args()
    # What an AddressSanitizer keeps of freed memory is no growth.
    os.environ["ASAN_OPTIONS"] = "quarantine_size_mb=16:" + os.environ.get("ASAN_OPTIONS", "")
    port = servers.free_ports(1)[0]
    with tempfile.TemporaryFile() as log:
        server = servers.Server([o.program, "serve", "-m", o.model, "--port", str(port), *FLAGS], port, log)
        try:
            server.ready(600)
            fuzz = Fuzz(server, o)
            signal.signal(signal.SIGTERM, lambda *_: setattr(fuzz, "over", True))
            early = fuzz.run()
            late, code = judge_end(fuzz, early)
        finally:
            if server.child.poll() is None:
                server.child.kill()
        log.seek(0)
        said = log.read().decode("utf-8", "replace")
    result = {
        "seed": o.seed, "seconds": round(fuzz.clock.ran), "inputs": sum(fuzz.counts.values()), "kinds": dict(fuzz.counts.most_common()),
        "statuses": {str(s): n for s, n in fuzz.statuses.most_common()}, "ended": dict(fuzz.ends), "plain": fuzz.plain, "health": len(fuzz.health),
        "health_p99": load.quantile(fuzz.health, 0.99), "health_most": max(fuzz.health, default=None), "rss_third": early, "rss_end": late,
        "stops": fuzz.clock.stops, "exit": code, "failed": fuzz.failed}
    if o.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print("%-12s %s" % (name, value))
    if fuzz.failed and said:
        print("--- the server's last words\n" + said[-6000:], file=sys.stderr)
    sys.exit(1 if fuzz.failed else 0)


if __name__ == "__main__":
    main()
