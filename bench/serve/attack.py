#!/usr/bin/env python3
"""Bodies and clients that take more of `forerun serve` than they should: does a neighbour notice?

    bench/serve/attack.py --model MODEL.gguf [--program build/forerun] [--parts PART,...] [--only TEXT] [--sizes least|most|all] [--json FILE]

Parts; all but the last are sets of bodies (attack_bodies.py):
  repeat   content that answers repeat
  collide  keys that collide in a hash
  join     long lists that a translator joins
  fit      prompts that can never fit
  grow     values that take many times their bytes
  fair     a client that requests more than the server has

A body is sent at three sizes: the smallest that does harm if it is not bounded, four times that,
and 31 MB. Each time 8 processes at nice 19 send it (2 in `repeat`), to a server of its own. These
bounds must hold:
  neighbour  a short answer takes at most 1.5 times its time alone plus a second, and has the same
             text
  sender     gets an answer, or a refusal with a status and a sentence
  memory     a minute later the server is within 100 MB of its size before
  shutdown   SIGTERM while such bodies are prepared ends the server within --drain plus 2 seconds

In `repeat` the time alone is that beside the same requests without the part that makes them large,
because these are answered too.

In `fair` (attack_fairness.py) client A requests more than the server has. B's first token must come
within twice its time alone plus a second, and A's answers must be those that it gets alone. A and B
have one key, two keys, or no key and two addresses of this machine.

It needs Linux, 4 GB of memory, and a machine that is otherwise idle, because times are compared.
Every row is cut off after some minutes; all of them take half an hour. The exit code is 1 if a
bound is broken; the output has the rows and bounds.
"""
import argparse
import collections
import http.client
import json
import multiprocessing
import os
import queue
import signal
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "clients"))
import attack_bodies as bodies
import attack_fairness as fairness
import neighbour
import server as serving

PARTS = ["repeat", "collide", "join", "fit", "grow", "fair"]
DRAIN = 5
PATIENCE = 60  # seconds that a sender waits for its answer once the neighbour was answered, and until memory is back
ASKS = 3       # answers of the neighbour


# ---------------------------------------------------------------- senders

def sentence_of(status, text):
    """What is wrong with an answer; "": nothing."""
    if status == 200:
        return ""
    try:
        message = json.loads(text)["error"]["message"]
        return "" if message else "status %d without a sentence" % status
    except (ValueError, LookupError, TypeError):
        return "status %d with %r" % (status, text[:80])


def exchange(port, path, body, hang_up, report):
    """(status, what is wrong): 0 where the sender hung up."""
    s = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    head = "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    try:
        s.sendall((head % (path, len(body))).encode() + body)
    except OSError:
        pass  # refused in the middle: the answer is there
    report("sent")
    try:
        if hang_up:
            return 0, ""
        reply = http.client.HTTPResponse(s)
        reply.begin()
        kept = b""
        while piece := reply.read(1 << 16):
            kept += piece[:max(0, 4096 - len(kept))]
        return reply.status, sentence_of(reply.status, kept)
    except socket.timeout:
        return 0, "no answer in %d s" % PATIENCE
    except (OSError, http.client.HTTPException) as why:
        return 0, "no answer: %r" % why
    finally:
        s.close()


def sender(port, path, body, hang_up, again, over, out):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.nice(19)
    while True:
        try:
            found = exchange(port, path, body, hang_up, out.put)
        except OSError as why:
            found = 0, "cannot connect: %r" % why
        out.put(found)
        if not again or over.is_set():
            return
        time.sleep(0.05)


class Senders:
    """Processes that send a body, once or again and again."""

    def __init__(self, port, kind, body, again):
        self.over, self.out, self.found, self.sent = multiprocessing.Event(), multiprocessing.Queue(), [], 0
        self.all = [multiprocessing.Process(target=sender, args=(port, kind.path, body, kind.hang_up, again, self.over, self.out), daemon=True)
                    for _ in range(kind.senders)]
        for p in self.all:
            p.start()

    def hear(self, seconds, enough):
        """Reads what they say until it is enough, or so many seconds are over."""
        until = time.monotonic() + seconds
        while not enough() and time.monotonic() < until:
            try:
                said = self.out.get(timeout=0.1)
            except queue.Empty:
                continue
            if said == "sent":
                self.sent += 1
            else:
                self.found.append(said)

    def end(self):
        """Statuses with their number, and what was wrong."""
        self.over.set()
        self.hear(PATIENCE + 5, lambda: not any(p.is_alive() for p in self.all) and self.out.empty())
        late = sum(p.is_alive() for p in self.all)
        self.kill()
        wrong = {why for _, why in self.found if why} | ({"%d got no answer" % late} if late else set())
        return collections.Counter(status for status, _ in self.found), sorted(wrong)

    def kill(self):
        for p in self.all:
            p.terminate()
            p.join()


# ---------------------------------------------------------------- a row

class Served(serving.Server):
    """A server whose end is a part of the measure."""

    def __init__(self, program, model, *flags):
        super().__init__(program, model, "--quiet", "--drain", str(DRAIN), "--slot-ctx", "4096", "--drafter", "none", *flags)

    def end(self, limit):
        """Seconds from SIGTERM on; None: it had to be killed."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(limit)
            return time.monotonic() - began
        except serving.subprocess.TimeoutExpired:
            self.kill()
            return None

    def kill(self):
        self.process.kill()
        self.process.wait()


def neighbours(port, limit):
    """Seconds of the slowest of some answers, their texts, and what was wrong."""
    answers = []
    for _ in range(ASKS):
        answers.append(neighbour.ask(port, neighbour.short(), limit=limit))
        if answers[-1].why:
            break
    return max(a.seconds for a in answers), {a.text for a in answers}, next((a.why for a in answers if a.why), "")


def beside(server, kind, body, limit):
    senders = Senders(server.port, kind, body, True)
    senders.hear(10, lambda: senders.sent >= kind.senders)
    found = neighbours(server.port, limit)
    return found, senders.end()


def back_to(pid, mb):
    """Whether the size is that within a minute; the size."""
    until = time.monotonic() + PATIENCE
    while (size := neighbour.resident(pid)) > mb and time.monotonic() < until:
        time.sleep(0.5)
    return size <= mb, size


def shut_down(server, kind, body):
    """SIGTERM while bodies are there whole and none was answered. Seconds until the end; None: it had to be killed."""
    senders = Senders(server.port, kind, body, False)
    senders.hear(10, lambda: senders.sent >= kind.senders)
    took = server.end(DRAIN + 60)
    senders.kill()
    return took


def measure(server, kind, size):
    port, row, broken = server.port, {"part": kind.part, "body": kind.name, "mb": round(size / bodies.MB, 1)}, {}
    body = kind.make(size)
    neighbours(port, 120)  # warm
    alone, right, why = neighbours(port, 120)
    if kind.control:
        (alone, right, why), _ = beside(server, kind, kind.control(bodies.SMALL), 120)
    if why:
        raise ValueError("alone: %s" % why)
    row["alone"], row["bound"] = alone, 1.5 * alone + 1
    before, watch = neighbour.resident(server.pid), neighbour.Watch(server.pid)
    (row["beside"], texts, why), (statuses, wrong) = beside(server, kind, body, 5 * row["bound"] + 20)
    if why or row["beside"] > row["bound"]:
        broken["neighbour"] = why or "%.1f s, at most %.1f" % (row["beside"], row["bound"])
    if not why and texts != right:
        broken["neighbour's text"] = "another one"
    if wrong:
        broken["sender"] = "; ".join(wrong)
    row["statuses"] = {str(status): n for status, n in sorted(statuses.items())}
    row["before_mb"], row["peak_mb"] = before, max(before, watch.peak())
    is_back, row["after_mb"] = back_to(server.pid, before + 100)
    watch.end()
    if not is_back:
        broken["memory"] = "%.0f MB, %.0f before" % (row["after_mb"], before)
    row["shutdown"] = shut_down(server, kind, body)
    if row["shutdown"] is None or row["shutdown"] > DRAIN + 2:
        broken["shutdown"] = "killed" if row["shutdown"] is None else "%.1f s" % row["shutdown"]
    elif server.process.returncode:
        broken["shutdown"] = "exit code %d" % server.process.returncode
    row["broken"] = broken
    return row


def run(o, kind, size):
    server = Served(o.program, o.model, "--parallel", "12")
    try:
        return measure(server, kind, size)
    except (OSError, ValueError) as why:
        return {"part": kind.part, "body": kind.name, "mb": round(size / bodies.MB, 1), "broken": {"row": str(why)}}
    finally:
        server.kill()


def line_of(row):
    """A line of the table."""
    number = lambda name: "-" if row.get(name) is None else "%.1f" % row[name]
    size = "%s to %s to %s" % tuple("%.0f" % row[n] if n in row else "-" for n in ("before_mb", "peak_mb", "after_mb"))
    return "| %s | %s | %s | %s | %s | %s | %s | %s | %s |" % (
        row["part"], row["body"], row["mb"], number("alone"), number("beside"), " ".join("%sx%d" % s for s in row.get("statuses", {}).items()),
        size, number("shutdown"), "; ".join("%s: %s" % b for b in row["broken"].items()) or "holds")


HEAD = ("| part | body | MB | alone, s | beside, s | statuses (0: hung up) | RSS, MB: before, most, after | SIGTERM to exit, s | |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |")


def sizes_of(kind, which):
    every = kind.sizes()
    return {"least": every[:1], "most": every[-1:], "all": every}[which]


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--parts", default=",".join(PARTS))
    a.add_argument("--only", default="", help="bodies, or kinds of clients, with this in their name")
    a.add_argument("--sizes", choices=["least", "most", "all"], default="all")
    a.add_argument("--json", metavar="FILE")
    o = serving.arguments(a)
    parts, rows = o.parts.split(","), []
    if not set(parts) <= set(PARTS):
        a.error("--parts: expected some of %s, found %s" % (",".join(PARTS), o.parts))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # servers end with it
    chosen = [kind for kind in bodies.BODIES if kind.part in parts and o.only in kind.name]
    bodies.check()
    if chosen:
        print(HEAD, flush=True)
    for kind in chosen:
        for size in sizes_of(kind, o.sizes):
            rows.append(run(o, kind, size))
            print(line_of(rows[-1]), flush=True)
    if "fair" in parts:
        rows += fairness.run_all(o, Served)
    if o.json:
        with open(o.json, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)
    broken = [(row["part"], row["body"], row.get("mb", ""), name) for row in rows for name in row["broken"]]
    for what in broken:
        print("broken: %s, %s %s: %s" % what)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
