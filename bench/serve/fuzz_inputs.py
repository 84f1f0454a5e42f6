"""Inputs of the HTTP fuzzer. Each is a list of steps on one connection, made from a random number
generator.

A step is ("send", bytes), ("wait", seconds), ("half", ""), which closes the writing half, or
("reset", "").
"""
import gzip
import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
CHAT = {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Name a river."}], "max_tokens": 3}
WEATHER = {"name": "get_weather", "description": "Weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Paris\"}"}}
# Bodies that are answered: what mutations begin with.
BODIES = [
    ("/v1/chat/completions", CHAT),
    ("/v1/chat/completions", {**CHAT, "stream": True, "stream_options": {"include_usage": True}, "logprobs": True, "top_logprobs": 2,
                              "temperature": 0.9, "seed": 7, "return_drafted": True}),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
                                           {"role": "assistant", "content": None, "tool_calls": [CALL]},
                                           {"role": "tool", "tool_call_id": "call_1", "content": "rain"}],
                              "tools": [{"type": "function", "function": WEATHER}], "tool_choice": "auto", "max_tokens": 4}),
    ("/v1/chat/completions/input_tokens", CHAT),
    ("/v1/completions", {"prompt": "Water boils at", "max_tokens": 3, "temperature": 0, "echo": True, "logprobs": 2}),
    ("/v1/completions", {"prompt": ["One", [1, 2, 3]], "max_tokens": 2, "n": 2, "stream": True, "stop": ["\n", "x"], "logit_bias": {"5": -100}}),
    ("/completion", {"prompt": "def add(a, b):", "n_predict": 3, "n_probs": 2, "stream": True, "timings_per_token": True,
                     "return_progress": True, "return_tokens": True, "response_fields": ["content"], "id_slot": 0}),
    ("/completion", {"prompt": {"prompt_string": "Hello"}, "n_predict": 2, "repeat_penalty": 1.2, "repeat_last_n": 8, "top_k": 3,
                     "top_p": 0.5, "min_p": 0.1, "frequency_penalty": 0.5, "presence_penalty": -0.5, "ignore_eos": True}),
    ("/v1/messages", {"model": "m", "max_tokens": 3, "system": [{"type": "text", "text": "Be brief."}],
                      "messages": [{"role": "user", "content": "Name a river."}], "stop_sequences": ["."], "stream": True}),
    ("/v1/messages", {"model": "m", "max_tokens": 3, "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "get_weather", "input": {"city": "Paris"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "rain"}]}],
        "tools": [{"name": "get_weather", "input_schema": {"type": "object"}}], "tool_choice": {"type": "auto"}}),
    ("/v1/messages/count_tokens", {"model": "m", "messages": [{"role": "user", "content": "Name a river."}]}),
    ("/v1/responses", {"input": "Name a river.", "max_output_tokens": 3, "instructions": "Be brief.", "stream": True, "metadata": {"a": "b"}}),
    ("/v1/responses", {"input": [{"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
                                 {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": "{}"},
                                 {"type": "function_call_output", "call_id": "c1", "output": "rain"}],
                       "tools": [{"type": "function", **WEATHER}], "max_output_tokens": 3, "text": {"format": {"type": "text"}}}),
    ("/infill", {"input_prefix": "def add(a, b):\n    return ", "input_suffix": "\n", "n_predict": 2,
                 "input_extra": [{"filename": "a.py", "text": "x = 1\n"}], "prompt": ""}),
    ("/tokenize", {"content": "Hello, wörld 🙂", "add_special": True, "with_pieces": True, "parse_special": False}),
    ("/detokenize", {"tokens": [1, 2, 300, 4000]}),
    ("/apply-template", {"messages": CHAT["messages"], "chat_template_kwargs": {"a": 1}, "add_generation_prompt": True}),
]
# Fields whose values cost passes: they stay small most of the time.
COSTLY = ("max_tokens", "n_predict", "max_completion_tokens", "max_output_tokens", "n", "n_cmpl")
FIELDS = ["temperature", "top_p", "top_k", "min_p", "seed", "stop", "frequency_penalty", "presence_penalty", "repeat_penalty", "repeat_last_n",
          "logit_bias", "ignore_eos", "stream", "stream_options", "logprobs", "top_logprobs", "n_probs", "post_sampling_probs", "echo",
          "prediction", "drafter", "tools", "tool_choice", "chat_template_kwargs", "enable_thinking", "add_generation_prompt", "reasoning_format",
          "continue_final_message", "return_drafted", "cache_prompt", "timings_per_token", "return_tokens", "return_progress",
          "response_fields", "verbose", "id_slot", "grammar", "json_schema", "response_format", "best_of", "suffix", "lora", "messages",
          "prompt", "model", "user", "input", "instructions", "previous_response_id", "reasoning", "thinking", "system", "stop_sequences",
          "content", "tokens", "input_prefix", "input_suffix", "input_extra", "metadata", "samplers", "mirostat", "dry_multiplier", *COSTLY]
NUMBERS = [0, -0.0, 1, -1, 2, 0.5, 1e308, -1e308, 5e-324, 2**31 - 1, 2**31, -2**31 - 1, 2**32 + 5, 2**53, 2**63 - 1, 2**63, -2**63, 2**64, 10**400]
TEXTS = ["", "\0", "a\0b", "\x7f\x01\x1b", "é", "漢字", "🙂", "\ufeff", "\ud800", "x\udfff\ud83d", "\u2028", "%s%n%x", "../../etc/passwd", "<|im_end|>",
         "<|im_start|>assistant\n", "<tool_call>", "<think>", "{{ 7 * 7 }}", "{% for x in range(9999999) %}", "auto", "none", "lookahead",
         "prompt-lookup+ngram", "a" * 5000, "\n" * 300, "e\u0301" * 200, "true", "null", "[DONE]", "data: x\n\n"]
SCRAPS = [b"\0", b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xf0\x9f", b"\\u0000", b"\\ud800", b"\\udc00\\ud800", b"\\u12",
          b"\\x", b'"', b"{", b"}", b"[", b"]", b",", b":", b"null", b"NaN", b"-Infinity", b"1e999999", b"0x10", b"00", b"//", b"/**/", b"'", b"\xef\xbb\xbf",
          b"\r\n", b"\r\n\r\n", b"-", b"9" * 400]


def routes():
    """Paths of all routes, from the server's own table."""
    with open(os.path.join(HERE, "../../src/serve/routes.c"), encoding="utf-8") as f:
        return re.findall(r'\{"\w+", "([^"]+)"', f.read())


ROUTES = routes()


class Input:
    """`answers`: number of whole answers that must come (0: unknown); `never_ok`: 2xx would be wrong."""

    def __init__(self, kind, steps, answers=0, never_ok=False):
        self.kind, self.steps, self.answers, self.never_ok = kind, steps, answers, never_ok

    def sent(self):
        return b"".join(data for step, data in self.steps if step == "send")

    def as_json(self):
        return {"kind": self.kind, "answers": self.answers, "never_ok": self.never_ok,
                "steps": [[step, data.decode("latin-1") if isinstance(data, bytes) else data] for step, data in self.steps]}

    @staticmethod
    def of_json(d):
        steps = [(step, data.encode("latin-1") if step == "send" else data) for step, data in d["steps"]]
        return Input(d["kind"], steps, d["answers"], d["never_ok"])


# ---------------------------------------------------------------- valid requests

def request(method, path, body=None, headers=(), close=True):
    lines = [f"{method} {path} HTTP/1.1".encode(), b"Host: 127.0.0.1", *headers]
    if close:
        lines.append(b"Connection: close")
    if body is not None:
        lines += [b"Content-Type: application/json", b"Content-Length: %d" % len(body)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + (body or b"")


def a_body(rng):
    path, body = rng.choice(BODIES)
    return path, json.dumps(body).encode()


def chunked(rng, body, most=64):
    out, at = b"", 0
    while at < len(body):
        n = rng.randint(1, most)
        part = body[at:at + n]
        out += b"%x\r\n" % len(part) + part + b"\r\n"
        at += n
    return out + b"0\r\n\r\n"


def pieces(rng, data, most):
    """`data` in several sends."""
    steps, at = [], 0
    while at < len(data):
        n = rng.randint(1, most)
        steps.append(("send", data[at:at + n]))
        if rng.random() < 0.1:
            steps.append(("wait", 0.01))
        at += n
    return steps


# ---------------------------------------------------------------- bodies

def a_value(rng, depth=0):
    kind = rng.randrange(8 if depth < 3 else 5)
    if kind == 0:
        return rng.choice(NUMBERS)
    if kind in (1, 2):
        return rng.choice(TEXTS)
    if kind == 3:
        return rng.choice([None, True, False])
    if kind == 4:
        return rng.choice([rng.randint(-5, 50), rng.uniform(-3, 3), rng.choice(FIELDS)])
    if kind in (5, 6):
        return [a_value(rng, depth + 1) for _ in range(rng.randint(0, 4))]
    return {rng.choice(FIELDS + TEXTS + ["type", "text", "role", "5"]): a_value(rng, depth + 1) for _ in range(rng.randint(0, 4))}


def nodes(tree, found):
    """Every (container, key) of a document."""
    for key in list(tree.keys() if isinstance(tree, dict) else range(len(tree))):
        found.append((tree, key))
        if isinstance(tree[key], (dict, list)):
            nodes(tree[key], found)
    return found


def change(rng, tree):
    """One change of a document's structure."""
    where, key = rng.choice(nodes(tree, [(tree, rng.choice(list(tree)))]))
    how = rng.randrange(6)
    if how == 0 and isinstance(where, dict):
        del where[key]
        if not tree:
            tree["prompt"] = "x"
    elif how == 1 and isinstance(where, list):
        where *= rng.choice([0, 2, 40])
        if len(where) > 5000:
            del where[5000:]
    elif how == 2:
        where[key] = [where[key]] if rng.random() < 0.5 else {"type": "text", "text": where[key]}
    elif how == 3:
        field = rng.choice(FIELDS)
        if field not in COSTLY or rng.random() < 0.1:
            tree[field] = a_value(rng)
    elif key not in COSTLY or rng.random() < 0.2:
        where[key] = a_value(rng)


def nested(rng):
    """Deep, or wide, or long."""
    n = rng.choice([100, 2000, 3000, 100000])
    value = rng.choice([b"[" * n + b"]" * n, b'{"a":' * n + b"1" + b"}" * n, b"[" * n, b'"' + b"x" * n + b'"', b"9" * n, b"[" + b"1," * n + b"1]",
                        b'"' + b"\\u00e9" * n + b'"', b"-" * n, b"1e" + b"9" * n])
    return b'{"' + rng.choice(FIELDS).encode() + b'":' + value + b"}"


def scratch(rng, data, alphabet=tuple(SCRAPS)):
    """A few changes of bytes."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        how = rng.randrange(6)
        if how == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            del data[at:at + rng.randint(1, 8)]
        elif how == 2:
            data[at:at] = data[at:at + rng.randint(1, 40)]
        elif how == 3:
            del data[at:]
        elif how == 4 and at < len(data):
            data[at] = rng.randrange(256)
        else:
            data[at:at] = rng.choice(alphabet)
    return bytes(data)


def is_json_object(data):
    """Whether a reader of JSON may take it; numbers that JSON has not are none."""
    def refuse(word):
        raise ValueError(word)
    try:
        return isinstance(json.loads(data.decode("utf-8"), parse_constant=refuse), dict)
    except (ValueError, RecursionError):
        return False


def a_document(rng):
    """(path, changed body)"""
    path, body = a_body(rng)
    if rng.random() < 0.1:
        path = rng.choice(BODIES)[0]  # another's
    tree = json.loads(body)
    if rng.random() < 0.8:
        for _ in range(rng.randint(1, 4)):
            change(rng, tree)
    deep = b""
    if rng.random() < 0.1:
        n = rng.choice([50, 110, 250, 300, 1000, 2040])
        deep = rng.choice([b"[" * n + b"]" * n, b'{"a":' * n + b"1" + b"}" * n])
        where, key = rng.choice(nodes(tree, []))
        where[key] = "@deep@"  # json.dumps would not
    escape = rng.random() < 0.5
    data = json.dumps(tree, ensure_ascii=escape).encode("utf-8", "surrogatepass").replace(b'"@deep@"', deep)
    if rng.random() < 0.3:
        data = scratch(rng, data)
    return path, data


def documents(rng):
    path, data = a_document(rng)
    return Input("documents", [("send", request("POST", path, data))], 1, not is_json_object(data))


def nests(rng):
    data = nested(rng)
    return Input("nests", [("send", request("POST", rng.choice(BODIES)[0], data))], 1)


def encodings(rng):
    path, body = a_body(rng)
    text = body.decode()
    data, header, never_ok = rng.choice([
        (text.encode("utf-16"), b"Content-Type: application/json; charset=utf-16", True),
        (text.encode("utf-32-le"), b"Content-Type: application/json; charset=utf-32", True),
        (b"\xef\xbb\xbf" + body, b"X: bom", True),
        (gzip.compress(body), b"Content-Encoding: gzip", True),
        (text.encode("utf-7"), b"Content-Type: application/json; charset=utf-7", False),
        (text.replace("e", "é").encode("latin-1"), b"Content-Type: application/json; charset=latin-1", True),
        (b"a=1&b=%00", b"Content-Type: application/x-www-form-urlencoded", True),
        (b"--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + body + b"\r\n--x--\r\n", b"Content-Type: multipart/form-data; boundary=x", True),
        (bytes(rng.randrange(256) for _ in range(rng.randint(0, 3000))), b"X: noise", False),
        (b"", b"X: empty", True), (b"null", b"X: null", True), (b"\0" * rng.randint(1, 5000), b"X: zeros", True),
        (body + b" ", b"X: space", False), (body + body, b"X: twice", True), (body + b"\0", b"X: zero behind", True),
    ])
    return Input("encodings", [("send", request("POST", path, data, [header]))], 1, never_ok)


# ---------------------------------------------------------------- methods and lines

def methods(rng):
    method = rng.choice(["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "G", "M" * 300, "PRI"])
    path = rng.choice(ROUTES) if rng.random() < 0.8 else rng.choice(
        ["*", "//", "/v1/models/" + "x" * 3000, "/v1/models/%00%ff", "/../page/main.js", "/page/base.css/", "/activity", "/activity/", "/page/", "/page/%2e%2e", "/health?" + "a=b&" * 100, "/%2e%2e/%2e%2e", "/v1/", "/\xff",
         "http://x/health", "/health#x", "/v1/models/..%2f..%2fetc"])
    body = rng.choice([None, None, b"", b"{}", b"x" * rng.randint(0, 3000), a_body(rng)[1]])
    extra = rng.choice([[], [b"Authorization: Bearer " + b"k" * rng.choice([0, 1, 3000])], [b"X-Api-Key: \xff"], [b"Origin: http://evil.example"],
                        [b"Origin: null", b"Access-Control-Request-Headers: " + b"x" * 600], [b"Expect: 100-continue"], [b"Range: bytes=0-1"],
                        [b"If-None-Match: *"], [b"Accept-Encoding: gzip, br"], [b"Cookie: " + b"a=b; " * 300]])
    return Input("methods", [("send", request(method, path, body, extra))], 1 if method != "CONNECT" else 0)


def lines(rng):
    """Request lines that are none."""
    noise = bytes(rng.randrange(256) for _ in range(rng.randint(1, 300)))
    line = rng.choice([
        noise, b"GET", b"GET ", b"GET /health", b"GET  /health HTTP/1.1", b"GET\t/health\tHTTP/1.1", b" GET /health HTTP/1.1", b"GET /health HTTP/1.1 x",
        b"GET /health HTTP/1.2", b"GET /health HTTP/2.0", b"GET /health HTTP/0.9", b"GET /health HTTP/9999999999999.1", b"GET /health HTTP/", b"GET /health HTTP/1.1\0",
        b"GET /health http/1.1", b"GET /health ICAP/1.0", b"GET /he\0alth HTTP/1.1", b"GET /health HTTP/-1.-1", b"/health", b"GET \x00 HTTP/1.1", b"\0" * 50,
        b"GET /" + b"a" * rng.choice([1000, 8000, 31000, 33000, 100000]) + b" HTTP/1.1", b"G" * rng.choice([100, 33000]) + b" / HTTP/1.1",
        b"GET /health?" + b"a=b&" * 500 + b" HTTP/1.1", b"GET /%zz%0d%0aX:%20y HTTP/1.1", b"GET /health\r HTTP/1.1", b"POST /v1/completions", b"GET / HTTP/1.1\r\r\n", b"\r\n\r\n\r\nGET /health HTTP/1.1",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + noise, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + noise, b"SSH-2.0-OpenSSH_9.2", b"PROXY TCP4 1.1.1.1 2.2.2.2 1 2",
        b"HTTP/1.1 200 OK", b"GET http://user:pass@x:99999/health HTTP/1.1", b"GET ? HTTP/1.1", b"GET " + b"?" * 5000 + b" HTTP/1.1"])
    end = rng.choice([b"\r\n", b"\r\n", b"\n", b"\r", b""])
    rest = rng.choice([b"Host: 127.0.0.1\r\nConnection: close\r\n\r\n", b"\r\n", b"Host: 127.0.0.1\n\n", b"", b"Host: 127.0.0.1\r\n\r\nGET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"])
    return Input("lines", [("send", line + end + rest)])


NAMES = [b"Host", b"Content-Length", b"Content-Type", b"Transfer-Encoding", b"Connection", b"Expect", b"Upgrade", b"TE", b"Trailer", b"Accept", b"Cookie", b"Origin",
         b"Authorization", b"X-Api-Key", b"Keep-Alive", b"Proxy-Connection", b"HTTP2-Settings", b"X", b"", b" ", b"\0", b"a b", b"a:b", b"\xff", b"X" * 3000]
VALUES = [b"", b"x", b"close", b"keep-alive", b"close, keep-alive", b"chunked", b"gzip", b"gzip, chunked", b"chunked, chunked", b"identity", b"100-continue", b"0", b"-1",
          b"5", b"99999999999999999999999", b"h2c", b"websocket", b"upgrade", b"\0", b"a\0b", b"\xff\xfe", b"\r", b"y" * 9000, b" " * 500, b"Bearer ", b"http://localhost",
          b"http://localhost:999999999999", b"trailers", b'"', b";;;;", b",,,,,", b"application/json; charset=\"", b"multipart/form-data; boundary="]


def headers(rng):
    """A soup of headers."""
    n = rng.choice([1, 3, 10, 60, 3000])
    parts = []
    for _ in range(n):
        line = rng.choice(NAMES) + rng.choice([b": ", b":", b" : ", b"", b"\t:"]) + rng.choice(VALUES if n < 100 else VALUES[:6])
        parts.append(rng.choice([b"", b"", b"", b"", b" ", b"\t"]) + line + rng.choice([b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r"]))
    path, body = a_body(rng)
    first = rng.choice([b"GET /health HTTP/1.1\r\n", b"GET /health HTTP/1.0\r\n", b"POST " + path.encode() + b" HTTP/1.1\r\n"])
    return Input("headers", [("send", first + b"".join(parts) + b"\r\n" + (body if rng.random() < 0.5 else b""))])


# ---------------------------------------------------------------- lengths and chunks

def lengths(rng):
    path, body = a_body(rng)
    n = b"%d" % len(body)
    odd = rng.choice([[b"-1"], [b"+" + n], [b"0x10"], [n + b",5"], [b"18446744073709551616"], [b"18446744073709551615"], [b"9223372036854775808"], [b"9" * 300], [b""],
                      [n + b"\0"], [b"1e3"], [b"1.0"], [n, b"5"], [b"5", n], [b"0", n], [n, b"abc"], [b"\xb2"], [b"- 1"], [n + b" 5"]])
    lines_ = b"".join(b"Content-Length: " + v + b"\r\n" for v in odd)
    head = b"POST " + path.encode() + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" + lines_ + b"\r\n"
    return Input("lengths", [("send", head + body)], 0, True)


def heads(rng):
    """A byte that no head has, anywhere in one that is right but at its very beginning: a proxy may see other lines."""
    path, body = a_body(rng)
    whole = request("POST", path, body, [b"X-A: b"])
    at = rng.randrange(1, len(whole) - len(body))
    bad = rng.choice([b"\0", b"\0", b"\r", b"\n", b"\x01", b"\x0b", b"\x1b", b"\x7f"])
    return Input("heads", [("send", whole[:at] + bad + whole[at:])], 0, True)


def both(rng):
    """A length and chunks, in whichever order: where one begins the next request is not the same by both."""
    path, body = a_body(rng)
    inner = b"0\r\n\r\nGET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    two = [b"Content-Length: %d\r\n" % rng.choice([len(body), 5, 0, len(inner)]), b"Transfer-Encoding: chunked\r\n"]
    rng.shuffle(two)
    data = rng.choice([chunked(rng, body), inner, body])
    return Input("both", [("send", b"POST " + path.encode() + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"".join(two) + b"\r\n" + data)])


def chunks(rng):
    """Chunks that are well made: they must be answered as the body is."""
    path, body = a_body(rng)
    data = chunked(rng, body, rng.choice([1, 7, 64, 4096]))
    how = rng.randrange(5)
    if how == 0:
        data = re.sub(rb"^([0-9a-f]+)\r\n", rb"\1;name=value\r\n", data)
    elif how == 1:
        data = data.replace(b"0\r\n\r\n", b"0\r\nX-Trailer: y\r\n\r\n") if data.count(b"0\r\n\r\n") == 1 else data
    elif how == 2:
        data = b"000" + data
    head = b"POST " + path.encode() + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    return Input("chunks", pieces(rng, head + data, rng.choice([3, 50, 5000])), 1)


def broken_chunks(rng):
    path, body = a_body(rng)
    good = chunked(rng, body)
    data = rng.choice([
        b"g\r\n" + body, b"-1\r\n" + body, b"FFFFFFFFFFFFFFFF\r\n" + body, b"FFFFFFFFFFFFFFFFF1\r\n" + body, b"7FFFFFFFFFFFFFFF\r\n" + body, b"\r\n" + good, b" 5\r\nabcde\r\n0\r\n\r\n",
        b"5;" + b"e" * 40000 + b"\r\nabcde\r\n0\r\n\r\n", b"5\nabcde\n0\n\n", b"5\r\nabcdeXX0\r\n\r\n", b"5\r\nabc", b"0x5\r\nabcde\r\n0\r\n\r\n", b"5", b"", b"0\r\n",
        b"0\r\n" + b"T: " + b"t" * 50000 + b"\r\n\r\n", b"0\r\n" + b"T: t\r\n" * 5000 + b"\r\n", b"0\r\n:\r\n\0\r\n\r\n", b"0" * 30000 + b"\r\n\r\n", b"1\r\n{\r\n" * 3000 + b"0\r\n\r\n",
        good[:-5], good[:rng.randrange(len(good))], scratch(rng, good), scratch(rng, good), good.replace(b"\r\n", b"\n")])
    encoding = rng.choice([b"chunked", b"chunked", b"chunked", b"Chunked", b"gzip, chunked", b"chunked, gzip", b"identity", b"xchunked", b"chunked;q=1", b"\x0bchunked"])
    head = b"POST " + path.encode() + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nTransfer-Encoding: " + encoding + b"\r\n\r\n"
    return Input("broken chunks", [("send", head + data), rng.choice([("wait", 0), ("half", ""), ("reset", "")])])


# ---------------------------------------------------------------- connections

def pipelines(rng):
    """Requests at once, all of them whole: as many answers, in their order."""
    data, n = b"", rng.choice([2, 3, 8, 30])
    for i in range(n):
        last = i == n - 1
        if rng.random() < 0.7 or n > 8:
            data += request("GET", rng.choice(["/health", "/v1/models", "/nowhere", "/page/base.css", "/activity"]), close=last)
        else:
            data += request("POST", *a_body(rng), close=last)
    return Input("pipelines", pieces(rng, data, rng.choice([200, 100000])), n)


def broken_pipelines(rng):
    parts = [request("GET", "/health", close=False), lines(rng).sent(), request("POST", *a_body(rng), close=False), broken_chunks(rng).sent(), headers(rng).sent()]
    rng.shuffle(parts)
    return Input("broken pipelines", [("send", b"".join(parts[:rng.randint(2, 5)])), rng.choice([("wait", 0), ("half", ""), ("reset", "")])])


def cuts(rng):
    """Requests that stop in the middle, of which the rest never comes or comes late."""
    data = request("POST", *(a_body(rng) if rng.random() < 0.5 else a_document(rng)))
    at = rng.randrange(1, len(data))
    end = rng.choice([("half", ""), ("reset", ""), ("wait", 0)])
    if rng.random() < 0.3:
        return Input("late", [("send", data[:at]), ("wait", 0.3), ("send", data[at:])], 1)
    return Input("cuts", [("send", data[:at]), end])


def hang_ups(rng):
    """Whole requests whose answers are not read."""
    path, body = a_body(rng)
    tree = json.loads(body)
    tree.update({"stream": rng.random() < 0.7, "ignore_eos": True})
    for name in COSTLY[:4]:
        if name in tree:
            tree[name] = 100
    wait = ("wait", rng.choice([0, 0, 0.05, 0.3]))
    return Input("hang-ups", [("send", request("POST", path, json.dumps(tree).encode())), wait, rng.choice([("half", ""), ("reset", "")])])


def dribbles(rng):
    path, body = a_body(rng)
    return Input("dribbles", pieces(rng, request("POST", path, body), rng.choice([1, 1, 3, 20])), 1)


def too_much(rng):
    """Lengths beyond the limits; most are only declared."""
    path = rng.choice(BODIES)[0].encode()
    n = rng.choice([33 << 20, 1 << 31, 1 << 40, (1 << 63) - 1])
    head = b"POST " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: %d\r\n" % n
    expect = rng.choice([b"", b"Expect: 100-continue\r\n"])
    said = b"{" + b" " * rng.choice([0, 10000, 1 << 20])
    return Input("too much", [("send", head + expect + b"\r\n" + said), rng.choice([("wait", 0), ("half", ""), ("reset", "")])], 0, True)


def raw(rng):
    """Any bytes of whole requests changed."""
    path, body = a_body(rng)
    data = rng.choice([request("POST", path, body), request("GET", rng.choice(ROUTES)),
                       request("POST", path, body, [b"Expect: 100-continue"])])
    words = (b"\r\n", b"\n", b":", b" ", b"\0", b"HTTP/1.1", b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"\r\n\r\n", b"Expect: 100-continue\r\n")
    return Input("raw", [("send", scratch(rng, data, words)), rng.choice([("wait", 0), ("half", ""), ("reset", "")])])


KINDS = [documents] * 10 + [raw] * 3 + [nests, encodings, methods, methods, lines, headers, heads, heads, lengths, both, chunks, broken_chunks, broken_chunks, pipelines,
                                        broken_pipelines, cuts, cuts, hang_ups, dribbles, too_much]


def an_input(rng):
    return rng.choice(KINDS)(rng)
