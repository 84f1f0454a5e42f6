"""The servers that are measured: starts each of them and ends it."""
import http.client
import os
import signal
import socket
import subprocess
import sys
import time

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[1:1] = [BENCH, os.path.join(BENCH, "peers")]

from machine import draft_finder


def machine_time():
    """(CPU seconds that this machine has worked, that its host kept from it) since its start."""
    with open("/proc/stat", encoding="ascii") as f:
        user, nice, system, _, _, irq, soft, steal = [int(word) for word in f.readline().split()[1:9]]
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + soft) / tick, steal / tick


class Server:
    """A server on a port of its own, from its start until it answers /health, to its end."""

    def __init__(self, command, port, log):
        self.port = port
        self.child = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.began = time.perf_counter()

    def ready(self, limit=120):
        while time.perf_counter() - self.began < limit:
            if self.child.poll() is not None:
                raise ValueError("%s: exit code %d before it was ready" % (self.child.args[0], self.child.returncode))
            try:
                c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                c.request("GET", "/health")
                if c.getresponse().status == 200:
                    return time.perf_counter() - self.began
            except OSError:
                pass
            time.sleep(0.1)
        raise ValueError("%s: not ready after %d seconds" % (self.child.args[0], limit))

    def cpu(self):
        """CPU seconds it has spent."""
        with open("/proc/%d/stat" % self.child.pid, encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """Peak resident memory in MB."""
        with open("/proc/%d/status" % self.child.pid, encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024

    def end(self):
        self.child.send_signal(signal.SIGTERM)
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


def forerun(args, model, users, port, *more):
    return [args.forerun, "serve", "-m", model, "--port", str(port), "--parallel", str(users), "--slot-ctx", str(args.slot_ctx),
            "-t", str(args.threads), "--quiet", *more]


def llama(program, args, model, users, port, *more):
    """Both peers: the context is that of all slots together; -cram 0: nothing is kept of earlier prompts."""
    return [program, "-m", model, "--host", "127.0.0.1", "--port", str(port), "-np", str(users), "-c", str(args.slot_ctx * users),
            "-t", str(args.threads), "-cram", "0", *more]


def free_ports(n):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def spec_flags(mode, args, model):
    """Flags of a speculative mode written TYPE or TYPE:N (tokens drafted at most); None where it needs a draft model and
    there is none."""
    kind, _, most = mode.partition(":")
    flags = ["--spec-type", kind]
    if kind.startswith("draft"):
        draft = draft_finder(args.draft)(model)
        if not draft:
            return None
        flags += ["-md", draft]
    return flags, most


def command(name, args, model, users, port):
    """How `name` is started, or None where it cannot be.

    NAME is forerun[=DRAFTER], llama[=TYPE[:N]], ik[=TYPE[:N]]; ik's weights are repacked as they are loaded.
    """
    side, _, mode = name.partition("=")
    if side == "forerun":
        return forerun(args, model, users, port, *(["--drafter", mode] if mode else []))
    program = args.llama if side == "llama" else args.ik
    if not program or not os.path.exists(program):
        return None
    flags = ["-rtr"] if side == "ik" else ["--no-ui"]
    if mode:
        found = spec_flags(mode, args, model)
        if not found:
            return None
        flags += found[0]
        if found[1] and side == "ik":  # a part of the type
            flags[flags.index("--spec-type") + 1] += ":n_max=" + found[1]
        elif found[1]:
            flags += ["--spec-draft-n-max", found[1]]
    return llama(program, args, model, users, port, *flags)
