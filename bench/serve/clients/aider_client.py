#!/usr/bin/env python3
"""Tests aider with `forerun serve`: a real change to a real file in a git repository made for it.

    bench/serve/clients/aider_client.py --model MODEL.gguf [--program build/forerun] [--aider aider]     needs `pip install aider-chat`

The model must be able to write code (Qwen2.5-Coder 1.5B is). Afterwards the file must have the
change, be valid Python, and do what was requested; the repository must have the commit.
"""
import argparse
import os
import subprocess
import tempfile

from server import Server, arguments, check, finish

BEFORE = '''def area(width, height):
    return width * height


def greet(name):
    print("Hello " + name)
'''
ASK = "Add a function perimeter(width, height) that returns the perimeter of a rectangle. Keep the other functions as they are."


def git(folder, *words):
    return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def edits(o, url, key, edit_format):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "shapes.py")
        with open(path, "w", encoding="utf-8") as f:
            f.write(BEFORE)
        git(folder, "init", "-q")
        git(folder, "config", "user.name", "a")
        git(folder, "config", "user.email", "a@b")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "begin")
        done = subprocess.run(
            [o.aider, "--model", "openai/forerun", "--openai-api-base", url, "--openai-api-key", key, "--edit-format", edit_format,
             "--yes-always", "--no-show-model-warnings", "--no-check-update", "--analytics-disable", "--map-tokens", "0", "--no-gitignore",
             "--no-pretty", "--no-suggest-shell-commands", "--no-detect-urls", "--message", ASK, "shapes.py"],
            cwd=folder, capture_output=True, text=True, timeout=900, stdin=subprocess.DEVNULL,
            env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "HOME": folder})
        with open(path, encoding="utf-8") as f:
            after = f.read()
        print("   " + "\n   ".join(done.stdout.splitlines()[-12:]))
        check(f"{edit_format}: aider ends with 0", done.returncode == 0, done.stderr[-500:])
        there = {}
        try:
            exec(after, there)  # pylint: disable=exec-used
            works = there["perimeter"](2, 3) == 10 and there["area"](2, 3) == 6 and "greet" in there
        except Exception as why:  # pylint: disable=broad-except
            works = check(f"{edit_format}: the file is Python", False, why)
        check(f"{edit_format}: the file does what was asked", works and after != BEFORE, after)
        check(f"{edit_format}: it was committed", len(git(folder, "log", "--format=%s").splitlines()) == 2 and
              not git(folder, "diff", "--stat", "HEAD"), git(folder, "log", "--stat"))


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--aider", default="aider")
    a.add_argument("--edit-formats", default="whole")
    o = arguments(a)
    with Server(o.program, o.model, "--quiet", "--api-key", "sesame", "--slot-ctx", "8192", "--temp", "0") as server:
        for edit_format in o.edit_formats.split(","):
            edits(o, server.url, "sesame", edit_format)
    finish()


if __name__ == "__main__":
    main()
