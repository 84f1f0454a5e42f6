#!/usr/bin/env python3
"""A storm on `forerun serve`: is every answer, from any drafter, that of the same request alone
without a drafter?

    bench/serve/storm.py --model MODEL.gguf [--program build-sanitize/forerun] [--seconds 60] [--seed 1] [--log FILE.csv]
    bench/serve/storm.py --tiny build/tests/tiny ...     one of the models of build/tests/bin/tiny_models, chosen by the seed

First a sample of requests is sent one at a time, without a drafter and without reuse of earlier
texts. Then 14 clients with three keys send them again to 5 places with hardly any memory for
contexts: with every drafter, whole and streamed, from named slots, and with connections that are
closed in the middle. Packs in the folder `packs` beside the model, and a datastore with the model's
name, are used as drafters too. At the end SIGTERM arrives during the load. Programs built with a
sanitizer report everything they find.

The exit code is 1 if an answer differs, a status is unexpected, a sanitizer reports, or the server
does not end with 0.
"""
import argparse
import collections
import glob
import http.client
import json
import os
import random
import re
import socket
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "clients"))
import neighbour
import server as serving

KEYS = ["k1", "k2", "k3"]
CONTEXT, PLACES, CLIENTS = 300, 5, 14
WORDS = "the a river stone bright under over seven blue cat sleeps runs code def return if else ( ) { } \n ; = 1 2 3".split(" ")
METHODS = ["chimera", "eagle", "early-exit", "hidden-state", "hidden-transfer", "layer-skip", "medusa", "ppd"]
REPORT = re.compile(r"WARNING: ThreadSanitizer|ERROR: \w+Sanitizer|runtime error:|Assertion")
# What two answers to one request may differ in: names, times, places.
LEFT_OUT = {"id", "call_id", "item_id", "created", "created_at", "timings", "usage", "seed", "system_fingerprint", "id_slot", "tokens_cached",
            "generation_settings"}


# ---------------------------------------------------------------- requests

class Requests:
    """A sample of them, drawn by a seed."""

    def __init__(self, seed, n):
        self.rng = random.Random(seed)
        r = self.rng
        self.base = [" ".join(r.choice(WORDS) for _ in range(r.choice([3, 10, 25, 40]))) for _ in range(6)]
        self.all = [self.one() for _ in range(n)]

    def prompt(self):
        r, base = self.rng, self.rng.choice(self.base)
        return base[:r.randint(5, max(5, len(base)))] + " " + " ".join(r.choice(WORDS) for _ in range(r.randint(0, 12)))

    def sampling(self):
        r = self.rng
        b = {"seed": r.randint(0, 1 << 40), "temperature": r.choice([0, 0, 0.7, 1.5]), "cache_prompt": r.random() < 0.8}
        for part, more in ((0.3, lambda: {"repeat_penalty": r.choice([1.1, 1.5]), "repeat_last_n": r.choice([-1, 0, 8, 64])}),
                           (0.3, lambda: {"presence_penalty": r.choice([-1, 0.5]), "frequency_penalty": r.choice([0, 1.5])}),
                           (0.3, lambda: {"top_k": r.choice([1, 5, 0])}),
                           (0.3, lambda: {"min_p": 0.2}),
                           (0.3, lambda: {"logit_bias": [[r.randint(0, 200), r.choice([False, 5, -5])] for _ in range(r.randint(1, 30))]}),
                           (0.3, lambda: {"stop": r.choice([["e"], ["zzz", "the"], ["\n\n"]])}),
                           (0.2, lambda: {"ignore_eos": True})):
            if r.random() < part:
                b.update(more())
        return b

    def one(self):
        r, b, n = self.rng, self.sampling(), self.rng.choice([1, 5, 20, 60])
        chat = [{"role": "user", "content": self.prompt()}]
        path = r.choice(list(TEXTS))
        if path == "/completion":
            b.update(prompt=self.prompt(), n_predict=n, return_tokens=True)
            if r.random() < 0.4:
                b.update(n_probs=r.randint(1, 5), post_sampling_probs=r.random() < 0.3)
        elif path == "/v1/completions":
            b.update(prompt=self.prompt(), max_tokens=n)
            if r.random() < 0.4:
                b.update(logprobs=r.randint(0, 5), echo=r.random() < 0.5)
        elif path == "/v1/chat/completions":
            b.update(messages=chat, max_tokens=n)
            if r.random() < 0.4:
                b.update(logprobs=True, top_logprobs=r.randint(0, 5))
            if r.random() < 0.2:
                b["tools"] = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
        elif path == "/v1/messages":
            b.update(messages=chat, max_tokens=n)
        else:
            b.update(input=chat, max_output_tokens=n)
            b.pop("stop", None)
        return path, b


# ---------------------------------------------------------------- answers

def stripped(x):
    if isinstance(x, dict):
        return {k: stripped(v) for k, v in x.items() if k not in LEFT_OUT}
    return [stripped(v) for v in x] if isinstance(x, list) else x


def parts_of(items, kind):
    return "".join(part.get("text", "") for item in items if item["type"] == kind for part in item.get("content", [item]))


def event_texts(event):
    """The text that an event of any of the APIs adds."""
    if "choices" in event:
        return "".join(c["text"] if "text" in c else c["delta"].get("content") or "" for c in event["choices"])
    if event.get("type") == "content_block_delta":
        return event["delta"].get("text", "")
    if event.get("type") == "response.output_text.delta":
        return event["delta"]
    return event.get("content", "") if "type" not in event else ""


# The text of a whole answer, by path.
TEXTS = {
    "/completion": lambda a: a["content"],
    "/v1/completions": lambda a: a["choices"][0]["text"],
    "/v1/chat/completions": lambda a: a["choices"][0]["message"]["content"] or "",
    "/v1/messages": lambda a: parts_of(a["content"], "text"),
    "/v1/responses": lambda a: parts_of(a["output"], "message"),
}


def streamed(data):
    events = [json.loads(line[6:]) for line in data.decode("utf-8", "replace").split("\n") if line.startswith("data: {")]
    return "".join(event_texts(e) for e in events)


def post(port, path, b, key, timeout=300):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        c.request("POST", path, json.dumps(b), {"Authorization": "Bearer " + key})
        r = c.getresponse()
        return r.status, r.read()
    finally:
        c.close()


def hang_up(port, path, b, key, rng):
    body = json.dumps(b).encode()
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(("POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" % (path, key, len(body))).encode() + body)
        s.settimeout(rng.random() * 0.3)
        try:
            s.recv(rng.choice([1, 1000]))
        except OSError:
            pass


# ---------------------------------------------------------------- the storm

class Storm:
    def __init__(self, port, drafters, requests, seed):
        self.port, self.drafters, self.requests, self.seed = port, drafters, requests, seed
        self.right, self.counts, self.bad = [], collections.Counter(), []
        self.over, self.lock = threading.Event(), threading.Lock()

    def ask_alone(self):
        for path, b in self.requests:
            status, data = post(self.port, path, {**b, "cache_prompt": False, "drafter": "none"}, KEYS[0])
            self.right.append((status, json.loads(data)))
        return collections.Counter(status for status, _ in self.right)

    def judge(self, i, b, status, data):
        """What is wrong with an answer; None: nothing, or it cannot be compared."""
        path, (right_status, right) = self.requests[i][0], self.right[i]
        self.counts["status %d" % status] += 1
        if status in (429, 503):
            return None
        if status != right_status:
            return "status %d: %s" % (status, data[:300])
        if status != 200:
            return None
        if b.get("stream"):
            found, wanted = streamed(data), TEXTS[path](right)
        else:
            found, wanted = stripped(json.loads(data)), stripped(right)
        self.counts["compared"] += 1
        return None if found == wanted else "%s\n  found  %s\n  wanted %s" % (json.dumps(b)[:600], str(found)[:600], str(wanted)[:600])

    def once(self, rng):
        i = rng.randrange(len(self.requests))
        path, b = self.requests[i]
        b, key = dict(b, drafter=rng.choice(self.drafters)), rng.choice(KEYS)
        if rng.random() < 0.1:
            b["id_slot"] = rng.randint(0, PLACES + 1)
        if rng.random() < 0.3:
            b["cache_prompt"] = True
        mode = rng.random()
        if mode < 0.6:
            b["stream"] = mode >= 0.25 or rng.random() < 0.7
        if mode < 0.25:
            hang_up(self.port, path, b, key, rng)
            self.counts["hung up"] += 1
            return None
        status, data = post(self.port, path, b, key)
        with self.lock:
            return None if self.over.is_set() else self.judge(i, b, status, data)

    def client(self, number):
        rng = random.Random("%d:%d" % (self.seed, number))
        while not self.over.is_set():
            try:
                wrong = self.once(rng)
            except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError) as why:
                wrong = repr(why)
            if wrong and not self.over.is_set():
                with self.lock:
                    self.bad.append(wrong)

    def rage(self, seconds, end):
        """All clients, and `end` while they are at it."""
        threads = [threading.Thread(target=self.client, args=(i,), daemon=True) for i in range(CLIENTS)]
        for t in threads:
            t.start()
        time.sleep(seconds)
        with self.lock:
            self.over.set()
        ended = end()
        for t in threads:
            t.join(60)
        return ended


def tiny_of(folder, seed):
    found = sorted(glob.glob(os.path.join(folder, "*.gguf")))
    # Shorter contexts than the requests need are not looked at here.
    found = [m for m in found if os.path.exists(m[:-5] + ".frd") and "short" not in m]
    if not found:
        sys.exit("storm: expected models in %s: build/tests/bin/tiny_models %s makes them" % (folder, folder))
    return random.Random(seed).choice(found)


def drafters_of(model, seed):
    """All there are for a model, at most 15 with the usual one."""
    name = os.path.basename(model)[:-5]
    packs, store = [], model[:-5] + ".frd"
    for path in sorted(glob.glob(os.path.join(os.path.dirname(model), "packs", name + "-*.gguf"))):
        kind = os.path.basename(path)[len(name) + 1:]
        packs += ["%s:%s" % (m, path) for m in METHODS if kind.startswith(m)][:1]
    stores = ["rest:" + store, "prompt-lookup+rest:" + store] if os.path.exists(store) else []
    random.Random(seed).shuffle(packs)
    return ["none", "prompt-lookup", "lookahead"] + stores + packs[:15 - 3 - len(stores)]


def end_of(server):
    server.process.terminate()
    try:
        return server.process.wait(120)
    except serving.subprocess.TimeoutExpired:
        server.process.kill()
        return server.process.wait()


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--program", default="build/forerun")
    one = a.add_mutually_exclusive_group(required=True)
    one.add_argument("--model")
    one.add_argument("--tiny", metavar="DIR")
    a.add_argument("--seconds", type=float, default=60)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--requests", type=int, default=150, help="how many there are to choose from")
    a.add_argument("--log", metavar="FILE.csv", help="a neighbour's latency and the server's size over time")
    a.add_argument("more", nargs="*", help="options of the server, after --")
    o = a.parse_args()
    model = o.model or tiny_of(o.tiny, o.seed)
    drafters = drafters_of(model, o.seed)
    os.environ.setdefault("TSAN_OPTIONS", "halt_on_error=0")
    with tempfile.TemporaryFile("w+") as log:
        server = serving.Server(o.program, model, "--drafters", ",".join(drafters), "--api-key", ",".join(KEYS), "--parallel", str(PLACES),
                                "--slot-ctx", str(CONTEXT), "--cache-ram", "1", "--quiet",
                                *(["--chat-template", "chatml"] if o.tiny else []), *o.more, stderr=log)
        try:
            storm = Storm(server.port, drafters, Requests(o.seed, o.requests).all, o.seed)
            alone = storm.ask_alone()
            watch = neighbour.Watch(server.pid, server.port, 1, KEYS[0]) if o.log else None
            ended = storm.rage(o.seconds, lambda: end_of(server))
        finally:
            server.process.kill()
        if watch:
            watch.end()
            watch.write(o.log)
        log.seek(0)
        said = log.read()
    reports = REPORT.findall(said)
    print("%s, %d drafters; alone %s; in the storm %s" % (os.path.basename(model), len(drafters), dict(alone), dict(storm.counts)))
    print("%d differ; %d reports of a sanitizer; exit %s" % (len(storm.bad), len(reports), ended))
    for wrong in storm.bad[:5]:
        print("differs:", wrong)
    if reports or ended:
        print(said[-6000:])
    sys.exit(1 if storm.bad or reports or ended or not storm.counts["compared"] else 0)


if __name__ == "__main__":
    main()
