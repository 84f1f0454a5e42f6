#!/usr/bin/env python3
"""Two `forerun serve` behind HAProxy with deploy/haproxy.cfg: under load one is killed, comes back,
and is stopped by SIGTERM.

    bench/serve/replicas.py --model MODEL.gguf [--program build/forerun] [--users 8] [--seconds 15]

Users continue conversations, turn by turn, whole and as streams. Half of the conversations are
named by X-Conversation, the others only by their first message. Each part checks a promise:

    both up        one replica answers a conversation's turns and has read the earlier ones
    kill -9        only requests that ran on the killed replica fail; later ones are answered
    back           its conversations return to it
    told to end    SIGTERM with --drain-delay: nothing fails
    told, no delay SIGTERM without it: nothing fails that HAProxy can send again (the body fits its buffer)

At the end up to --check answers are compared with `forerun run --request` for their bodies. The
exit code is 1 if a promise is broken. HAProxy's configuration is used unchanged; its environment
sets the addresses. --balance roundrobin shows the results of another way to distribute requests.
"""
import argparse
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import servers

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORDS = ("the light of a lamp on the sea and the name of every ship that passed in the night "
         "a list of seven numbers whose sum is even and some that are not").split()
BUFFER = 131072  # tune.bufsize
TURNS = 5


def get(port, path):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        c.request("GET", path)
        r = c.getresponse()
        return r.status, r.read().decode()
    finally:
        c.close()


class Replica:
    def __init__(self, o, port):
        self.o, self.port, self.process = o, port, None

    def start(self, *flags):
        self.process = subprocess.Popen(
            [self.o.program, "serve", "-m", self.o.model, "--port", str(self.port), "--quiet", "-t", "1", "--parallel", "4",
             "--slot-ctx", "2048", "--cache-ram", "1024", "--drain", "300", "--metrics", *flags], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("listening"):
            sys.exit(f"replicas: expected 'listening on ...', found {line!r}")

    def end(self, number):
        self.process.send_signal(number)
        return time.time()


class Proxy:
    """HAProxy with the shipped configuration."""

    def __init__(self, o, folder, replicas):
        self.port, stats = servers.free_ports(2)
        self.admin = os.path.join(folder, "admin.sock")
        config = os.path.join(ROOT, "deploy", "haproxy.cfg")
        if o.balance:
            with open(config, encoding="utf-8") as f:
                text = re.sub(r"^    balance .*$", "    balance " + o.balance, f.read(), flags=re.M)
            config = os.path.join(folder, "haproxy.cfg")
            with open(config, "w", encoding="utf-8") as f:
                f.write(text)
        where = {"FORERUN_BIND": f"127.0.0.1:{self.port}", "FORERUN_STATS": f"127.0.0.1:{stats}", "FORERUN_ADMIN": self.admin,
                 "FORERUN_A": f"127.0.0.1:{replicas['a'].port}", "FORERUN_B": f"127.0.0.1:{replicas['b'].port}",
                 "FORERUN_ROOTLESS": "1"}
        self.log = os.path.join(folder, "haproxy.log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([o.haproxy, "-db", "-f", config], env={**os.environ, **where}, stdout=log, stderr=log)

    def state(self):
        """Of each replica its line of HAProxy's statistics."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(60)
            s.connect(self.admin)
            s.sendall(b"show stat\n")
            text = b"".join(iter(lambda: s.recv(65536), b"")).decode()
        names, *lines = [line.split(",") for line in text.strip().split("\n")]
        rows = [dict(zip(names, line)) for line in lines]
        return {r["svname"]: r for r in rows if r["# pxname"] == "replicas"}

    def await_status(self, name, status):
        while True:
            try:
                if self.state()[name]["status"].startswith(status):
                    return time.time()
            except OSError:
                pass  # it has just begun
            if self.process.poll() is not None:
                with open(self.log, encoding="utf-8") as f:
                    sys.exit("replicas: haproxy has ended:\n" + f.read())
            time.sleep(0.02)


class Conversation:
    def __init__(self, number):
        self.rng = random.Random(number)
        self.name = f"conversation {number}"
        self.headers = {"X-Conversation": self.name} if number % 2 else {}
        self.start = f"Number {number}: " + self.words(40)
        self.messages = []

    def words(self, n):
        return " ".join(self.rng.choice(WORDS) for _ in range(n))

    def body(self):
        if not self.messages:
            self.messages = [{"role": "system", "content": "You tell of the sea."}, {"role": "user", "content": self.start}]
        b = {"messages": list(self.messages), "max_tokens": self.rng.randint(8, 60), "seed": self.rng.randint(0, 1 << 30),
             "temperature": self.rng.choice([0, 0.8]), "stream": self.rng.random() < 0.6}
        if b["stream"]:
            b["stream_options"] = {"include_usage": True}
        if self.rng.random() < 0.1:
            b["metadata"] = {"more": "x" * (BUFFER + 50000)}
        return b

    def go_on(self, text):
        """The next turn; at the end it begins anew, under the same name and with the same words."""
        self.messages += [{"role": "assistant", "content": text}, {"role": "user", "content": self.words(12)}]
        if len(self.messages) > 2 * TURNS:
            self.messages = []


class Load:
    def __init__(self, port, users, each):
        self.port, self.lock, self.stops = port, threading.Lock(), False
        self.asked, self.at_work = [], {}  # at_work: what each user waits for
        self.threads = [threading.Thread(target=self.user, args=([Conversation(i * each + k) for k in range(each)],))
                        for i in range(users)]
        for t in self.threads:
            t.start()

    def end(self):
        self.stops = True
        for t in self.threads:
            t.join()

    def user(self, conversations):
        kept = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1200)
        before = {}
        while not self.stops:
            for c in conversations:
                b = c.body()
                one = {"of": c.name, "turn": len(b["messages"]) // 2, "stream": b["stream"], "big": "metadata" in b,
                       "start": time.time(), "replica": None, "body": b, "text": "", "status": 0, "why": "", "first": None,
                       "had": before.get(c.name) if len(b["messages"]) > 2 else None}
                self.at_work[threading.get_ident()] = one
                try:
                    self.ask(kept, c, b, one)
                except (OSError, http.client.HTTPException, ValueError, LookupError) as why:
                    one["why"] = repr(why)
                    kept.close()
                one["end"] = time.time()
                with self.lock:
                    self.asked.append(one)
                if one["why"]:
                    c.messages = []
                    continue
                before[c.name] = one
                c.go_on(one["text"])

    def ask(self, kept, c, b, one):
        kept.request("POST", "/v1/chat/completions", json.dumps(b).encode(), {"Content-Type": "application/json", **c.headers})
        r = kept.getresponse()
        one["status"], one["replica"] = r.status, r.getheader("X-Replica")
        if r.status != 200:
            one["why"] = f"{r.status} {r.read()[:200]!r}"
            return
        if not b["stream"]:
            answer = json.loads(r.read())
            one["first"] = time.time()
            one["text"], one["usage"] = answer["choices"][0]["message"]["content"], answer["usage"]
            return
        done = False
        for line in iter(r.readline, b""):
            if not line.startswith(b"data: "):
                continue
            if line.strip() == b"data: [DONE]":
                done = True
                continue
            event = json.loads(line[6:])
            if "error" in event:
                raise ValueError(f"the stream said {event['error']}")
            for choice in event["choices"]:
                piece = choice["delta"].get("content") or ""
                if piece and not one["first"]:
                    one["first"] = time.time()
                one["text"] += piece
            one["usage"] = event.get("usage") or one.get("usage")
        if not done:
            raise ValueError("the stream was cut")

    def await_stream(self, replica):
        """Until a stream of this replica has begun and not ended."""
        while not any(one["replica"] == replica and one["stream"] and one["first"] and "end" not in one
                      for one in list(self.at_work.values())):
            time.sleep(0.001)

    def between(self, start, end):
        """What was asked in this time, and what was at work when it began."""
        with self.lock:
            return [one for one in self.asked if one["end"] >= start and one["start"] < end]


class Judge:
    def __init__(self):
        self.bad = 0

    def say(self, promise, kept, found=""):
        self.bad += not kept
        print(("  kept    " if kept else "  BROKEN  ") + promise + (f" [{found}]" if found != "" else ""), flush=True)


def failures(asked):
    return [one for one in asked if one["why"]]


def row(name, asked, seconds):
    on = {r: sum(one["replica"] == r for one in asked) for r in "ab"}
    print(f"{name}: {seconds:.1f} s, {len(asked)} requests ({sum(one['stream'] for one in asked)} streams, "
          f"{sum(one['big'] for one in asked)} beyond the buffer), {on['a']} by a, {on['b']} by b, {len(failures(asked))} failed",
          flush=True)
    kinds = {}
    for one in failures(asked):
        what = ("stream, " if one["stream"] else "whole, ") + ("big, " if one["big"] else "") + one["why"]
        kinds[what] = kinds.get(what, 0) + 1
    for what, n in sorted(kinds.items()):
        print(f"          {n} x {what}")


def median(values):
    return sorted(values)[len(values) // 2] if values else float("nan")


def homes_of(asked):
    homes = {}
    for one in asked:
        if not one["why"]:
            homes.setdefault(one["of"], set()).add(one["replica"])
    return homes


def cache(asked):
    """Later turns: the part of what their conversation had before that was not read again; milliseconds to the first text."""
    later = [one for one in asked if not one["why"] and one["had"] and one["had"].get("usage")]
    had = sum(one["had"]["usage"]["prompt_tokens"] for one in later)
    kept = sum(min(one["usage"]["prompt_tokens_details"]["cached_tokens"], one["had"]["usage"]["prompt_tokens"]) for one in later)
    first = [1000 * (one["first"] - one["start"]) for one in later if one["stream"] and one["first"]]
    return len(later), kept / had if had else 0, median(first)


def check_both(judge, load, o):
    start = time.time()
    time.sleep(o.seconds)
    asked = load.between(start, time.time())
    row("both up", asked, time.time() - start)
    homes = homes_of(asked)
    n, part, first = cache(asked)
    judge.say("nothing fails", not failures(asked))
    print(f"          later turns: {n}, {100 * part:.0f} % of what their conversation had was not read again, "
          f"first text of streams after {first:.0f} ms (median)")
    if not o.balance:
        judge.say("each conversation stays on one replica", all(len(h) == 1 for h in homes.values()),
                  f"{len(homes)} conversations, {sum(h == {'a'} for h in homes.values())} on a")
        judge.say("a replica has read what came before (at least 9 of 10 tokens)", part >= 0.9)
    return {name: next(iter(h)) for name, h in homes.items()}


def check_kill(judge, load, o, proxy, replica, homes):
    load.await_stream("a")
    killed = replica.end(signal.SIGKILL)
    replica.process.wait()
    down = proxy.await_status("a", "DOWN")
    time.sleep(o.seconds)
    asked = load.between(killed, time.time())
    row("kill -9 of a", asked, time.time() - killed)
    bad = failures(asked)
    judge.say("fails only what ran on the killed one",
              all(one["start"] < killed and one["replica"] in ("a", None) for one in bad),
              f"{len(bad)} of {sum(one['start'] < killed for one in asked)} at work")
    whole = [one for one in bad if not one["stream"] and not one["big"]]
    judge.say("whole answers that HAProxy could ask again were", not whole)
    mine = [one for one in asked if homes.get(one["of"]) == "a" and one["start"] >= killed]
    good = [one["first"] or one["end"] for one in mine if not one["why"]]
    judge.say("the conversations of the killed one go on", bool(good),
              f"first text {1000 * (min(good) - killed):.0f} ms after the kill" if good else "none did")
    print(f"          HAProxy saw that it was down after {1000 * (down - killed):.0f} ms; "
          f"longest until a first text or a whole answer of its conversations: "
          f"{1000 * max((one['first'] or one['end']) - one['start'] for one in mine):.0f} ms")


def check_back(judge, load, o, proxy, replica, homes, *flags):
    replica.start(*flags)
    listens = time.time()
    up = proxy.await_status("a" if replica is o.a else "b", "UP")
    name = "a" if replica is o.a else "b"
    time.sleep(o.seconds)
    asked = [one for one in load.between(up, time.time()) if one["start"] > up]
    row(f"{name} is back", asked, time.time() - up)
    print(f"          it gets requests {1000 * (up - listens):.0f} ms after it listens")
    judge.say("nothing fails", not failures(asked))
    if not o.balance:
        strays = [one for one in asked if homes.get(one["of"], one["replica"]) != one["replica"]]
        judge.say("its conversations return to it", not strays and any(one["replica"] == name for one in asked), len(strays))


def check_drain(judge, load, o, proxy, replica, delayed):
    name = "a" if replica is o.a else "b"
    load.await_stream(name)
    told = replica.end(signal.SIGTERM)
    code = replica.process.wait()
    ended = time.time()
    time.sleep(3)
    asked = load.between(told, time.time())
    row(f"{name} is told to end, {'--drain-delay 5' if delayed else 'no delay'}", asked, time.time() - told)
    sent_again = proxy.state()[name]["wredis"]
    print(f"          it ended after {ended - told:.1f} s; HAProxy has asked the other one instead {sent_again} times since it began")
    judge.say("it ends with 0", code == 0, code)
    bad = failures(asked)
    if delayed:
        judge.say("nothing fails", not bad)
    else:
        judge.say("nothing fails that HAProxy can send again", not [one for one in bad if not one["big"]],
                  f"{len(bad)} that cannot" if bad else "")


def at_work(replica):
    return any(s["is_processing"] for s in json.loads(get(replica.port, "/slots")[1]))


def aborted(replica):
    return int(re.search(r'request_success_total\{finished_reason="abort"\} (\d+)', get(replica.port, "/metrics")[1]).group(1))


def check_doors(judge, o, proxy):
    judge.say("/metrics, /slots and /activity of one replica are not shown to users",
              all(get(proxy.port, path)[0] == 404 for path in ("/metrics", "/slots", "/activity")))
    c = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=60)
    c.putrequest("POST", "/v1/completions")
    c.putheader("Content-Length", str(33 << 20))
    c.endheaders()
    c.send(b"x" * BUFFER)
    judge.say("a body of more than 32 MB is a 413", c.getresponse().status == 413)
    c.close()
    before = aborted(o.a)
    c = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=60)
    c.request("POST", "/v1/completions", json.dumps({"prompt": "Once", "max_tokens": 2000, "ignore_eos": True}).encode())
    while not at_work(o.a):
        time.sleep(0.01)
    c.close()
    hung_up = time.time()
    while at_work(o.a):
        time.sleep(0.01)
    judge.say("who hangs up is not answered", aborted(o.a) == before + 1, f"dropped after {1000 * (time.time() - hung_up):.0f} ms")


def check_bytes(judge, load, o, folder):
    good = [one for one in load.asked if not one["why"]]
    chosen = random.Random(1).sample(good, min(o.check, len(good)))
    cut = [one for one in load.asked if one["why"] and one["text"]]
    differ = 0
    for one in chosen + cut:
        path = os.path.join(folder, "body.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(one["body"], f)
        said = subprocess.run([o.program, "run", "-m", o.model, "--request", path, "--drafter", "none", "--quiet"],
                              capture_output=True, check=True).stdout.decode()
        said = said.removesuffix("\n")
        same = said == one["text"].removesuffix("\n") if not one["why"] else said.startswith(one["text"].rstrip("\ufffd"))
        if not same:
            differ += 1
            print(f"          differs: {json.dumps(one['body'])[:300]}\n          {one['text']!r}\n          {said!r}")
    judge.say("answers are those of `forerun run --request`, cut ones their beginning", not differ,
              f"{len(chosen)} whole, {len(cut)} cut; {differ} differ")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--program", default="build/forerun")
    a.add_argument("--haproxy", default="haproxy")
    a.add_argument("--model", required=True)
    a.add_argument("--users", type=int, default=8)
    a.add_argument("--conversations", type=int, default=3, help="of each user")
    a.add_argument("--seconds", type=float, default=15, help="of each part")
    a.add_argument("--check", type=int, default=60, help="answers that are compared")
    a.add_argument("--balance", help="deal requests otherwise, and look at the first part alone")
    o = a.parse_args()
    judge = Judge()
    with tempfile.TemporaryDirectory() as folder:
        o.a, o.b = replicas = [Replica(o, port) for port in servers.free_ports(2)]
        proxy = load = None
        try:
            for r in replicas:
                r.start("--drain-delay", "5")
            proxy = Proxy(o, folder, {"a": o.a, "b": o.b})
            for name in "ab":
                proxy.await_status(name, "UP")
            load = Load(proxy.port, o.users, o.conversations)
            time.sleep(2)
            homes = check_both(judge, load, o)
            if not o.balance:
                check_kill(judge, load, o, proxy, o.a, homes)
                check_back(judge, load, o, proxy, o.a, homes, "--drain-delay", "5")
                check_drain(judge, load, o, proxy, o.b, True)
                check_back(judge, load, o, proxy, o.b, homes)
                check_drain(judge, load, o, proxy, o.b, False)
            load.end()
            if not o.balance:
                check_doors(judge, o, proxy)
            check_bytes(judge, load, o, folder)
        finally:
            if load:
                load.stops = True
            for process in [r.process for r in replicas] + ([proxy.process] if proxy else []):
                if process and process.poll() is None:
                    process.kill()
                    process.wait()
    print("all kept" if not judge.bad else f"{judge.bad} broken")
    sys.exit(1 if judge.bad else 0)


if __name__ == "__main__":
    main()
