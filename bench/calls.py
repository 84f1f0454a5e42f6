"""Shared by the scripts of bench/: calls of programs, text inserted into documents, results as CSV
files."""
import contextlib
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap


class Failure(Exception):
    """One sentence: what, why, what to do about it."""


@contextlib.contextmanager
def sentences(script):
    """What fails inside ends the program with a sentence that names the script."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit("\nstopped: the same line goes on from here")
    except (Failure, OSError) as failure:
        sys.exit("%s: %s" % (os.path.basename(script), failure))


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(command, codes=(0,), **kwargs):
    """A program's output. Failure with the end of what it said, where its exit code is not among `codes`, or not 0 and it printed nothing."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", **kwargs)
    except OSError as error:
        raise Failure("%s: %s" % (command[0], error.strerror)) from error
    if done.returncode not in codes or (done.returncode and not done.stdout):
        raise Failure("%s: exit code %d: %s" % (" ".join(command[:3]), done.returncode,
                                                (done.stderr.strip() or done.stdout.strip())[-800:] or "it said nothing"))
    return done.stdout


def name_of(path):
    return os.path.splitext(os.path.basename(path))[0]


def peak_run(command, folder=None):
    """Output of a program, run in a folder, and its peak resident memory in bytes."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            child = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, cwd=folder)
        except OSError as error:
            raise Failure("%s: %s" % (command[0], error.strerror)) from error
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode:
            raise Failure("%s: exit code %d: %s" % (" ".join(command[:2]), child.returncode,
                                                    err.read().decode(errors="replace").strip()[-500:]))
        return out.read(), err.read().decode(errors="replace"), usage.ru_maxrss * 1024


def wrapped(text, width=100):
    """The text with long lines broken; headings, rows of tables and short pieces of code stay whole."""
    def lines(line):
        indent = "  " if line.startswith("- ") else ""
        if line.startswith(("|", "#")):
            return line
        whole = re.sub("`[^`]{,90}`", lambda code: code[0].replace(" ", "\0"), line)
        return textwrap.fill(whole, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(lines, text.split("\n"))).replace("\0", " ")


def sets_of_prompts(sets):
    """{set: prompts} in words, sets of equal size together."""
    sizes = {}
    for name, n in sorted(sets.items()):
        sizes.setdefault(n, []).append(name)
    return "; ".join("%d prompts %sof %s" % (n, "each " * (len(sizes[n]) > 1), ", ".join(sizes[n])) for n in sorted(sizes, reverse=True))


def between_markers(path, marks, text):
    """Replaces the text between the two marker comments, `marks`, of a page."""
    with open(path, encoding="utf-8") as f:
        old = f.read()
    if old.count(marks[0]) != 1 or old.count(marks[1]) != 1 or old.index(marks[0]) > old.index(marks[1]):
        raise Failure("%s: expected the line %s once, then the line %s" % (path, *marks))
    before, after = old.split(marks[0])[0], old.split(marks[1])[1]
    with open(path, "w", encoding="utf-8") as f:
        f.write("%s%s\n%s\n%s%s" % (before, marks[0], wrapped(text), marks[1], after))


def json_lines(path):
    """The values of a file of JSON lines; none where there is no such file."""
    if not path or not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip() and line.endswith("\n")]  # the last one may be half written


def append_lines(path, fields, lines):
    """Adds dicts with these keys to a CSV file, which begins with their names."""
    new = not os.path.exists(path)
    with open(path, "a", newline="", encoding="utf-8") as f:
        out = csv.DictWriter(f, fields, lineterminator="\n")
        if new:
            out.writeheader()
        out.writerows(lines)


def read_lines(path):
    """A dict for each line of a CSV file."""
    with open(path, newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))
