"""SIGINT and SIGTERM at random moments of every command that writes, two of them in quick succession, and the signals that must not
matter: it ends at once with exit code 130, every file whole, and the next run goes on."""
import os
import signal
import subprocess
import tempfile
import time

from kills import goes_on, undisturbed, wait_for_moment
from trial import Done, Failed, crash
from works import LOCK, UNFINISHED, env_of, inputs_of, kinds, only_named, sentence, shown, touched, untouched, whole

# An interrupt is to end the work within a second; the machine may be shared.
SECONDS, SECONDS_SANITIZED = 3, 10
STARTING = 0.1 # seconds in which the program may not yet have said what it does with signals


def bound(trial):
    with open(trial.forerun, "rb") as f:
        return SECONDS_SANITIZED if b"__ubsan_handle" in f.read() else SECONDS


def disturbed(trial, line, at, seconds, send):
    """Starts the line, calls `send` with the child at a random moment: (Done, seconds from then to its end, seconds before), or None: it had ended."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begun = time.monotonic()
        child = trial.start(line, cwd=at, env=env_of(trial, os.path.basename(at)), stdout=out, stderr=err)
        wait_for_moment(trial, child, at, seconds)
        if child.poll() is not None:
            return None
        sent = time.monotonic()
        send(child)
        try:
            code = child.wait(120)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            raise Failed("did not end within 120 s of a signal: %s" % shown(line)) from None
        out.seek(0)
        err.seek(0)
        done = Done(code, out.read(), err.read(), time.monotonic() - begun)
        if code not in (-signal.SIGXFSZ, -signal.SIGPIPE) or sent - begun > STARTING:
            crash(done, line)
        return done, time.monotonic() - sent, sent - begun


def once(number):
    return lambda trial, child: child.send_signal(number)


def twice(trial, child):
    child.send_signal(trial.rng.choice([signal.SIGINT, signal.SIGTERM]))
    time.sleep(trial.rng.choice([0, 0.001, 0.01]))
    child.send_signal(signal.SIGINT)


# name: (how it is sent, exit codes, whether the work is cut short, what may be left for the next run to clear away)
SIGNALS = {
    "SIGINT": (once(signal.SIGINT), (130,), True, None),
    "SIGTERM": (once(signal.SIGTERM), (130,), True, None),
    "two": (twice, (130,), True, LOCK),
    "SIGHUP": (once(signal.SIGHUP), (130, -signal.SIGHUP), True, UNFINISHED),
    "SIGPIPE": (once(signal.SIGPIPE), (0,), False, None),
    "SIGXFSZ": (once(signal.SIGXFSZ), (0,), False, None),
}
WEIGHTS = [4, 4, 4, 1, 1, 1]


def signalled(trial, work):
    env_of(trial, "a")
    env_of(trial, "b")
    at = trial.path("b")
    seconds, out, value = undisturbed(trial, work)
    before = touched(inputs_of(trial, work.line))
    for _ in range(trial.rng.randint(1, 2)):
        name = trial.rng.choices(list(SIGNALS), WEIGHTS)[0]
        send, codes, cut_short, left = SIGNALS[name]
        line = work.again(at)
        ended = disturbed(trial, line, at, seconds, lambda child: send(trial, child))
        if ended:
            done, took, after = ended
            early = tuple(-n for n in (signal.SIGINT, signal.SIGTERM, signal.SIGXFSZ, signal.SIGPIPE) if after < STARTING)
            sentence(done, [name + ":"] + line, codes + early + (0,))
            if done.code == 130 and name != "two" and b"interrupted" not in done.err:
                raise Failed("%s: does not say that it was interrupted: %s: %r" % (name, shown(line), done.err[-200:]))
            if cut_short and took > bound(trial):
                raise Failed("%s: ended after %.1f s: %s" % (name, took, shown(line)))
            # Two signals may come within a line of answers, and leave its beginning.
            whole(trial, at, cut=name in ("two", "SIGHUP"))
            try:
                # Ended before it took signals in hand: what the last one left is still there.
                only_named(work, at, UNFINISHED if done.code < 0 else left)
            except Failed as why:
                raise Failed("%s, exit code %d: %s: %s" % (name, done.code, why, done.err[-200:])) from None
        untouched(before)
    goes_on(trial, work, at, out, value)
    untouched(before)


KINDS = kinds("signal", signalled)
