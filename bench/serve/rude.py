#!/usr/bin/env python3
"""Rude peers on `forerun serve`, and four polite users who must not notice them.

    bench/serve/rude.py --model MODEL.gguf [--program build/forerun] [--seconds 8] [--only KIND]

The users send short greedy completions one after the other, first without any peer, then with one
kind of rude peer after the other. For each kind the output has

- the number of peers and how their connections ended,
- the latency of the users, and whether any was refused or got other bytes,
- the server's memory.

Peers that request long streams take part in the passes, so they are compared with as many peers
that read their streams. The exit code is 1 if a user failed, got other bytes, or waited much
longer: a median above twice the quiet one plus 100 ms, or a 99th percentile above three times the
quiet one plus half a second.
"""
import argparse
import json
import multiprocessing
import os
import random
import resource
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "clients"))
import server as serving

USERS = 4
PROMPTS = ["The lighthouse keeper climbed", "def add(a, b):", "Water boils at", "Once there was a ship that"]


# ---------------------------------------------------------------- the users

def user(port, number, seconds, out):
    """Latencies and texts of one user, in a process of his own; every second request on a new connection."""
    import http.client
    took, texts, failed = [], set(), []
    body = json.dumps({"prompt": PROMPTS[number], "max_tokens": 12, "temperature": 0})
    until, c, kept = time.time() + seconds, None, False
    while time.time() < until:
        began = time.time()
        try:
            kept = c is not None
            c = c or http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            c.request("POST", "/v1/completions", body)
            r = c.getresponse()
            text = r.read()
            if r.status != 200:
                failed.append(f"status {r.status}")
            else:
                texts.add(json.loads(text)["choices"][0]["text"])
            took.append(time.time() - began)
            if kept:
                c.close()
                c = None
        except (OSError, http.client.HTTPException, ValueError, KeyError) as why:
            if not kept:  # a connection at rest may be closed at any time: then one asks again
                failed.append(repr(why))
            c.close()
            c = None
        time.sleep(0.02)
    out.put((number, took, texts, failed))


def ask_politely(port, seconds):
    out = multiprocessing.Queue()
    users = [multiprocessing.Process(target=user, args=(port, i, seconds, out)) for i in range(USERS)]
    for u in users:
        u.start()
    found = sorted(out.get() for _ in users)
    for u in users:
        u.join()
    took = sorted(t for f in found for t in f[1])
    return took, [f[2] for f in found], [why for f in found for why in f[3]]


# ---------------------------------------------------------------- rude peers: each a function of port, end and counts

def dial(port, counts, room=0):
    s = socket.socket()
    if room:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    s.settimeout(5)
    try:
        s.connect(("127.0.0.1", port))
        counts["opened"] = counts.get("opened", 0) + 1
        return s
    except OSError:
        counts["refused"] = counts.get("refused", 0) + 1
        s.close()
        return None


def is_ended(s):
    try:
        s.setblocking(False)
        return s.recv(1 << 16) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def slowloris(port, until, counts):
    """300 that say a byte of a header now and then, and come again when they are sent away."""
    there = [None] * 300
    while time.time() < until:
        for i, s in enumerate(there):
            if s is not None:
                try:
                    s.send(b"X")
                except OSError:
                    counts["sent away"] = counts.get("sent away", 0) + 1
                    s.close()
                    s = None
            if s is None and (s := dial(port, counts)):
                try:
                    s.send(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ")
                    s.setblocking(False)
                except OSError:
                    counts["sent away"] = counts.get("sent away", 0) + 1
                    s.close()
                    s = None
            there[i] = s
        time.sleep(0.5)
    close_all(there)


def idle(port, until, counts):
    """10,000 that say nothing, at a time if the server lets them."""
    there = []
    while time.time() < until and len(there) < 10000:
        s = dial(port, counts)
        if s:
            there.append(s)
    while time.time() < until:
        time.sleep(0.1)
    counts["still open"] = sum(not is_ended(s) for s in there)
    close_all(there)


def flood(port, until, counts):
    """New silent connections as fast as they can be opened, each kept until 2,000 are there."""
    there = []
    while time.time() < until:
        s = dial(port, counts)
        if s:
            there.append(s)
        if len(there) > 2000:
            there.pop(0).close()
    close_all(there)


def ask_for_a_stream(port, counts, room=0, tokens=600):
    s = dial(port, counts, room)
    if s:
        body = json.dumps({"prompt": "Tell me a story.", "max_tokens": tokens, "stream": True, "ignore_eos": True, "temperature": 0,
                           "cache_prompt": False, "logprobs": 5}).encode()
        try:
            s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        except OSError:
            counts["sent away"] = counts.get("sent away", 0) + 1
            s.close()
            return None
    return s


def deaf(port, until, counts):
    """4 at a time that ask for a long stream and never read."""
    there = []
    while time.time() < until:
        there.append(ask_for_a_stream(port, counts, room=2048))
        time.sleep(0.02)
        if len(there) % 4 == 0:
            time.sleep(2)
    close_all(there)


def listening(port, until, counts):
    """As many that read."""
    def read(s):
        try:
            while s.recv(1 << 16):
                pass
        except OSError:
            pass
    there = []
    while time.time() < until:
        there.append(ask_for_a_stream(port, counts))
        if there[-1]:
            threading.Thread(target=read, args=(there[-1],), daemon=True).start()
        time.sleep(0.02)
        if len(there) % 4 == 0:
            time.sleep(2)
    close_all(there)


def half_closed(port, until, counts):
    """They ask, close their half and go on listening; that counts as hanging up, here as elsewhere."""
    there = []
    while time.time() < until:
        s = ask_for_a_stream(port, counts, tokens=2)
        if s:
            try:
                s.shutdown(socket.SHUT_WR)
            except OSError:
                counts["sent away"] = counts.get("sent away", 0) + 1
            there.append(s)
        if len(there) > 300:
            there.pop(0).close()
        time.sleep(0.005)
    close_all(there)


def cut_bodies(port, until, counts):
    """Bodies that stop in the middle, on 600 connections."""
    there = []
    while time.time() < until:
        s = dial(port, counts)
        if s:
            try:
                s.sendall(b'POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n{"prompt": "')
            except OSError:
                counts["sent away"] = counts.get("sent away", 0) + 1
            there.append(s)
        if len(there) > 600:
            there.pop(0).close()
        time.sleep(0.001)
    close_all(there)


def big_headers(port, until, counts):
    """A header of 1 MB, again and again."""
    text = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: " + b"y" * (1 << 20) + b"\r\n\r\n"
    while time.time() < until:
        s = dial(port, counts)
        if not s:
            continue
        try:
            s.sendall(text)
            status = s.recv(100).split(b" ")[1:2]
            key = "status " + status[0].decode() if status else "closed"
        except OSError:
            key = "cut"
        counts[key] = counts.get(key, 0) + 1
        s.close()
        time.sleep(0.01)


def killed(port, until, counts):
    """Processes that ask for long answers and are killed."""
    def client():
        there = [ask_for_a_stream(port, {}, tokens=2000) for _ in range(2)]
        time.sleep(60)
        close_all(there)
    while time.time() < until:
        p = multiprocessing.Process(target=client)
        p.start()
        time.sleep(random.uniform(0.05, 0.4))
        p.kill()
        p.join()
        counts["killed"] = counts.get("killed", 0) + 1
        time.sleep(0.5)


def close_all(there):
    for s in there:
        if s is not None:
            s.close()


def peer(kind, port, until, out):
    counts = {}
    try:
        kind(port, until, counts)
    finally:
        out.put(counts)


# ---------------------------------------------------------------- one kind after the other

KINDS = [slowloris, idle, flood, deaf, half_closed, cut_bodies, big_headers, killed]


def quantile(took, q):
    return took[min(len(took) - 1, int(q * len(took)))] if took else float("inf")


def measure(server, kind, seconds):
    """The users' latencies, texts and failures beside one kind of peers."""
    out = multiprocessing.Queue()
    other = None
    if kind:
        other = multiprocessing.Process(target=peer, args=(kind, server.port, time.time() + seconds + 2.5, out))
        other.start()
        time.sleep(2)
    took, texts, failed = ask_politely(server.port, seconds)
    threads, rss = server.status("Threads"), server.status("VmRSS") / 1024
    counts = out.get() if kind else {}
    if other:
        other.join()
        serving.check(f"{kind.__name__}: the peers were there to the end", other.exitcode == 0, other.exitcode)
    slow = [round(t, 2) for t in took if t > 1]
    print(f"{kind.__name__ if kind else 'quiet':<12} {len(took):4} answers, median {1e3 * quantile(took, 0.5):6.1f} ms, p99 "
          f"{1e3 * quantile(took, 0.99):6.1f} ms, most {1e3 * took[-1] if took else 0:6.1f} ms; {len(failed)} failed; {threads} threads, "
          f"{rss:.0f} MB; {counts}" + (f"; slow: {slow}" if slow else ""), flush=True)
    for why in failed[:3]:
        print("   failed:", why)
    return took, texts, failed


def judge(name, found, quiet, right):
    took, texts, failed = found
    serving.check(f"{name}: no user fails", not failed, failed[:3])
    serving.check(f"{name}: the same bytes", all(t <= r for t, r in zip(texts, right)), texts)
    for q, times, more in ((0.5, 2, 0.1), (0.99, 3, 0.5)):
        most = times * quantile(quiet, q) + more
        serving.check(f"{name}: quantile {q} of the latency", quantile(took, q) <= most, f"{quantile(took, q):.3f} s, most {most:.3f} s")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--seconds", type=float, default=8)
    a.add_argument("--only")
    o = serving.arguments(a)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with serving.Server(o.program, o.model, "--quiet", "--parallel", "12", "--drafter", "none", "--slot-ctx", "2560") as server:
        for i, prompt in enumerate(PROMPTS):  # warm, and what is right
            server.ask("POST", "/v1/completions", {"prompt": prompt, "max_tokens": 12, "temperature": 0})
        quiet, right, failed = measure(server, None, o.seconds)
        serving.check("quiet: one answer each", not failed and all(len(t) == 1 for t in right), (right, failed))
        before = server.status("VmRSS")
        for kind in KINDS:
            if o.only and o.only != kind.__name__:
                continue
            usual = measure(server, listening, o.seconds)[0] if kind in (deaf, killed) else quiet
            judge(kind.__name__, measure(server, kind, o.seconds), usual, right)
        time.sleep(1)
        again = measure(server, None, o.seconds)
        judge("afterwards", again, quiet, right)
        after = server.status("VmRSS")
        serving.check("memory: no more than 64 MB above that before", after < before + 65536, f"{before} KB, then {after} KB")
    serving.finish()


if __name__ == "__main__":
    main()
