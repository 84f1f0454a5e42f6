"""What every trial of the endurance test has: the program, models, a folder of its own, and the ways to run and to fail."""
import functools
import os
import shlex
import signal
import subprocess
import tempfile
import time


class Failed(Exception):
    """A promise that did not hold, as one sentence."""


class Skipped(Exception):
    """This trial cannot be made here (no such model, no such right), as one sentence."""


class Done:
    """How a program ended: `code` as a shell gives it (negative: the signal that ended it), what it said."""

    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def sentence(self):
        """The last line on stderr."""
        lines = self.err.decode(errors="replace").strip().split("\n")
        return lines[-1] if lines else ""


@functools.lru_cache(maxsize=None)
def slowness(forerun):
    """How many times the time a program may take that a sanitizer slows down."""
    with open(forerun, "rb") as f:
        built = f.read()
    return 10 if b"__asan_init" in built or b"__tsan_init" in built else 1


class Trial:
    """One trial. `rng` draws everything that is drawn, so that kind and seed repeat it; `folder` is empty at first and goes with it."""

    def __init__(self, forerun, models, rng, folder):
        self.forerun, self.models, self.rng, self.folder = forerun, models, rng, folder
        self.env = dict(os.environ, XDG_CACHE_HOME=self.path("cache"), XDG_STATE_HOME=self.path("state"),
                        XDG_DATA_HOME=self.path("data"), NO_COLOR="1")

    def path(self, name):
        return os.path.join(self.folder, name)

    def model(self, *names):
        """The path of one of the named models, or of any; Skipped where none is there."""
        there = [self.models[n] for n in (names or sorted(self.models)) if n in self.models]
        if not there:
            raise Skipped("no model %s" % " or ".join(names))
        return self.rng.choice(there)

    def write(self, name, data):
        path = self.path(name)
        with open(path, "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
        return path

    def start(self, args, **kwargs):
        """Starts the program; its output goes to files, so that it never waits for a reader."""
        child = subprocess.Popen([self.forerun] + [str(a) for a in args], env=kwargs.pop("env", self.env),
                                 stdin=kwargs.pop("stdin", subprocess.DEVNULL), stdout=kwargs.pop("stdout", None) or tempfile.TemporaryFile(),
                                 stderr=kwargs.pop("stderr", None) or tempfile.TemporaryFile(), cwd=kwargs.pop("cwd", self.folder), **kwargs)
        return child

    def run(self, args, timeout=300, **kwargs):
        """Runs the program to its end. Failed where a signal of its own ends it (a crash) or where it takes longer than `timeout` seconds (sanitized: ten times that)."""
        timeout *= slowness(self.forerun)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            begun = time.monotonic()
            child = self.start(args, stdout=out, stderr=err, **kwargs)
            try:
                code = child.wait(timeout)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
                raise Failed("did not end within %d s: %s" % (timeout, shown(args))) from None
            out.seek(0)
            err.seek(0)
            done = Done(code, out.read(), err.read(), time.monotonic() - begun)
        crash(done, args)
        return done


def shown(args):
    """A command line that can be typed."""
    return " ".join(["forerun"] + [shlex.quote(str(a)) for a in args])


def crash(done, args):
    """Failed where the program crashed, or a sanitizer spoke."""
    ended = {-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGFPE, -signal.SIGILL, -signal.SIGXFSZ, -signal.SIGPIPE}
    if done.code in ended or b"Sanitizer" in done.err or b"runtime error:" in done.err:
        raise Failed("crashed (%d): %s: %s" % (done.code, shown(args), done.err.decode(errors="replace")[-600:]))
