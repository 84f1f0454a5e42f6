#!/usr/bin/env python3
"""Many rude users at once on `forerun serve`: is every answer that of the same request alone?

    bench/serve/soak.py --model MODEL.gguf [--program build/forerun] [--users 32] [--seconds 60]

Users send random chats and completions, whole and as streams, with temperatures, penalties, stop
strings and log probabilities. Some close the connection in the middle, read slowly, close half of
the socket, or send garbage, too much, or nothing.

Up to --check whole answers, drawn at random, are compared with those of a second server that drafts
nothing and serves one request at a time. Incomplete answers are compared with the beginning of
these. At the end the first server must be idle, no larger than after the first third of the time,
and must end with 0. The exit code is 1 if anything differs. --log writes, over time, how long a
polite neighbour waited for a short answer and how large the server was.
"""
import argparse
import http.client
import json
import os
import random
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "clients"))
import neighbour
import server as serving

WORDS = ("the light of a lamp on the sea and the name of every ship that passed in the night "
         "def add ( a , b ) : return a + b # sum list of 7 numbers").split()


def body(rng):
    text = " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 60)))
    if rng.random() < 0.5:
        text = "The lighthouse keeper climbed the steps every evening. " * rng.randint(1, 3) + text
    b = {"max_tokens": rng.randint(1, 40), "seed": rng.randint(0, 1 << 30),
         "temperature": rng.choice([0, 0.8, 1.3]), "stream": rng.random() < 0.5}
    if rng.random() < 0.3:
        b["frequency_penalty"] = 0.4
    if rng.random() < 0.3:
        b["repeat_penalty"] = 1.2
    if rng.random() < 0.3:
        b["stop"] = [rng.choice(["the", ".", "\n\n"])]
    if rng.random() < 0.2:
        b["cache_prompt"] = False
    if rng.random() < 0.1:
        b["n"] = 2
    if rng.random() < 0.5:
        b["messages"] = [{"role": "user", "content": text}]
        if rng.random() < 0.2:
            b["logprobs"], b["top_logprobs"] = True, 2
        return "/v1/chat/completions", b
    b["prompt"] = text
    return "/v1/completions", b


def said(choice):
    return choice["message"]["content"] if "message" in choice else choice["text"]


def whole(port, path, b, timeout=600):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    c.request("POST", path, json.dumps({**b, "stream": False}), {"Content-Type": "application/json"})
    r = c.getresponse()
    text = r.read()
    c.close()
    if r.status != 200:
        return r.status, None
    answer = json.loads(text)
    return 200, {x["index"]: said(x) for x in answer["choices"]}


def streamed(port, path, b, rng, patience):
    """(status, texts, whether they are whole): cut where the user has lost patience, and nowhere else."""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    c.request("POST", path, json.dumps(b), {"Content-Type": "application/json"})
    r = c.getresponse()
    if r.status != 200:
        c.close()
        return r.status, None, True
    texts, events, done, left = {}, 0, False, False
    for line in r:
        if not line.startswith(b"data: "):
            continue
        if line.strip() == b"data: [DONE]":
            done = True
            break
        event = json.loads(line[6:])
        if "error" in event:
            raise ValueError("an error in a stream: %s" % event["error"])
        for x in event.get("choices", []):
            piece = x.get("delta", {}).get("content") if "delta" in x else x.get("text")
            texts[x["index"]] = texts.get(x["index"], "") + (piece or "")
        events += 1
        if patience and events >= patience:
            left = True
            break
        if rng.random() < 0.02:
            time.sleep(0.2)
    c.close()
    if not done and not left:
        raise ValueError("a stream ended before its [DONE]")
    return 200, texts, done


def rude(port, rng):
    s = socket.create_connection(("127.0.0.1", port), timeout=5)
    kind = rng.randrange(6)
    try:
        if kind == 0:
            s.sendall(bytes(rng.randrange(256) for _ in range(rng.randint(1, 2000))))
        elif kind == 1:
            s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n{")
        elif kind == 2:
            s.sendall(b"GET /health HTTP/1.1\r\n" + b"X: " + b"y" * rng.choice([100, 40000, 400000]) + b"\r\n\r\n")
        elif kind == 3:
            s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{\"prompt\"")
            s.shutdown(socket.SHUT_WR)
        elif kind == 4:
            s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n")
        s.settimeout(0.3)
        s.recv(1000)
    except OSError:
        pass
    s.close()


class Soak:
    def __init__(self, port, seconds):
        self.port, self.end, self.lock = port, time.time() + seconds, threading.Lock()
        self.answers, self.counts = [], {"whole": 0, "cut": 0, "rude": 0, "busy": 0, "failed": []}

    def user(self, number):
        rng = random.Random(number)
        while time.time() < self.end:
            try:
                self.once(rng)
            except (OSError, http.client.HTTPException, ValueError, LookupError) as why:
                with self.lock:
                    self.counts["failed"].append(repr(why))
            if rng.random() < 0.3:
                time.sleep(rng.random() * 0.3)

    def once(self, rng):
        if rng.random() < 0.15:
            rude(self.port, rng)
            with self.lock:
                self.counts["rude"] += 1
            return
        path, b = body(rng)
        done = True
        if b["stream"]:
            status, texts, done = streamed(self.port, path, b, rng, rng.choice([0, 0, 0, rng.randint(1, 12)]))
        else:
            status, texts = whole(self.port, path, b)
        with self.lock:
            if status == 503:
                self.counts["busy"] += 1
            elif status != 200:
                self.counts["failed"].append(f"status {status}: {json.dumps(b)[:200]}")
            else:
                self.counts["whole" if done else "cut"] += 1
                self.answers.append((path, b, texts, done))


def compare(soak, port, most):
    """How many of the answers there are compared with those of one at a time, and how many differ."""
    differs = 0
    chosen = random.Random(1).sample(soak.answers, min(most, len(soak.answers)))
    for path, b, texts, done in chosen:
        status, right = whole(port, path, b)
        if status != 200:
            sys.exit(f"soak: one at a time {json.dumps(b)[:200]} got status {status}")
        for index, text in texts.items():
            same = text == right[index] if done else right[index].startswith(text.rstrip("\ufffd"))
            if not same:
                differs += 1
                print(f"differs: {json.dumps(b)}\n  {text!r}\n  {right[index]!r}")
    return len(chosen), differs


def load(soak, server, users, log):
    """All users, and a neighbour where there is a log, until their time is over and no slot is at work. MB after a third and at
    the end."""
    watch = neighbour.Watch(server.pid, server.port, 1) if log else None
    threads = [threading.Thread(target=soak.user, args=(i,)) for i in range(users)]
    seconds = soak.end - time.time()
    for t in threads:
        t.start()
    time.sleep(seconds / 3)
    early = server.status("VmRSS") / 1024
    for t in threads:
        t.join()
    if watch:
        watch.end()
        watch.write(log)
    for _ in range(200):
        if all(not s["is_processing"] for s in json.loads(server.ask("GET", "/slots", timeout=30)[1])):
            break
        time.sleep(0.1)
    else:
        soak.counts["failed"].append("a slot is at work though nobody asks")
    return early, server.status("VmRSS") / 1024


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--program", default="build/forerun")
    a.add_argument("--model", required=True)
    a.add_argument("--users", type=int, default=32)
    a.add_argument("--seconds", type=float, default=60)
    a.add_argument("--check", type=int, default=400, help="answers that are compared, at most")
    a.add_argument("--drafter", default="auto")
    a.add_argument("--log", metavar="FILE.csv")
    o = a.parse_args()
    with serving.Server(o.program, o.model, "--quiet", "--parallel", "8", "--queue", "40", "--slot-ctx", "1024", "--cache-ram", "256",
                        "--metrics", "--drafter", o.drafter, "--connections", "200") as server:
        soak = Soak(server.port, o.seconds)
        early, late = load(soak, server, o.users, o.log)
        count = {k: v for k, v in soak.counts.items() if k != "failed"}
        print(f"{o.users} users, {o.seconds:g} s: {count}, {len(soak.counts['failed'])} failed; "
              f"RSS {early:.0f} MB after a third, {late:.0f} MB at the end")
        for line in server.ask("GET", "/metrics", timeout=30)[1].decode().splitlines():
            if not line.startswith("#"):
                print("  " + line)
    with serving.Server(o.program, o.model, "--quiet", "--parallel", "1", "--slot-ctx", "1024", "--drafter", "none") as oracle:
        compared, differs = compare(soak, oracle.port, o.check)
    for why in soak.counts["failed"][:10]:
        print("failed:", why)
    print(f"{compared} answers compared with those of one at a time without drafting: {differs} differ; exit {server.process.returncode}")
    grew = late > early * 1.1 + 30
    sys.exit(1 if differs or serving.BAD or soak.counts["failed"] or grew else 0)


if __name__ == "__main__":
    main()
