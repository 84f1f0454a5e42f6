#!/bin/sh
# The server as a process: killed, told to end while it answers, and with a log that cannot be written.
command -v python3 >/dev/null || {
    echo "SKIP python3 is not installed"
    exit 0
}
folder=$(mktemp -d "$PWD/serve_XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
"$FR_BUILD_DIR/tests/bin/tiny_models" "$folder" >/dev/null 2>&1 || exit 1
PYTHONPATH=$(dirname "$0") model=$folder/tiny-llama-q8_0.gguf python3 -B - <<'END'
import concurrent.futures
import fcntl
import http.client
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from process import ASK, Server, refused


def streamed(said):
    events = [line[6:] for line in said.decode().split("\n") if line.startswith("data: ")]
    assert events[-1] == "[DONE]", said[-200:]
    return "".join(json.loads(e)["choices"][0]["text"] for e in events[:-1])


def a_kill_loses_only_what_was_at_work():
    first = Server()
    right = first.text()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        broken = [pool.submit(first.ask) for _ in range(4)]
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        for one in broken:
            one.exception()  # whole or broken, as it came
    again = Server(port=first.port)
    assert again.port == first.port and again.text() == right
    taken = subprocess.run([os.environ["FORERUN"], "serve", "-m", os.environ["model"], "--port", str(again.port)],
                           capture_output=True, text=True)
    assert taken.returncode == 1 and "cannot listen" in taken.stderr, taken
    again.end()
    return right


def drafters_that_are_not_there_end_it_at_its_start():
    for spec in ("medusa:no-such-pack.gguf", "prompt-lookup,rest:no-such-store.frd"):
        code, said = refused("--drafter", "none", "--drafters", spec)
        assert code == 1 and "no-such" in said, said
    server = Server("--drafters", "prompt-lookup")
    assert server.ask(body=dict(ASK, drafter="prompt-lookup"))[0] == 200
    server.end()


def answers_at_work_end_whole(right):
    server = Server("--queue", "100")
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        asked = [pool.submit(server.ask, body=dict(ASK, stream=bool(i % 2))) for i in range(40)]
        while not any(a.done() for a in asked):
            time.sleep(0.001)
        server.process.terminate()
        try:
            while server.ask("GET", "/ready")[0] == 200:
                time.sleep(0.001)
            assert server.ask()[0] == 503
        except (OSError, http.client.HTTPException):
            pass  # it has ended already
        for i, one in enumerate(asked):
            status, said = one.result()
            if status == 503:  # came too late
                continue
            assert status == 200, said
            assert (streamed(said) if i % 2 else json.loads(said)["choices"][0]["text"]) == right
    assert server.process.wait(600) == 0


def all_have_come(server, asked):
    there = 0
    while there < len(asked):  # whoever is answered
        look = json.loads(server.ask("GET", "/activity")[1])
        there = look["running"] + look["paused"] + look["waiting"] + sum(a.done() for a in asked)


def a_second_signal_does_not_wait():
    server = Server("--queue", "100")
    with concurrent.futures.ThreadPoolExecutor(60) as pool:
        asked = [pool.submit(server.ask) for i in range(60)]
        all_have_come(server, asked)
        server.process.terminate()
        while server.ask("GET", "/ready")[0] == 200:
            time.sleep(0.001)
        server.process.terminate()
        assert server.process.wait(60) == 130
        assert any(one.exception() for one in asked)


def who_is_cut_off_hears_of_it(right):
    server = Server("--queue", "100", "--drain", "0")
    with concurrent.futures.ThreadPoolExecutor(60) as pool:
        asked = [pool.submit(server.ask, body=dict(ASK, stream=bool(i % 2))) for i in range(60)]
        while not any(a.done() for a in asked):
            time.sleep(0.001)
        all_have_come(server, asked)
        server.process.terminate()
        cut = 0
        for i, one in enumerate(asked):
            status, said = one.result()
            if status == 200 and i % 2:
                last = [line[6:] for line in said.decode().split("\n") if line.startswith("data: ")][-1]
                if last == "[DONE]":
                    assert streamed(said) == right
                    continue
                said = last
            elif status == 200:
                assert json.loads(said)["choices"][0]["text"] == right
                continue
            assert "shutting down" in json.loads(said)["error"]["message"], said
            cut += 1
        assert cut > 0
    assert server.process.wait(600) == 0


def who_looks_at_ready_comes_in_time(right):
    server = Server("--drain-delay", "100000")
    kept = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    kept.request("GET", "/ready")
    answer = kept.getresponse()
    answer.read()
    assert answer.status == 200 and answer.getheader("Connection") != "close", answer.headers
    server.process.terminate()
    while server.ask("GET", "/ready")[0] == 200:
        time.sleep(0.01)
    assert server.ask("GET", "/health")[0] == 200
    kept.request("POST", "/v1/completions", json.dumps(ASK))
    answer = kept.getresponse()
    assert answer.status == 200 and answer.getheader("Connection") == "close", answer.headers
    assert json.loads(answer.read())["choices"][0]["text"] == right
    assert server.text() == right and server.process.poll() is None
    server.process.kill()
    server.process.wait()
    Server("--drain-delay", "0.3").end()


def silent_connections_leave_files_for_others():
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160))
    reads, writes = os.pipe()
    server = Server(stderr=writes, preexec_fn=limit)
    os.close(writes)
    assert "48 connections, not for 512" in os.read(reads, 1000).decode()
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(300)]
    assert server.ask("GET", "/health")[0] == 200
    for one in silent:
        one.close()
    server.end()
    os.close(reads)


def logs_stop_nobody(right):
    for how in ("gone", "stopped", "full", "closed"):
        reads, writes = os.pipe()
        fcntl.fcntl(writes, 1031, 4096)  # F_SETPIPE_SZ
        if how == "full":
            server = Server(stderr=os.open("/dev/full", os.O_WRONLY))
        elif how == "closed":
            server = Server(stderr=None, preexec_fn=lambda: os.close(2))
        else:
            server = Server(stderr=writes)
        os.close(writes)
        if how == "gone":
            os.close(reads)
        for _ in range(150):  # more lines than the pipe holds
            assert server.ask("GET", "/health")[0] == 200
        assert server.text() == right
        server.end()
        if how != "gone":
            os.close(reads)


def seconds_of(process):
    """That its threads have worked."""
    with open("/proc/%d/stat" % process.pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def preparing(server, n):
    """Connections whose long texts are being tokenized, or wait for that."""
    body = b'{"content":"' + b"hello world, and so on " * ((30 << 20) // 23) + b'"}'
    head = b"POST /tokenize HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(body)
    before = seconds_of(server.process)
    asked = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(n)]
    for one in asked:
        one.sendall(head + body)
    while seconds_of(server.process) < before + 1:
        time.sleep(0.01)
    return asked


def long_texts_do_not_hold_a_server_that_ends():
    server = Server("--drain", "0.5", "--body-memory", "4096")
    asked = preparing(server, 3)
    server.process.terminate()
    assert server.process.wait(600) == 0
    for one in asked:
        reply = one.makefile("rb").read().decode()
        assert reply.startswith("HTTP/1.1 503 ") and "this server is shutting down" in reply, reply[:300]


def long_texts_of_clients_that_hung_up_are_left(right):
    reads, writes = os.pipe()
    server = Server("--body-memory", "4096", stderr=writes)
    os.close(writes)
    asked = preparing(server, 3)
    for one in asked:
        one.close()
    with os.fdopen(reads) as log:
        assert server.text() == right
        server.end()
        lines = [line for line in log if "/tokenize" in line]
    assert len(lines) == 3 and all(" 499 " in line for line in lines), lines


def a_prompt_that_begins_twice_is_logged_once():
    os.environ["model"] = os.path.join(os.path.dirname(os.environ["model"]), "tiny-llama-spm-q4_k.gguf")
    ask = {"prompt": "<s>abc", "max_tokens": 1}
    for flags, lines in ((), 1), (("--log-format", "json"), 1), (("--quiet",), 0):
        with tempfile.TemporaryFile("w+") as log:
            server = Server(*flags, stderr=log)
            once = server.document("POST", "/v1/completions", dict(ask, prompt="abc"))["usage"]["prompt_tokens"]
            for _ in range(3):
                assert server.document("POST", "/v1/completions", ask)["usage"]["prompt_tokens"] == once + 1
            server.end()
            log.seek(0)
            said = [line for line in log if "begins with <s> twice" in line]
            assert len(said) == lines, said
            assert "--log-format" not in flags or json.loads(said[0])["warning"], said


def a_model_that_became_shorter_is_named():
    """Read where it lies, its pages are gone: a sentence, not a signal."""
    copy = os.path.join(os.path.dirname(os.environ["model"]), "cut\x1b.gguf")
    for flags in (["--low-memory"], ["--low-memory", "--drafter", "prompt-lookup"]):
        shutil.copyfile(os.environ["model"], copy)
        server = Server("-m", copy, *flags, stderr=subprocess.PIPE)
        assert server.ask()[0] == 200
        os.truncate(copy, 100)
        try:
            server.ask()
        except (OSError, http.client.HTTPException):
            pass  # it has ended
        said = server.process.stderr.read().splitlines()[-1]
        assert server.process.wait(600) == 1, said
        assert said.startswith("forerun: ") and "cut?.gguf: " in said and "shorter" in said, said


def other_bus_errors_end_it_as_ever():
    server = Server()
    server.process.send_signal(signal.SIGBUS)
    assert server.process.wait(600) == -signal.SIGBUS


def a_short_stack_is_enough():
    limit = lambda: resource.setrlimit(resource.RLIMIT_STACK, (64 << 10, 64 << 10))
    server = Server("--drafter", "prompt-lookup", preexec_fn=limit)
    assert server.text()
    server.end()


def a_unix_socket_is_a_host():
    """Beside an address; replaced where a killed process left it, removed at the end."""
    path = os.path.join(os.path.dirname(os.environ["model"]), "forerun.sock")
    for how in ("kill", "end"):
        server = Server("--host", "unix:%s,127.0.0.1" % path)
        assert server.line == "listening on unix:%s, http://127.0.0.1:%d" % (path, server.port), server.line
        assert server.ask("GET", "/health")[0] == 200
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            s.sendall(b"GET /health HTTP/1.1\r\nHost: any\r\nConnection: close\r\n\r\n")
            assert s.recv(12) == b"HTTP/1.1 200"
        assert os.stat(path).st_mode & 0o777 == 0o600
        if how == "kill":
            server.process.kill()
            server.process.wait()
            assert os.path.exists(path)
        else:
            server.end()
            assert not os.path.exists(path)


def names_are_checked_and_open_servers_warn():
    server = Server("--allow-host", "in.example", stderr=subprocess.PIPE)
    for host, status in (("localhost", 200), ("in.example:80", 200), ("evil.example", 403)):
        assert server.ask("GET", "/health", headers={"Host": host})[0] == status, host
    server.end()
    assert "--api-key" not in server.process.stderr.read()
    server = Server("--host", "0.0.0.0", "--quiet", stderr=subprocess.PIPE)
    server.end()
    assert server.process.stderr.read().count("--api-key") == 1
    code, said = refused("--allow-host", "http://a")
    assert code == 2 and "allow-host" in said, said


right = a_kill_loses_only_what_was_at_work()
a_model_that_became_shorter_is_named()
other_bus_errors_end_it_as_ever()
a_short_stack_is_enough()
a_unix_socket_is_a_host()
names_are_checked_and_open_servers_warn()
answers_at_work_end_whole(right)
who_is_cut_off_hears_of_it(right)
a_second_signal_does_not_wait()
silent_connections_leave_files_for_others()
drafters_that_are_not_there_end_it_at_its_start()
who_looks_at_ready_comes_in_time(right)
logs_stop_nobody(right)
long_texts_do_not_hold_a_server_that_ends()
long_texts_of_clients_that_hung_up_are_left(right)
a_prompt_that_begins_twice_is_logged_once()
END
