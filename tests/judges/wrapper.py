#!/usr/bin/env python3
"""Stands where llama.cpp's server tests expect llama-server: starts that, or `forerun serve`, with models of this machine.

The tests' models come from a hub: their names are mapped to two files of FR_MODELS. llama-server gets its other flags as
they are; forerun gets those it has, by its own names, and the rest is dropped. The environment says which program:
FR_JUDGE_OF (theirs, ours) and FR_JUDGE_PROGRAM.
"""
import os
import re
import sys
import tempfile

MODELS = os.environ["FR_MODELS"]
USUAL, INFILL = "smollm2-135m.gguf", "qwen2.5-coder-0.5b.gguf"
NAMES_OF_MODELS = ("--model", "--model-url", "--hf-repo", "--hf-file")
ALONE = {"--offline", "--cont-batching", "--embedding", "--reranking", "--metrics", "--kv-unified", "--swa-full", "--slots",
         "--no-slots", "--verbose", "--context-shift", "--no-ui", "--no-models-autoload", "--jinja", "--no-jinja",
         "--no-mmproj", "--no-cache-idle-slots", "--ui-mcp-proxy", "--backend_sampling"}
# Flags that both have, with forerun's name; a flag that is in no list is dropped with its value.
SHARED = {"--host": "--host", "--port": "--port", "--temp": "--temp", "--seed": "--seed", "--api-key": "--api-key",
          "--alias": "--alias", "--tags": "--tags", "--parallel": "--parallel", "--n-predict": "--n-predict",
          "--threads": "--threads", "--cache-ram": "--cache-ram", "--cors-origins": "--cors-origins",
          "--chat-template-file": "--chat-template-file",
          "--reasoning": "--reasoning"}
SHARED_ALONE = {"--metrics", "--slots", "--no-slots", "--verbose"}


def parse(words):
    """[(flag, value or None)]"""
    found, i = [], 0
    while i < len(words):
        alone = words[i] in ALONE
        found.append((words[i], None if alone else words[i + 1]))
        i += 1 if alone else 2
    return found


def model_of(flags):
    named = " ".join(value for flag, value in flags if flag in NAMES_OF_MODELS)
    return os.path.join(MODELS, INFILL if "infill" in named.lower() else USUAL)


def words_of(flags):
    return [word for flag, value in flags for word in (flag, value) if word is not None]


def theirs(flags):
    kept = [(flag, os.path.join(MODELS, USUAL) if flag == "--model-draft" else value) for flag, value in flags
            if flag not in NAMES_OF_MODELS and flag != "--offline"]
    has_model = any(flag in NAMES_OF_MODELS for flag, _ in flags)  # without one it is a router
    # Its AMX kernels, for repacked weights alone, fault on some machines.
    return (["--model", model_of(flags), "--no-repack"] if has_model else []) + words_of(kept)


def template(name):
    """A name is a template's, else it is one itself."""
    if re.fullmatch(r"[\w.-]+", name):
        return ["--chat-template", name]
    # A file without a name, which ends with the program.
    with tempfile.TemporaryFile() as out:
        out.write(name.encode())
        kept = os.dup(out.fileno())
    os.set_inheritable(kept, True)
    return ["--chat-template-file", "/dev/fd/%d" % kept]


def ours(flags):
    value_of = dict(flags)
    words = ["serve", "--model", model_of(flags), "--drain", "1"]
    for flag, value in flags:
        if flag in SHARED_ALONE:
            words.append(flag)
        elif flag == "--chat-template":
            words += template(value)
        elif flag in SHARED:
            words += [SHARED[flag], value]
    if "--ctx-size" in value_of:  # one pool of all slots: each may take it whole
        words += ["--slot-ctx" if "--kv-unified" in value_of else "--ctx-size", value_of["--ctx-size"]]
    if "--parallel" not in value_of:
        words += ["--parallel", "4"]
    if "--cors-origins" not in value_of:  # llama-server allows every page unless told
        words += ["--cors-origins", "*"]
    if "--model-draft" in value_of:
        words += ["--drafter", "draft-model:" + os.path.join(MODELS, USUAL)]
    return words


def main():
    flags, program = parse(sys.argv[1:]), os.environ["FR_JUDGE_PROGRAM"]
    words = theirs(flags) if os.environ["FR_JUDGE_OF"] == "theirs" else ours(flags)
    print("judge: %s %s" % (program, " ".join(words)), flush=True)
    os.execv(program, [program] + words)


if __name__ == "__main__":
    main()
