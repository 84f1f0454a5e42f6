"""Standard descriptors that are closed, pipes that nobody reads, a full standard output, few descriptors: an exit code and a sentence,
and nothing that is said goes into a file."""
import os
import resource
import subprocess

from kills import goes_on, undisturbed
from trial import Done, Failed, crash
from works import env_of, inputs_of, kinds, only_named, sentence, shown, touched, untouched, whole


def closed(which):
    def before_exec():
        for fd in which:
            os.close(fd)
    return before_exec


def few(n):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))


def ended(trial, line, at, given, before_exec=None):
    """Runs the line with descriptors as `given`; what it said where there is a pipe for it."""
    child = subprocess.Popen([trial.forerun] + [str(a) for a in line], cwd=at, env=env_of(trial, os.path.basename(at)), preexec_fn=before_exec, **given)
    try:
        out, err = child.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        raise Failed("did not end within 120 s: %s" % shown(line)) from None
    done = Done(child.returncode, out or b"", err or b"", 0)
    crash(done, line)
    return done


def broken_pipe():
    """A pipe's writing end that nobody reads."""
    reads, writes = os.pipe()
    os.close(reads)
    return writes


def draw(trial):
    """(name, descriptors, what to do before the program, exit codes, whether stderr is read)."""
    null = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    shut = [fd for fd in (0, 1, 2) if trial.rng.random() < 0.6]
    made = [
        ("closed %s" % shut, {k: v for k, v in null.items() if ["stdin", "stdout", "stderr"].index(k) not in shut}, closed(shut), (0, 1) if 1 in shut or 2 in shut else (0,)),
        ("stdout a closed pipe", dict(null, stdout=broken_pipe()), None, (0, 1)),
        ("stderr a closed pipe", dict(null, stderr=broken_pipe()), None, (0, 1)),
        ("stdout full", dict(null, stdout=os.open("/dev/full", os.O_WRONLY)), None, (0, 1)),
        ("stderr full", dict(null, stderr=os.open("/dev/full", os.O_WRONLY)), None, (0, 1)),
        ("stdin a folder", dict(null, stdin=os.open("/", os.O_RDONLY)), None, (0,)),
        ("few descriptors", null, few(trial.rng.randint(4, 24)), (0, 1)),
    ]
    chosen = trial.rng.choice(made)
    return chosen + ([fd for m in made for fd in m[1].values() if isinstance(fd, int) and fd > 2],)


def strange(trial, work):
    env_of(trial, "a")
    env_of(trial, "b")
    at = trial.path("b")
    _, out, value = undisturbed(trial, work)
    before = touched(inputs_of(trial, work.line))
    line = work.again(at) + (["--json"] if trial.rng.random() < 0.3 and not work.prints else [])
    name, given, before_exec, codes, fds = draw(trial)
    try:
        done = ended(trial, line, at, given, before_exec)
    finally:
        for fd in fds:
            os.close(fd)
    try:
        check(work, name, line, done, codes, given, out)
        whole(trial, at)
        only_named(work, at)
        untouched(before)
        goes_on(trial, work, at, out, value)
    except Failed as why:
        raise Failed("%s: %s" % (name, why)) from None


def check(work, name, line, done, codes, given, out):
    if done.code not in codes:
        raise Failed("exit code %d: %s: %r" % (done.code, shown(line), done.err[-300:]))
    # Who closes a pipe knows it: nothing is said.
    if given.get("stderr") == subprocess.PIPE and name != "stdout a closed pipe":
        sentence(done, line, codes)
    no_output = given.get("stdout") != subprocess.PIPE
    if work.prints and out and no_output and done.code == 0: # an empty answer needs no output
        raise Failed("the answer went nowhere with exit code 0: %s" % shown(line))
    if work.prints and not no_output and done.code == 0 and done.out != out:
        raise Failed("another answer: %s" % shown(line))


KINDS = kinds("descriptors", strange)
