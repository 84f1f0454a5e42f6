#!/usr/bin/env python3
"""Tests the command line tool `llm` with `forerun serve`: prompts, streams, conversations, tools,
its log, errors.

    bench/serve/clients/llm_client.py --model MODEL.gguf [--program build/forerun] [--llm llm]     needs `pip install llm`
"""
import argparse
import json
import os
import signal
import subprocess
import tempfile
import time

from server import Server, arguments, check, finish, skip

MODELS = """
- model_id: forerun
  model_name: forerun
  api_base: {url}
  api_key_name: forerun
  supports_tools: true
- model_id: forerun-text
  model_name: forerun
  api_base: {url}
  api_key_name: forerun
  completion: true
"""
TOOL = 'def weather(city: str) -> str:\n    "Tells the weather of a city."\n    return "18 degrees, sunny"\n'


class Tool:
    def __init__(self, program, folder):
        self.program, self.env = program, {**os.environ, "LLM_USER_PATH": folder}

    def run(self, *words, stdin=""):
        return subprocess.run([self.program, *words], env=self.env, input=stdin, capture_output=True, text=True, timeout=600)

    def say(self, *words, stdin=""):
        done = self.run(*words, stdin=stdin)
        check("exit 0: llm " + " ".join(words)[:60], done.returncode == 0, done.stderr)
        return done.stdout.strip()


GREEDY = ("-m", "forerun", "-o", "temperature", "0", "-o", "max_tokens", "40")


def talks(llm):
    whole = llm.say(*GREEDY, "--no-stream", "Name three rivers.")
    check("a prompt: text", bool(whole))
    check("a prompt: the same as a stream", llm.say(*GREEDY, "Name three rivers.") == whole)
    check("a prompt: from a pipe", llm.say(*GREEDY, stdin="Name three rivers.") == whole)
    check("a system prompt", bool(llm.say(*GREEDY, "-s", "You are brief.", "Name a river.")))
    llm.say(*GREEDY, "--no-stream", "My name is Ada. Say hello.")
    check("a conversation goes on", bool(llm.say("-c", "-o", "temperature", "0", "-o", "max_tokens", "40", "What is my name?")))
    logged = json.loads(llm.say("logs", "--json", "-n", "1"))[0]
    check("its log: text and usage", logged["model"] == "forerun" and logged["input_tokens"] > 0 and logged["output_tokens"] > 0, logged)
    check("a text completion", bool(llm.say("-m", "forerun-text", "-o", "max_tokens", "8", "-o", "temperature", "0",
                                            "The capital of France is")))


def uses_tools(llm):
    done = llm.run(*GREEDY, "--functions", TOOL, "--td", "What is the weather in Paris? Use the tool.")
    if "weather" not in done.stderr:
        skip("tools", f"this model called none: {done.stdout[:80]!r} {done.stderr[-200:]!r}")
    else:
        check("tools: called, and the result is read", done.returncode == 0 and "Paris" in done.stderr and "18 degrees" in done.stderr and done.stdout, done)


def goes_wrong(llm, server):
    done = llm.run(*GREEDY, "--key", "wrong", "a")
    check("errors: a wrong key", done.returncode != 0 and "Invalid API Key" in done.stderr, done)
    done = llm.run("-m", "forerun", "a b " * 9000)
    check("errors: too long a prompt", done.returncode != 0 and "context" in done.stderr, done)
    p = subprocess.Popen([llm.program, "-m", "forerun", "-o", "max_tokens", "3000", "Tell me a very long story."], env=llm.env,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    p.stdout.read(1)
    p.send_signal(signal.SIGINT)
    p.wait(60)
    for _ in range(100):
        if b'"is_processing":true' not in server.ask("GET", "/slots", headers={"X-Api-Key": "sesame"})[1]:
            break
        time.sleep(0.1)
    else:
        check("Ctrl-C: the slot is free again", False)
    check("Ctrl-C: the next one is answered", bool(llm.say(*GREEDY, "Name three rivers.")))


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--llm", default="llm")
    o = arguments(a)
    with Server(o.program, o.model, "--quiet", "--api-key", "sesame") as server, tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "extra-openai-models.yaml"), "w", encoding="utf-8") as f:
            f.write(MODELS.format(url=server.url))
        llm = Tool(o.llm, folder)
        llm.say("keys", "set", "forerun", "--value", "sesame")
        check("models: listed", "forerun" in llm.say("models"))
        talks(llm)
        uses_tools(llm)
        goes_wrong(llm, server)
    finish()


if __name__ == "__main__":
    main()
