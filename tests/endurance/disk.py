"""A disk without room: a small file system of its own, or a limit on the size of files. The command says which file and why, leaves no half
file and no part, what stood there stands there, and with room the next run goes on."""
import os
import re
import resource
import shutil
import signal
import subprocess

from kills import goes_on, undisturbed
from trial import Done, Failed, Skipped, crash
from works import content, env_of, files_below, inputs_of, kinds, only_named, sentence, shown, touched, untouched, whole

PAGE = 4096
# As the system says it, or told before the work.
FULL = re.compile(r"No space left on device|File too large|MB of free disk, found|found a limit of")
MEASURED = ("tune", "bench", "curve", "accuracy") # what was measured is printed, whether or not its file can be written

# $1: bytes, $2: folder, $3: a copy of it before and after, $4: file of the exit code; then the line.
IN_SMALL = """
mount -t tmpfs -o size=$1 none "$2" 2>/dev/null || exit 99
folder=$2 copy=$3 code=$4
cp -a "$copy/." "$folder" || exit 98
shift 4
cd "$folder" && "$@"
echo $? > "$code"
cd /
rm -rf "$copy" && cp -a "$folder" "$copy"
"""


def pages(folder):
    return sum(-(-os.path.getsize(f) // PAGE) for f in files_below(folder))


def ended(command, line, **kwargs):
    """A command's end and what it said; after two minutes it and its children are ended."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **kwargs)
    try:
        out, err = child.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        raise Failed("did not end within 120 s: %s" % shown(line)) from None
    return Done(child.returncode, out, err, 0)


def in_small(trial, line, at, size):
    """Runs the line in a file system of `size` bytes that holds what is in `at`; what is there at the end comes back to `at`."""
    mount, code = trial.path("mount"), trial.path("code")
    os.makedirs(mount, exist_ok=True)
    env = {k: v.replace(at, mount) for k, v in env_of(trial, os.path.basename(at)).items()}
    done = ended(["unshare", "-m", "sh", "-c", IN_SMALL, "sh", str(size), mount, at, code, trial.forerun] + [str(a) for a in line], line, env=env)
    if done.code == 99 or b"unshare" in done.err[:20]:
        raise Skipped("no right to mount")
    if not os.path.exists(code):
        raise Skipped("what was there does not fit")
    with open(code) as f:
        number = int(f.read())
    return Done(number if number <= 128 else 128 - number, done.out, done.err, 0) # of a signal, as the shell says it


def limited(trial, line, at, size):
    return ended([trial.forerun] + [str(a) for a in line], line, cwd=at, env=env_of(trial, os.path.basename(at)),
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))


def old_result(trial, work, at):
    """In half of the trials the result of an earlier run stands there: its path and content."""
    if not re.search(r"\.(gguf|frd|svg)$", (work.outputs or [""])[0]) or trial.rng.random() < 0.5:
        return None
    shutil.copy(os.path.join(trial.path("a"), work.outputs[0]), at)
    return work.outputs[0]


def full(trial, work):
    env_of(trial, "a")
    env_of(trial, "b")
    at = trial.path("b")
    seconds, out, value = undisturbed(trial, work)
    before = touched(inputs_of(trial, work.line))
    old = old_result(trial, work, at)
    was = old and content(old)(trial, at)
    needed = pages(trial.path("a")) + (pages(at) if old else 0)
    run = trial.rng.choice([in_small, limited])
    size = PAGE * trial.rng.randint(1 + (pages(at) if old else 0), needed + 2)
    line = work.again(at)
    done = run(trial, line, at, size)
    crash(done, line)
    try:
        look(trial, work, at, line, done, out, old and (old, was))
        untouched(before)
        goes_on(trial, work, at, out, value)
    except Failed as why:
        raise Failed("%s of %d bytes: %s" % (run.__name__, size, why)) from None


def look(trial, work, at, line, done, out, old):
    sentence(done, line, (0, 1))
    said = done.sentence()
    if done.code == 1 and not (FULL.search(said) and any(name in said for name in work.outputs + ["cache", "profile"])):
        raise Failed("does not say which file has no room: %s: %s" % (shown(line), said))
    if old and not os.path.exists(os.path.join(at, old[0])):
        raise Failed("%s is gone, which stood there before: %s" % (old[0], shown(line)))
    if old and done.code == 1 and not work.resume and content(old[0])(trial, at) != old[1]:
        raise Failed("%s is another one after exit code 1: %s" % (old[0], shown(line)))
    if done.code == 0 and work.prints and done.out != out:
        raise Failed("another answer: %s" % shown(line))
    if work.name in MEASURED and not done.out and not re.search("cannot|expected", said):
        raise Failed("what was measured is not printed: %s: %s" % (shown(line), said))
    # Answers are a file that grows: its last line may not have fitted.
    whole(trial, at, cut=done.code == 1)
    only_named(work, at)


KINDS = kinds("disk", full)
