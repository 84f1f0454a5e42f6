"""What a valid answer of the server is: strict HTTP/1.1, a sensible status, and a body of its type."""
import json
import re

SENSIBLE = {200, 400, 401, 403, 404, 405, 408, 411, 413, 414, 415, 417, 429, 431, 501, 503, 505}
STATUS = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d) [ -~]*$")
HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$")


class Wrong(ValueError):
    """What came is no valid answer."""


class Answer:
    def __init__(self, status, fields, body, whole):
        self.status, self.fields, self.body, self.whole = status, fields, body, whole


def wrong(what, found):
    raise Wrong("%s: %r" % (what, bytes(found[:200])))


def head_of(raw, at):
    """(status, fields, where the body begins), or None where the head is not whole."""
    end = raw.find(b"\r\n\r\n", at)
    if end < 0:
        begun = bytes(raw[at:at + 9])
        if not b"HTTP/1.1 ".startswith(begun) and not b"HTTP/1.0 ".startswith(begun):
            wrong("no status line", raw[at:])
        return None
    lines = raw[at:end].split(b"\r\n")
    first = STATUS.match(lines[0])
    if not first:
        wrong("no status line", lines[0])
    fields = {}
    for line in lines[1:]:
        found = HEADER.match(line)
        if not found:
            wrong("no header", line)
        name = found.group(1).lower().decode()
        if name in fields and name in ("content-length", "transfer-encoding", "content-type"):
            wrong("twice", line)
        fields[name] = found.group(2).strip().decode("latin-1")
    return int(first.group(1)), fields, end + 4


def chunks_of(raw, at):
    """(body, where it ends); the end is None where the last chunk has not come."""
    body = b""
    while True:
        line = raw.find(b"\r\n", at)
        if line < 0:
            return body, None
        if not re.fullmatch(rb"[0-9A-Fa-f]{1,8}", raw[at:line]):
            wrong("no size of a chunk", raw[at:line])
        size = int(raw[at:line], 16)
        end = line + 2 + size
        if len(raw) < end + 2:
            return body + raw[line + 2:end], None
        if raw[end:end + 2] != b"\r\n":
            wrong("no end of a chunk", raw[end:])
        if not size:
            return body, end + 2
        body += raw[line + 2:end]
        at = end + 2


def answers_of(raw, ended, heads):
    """Answers in `raw`, the last perhaps cut. `ended`: the server has closed. `heads`: a HEAD may have been among what was asked, so
    an answer's body may be missing."""
    found, at = [], 0
    while at < len(raw):
        head = head_of(raw, at)
        if not head:
            found.append(Answer(None, {}, b"", False))
            break
        begin, (status, fields, at) = at, head
        if "server" not in fields and raw.startswith(raw[begin:at], at):
            at += at - begin  # libmicrohttpd 0.9.75 says the head of some refusals of its own twice, then closes
        if 100 <= status < 200:
            if status != 100:
                wrong("an interim answer that nobody asked for", raw)
            continue
        if heads and (at == len(raw) or raw.startswith(b"HTTP/1.", at)):
            found.append(Answer(status, fields, None, True))
        elif fields.get("transfer-encoding", "").lower() == "chunked":
            if "content-length" in fields:
                wrong("a length and chunks", raw)
            body, end = chunks_of(raw, at)
            found.append(Answer(status, fields, body, end is not None))
            at = len(raw) if end is None else end
        elif "content-length" in fields:
            if not fields["content-length"].isdigit():
                wrong("no length", raw)
            n = int(fields["content-length"])
            found.append(Answer(status, fields, raw[at:at + n], len(raw) >= at + n))
            at += n
        else:
            found.append(Answer(status, fields, raw[at:], ended))
            at = len(raw)
    return found


def document(text, what):
    """JSON whose strings are text."""
    try:
        found = json.loads(text.decode("utf-8"))
        json.dumps(found, ensure_ascii=False).encode("utf-8")
        return found
    except (ValueError, RecursionError) as why:
        raise Wrong("%s is no JSON (%s): %r" % (what, why, text[:200])) from why


def check_error(status, found):
    error = found.get("error") if isinstance(found, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("message"), str) or not error["message"] or not isinstance(error.get("type"), str):
        wrong("an error without its message and type", json.dumps(found).encode())
    if error.get("code", status) not in (status, None) or error["type"] in ("server_error", "api_error"):
        wrong("an error of the server", json.dumps(found).encode())


def check_events(body):
    for block in body.split(b"\n\n")[:-1]:
        for line in block.split(b"\n"):
            if line.startswith(b"data: ") and line != b"data: [DONE]":
                event = document(line[6:], "an event")
                if isinstance(event, dict) and event.get("error"):
                    check_error(None, event) if isinstance(event["error"], dict) and "code" not in event["error"] else None
            elif line and not line.startswith((b"data: ", b"event: ", b":", b"error: ")):
                wrong("no line of an event", line)
    if body and not body.endswith(b"\n\n"):
        wrong("an event is not whole", body[-200:])


def check(answer):
    """Raises Wrong where a whole answer is none that the server may give."""
    # libmicrohttpd 0.9.75 by itself: the line of a chunk is longer than all that is kept of headers.
    of_library = answer.status == 500 and "server" not in answer.fields
    if answer.status not in SENSIBLE and not of_library:
        raise Wrong("status %d: %r" % (answer.status, (answer.body or b"")[:300]))
    if answer.body is None:
        return
    kind = answer.fields.get("content-type", "")
    if kind.startswith("application/json"):
        found = document(answer.body, "a body")
        if answer.status >= 400:
            check_error(answer.status, found)
    elif kind.startswith("text/event-stream"):
        check_events(answer.body)
