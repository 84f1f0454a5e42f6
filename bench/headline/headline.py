#!/usr/bin/env python3
"""The speeds of the README's picture: forerun and llama.cpp, with and without drafting, on the same
requests.

    bench/headline/headline.py -m MODEL.gguf [-m ...] --prompts DIR --llama PATH/llama-server --draft DRAFT.gguf \\
        --csv docs/headline.csv [--each 2] [--rounds 3]
    bench/headline/picture.py docs/headline.csv docs/pictures/headline.svg

A round of a model starts one server for each system, with one slot each, and sends all of them the
same chats, in turns request by request, so that changes of the machine affect all alike. Another
system is first each time. Temperature is 0 and nothing is cached between requests. forerun starts
without a profile and measures one, as on a user's first day. Rounds are appended to --csv when they
end. A round that is there is not measured again, and --limit S starts none after S seconds.

Prompts are the first --each of a set that the model answers with at least 64 tokens.

Round 0 selects the speculative mode of llama.cpp that is shown: all of --modes run on one chat of
each set, and the fastest over all of them is used. This favours llama.cpp if two modes are close.

Columns, by the client's clock and in the same way for all systems:
  tok_s      tokens after the first event with text, divided by the time from that event to the last
             token. The time excludes reading the prompt, and the tokens of a first pass that brings
             several do not count.
  first      tokens that came with the first event
  whole_ms   from the request to the end of the answer
  same       the text is that of the same program's plain decoding
  others     CPUs that other programs and the machine's host used meanwhile
"""
import argparse
import contextlib
import datetime
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[1:1] = [os.path.join(ROOT, "bench", part) for part in ("", "peers", "serve")]

import load
import servers
from calls import Failure, append_lines, name_of, read_lines, run, say
from machine import cpu_name, physical_cores

FIELDS = ["date", "cpu", "isa", "threads", "model", "round", "system", "set", "item", "prompt", "prompt_tokens", "tokens", "first", "ms", "tok_s",
          "whole_ms", "same", "others"]
OURS = ["forerun", "forerun=none"]
LEAST = 64  # tokens; a shorter answer may be over in a few milliseconds, in which the client had no turn
SCREENING = 0  # the round that finds llama.cpp's best mode


def saved(path):
    return read_lines(path) if path and os.path.exists(path) else []


class Answer:
    """What one streamed answer says of itself, and when it came."""

    def __init__(self, request):
        self.text, self.usage, counted = "", None, []
        for at, data in load.lines_of(request.parts):
            event = json.loads(data[6:]) if data.startswith(b"data: {") else {}
            if "error" in event:
                raise ValueError("the server said %s" % event["error"])
            self.text += (event["choices"][0]["delta"].get("content") or "") if event.get("choices") else ""
            self.usage = event.get("usage") or self.usage
            tokens = (event.get("timings") or {}).get("predicted_n")
            if tokens and (not counted or tokens > counted[-1][1]):
                counted.append((at, tokens))
        if not self.usage or len(counted) < 2:
            raise ValueError("an answer of one event, or without its usage: %r" % self.text[:100])
        self.tokens, self.first = counted[-1][1], counted[0][1]
        self.ms = 1e3 * (counted[-1][0] - counted[0][0])
        self.whole_ms = 1e3 * (request.parts[-1][0] - request.sent)

    def speed(self):
        return 1e3 * (self.tokens - self.first) / self.ms


class Systems:
    """One server for each system, all at once; each is asked alone."""

    def __init__(self, args, model, names, stack):
        self.args, self.servers = args, {}
        for name in names:
            port = servers.free_ports(1)[0]
            command = servers.command(name, args, model, 1, port)
            if not command:
                continue
            server = servers.Server(command, port, subprocess.DEVNULL)
            stack.callback(server.end)
            server.ready(300)
            self.servers[name] = server
            self.request(name, "Say hello.", 4)  # its first answer is not counted

    def request(self, name, prompt, tokens):
        """(request, CPU seconds spent here)."""
        body = {"max_tokens": tokens, "temperature": 0, "stream": True, "cache_prompt": False, "stream_options": {"include_usage": True},
                "timings_per_token": True}
        requests, _, _, spent = load.run(self.servers[name].port, [("one", prompt)], 1, body, 600)
        return requests[0], spent

    def ask(self, name, prompt, tokens):
        """(answer, CPUs of others meanwhile)."""
        server = self.servers[name]
        own, machine, began = server.cpu(), sum(servers.machine_time()), time.perf_counter()
        request, spent = self.request(name, prompt, tokens)
        lasted = time.perf_counter() - began
        others = sum(servers.machine_time()) - machine - (server.cpu() - own) - spent
        return Answer(request), max(0, others / lasted)

    def answer_tokens(self, name, prompt):
        """Tokens of its answer, at most LEAST."""
        return load.read(self.request(name, prompt, LEAST)[0])["usage"]["completion_tokens"]

    def turns(self, number):
        names = list(self.servers)
        at = number % len(names)
        return names[at:] + names[:at]


def line(name, where, answer, same, others):
    return {**where, "system": name, "prompt_tokens": answer.usage["prompt_tokens"], "tokens": answer.tokens, "first": answer.first,
            "ms": "%.1f" % answer.ms, "tok_s": "%.2f" % answer.speed(), "whole_ms": "%.1f" % answer.whole_ms, "same": same or "",
            "others": "%.2f" % others}


def plain_of(name):
    """The system whose text must be the same."""
    return "forerun=none" if name.startswith("forerun") else "llama"


def chosen(sets, each, long_enough):
    """(set, place in it, prompt) of the first prompts of each set that are answered at length."""
    dealt = []
    for name, prompts in sets.items():
        found = []
        for item, prompt in enumerate(prompts):
            if len(found) < each and long_enough(prompt):
                found.append((name, item, prompt))
        dealt += found
    return dealt


def measure(args, model, names, sets, where):
    """One round of a model."""
    lines = []
    with contextlib.ExitStack() as stack:
        os.environ["XDG_CACHE_HOME"] = stack.enter_context(tempfile.TemporaryDirectory())
        systems = Systems(args, model, names, stack)
        if not systems.servers:
            raise Failure("%s: none of %s could be started" % (where["model"], ", ".join(names)))
        if where["round"] == SCREENING:
            dealt = chosen(sets, 1, lambda prompt: True)
        else:  # the answers' lengths are those of plain decoding
            dealt = chosen(sets, args.each, lambda prompt: systems.answer_tokens("forerun=none", prompt) == LEAST)
        for number, (task, item, prompt) in enumerate(dealt):
            found = {name: systems.ask(name, prompt, args.tokens) for name in systems.turns(number + where["round"])}
            for name, (answer, others) in found.items():
                plain = found.get(plain_of(name))
                same = plain and ("yes" if answer.text == plain[0].text else "no")
                lines.append(line(name, {**where, "set": task, "item": item, "prompt": number}, answer, same, others))
            say("%s, round %d, %s %d: %s" % (where["model"], where["round"], task, number,
                                             ", ".join("%s %s" % (l["system"], l["tok_s"]) for l in lines[-len(found):])))
    return lines


def speed(lines, system):
    """Over all prompts of a round together."""
    own = [l for l in lines if l["system"] == system]
    return sum(int(l["tokens"]) - int(l["first"]) for l in own) / sum(float(l["ms"]) for l in own)


def best_mode(lines, model):
    own = [l for l in lines if l["model"] == model and int(l["round"]) == SCREENING]
    modes = {l["system"] for l in own if "=" in l["system"]}
    if not modes:
        raise Failure("%s: no speculative mode of llama.cpp could be had" % model)
    return max(sorted(modes), key=lambda mode: speed(own, mode))


def sets_of(args):
    prompts = load.Prompts(sorted(glob.glob(os.path.join(args.prompts, "*_dev.jsonl"))))
    return {name: prompts.sets[name] for name in args.sets}


def measure_all(args):
    began, lines, sets = time.monotonic(), saved(args.csv), sets_of(args)
    isa = json.loads(run([args.forerun, "doctor", "--json"]))["machine"]["isa"]
    for number in range(SCREENING, args.rounds + 1):
        for model in args.model:
            name = name_of(model)
            if any(l["model"] == name and int(l["round"]) == number for l in lines):
                continue
            if time.monotonic() - began > args.limit:
                return say("stopped at --limit; call again to go on")
            if number == SCREENING:
                names = ["llama=" + mode for mode in args.modes]
            else:
                names = OURS + ["llama", best_mode(lines, name)]
            where = {"date": datetime.date.today().isoformat(), "cpu": args.cpu, "isa": isa, "threads": args.threads, "model": name,
                     "round": number}
            found = measure(args, model, names, sets, where)
            lines += found
            append_lines(args.csv, FIELDS, found)
    return None


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-m", "--model", action="append", required=True, metavar="FILE")
    add("--prompts", required=True, metavar="DIR", help="its *_dev.jsonl, lines with task and messages")
    add("--sets", default="humaneval,gsm8k,alpaca,mt_bench", metavar="TASK,...", help="default: %(default)s")
    add("--each", type=int, default=2, metavar="N", help="prompts of each set (default: 2)")
    add("--rounds", type=int, default=3, metavar="N")
    add("--tokens", type=int, default=128, metavar="N", help="of an answer at most (default: 128)")
    add("--modes", default="ngram-simple,ngram-mod,ngram-cache,draft-simple", metavar="TYPE,...", help="of llama.cpp (default: %(default)s)")
    add("--draft", action="append", metavar="FILE", help="draft model for the larger models of its family")
    add("--llama", required=True, metavar="PATH", help="llama.cpp's llama-server")
    add("--forerun", default=os.path.join(ROOT, "build", "forerun"), metavar="PATH")
    add("-t", "--threads", type=int, default=physical_cores(), metavar="N", help="of both programs (default: the physical cores)")
    add("--slot-ctx", type=int, default=4096, metavar="N", help="context (default: 4096)")
    add("--cpu", default=cpu_name(), metavar="NAME", help="the processor, where the system's name for it says little (default: %(default)s)")
    add("--limit", type=float, default=1e9, metavar="S", help="no round is begun later than this")
    add("--csv", required=True, metavar="FILE")
    args = parser.parse_args()
    args.sets, args.modes, args.ik = args.sets.split(","), [m for m in args.modes.split(",") if m], None
    return args


def main():
    args = arguments()
    try:
        measure_all(args)
    except (Failure, OSError, ValueError) as failure:
        say("headline.py: %s" % failure)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
