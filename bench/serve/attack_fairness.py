"""For attack.py: client A requests more than a server has, client B requests little."""
import collections
import statistics
import threading
import time

import neighbour

A, B = "127.0.0.2", "127.0.0.1"  # where they come from
ENDLESS = {"prompt": neighbour.PROMPT, "n_predict": -1, "ignore_eos": True, "temperature": 0, "cache_prompt": False}
PREFIX = " ".join("word%d" % (i * 7919 % 1000) for i in range(150))
FINITE = [{"prompt": "The river", "n_predict": 40, "seed": 3, "temperature": 0.8, "ignore_eos": True},
          {"prompt": PREFIX + " so", "n_predict": 24, "seed": 4, "temperature": 0, "ignore_eos": True}]

# What A does: bodies, each asked again and again by a thread of its own.
ATTACKS = {
    "endless": [dict(ENDLESS, seed=i) for i in range(8)],
    "n = 68": [dict(ENDLESS, n=68)],
    "a named slot": [dict(ENDLESS, id_slot=0, n=60)] + [dict(ENDLESS, id_slot=i % 4) for i in range(4)],
    "forgotten prefixes": [{"prompt": PREFIX + " tail %d" % i, "n_predict": 1, "temperature": 0, "cache_prompt": False} for i in range(3)],
}
KEYS = {"one key": ("k1", "k1"), "two keys": ("k1", "k2"), "no key": (None, None)}


class Attack:
    """A's requests, until it is ended."""

    def __init__(self, port, requests, key):
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.go_on, args=(port, body, key), daemon=True) for body in requests]
        for t in self.threads:
            t.start()

    def go_on(self, port, body, key):
        while not self.over.is_set():
            answer = neighbour.Answer()
            self.ask(port, body, key, answer)
            if answer.status != 200:
                self.over.wait(0.5)

    def ask(self, port, body, key, answer):
        """In slices, so that the end is heard: a stream that is given up hangs up."""
        asked = threading.Thread(target=neighbour.ask, args=(port, body, A, key, 90, answer), daemon=True)
        asked.start()
        while asked.is_alive() and not self.over.is_set():
            asked.join(0.1)

    def end(self):
        self.over.set()
        for t in self.threads:
            t.join(5)


def asked_again(port, body, key, until):
    """An answer that is refused for the moment is asked for again."""
    while True:
        answer = neighbour.ask(port, body, A, key, max(1, until - time.monotonic()))
        if answer.status != 503 or time.monotonic() > until:
            return answer
        time.sleep(0.5)


def finite_answers(port, key, found):
    until = time.monotonic() + 150
    threads = [threading.Thread(target=lambda body=body, i=i: found.__setitem__(i, asked_again(port, body, key, until)), daemon=True)
               for i, body in enumerate(FINITE)]
    for t in threads:
        t.start()
    return threads


def little(i):
    """B's request, a little different each time; what it waits for in "forgotten prefixes" begins alike."""
    return {"prompt": PREFIX + " b%d" % i, "n_predict": 8, "temperature": 0, "ignore_eos": True}


def ask_some(port, key, limit):
    """B's answers, up to the first that did not come."""
    answers = []
    for i in range(4):
        answers.append(neighbour.ask(port, dict(little(3 + i), cache_prompt=bool(i % 2)), B, key, limit))
        if answers[-1].why:
            break
    return answers


def measure(server, requests, keys):
    key_a, key_b = keys
    row, broken, port = {}, {}, server.port
    neighbour.ask(port, little(99), B, key_b)
    alone = [neighbour.ask(port, dict(little(i), cache_prompt=False), B, key_b) for i in range(3)]
    right = [neighbour.ask(port, body, A, key_a).text for body in FINITE]
    row["alone"] = statistics.median(a.first for a in alone)
    row["bound"] = 2 * row["alone"] + 1
    attack, found = Attack(port, requests, key_a), [None] * len(FINITE)
    time.sleep(2)
    threads = finite_answers(port, key_a, found)
    answers = ask_some(port, key_b, 4 * row["bound"] + 20)
    attack.end()
    for t in threads:
        t.join(155)
    row["beside"] = max(a.first if a.first is not None else a.seconds for a in answers)
    row["statuses"] = collections.Counter(str(a.status) for a in answers)
    why = next((a.why for a in answers if a.why or a.first is None), "")
    if why or row["beside"] > row["bound"]:
        broken["B's first token"] = why or "%.1f s, at most %.1f" % (row["beside"], row["bound"])
    if any(a is None or a.text != text for a, text in zip(found, right)):
        broken["A's answers"] = "; ".join("none" if a is None else a.why or "another text" for a, text in zip(found, right)
                                          if a is None or a.text != text)
    row["broken"] = broken
    return row


def run(o, serve, attack, keys):
    flags = ["--api-key", "k1,k2"] if KEYS[keys][0] else []
    server = serve(o.program, o.model, "--parallel", "4", *flags)
    row = {"part": "fair", "body": attack + ", " + keys}
    try:
        row.update(measure(server, ATTACKS[attack], KEYS[keys]))
    except (OSError, ValueError, TypeError, statistics.StatisticsError) as why:
        row["broken"] = {"row": repr(why)}
    finally:
        server.kill()
    return row


def run_all(o, serve):
    rows = []
    print("\n| A asks for | B's first token alone, s | beside A, s | B's statuses | |\n| --- | --- | --- | --- | --- |", flush=True)
    for attack in ATTACKS:
        for keys in KEYS:
            if o.only not in attack + ", " + keys:
                continue
            row = run(o, serve, attack, keys)
            rows.append(row)
            print("| %s | %s | %s | %s | %s |" % (
                row["body"], "%.2f" % row["alone"] if "alone" in row else "-", "%.2f" % row["beside"] if "beside" in row else "-",
                dict(row.get("statuses", {})) or "-", "; ".join("%s: %s" % b for b in row["broken"].items()) or "holds"), flush=True)
    return rows
