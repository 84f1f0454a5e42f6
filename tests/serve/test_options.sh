#!/bin/sh
# What the options of `forerun serve` do, each seen from outside.
command -v python3 >/dev/null || {
    echo "SKIP python3 is not installed"
    exit 0
}
folder=$(mktemp -d "$PWD/serve_XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
"$FR_BUILD_DIR/tests/bin/tiny_models" "$folder" >/dev/null 2>&1 || exit 1
PYTHONPATH=$(dirname "$0") model=$folder/tiny-llama-q8_0.gguf python3 -B - <<'END'
import http.client
import json
import os
import re
import socket

from process import ASK, Server, refused


def the_page_can_be_left_out():
    for flag in ("--quiet", "--no-ui", "--no-webui"):
        server = Server(flag)
        right = 200 if flag == "--quiet" else 404
        for path in ("/", "/page/base.css", "/page/main.js"):
            assert server.ask("GET", path)[0] == server.ask("HEAD", path)[0] == right, (flag, path)
        assert server.ask("GET", "/health")[0] == 200
        server.end()


def keys_that_are_none_open_no_door():
    for key in (",", ",,"):
        assert "--api-key: expected a key, found none" in refused("--api-key", key)[1]


def proxies_are_addresses():
    assert "forwarded-from: expected addresses" in refused("--forwarded-from", "10.0.0.1,proxy.example")[1]
    server = Server("--forwarded-from", "10.0.0.0/8, ::1, unix")
    assert server.ask("GET", "/health")[0] == 200
    server.end()


def a_key_of_a_file_is_a_line():
    path = os.environ["model"] + ".keys"
    with open(path, "w", encoding="utf-8") as f:
        f.write("abc,d\nother\n")
    server = Server("--api-key-file", path, "--api-key", "one,two")
    for key, right in (("abc,d", 200), ("other", 200), ("one", 200), ("two", 200), ("abc", 401), ("d", 401), ("one,two", 401)):
        c = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
        c.request("GET", "/props", headers={"Authorization": "Bearer " + key, "Connection": "close"})
        assert c.getresponse().status == right, key
        c.close()
    server.end()


def a_name_that_is_no_text_can_be_told():
    path = os.path.join(os.path.dirname(os.environ["model"]).encode(), b"caf\xe9.gguf")
    os.symlink(os.environ["model"].encode(), path)
    server = Server("-m", path)
    status, said = server.ask("GET", "/v1/models")
    assert status == 200 and json.loads(said)["data"][0]["id"] == "caf\ufffd", said
    assert json.loads(server.ask("GET", "/props")[1])["model_path"].endswith("caf\ufffd.gguf")
    assert server.text()
    server.end()


def options_of_drafting_are_kept():
    for more, says in ((["--draft-opt", "nonsense=1"], "nonsense"), (["--tree", "nonsense"], "nonsense"), (["--accept", "typical"], "--accept typical: ")):
        code, said = refused("--drafter", "prompt-lookup", *more)
        assert code == 2 and says in said, said
    plain, server = Server(), Server("--drafter", "prompt-lookup", "--tree", "12", "--no-adapt", "--metrics")
    assert server.text() == plain.text()
    rows = {}
    for line in server.ask("GET", "/metrics")[1].decode().split("\n"):
        found = re.match(r'forerun:rows_per_pass_(sum|count)(?:\{.*\})? ([0-9.e+]+)$', line)
        if found:
            rows[found.group(1)] = float(found.group(2))
    assert rows["sum"] > 3 * rows["count"], rows
    plain.end()
    server.end()


def a_model_is_called_as_it_was_told():
    server = Server("--alias", "b,a, c", "--tags", "x,y")
    props, model = server.document("GET", "/props"), server.document("GET", "/v1/models")["data"][0]
    assert props["model_alias"] == model["id"] == server.document("POST", "/v1/completions")["model"] == "a"
    assert model["aliases"] == ["b", "a", "c"] and model["tags"] == ["x", "y"]
    assert server.document("GET", "/v1/models/c")["id"] == "a" and server.ask("GET", "/v1/models/x")[0] == 404
    server.end()


def contexts_are_as_long_as_they_were_told():
    trained = Server()
    most = trained.document("GET", "/v1/models")["data"][0]["meta"]["n_ctx_train"]
    assert 160 < most <= 4096 and trained.document("GET", "/props")["default_generation_settings"]["n_ctx"] == most
    trained.end()
    for flags, right in ((["-c", "160"], 80), (["--ctx-size", "100"], 64), (["--slot-ctx", "100"], 100), (["--slot-ctx", str(most + 1)], most), (["-c", str(4 * most)], most)):
        with open(os.environ["model"] + ".log", "w+", encoding="utf-8") as log:
            server = Server(*flags, stderr=log)
            found = server.document("GET", "/props")
            assert found["default_generation_settings"]["n_ctx"] == right and found["total_slots"] == 2, (flags, found)
            server.end()
            log.seek(0)
            assert ("the model's context has %d tokens, which is taken" % most in log.read()) == (right == most)


def memory_bounds_the_contexts_that_are_kept():
    for flags, kept in (([], 4), (["--cache-ram", "0"], 2)):
        server = Server(*flags)
        for prompt in ("abc", "xyz", "hij", "rst"):
            server.text(dict(ASK, prompt=prompt * 5, max_tokens=4))
        assert len(server.document("GET", "/slots")) == kept
        server.end()


def defaults_are_for_what_a_request_leaves_out():
    server = Server("-n", "3", "--temp", "0", "--top-k", "7", "--top-p", "0.5", "--min-p", "0.25", "--repeat-penalty", "1.5", "--seed", "11")
    params = server.document("GET", "/props")["default_generation_settings"]["params"]
    right = {"n_predict": 3, "temperature": 0, "top_k": 7, "top_p": 0.5, "min_p": 0.25, "repeat_penalty": 1.5, "seed": 11}
    assert right == {name: params[name] for name in right}, params
    body = {"prompt": "abc", "ignore_eos": True}
    assert server.document("POST", "/v1/completions", body)["usage"]["completion_tokens"] == 3
    assert server.document("POST", "/completion", body)["generation_settings"]["top_k"] == 7
    assert server.document("POST", "/v1/completions", dict(body, max_tokens=5))["usage"]["completion_tokens"] == 5
    server.end()


def thinking_can_be_left_out():
    path = os.environ["model"] + ".jinja"
    with open(path, "w", encoding="utf-8") as f:
        f.write("{% for m in messages %}{{ m.content }}{% endfor %}|{{ enable_thinking }}|")
    chat = {"messages": [{"role": "user", "content": "abc"}], "max_tokens": 2}
    for how, right in (("off", "abc|False|"), ("auto", "abc|True|")):
        server = Server("--reasoning", how, "--chat-template-file", path, "--verbose")
        found = server.document("POST", "/v1/chat/completions", chat)["__verbose"]["prompt"]
        assert found.endswith(right), found
        server.end()


def what_is_at_work_can_be_kept_secret():
    server = Server("--no-slots")
    assert server.ask("GET", "/slots")[0] == server.ask("GET", "/activity")[0] == server.ask("GET", "/metrics")[0] == 501
    server.end()
    server = Server("--slots", "--metrics")
    assert server.ask("GET", "/slots")[0] == server.ask("GET", "/activity")[0] == server.ask("GET", "/metrics")[0] == 200
    server.end()


def every_metric_is_on_its_page():
    server = Server("--metrics")
    names = re.findall(r"^# HELP (\w+):(\w+)", server.ask("GET", "/metrics")[1].decode(), re.M)
    server.end()
    with open(os.path.join(os.environ["FR_SOURCE_DIR"], "docs", "metrics.md"), encoding="utf-8") as f:
        tables = re.findall(r"^\| `(\w+):` \|(.*?)\n\n", f.read(), re.M | re.S)
    told = [(prefix, name) for prefix, table in tables for name in re.findall(r"`(\w+)`", table)]
    assert names, "there are no metrics"
    for one in names:
        assert one in told, "docs/metrics.md does not name %s:%s" % one


def a_request_has_so_much_time():
    server = Server("--timeout", "0.000001")
    status, said = server.ask()
    assert status == 503 and json.loads(said)["error"]["message"], said
    server.end()
    slow, quick = Server(), Server("--request-time", "0.2")
    waits, ends = (socket.create_connection(("127.0.0.1", s.port), timeout=60) for s in (slow, quick))
    waits.sendall(b"GET /health HTTP/1.1\r\n")
    try:
        ends.sendall(b"GET /health HTTP/1.1\r\n")
        ends.recv(1000)  # closed, or told why
    except ConnectionError:
        pass  # this machine was slower than that
    waits.setblocking(False)
    try:
        raise AssertionError("expected to be waited for, found %r" % waits.recv(1000))
    except BlockingIOError:
        pass
    slow.end()
    quick.end()


def bodies_take_so_much_memory():
    server, roomy = Server("--body-memory", "16"), Server()
    values = {"content": "a", "other": [{}] * 100000}  # three bytes each, which become more than two hundred
    status, said = server.ask("POST", "/tokenize", values)
    assert status == 413 and "--body-memory" in json.loads(said)["error"]["message"], said
    ids = {"tokens": [97] * 100000}
    assert roomy.ask("POST", "/tokenize", values)[0] == roomy.ask("POST", "/detokenize", ids)[0] == 200
    assert server.document("POST", "/tokenize", {"content": "a b " * 10000})["count"] > 10000
    server.end()
    roomy.end()


def an_address_has_so_many_connections():
    server = Server("--peer-connections", "1")
    kept = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    kept.request("GET", "/health")
    assert kept.getresponse().read()
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as second:
        try:
            second.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert not second.recv(1000)
        except ConnectionError:
            pass
    kept.request("GET", "/health")
    assert kept.getresponse().status == 200
    kept.close()
    server.end()


def pages_of_these_origins_may_ask():
    server = Server("--cors-origins", "http://page.example")
    for origin in ("http://page.example", "http://other.example"):
        c = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        c.request("GET", "/health", headers={"Origin": origin, "Connection": "close"})
        right = origin if "page" in origin else None
        assert c.getresponse().getheader("Access-Control-Allow-Origin") == right, origin
        c.close()
    server.end()


def lines_of_the_log_are_documents():
    with open(os.environ["model"] + ".log", "w+", encoding="utf-8") as log:
        server = Server("--log-format", "json", stderr=log)
        server.text(dict(ASK, max_tokens=4))
        server.ask("GET", "/nothing")
        server.end()
        log.seek(0)
        found = [json.loads(line) for line in log if line.startswith("{")]
    lines = sorted((line["method"], line["path"], line["status"]) for line in found)  # each connection writes its own
    assert lines == [("GET", "/nothing", 404), ("POST", "/v1/completions", 200)], found


def addresses_are_written_as_a_client_writes_them():
    if not os.path.exists("/proc/net/if_inet6") or "lo" not in open("/proc/net/if_inet6", encoding="ascii").read():
        print("SKIP no IPv6 here")
        return
    server = Server("--host", "127.0.0.1,::1")
    assert server.line == "listening on http://127.0.0.1:%d, http://[::1]:%d" % (server.port, server.port), server.line
    for host in "127.0.0.1", "::1":
        c = http.client.HTTPConnection(host, server.port, timeout=60)
        c.request("GET", "/health", headers={"Connection": "close"})
        assert c.getresponse().status == 200
        c.close()
    server.end()


def who_manages_services_is_told(folder):
    for path in folder + "/notify", "@forerun-%d" % os.getpid():
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path.replace("@", "\0"))
            server = Server(env=dict(os.environ, NOTIFY_SOCKET=path))
            manager.settimeout(60)
            assert manager.recv(100) == b"READY=1"
            assert server.ask("GET", "/ready")[0] == 200
            server.process.terminate()
            assert manager.recv(100) == b"STOPPING=1"
            assert server.process.wait(600) == 0
    Server(env=dict(os.environ, NOTIFY_SOCKET="x" * 500)).end()  # no socket can be called so


def what_cannot_be_meant_is_refused(folder):
    with open(folder + "/empty", "w", encoding="utf-8"):
        pass
    for flags, says in (
            (["--slots", "--no-slots"], "give one of them"),
            (["-c", "100", "--slot-ctx", "100"], "-c is of all slots together"),
            (["--drafters", ",".join(["none"] * 16)], "--drafters: expected at most 15"),
            (["--api-key", ",".join(["k"] * 257)], "API keys: expected at most 256"),
            (["--api-key-file", folder + "/empty"], "expected an API key a line, found none"),
            (["--host", ","], "host: expected an address, found none"),
            (["--host", "h" * 300], "host: expected names below 256 bytes, found one of 300")):
        code, said = refused("--drafter", "none", *flags)
        assert code == 2 and says in said and said.count("\n") == 1, (flags, code, said)


the_page_can_be_left_out()
keys_that_are_none_open_no_door()
a_key_of_a_file_is_a_line()
a_name_that_is_no_text_can_be_told()
options_of_drafting_are_kept()
a_model_is_called_as_it_was_told()
contexts_are_as_long_as_they_were_told()
memory_bounds_the_contexts_that_are_kept()
defaults_are_for_what_a_request_leaves_out()
thinking_can_be_left_out()
what_is_at_work_can_be_kept_secret()
every_metric_is_on_its_page()
a_request_has_so_much_time()
bodies_take_so_much_memory()
an_address_has_so_many_connections()
pages_of_these_origins_may_ask()
lines_of_the_log_are_documents()
addresses_are_written_as_a_client_writes_them()
who_manages_services_is_told(os.path.dirname(os.environ["model"]))
what_cannot_be_meant_is_refused(os.path.dirname(os.environ["model"]))
END
