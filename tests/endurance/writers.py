"""Two processes at once that write one output: one works, the other one says whose it is, before any work. A cache and an n-gram
store are shared: both work."""
import os
import signal
import subprocess
import tempfile
import time

from kills import undisturbed
from trial import Done, Failed, Skipped, crash
from works import env_of, inputs_of, kinds, only_named, sentence, shown, touched, untouched, whole

SHARED = ("run", "tune", "bench", "curve", "accuracy") # what two may write at once, each file whole at any moment


def collect(child, out, err, line):
    try:
        code = child.wait(120)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        raise Failed("did not end within 120 s: %s" % shown(line)) from None
    for f in (out, err):
        f.seek(0)
    done = Done(code, out.read(), err.read(), 0)
    crash(done, line)
    return done


def start(trial, line, at):
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
    return trial.start(line, cwd=at, env=env_of(trial, os.path.basename(at)), stdout=out, stderr=err), out, err


def holds_lock(child, at):
    """Whether a lock in `at` has the child's number: it is written once the lock is held."""
    for name in os.listdir(at):
        try:
            if name.endswith(".lock") and str(child.pid) in open(os.path.join(at, name)).read():
                return True
        except OSError:
            pass # gone since
    return False


def stopped_with_lock(child, at):
    """Stops the child once it holds a lock; False: it ended before."""
    while child.poll() is None:
        if holds_lock(child, at):
            child.send_signal(signal.SIGSTOP)
            return holds_lock(child, at)
        time.sleep(0.0005)
    return False


def second_is_refused(trial, work, at):
    """While the first one waits with its lock, the second gives up at once, and names it."""
    first = start(trial, work.line, at)
    try:
        held = stopped_with_lock(first[0], at)
        second = None
        if held:
            second = trial.run(work.line, timeout=60, cwd=at, env=env_of(trial, os.path.basename(at)))
    finally:
        first[0].send_signal(signal.SIGCONT)
    done = collect(*first, work.line)
    sentence(done, work.line, (0,))
    if second is None:
        raise Skipped("the first had ended before its lock was seen")
    sentence(second, work.line, (1,))
    if str(first[0].pid) not in second.sentence():
        raise Failed("does not name process %d: %s: %s" % (first[0].pid, shown(work.line), second.sentence()))


def both_at_once(trial, work, at):
    """Whoever comes first works; the other one is refused by its lock, or comes when all is done."""
    first = start(trial, work.line, at)
    time.sleep(trial.rng.choice([0, 0, 0.002, 0.02]))
    second = start(trial, work.line, at)
    done = [collect(*c, work.line) for c in (first, second)]
    good = [d for d in done if d.code == 0]
    if not good:
        raise Failed("neither of two worked: %s: %s" % (shown(work.line), " / ".join(d.sentence() for d in done)))
    for d, other in ((done[0], second), (done[1], first)):
        sentence(d, work.line, (0,) if work.name in SHARED else (0, 1))
        # A training that came later finds a checkpoint, and says so.
        if d.code and str(other[0].pid) not in d.sentence() and ".ckpt" not in d.sentence():
            raise Failed("does not name process %d: %s: %s" % (other[0].pid, shown(work.line), d.sentence()))
    return done


def two(trial, work):
    env_of(trial, "a")
    env_of(trial, "b")
    at = trial.path("b")
    _, out, value = undisturbed(trial, work)
    before = touched(inputs_of(trial, work.line))
    if work.name in SHARED or trial.rng.random() < 0.5:
        for d in both_at_once(trial, work, at):
            if work.prints and d.out != out:
                raise Failed("an answer is another: %s" % shown(work.line))
    else:
        second_is_refused(trial, work, at)
    only_named(work, at)
    whole(trial, at)
    if work.value and work.value(trial, at) != value:
        raise Failed("the result is not that of one alone: %s" % shown(work.line))
    untouched(before)


KINDS = kinds("writers", two)
