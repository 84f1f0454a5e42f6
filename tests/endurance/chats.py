"""Conversations on a terminal that are killed, or get signals, at a random moment: the history file is whole and has what was typed,
and the next conversation goes on with it."""
import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time

from trial import Failed, shown, slowness
from works import env_of, text, tiny_model

SECONDS = 60  # for anything to end that does
BOUND = 3     # for what a signal ends; the machine may be shared
HEADER = b"_HiStOrY_V2_"


class Terminal:
    """The program on a terminal of its own, and what it said so far."""

    def __init__(self, trial, line, at):
        ours, theirs = pty.openpty()
        self.line, self.ours, self.said = line, ours, b""
        self.child = subprocess.Popen([trial.forerun] + [str(a) for a in line], stdin=theirs, stdout=theirs, stderr=theirs, cwd=trial.path(at),
                                      env=dict(env_of(trial, at), TERM="xterm"), start_new_session=True,
                                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        os.set_blocking(ours, False)

    def hear(self, seconds):
        """Whether it said something within so long."""
        if not select.select([self.ours], [], [], seconds)[0]:
            return False
        try:
            said = os.read(self.ours, 65536)
        except OSError: # it has ended
            time.sleep(seconds)
            return False
        self.said += said
        return bool(said)

    def type(self, data):
        while data and self.child.poll() is None:
            try:
                data = data[os.write(self.ours, data):]
            except BlockingIOError:
                self.hear(0.01)
            except OSError:
                return

    def talk(self, lines, until):
        """Types each line once it is quiet, until then or to the end of the program; those that were typed."""
        typed = []
        while self.child.poll() is None and time.monotonic() < until:
            if self.hear(0.02) or not self.said or len(typed) == len(lines):
                continue
            typed.append(lines[len(typed)])
            self.type(typed[-1] + b"\r")
        return typed

    def wait(self, seconds):
        """The exit code, as subprocess has it; Failed where it does not end."""
        end = time.monotonic() + seconds
        while self.child.poll() is None and time.monotonic() < end:
            self.hear(0.01)
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
            raise Failed("did not end within %d s: %s: %r" % (seconds, shown(self.line), self.said[-300:]))
        while self.hear(0):
            pass
        os.close(self.ours)
        return self.child.returncode


# ---------------------------------------------------------------- the history

def history(trial, at):
    """The lines of the file; Failed where it is not whole. None: there is none."""
    path = trial.path(os.path.join(at, "state/forerun/chat_history"))
    if not os.path.exists(path):
        return None
    with open(path, "rb") as f:
        lines = f.read().split(b"\n")
    if lines[0] != HEADER or lines[-1]:
        raise Failed("%s is not whole: %r ... %r" % (path, lines[0], lines[-1]))
    plain = [re.sub(rb"\\(\d{3})", lambda m: bytes([int(m.group(1), 8)]), line) for line in lines[1:-1]]
    for line in plain:
        if not line.endswith(b"\n"):
            raise Failed("%s: a line is cut: %r" % (path, line))
    return [line[:-1] for line in plain]


def nothing_besides(trial, at, killed):
    folder = trial.path(os.path.join(at, "state/forerun"))
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        if name != "chat_history" and not (killed and name.endswith(".part")):
            raise Failed("%s was left in %s" % (name, folder))


def goes_on(trial, line, at, before):
    """The next conversation ends well, and a line of the ones before can be asked again: the last one but /exit."""
    back = 2 if before[-1:] == [b"/exit"] else 1
    again = before[-back:][:1] if len(before) >= back else []
    chat = Terminal(trial, line, at)
    chat.talk([b"\x1b[A" * back if again else b"/again", b"/more", b"/exit"], time.monotonic() + SECONDS)
    code = chat.wait(SECONDS)
    if code:
        raise Failed("the next conversation: exit code %d: %s: %r" % (code, shown(line), chat.said[-300:]))
    expected = before + ([] if again == before[-1:] and again else again or [b"/again"]) + [b"/more", b"/exit"]
    if history(trial, at) != expected:
        raise Failed("the next conversation's history is %r, expected %r" % (history(trial, at), expected))
    nothing_besides(trial, at, False)


# ---------------------------------------------------------------- trials

def typed_lines(trial, turn):
    """Questions, and commands that nobody knows, so that no model reads them; none twice."""
    made = []
    for i in range(trial.rng.randint(2, 6)):
        made.append(("/x" if trial.rng.random() < 0.4 else text(trial.rng, trial.rng.randint(1, 12))) + " %d %d" % (turn, i))
    return [line.encode() for line in made] + [b"/exit"]


def line_of(trial):
    return ["chat", "-m", tiny_model(trial), "-n", trial.rng.choice([4, 60, 200]), "-c", 512, "-t", 1, "--temp", 0, "--chat-template", "chatml",
            "--drafter", trial.rng.choice(["none", "prompt-lookup"])]


def undisturbed(trial, line):
    """The seconds of a conversation in a folder of its own."""
    begun, lines = time.monotonic(), typed_lines(trial, 0)
    env_of(trial, "b")
    chat = Terminal(trial, line, "a")
    chat.talk(lines, time.monotonic() + SECONDS)
    if chat.wait(SECONDS) or history(trial, "a") != lines:
        raise Failed("undisturbed: exit code %d, history %r, expected %r" % (chat.child.returncode, history(trial, "a"), lines))
    nothing_besides(trial, "a", False)
    return time.monotonic() - begun


def killed(trial):
    line = line_of(trial)
    env_of(trial, "a")
    seconds, before = undisturbed(trial, line), []
    for turn in range(trial.rng.randint(1, 3)):
        chat = Terminal(trial, line, "b")
        typed = chat.talk(typed_lines(trial, turn + 1), time.monotonic() + trial.rng.random() * seconds)
        time.sleep(trial.rng.random() * 0.003)
        chat.child.kill()
        chat.wait(SECONDS)
        before = kept(trial, chat, before, typed, "a kill")
        nothing_besides(trial, "b", True)
    goes_on(trial, line, "b", before)


def kept(trial, chat, before, typed, how):
    """What the history is now: as it was, and the first of the lines that were typed since, those to which something was said in any case."""
    now = history(trial, "b") or []
    answered = max([i + 1 for i, line in enumerate(typed) if line + b": unknown" in chat.said], default=0)
    if len(now) < len(before) + answered or now[:len(before)] != before or now[len(before):] != typed[:len(now) - len(before)]:
        raise Failed("after %s the history is %r, before it was %r, then %r was typed" % (how, now, before, typed))
    return now


def signalled(trial):
    """Ctrl-C stops an answer or drops a line; the others end it."""
    line = line_of(trial)
    env_of(trial, "a")
    seconds, before = undisturbed(trial, line), []
    for turn in range(trial.rng.randint(1, 2)):
        number = trial.rng.choice([signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGTERM, signal.SIGHUP])
        lines = typed_lines(trial, turn + 1)
        chat = Terminal(trial, line, "b")
        typed = chat.talk(lines, time.monotonic() + trial.rng.random() * seconds)
        ran = chat.child.poll() is None
        chat.child.send_signal(number)
        if ran and number == signal.SIGINT: # what it cut in two is two lines
            chat.talk(lines[len(typed):] + [b"/exit"] * 2, time.monotonic() + SECONDS)
        code = chat.wait(SECONDS if number == signal.SIGINT else BOUND * slowness(trial.forerun))
        codes = {signal.SIGINT: (0, 130, -number), signal.SIGTERM: (0, 130, -number), signal.SIGHUP: (0, -number)}[number]
        if code not in codes:
            raise Failed("%s: exit code %d: %s: %r" % (number.name, code, shown(line), chat.said[-300:]))
        now = history(trial, "b") or []
        if number == signal.SIGINT and now[:len(before)] != before:
            raise Failed("%s: the history is %r, before it was %r" % (number.name, now, before))
        before = now if number == signal.SIGINT else kept(trial, chat, before, typed, number.name)
        nothing_besides(trial, "b", code < 0)
    goes_on(trial, line, "b", before)


KINDS = {"kill-chat": (2, killed), "signal-chat": (3, signalled)}
