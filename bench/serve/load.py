"""A closed loop of users on a server of OpenAI's chat API, in one thread, so that it costs less
than what it measures.

Received bytes are stored with their time and parsed after the last byte, so that nothing is parsed
while a server works.
"""
import json
import random
import resource
import selectors
import socket
import time

BURST = 0.001  # events that arrive within this many seconds are one


class Prompts:
    """First user turns of sets of prompts, in equal parts and no prompt twice."""

    def __init__(self, paths):
        self.sets = {}
        for path in paths:
            with open(path, encoding="utf-8") as f:
                for line in f:
                    one = json.loads(line)
                    self.sets.setdefault(one["task"], []).append(one["messages"][0]["content"])

    def deal(self, count, part):
        """`count` (set, prompt); another `part` begins elsewhere in every set, in another order."""
        names, rng = sorted(self.sets), random.Random(part)
        each = -(-count // len(names))
        lists = {}
        for name in names:
            found = self.sets[name]
            if each > len(found):
                raise ValueError("%s has %d prompts, not %d" % (name, len(found), each))
            at = part * each % len(found)
            lists[name] = (found[at:] + found[:at])[:each]
        dealt = []
        for i in range(each):
            rng.shuffle(names)
            dealt += [(name, lists[name][i]) for name in names]
        return dealt[:count]


class Request:
    """One question, and every byte of its answer with the time it arrived."""

    def __init__(self, port, task, body):
        text = json.dumps(body).encode()
        self.task, self.parts = task, []
        self.sent = time.perf_counter()
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text) + text)

    def receive(self):
        """False once the answer is whole."""
        data = self.socket.recv(65536)
        self.parts.append((time.perf_counter(), data))
        return bool(data) and b"data: [DONE]" not in data


def unchunked(raw, at):
    """(first, end) of the pieces of a body sent in chunks, as far as it came."""
    while True:
        line = raw.find(b"\r\n", at)
        size = int(raw[at:line].split(b";")[0], 16) if line > at else 0
        if not size:
            return
        yield line + 2, min(line + 2 + size, len(raw))
        at = line + 2 + size + 2


def lines_of(parts):
    """(time, line) of an answer's body: each at the time its last byte came."""
    raw = b"".join(data for _, data in parts)
    head = raw.find(b"\r\n\r\n")
    status = raw[:raw.find(b"\r\n")].split(b" ")
    if head < 0 or len(status) < 2 or status[1] != b"200":
        raise ValueError("the server answered %r" % raw[:400])
    chunked = b"transfer-encoding: chunked" in raw[:head].lower()
    ends, total, at, line = [], 0, 0, b""
    for when, data in parts:
        total += len(data)
        ends.append((total, when))
    for first, end in unchunked(raw, head + 4) if chunked else [(head + 4, len(raw))]:
        while first < end:
            stop = raw.find(b"\n", first, end)
            line += raw[first:end if stop < 0 else stop]
            if stop < 0:
                break
            while ends[at][0] <= stop:
                at += 1
            yield ends[at][1], line.rstrip(b"\r")
            line, first = b"", stop + 1


def read(request):
    """What one answer says: events with text as (time, characters), usage and timings where it came to them."""
    found = {"task": request.task, "sent": request.sent, "events": [], "usage": None, "timings": {}, "text": ""}
    for at, line in lines_of(request.parts):
        if not line.startswith(b"data: {"):
            continue
        try:
            event = json.loads(line[6:])
        except ValueError as error:
            raise ValueError("an event is no JSON: %r" % line[:200]) from error
        if "error" in event:
            raise ValueError("the server said %s" % event["error"])
        delta = event["choices"][0].get("delta", {}) if event.get("choices") else {}
        text = (delta.get("content") or "") + (delta.get("reasoning_content") or "")
        if text:
            found["events"].append((at, len(text)))
            found["text"] += text
        found["usage"] = event.get("usage") or found["usage"]
        found["timings"] = event.get("timings") or found["timings"]
    found["end"] = request.parts[-1][0] if request.parts else request.sent
    return found


def run(port, dealt, users, body, seconds):
    """Answers to `dealt` with `users` of them at work; cut after `seconds`.

    Returns (requests, start, end, CPU seconds spent here).
    """
    waiting, requests = list(reversed(dealt)), []
    poll = selectors.DefaultSelector()
    busy = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()

    def ask():
        task, prompt = waiting.pop()
        one = Request(port, task, {**body, "seed": len(requests), "messages": [{"role": "user", "content": prompt}]})
        requests.append(one)
        poll.register(one.socket, selectors.EVENT_READ, one)

    for _ in range(min(users, len(waiting))):
        ask()
    while poll.get_map() and time.perf_counter() < start + seconds:
        for key, _ in poll.select(1):
            if key.data.receive():
                continue
            poll.unregister(key.fd)
            key.data.socket.close()
            if waiting:
                ask()
    end = time.perf_counter()
    for one in requests:
        one.socket.close()
    spent = resource.getrusage(resource.RUSAGE_SELF)
    return requests, start, end, spent.ru_utime + spent.ru_stime - busy.ru_utime - busy.ru_stime


def bursts(events):
    """Events that arrive together are one, at the time of the first."""
    found = []
    for at, size in events:
        if not found or at - found[-1] > BURST:
            found.append(at)
    return found


def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))] if values else None


def tokens_of(answers):
    """Tokens that arrived: of whole answers by `usage`; of cut ones by their text at the rate of the whole ones, or an
    event each where there is none."""
    whole = [a for a in answers if a["usage"]]
    sizes = {True: 0, False: 0}
    for a in answers:
        sizes[bool(a["usage"])] += sum(size for _, size in a["events"])
    told = sum(a["usage"]["completion_tokens"] for a in whole)
    if sizes[True]:
        return told * (1 + sizes[False] / sizes[True])
    return told + sum(len(a["events"]) for a in answers if not a["usage"])


def summary(requests, start, end, spent):
    """Figures of one cell: rates in tokens a second, times in milliseconds."""
    answers = [read(one) for one in requests if one.parts]
    first = [1000 * (a["events"][0][0] - a["sent"]) for a in answers if a["events"]]
    gaps = []
    for a in answers:
        times = bursts(a["events"])
        gaps += [1000 * (b - c) for b, c in zip(times[1:], times)]
    whole = [a for a in answers if a["usage"]]
    own = [a["timings"] for a in whole if a["timings"].get("predicted_n", 0) > 1]
    drafted = sum(t.get("draft_n") or 0 for t in own)
    lasted = end - start
    return {
        "seconds": lasted, "requests": len(requests), "whole": len(whole),
        "tokens": tokens_of(answers), "rate": tokens_of(answers) / lasted,
        "prompt_tokens": sum(a["usage"]["prompt_tokens"] for a in whole),
        "completion_tokens": sum(a["usage"]["completion_tokens"] for a in whole),
        "first_p50": quantile(first, 0.5), "first_p99": quantile(first, 0.99),
        "gap_p50": quantile(gaps, 0.5), "gap_p99": quantile(gaps, 0.99), "gap_max": max(gaps, default=None),
        "own_prompt_ms": sum(t.get("prompt_ms") or 0 for t in own) / sum(a["usage"]["prompt_tokens"] for a in whole) if own else None,
        "own_token_ms": sum(t["predicted_ms"] for t in own) / sum(t["predicted_n"] for t in own) if own else None,
        "drafted": drafted, "accepted": sum(t.get("draft_n_accepted") or 0 for t in own),
        "client_cpu": spent / lasted,
    }
