"""kill -9 at a random moment of every command that writes; the next run goes on and ends as if nothing had happened."""
import os
import time

from trial import Failed
from works import UNFINISHED, env_of, inputs_of, kinds, must, only_named, sentence, shown, touched, untouched, whole


def wait_for_moment(trial, child, folder, seconds):
    """Until a random part of `seconds` has passed, or until a random number of files came or went in `folder`."""
    rng, end = trial.rng, time.monotonic() + seconds * 1.1
    changes, part = rng.randint(1, 6), rng.random()
    if rng.random() < 0.5:
        end = time.monotonic() + seconds * 1.1 * part
        changes = 1 << 30
    last = names(folder)
    while child.poll() is None and time.monotonic() < end and changes > 0:
        now = names(folder)
        changes -= now != last
        last = now
    if changes == 0 and rng.random() < 0.5: # within what comes next
        time.sleep(rng.random() * 0.003)


def names(folder):
    found = set()
    for top in (folder, os.path.join(folder, "states"), os.path.join(folder, "report"), os.path.join(folder, "store"), os.path.join(folder, "cache/forerun")):
        try:
            found.update(os.listdir(top))
        except OSError:
            pass
    return found


def undisturbed(trial, work):
    """(seconds, output, value) of the work in a folder of its own."""
    done = must(trial.run(work.line, cwd=trial.path("a"), env=env_of(trial, "a")), work.name)
    only_named(work, trial.path("a"))
    whole(trial, trial.path("a"))
    return done.seconds, done.out, work.value and work.value(trial, trial.path("a"))


def goes_on(trial, work, at, out, value):
    """The next run ends well and as the undisturbed one did, and leaves nothing unfinished."""
    line = work.again(at)
    done = sentence(trial.run(line, cwd=at, env=env_of(trial, os.path.basename(at))), line, (0,))
    only_named(work, at)
    whole(trial, at)
    if work.prints and done.out != out:
        raise Failed("the next run's answer is another: %s" % shown(line))
    if work.value and work.value(trial, at) != value:
        raise Failed("the result is not that of an undisturbed run: %s" % shown(line))


def killed(trial, work):
    env_of(trial, "a")
    at, env = trial.path("b"), env_of(trial, "b")
    seconds, out, value = undisturbed(trial, work)
    before = touched(inputs_of(trial, work.line))
    for _ in range(trial.rng.randint(1, 3)):
        child = trial.start(work.again(at), cwd=at, env=env)
        wait_for_moment(trial, child, at, seconds)
        child.kill()
        child.wait()
        only_named(work, at, UNFINISHED)
        whole(trial, at, cut=True)
        untouched(before)
    goes_on(trial, work, at, out, value)
    untouched(before)


KINDS = kinds("kill", killed)
