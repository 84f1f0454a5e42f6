"""The programs that are compared. Every side has the same functions for one model:

    plain(n)              tokens per second of n tokens decoded one per pass, and peak bytes
    prompt(n)             tokens per second of reading n tokens, and peak bytes
    passes(rows)          {n: milliseconds of a pass of n rows, logits on every row, after CONTEXT tokens}
    speculative(message)  {mode: (tokens, seconds, accepted, drafted, same text as that side's plain decoding)}

A side raises Failure for what it cannot do.
"""
import json
import os

import modes as spec
from calls import Failure, peak_run, run

CONTEXT = 512
HERE = os.path.dirname(os.path.abspath(__file__))


def in_turns(sides, call, rounds, first=0):
    """One list a round of (side, what `call` of it gave), in the order of `sides`; every round begins with another one."""
    found = []
    for i in range(rounds):
        at = (first + i) % len(sides)
        one = {side: call(side) for side in sides[at:] + sides[:at]}
        found.append([(side, one[side]) for side in sides])
    return found


class Inputs:
    """One model and what it is asked; forerun cuts the prompts, so that all sides read the same tokens."""

    def __init__(self, forerun, model, threads, text, folder, predict):
        self.forerun, self.model, self.threads = forerun, model, threads
        self.text, self.folder, self.predict = text, folder, predict

    def tool(self, command, asked, *more):
        return json.loads(run([self.forerun, command, "-m", self.model] + list(more), input=json.dumps(asked)))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def ids(self, tokens):
        with open(self.text, encoding="utf-8") as f:
            ids = self.tool("tokenize", {"text": f.read()})["ids"]
        if len(ids) < tokens:
            raise Failure("--text %s: %d tokens, expected %d or more" % (self.text, len(ids), tokens))
        return ids[:tokens]

    def prompt_file(self, tokens):
        """A file whose text is `tokens` tokens long for this model, or as near as cutting text gets."""
        return self.write("prompt-%d" % tokens, self.tool("detokenize", {"ids": self.ids(tokens)})["text"])

    def rendered(self, message):
        """A user's message as the model reads it: text and tokens."""
        asked = {"messages": [{"role": "user", "content": message}], "add_generation_prompt": True}
        found = self.tool("tokenize", asked, "--messages")
        return found["prompt"], found["ids"]


class Forerun:
    name = "forerun"

    def __init__(self, inputs, isa="auto", drafters=("prompt-lookup",)):
        self.inputs, self.isa, self.drafters = inputs, isa, drafters
        self.used_isa = "unknown"

    def command(self, name, *more):
        return [self.inputs.forerun, name, "-m", self.inputs.model, "-t", str(self.inputs.threads), "--isa", self.isa, "--quiet",
                "--json"] + list(more)

    def version(self):
        return run([self.inputs.forerun, "--version"]).strip()

    def curve(self, rows, context):
        found = json.loads(run(self.command("curve", "--rows", ",".join(map(str, rows)), "--context", str(context))))
        self.used_isa = found["machine"]["isa"]
        return dict(zip(found["rows"], found["ms"]))

    def generation(self, prompt, predict, key):
        out, _, peak = peak_run(self.command("run", "--raw", "-f", prompt, "-n", str(predict), "--drafter", "none", "--temp", "0",
                                             "--ignore-eos"))
        return json.loads(out)[key], peak

    def plain(self, tokens):
        return self.generation(self.inputs.prompt_file(4), tokens, "tok_s")

    def prompt(self, tokens):
        return self.generation(self.inputs.prompt_file(tokens), 1, "prompt_tok_s")

    def passes(self, rows):
        return self.curve(rows, CONTEXT)

    def speculative(self, message):
        path = self.inputs.write("prompt.jsonl", json.dumps({"id": "p", "messages": [{"role": "user", "content": message}]}) + "\n")
        found = json.loads(run(self.command("bench", "--prompts", path, "--drafters", ",".join(("none",) + tuple(self.drafters)),
                                            "-n", str(self.inputs.predict))))
        self.used_isa = found["machine"]["isa"]
        return {r["drafter"]: (r["tokens"], r["tokens"] / r["tok_s"], *accepted_of(r), r["identical"]) for r in found["runs"]}


def accepted_of(run):
    """Tokens that were accepted and that were drafted, of a run that has both a pass."""
    passes = run["tokens"] / run["tokens_per_pass"]
    return (run["tokens_per_pass"] - 1) * passes, (run["rows_per_pass"] - 1) * passes


class Llama:
    """llama.cpp in a folder of its programs, as build.py makes it."""
    name = "llama.cpp"
    bench_options = pass_options = ()

    def __init__(self, inputs, programs, names, draft, rounds=1):
        self.inputs, self.programs, self.names, self.draft, self.rounds = inputs, programs, names, draft, rounds
        self.changed = {}  # of the last passes: how far the first row's logits are from those of the first count

    def program(self, name):
        return os.path.abspath(os.path.join(self.programs, name))

    def bench(self, prompt, predict):
        out, _, peak = peak_run([self.program("llama-bench"), "-m", self.inputs.model, "-t", str(self.inputs.threads), "-r", "1",
                                 "-o", "json", "-p", str(prompt), "-n", str(predict)] + list(self.bench_options))
        return json.loads(out)[0]["avg_ts"], peak

    def plain(self, tokens):
        return self.bench(0, tokens)

    def prompt(self, tokens):
        return self.bench(tokens, 0)

    def passes(self, rows):
        found = json.loads(run([self.program("passes"), *self.pass_options, "curve", self.inputs.model, str(self.inputs.threads),
                                str(CONTEXT), str(self.rounds), ",".join(map(str, rows))]))
        self.changed = dict(zip(found["rows"], found["difference"]))
        return dict(zip(found["rows"], found["ms"]))

    def known_modes(self):
        """Modes to run with their arguments; those that draft with a model only where there is one."""
        for name in self.names:
            words = self.modes[name]
            if "DRAFT" not in words or self.draft:
                yield name, [self.draft if word == "DRAFT" else word for word in words]

    modes = spec.MODES

    def speculative(self, message):
        text = self.inputs.rendered(message)[0].encode()
        path = self.inputs.path("prompt")
        with open(path, "wb") as f:
            f.write(text)
        threads = str(self.inputs.threads)
        plain = json.loads(run([self.program("passes"), "plain", self.inputs.model, threads, path, str(self.inputs.predict)]))
        expected = bytes.fromhex(plain["hex"])
        with open(path, "ab") as f:
            f.write(b"\n")  # its programs drop one
        found = {"none": (plain["tokens"], plain["seconds"], 0, 0, True)}
        for mode, (program, *more) in self.known_modes():
            if "-md" in more:
                more += ["-td", threads, "-tbd", threads]
            out, err, _ = peak_run([self.program(program), "-m", self.inputs.model, "-t", threads, "-tb", threads, "-f", path,
                                    "--no-escape", "-c", "4096", "-n", str(self.inputs.predict), "--temp", "0"] + more)
            found[mode] = spec.read_mode(program, out, err, text) + (spec.same_text(out, text, expected, plain["ended"]),)
        return found


class Ik(Llama):
    """ik_llama.cpp: llama.cpp's interface of an earlier time, and a program of its own for the speculative modes."""
    name = "ik_llama.cpp"
    modes = spec.IK_MODES

    def speculative(self, message):
        path = self.inputs.write("prompt.jsonl", json.dumps({"prompt": self.inputs.rendered(message)[0]}) + "\n")
        threads = str(self.inputs.threads)
        found, expected = {}, None
        for mode, more in [("none", [])] + list(self.known_modes()):
            if "-md" in more:
                more = more + ["-td", threads, "-tbd", threads]
            # An empty --in-prefix is what turns its chat template off. It writes a log where it is run.
            out, _, _ = peak_run([self.program("llama-spec-bench"), "-m", os.path.abspath(self.inputs.model), "-t", threads, "-tb", threads, "-c", "4096",
                                  "-n", str(self.inputs.predict), "--temp", "0", "--in-prefix", "", "--prompts", path, "--output-format",
                                  "jsonl", "--output-details"] + list(self.pass_options) + [os.path.abspath(word) if word == self.draft else word for word in more],
                                 self.inputs.folder)
            measured, text = spec.read_spec_bench(out)
            expected = text if expected is None else expected
            found[mode] = measured + (spec.same_start(text, expected),)
        return found


class IkRepacked(Ik):
    """The same with weights repacked as they are loaded."""
    name = "ik_llama.cpp -rtr"
    bench_options = ("-rtr", "1")
    pass_options = ("-rtr",)


class OpenVino:
    """OpenVINO GenAI, by openvino_run.py in a Python that has it."""
    name = "OpenVINO GenAI"

    def __init__(self, inputs, python, keep):
        self.inputs, self.python, self.keep = inputs, python, keep

    def ask(self, what, *more):
        out, _, peak = peak_run([self.python, os.path.join(HERE, "openvino_run.py"), what, "-m", self.inputs.model, "-t",
                                 str(self.inputs.threads), "--keep", self.keep] + list(more))
        return json.loads(out), peak

    def prepare(self):
        """Its form of the model, outside of what is timed."""
        self.ask("keep")

    def ids_file(self, ids):
        return self.inputs.write("ids.json", json.dumps(ids))

    def plain(self, tokens):
        found, peak = self.ask("plain", "--ids", self.ids_file(self.inputs.ids(4)), "-n", str(tokens))
        return found["tok_s"], peak

    def prompt(self, tokens):
        found, peak = self.ask("prompt", "--ids", self.ids_file(self.inputs.ids(tokens)))
        return found["tok_s"], peak

    def passes(self, rows):
        found, _ = self.ask("passes", "--ids", self.ids_file(self.inputs.ids(CONTEXT + max(rows))), "--rows", ",".join(map(str, rows)))
        return dict(zip(found["rows"], found["ms"]))

    def speculative(self, message):
        ids = self.inputs.rendered(message)[1]
        found, _ = self.ask("speculative", "--ids", self.ids_file(ids), "-n", str(self.inputs.predict))
        return {mode: tuple(values) for mode, values in found["modes"].items()}
