#!/usr/bin/env python3
"""OpenAI's own Python client against `forerun serve`: chat, stream, choices, log probabilities, tools, errors.

    bench/serve/clients.py --model MODEL.gguf [--program build/forerun]     needs `pip install openai`

Each line says what was asked and whether the answer is what the client's users rely on. Exit 1 if one is not.
"""
import argparse, json, re, subprocess, sys

import openai

BAD = []


def check(what, ok, found=""):
    print(("ok    " if ok else "WRONG ") + what + (f": {found}" if not ok else ""))
    if not ok:
        BAD.append(what)


def fails(what, kind, call):
    try:
        call()
        check(what, False, "no error")
    except kind as why:
        check(what, True)
        return why
    except Exception as why:
        check(what, False, repr(why))


TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "Weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--program", default="build/forerun")
    a.add_argument("--model", required=True)
    o = a.parse_args()
    server = subprocess.Popen([o.program, "serve", "-m", o.model, "--port", "0", "--quiet", "--api-key", "sesame"],
                              stdout=subprocess.PIPE, text=True)
    port = re.search(r":(\d+)$", server.stdout.readline().strip()).group(1)
    url = f"http://127.0.0.1:{port}/v1"
    c = openai.OpenAI(base_url=url, api_key="sesame", max_retries=0)
    model = c.models.list().data[0].id
    check("models.list", bool(model))
    ask = dict(model=model, messages=[{"role": "user", "content": "Name three rivers."}], max_tokens=40, seed=7)
    r = c.chat.completions.create(**ask, temperature=0)
    text = r.choices[0].message.content
    check("chat: text, role, usage", bool(text) and r.choices[0].message.role == "assistant" and
          r.usage.total_tokens == r.usage.prompt_tokens + r.usage.completion_tokens, r)
    again = c.chat.completions.create(**ask, temperature=0)
    check("chat: the same again, from the cache", again.choices[0].message.content == text and
          again.usage.prompt_tokens_details.cached_tokens > 0, again.usage)
    parts = list(c.chat.completions.create(**ask, temperature=0, stream=True, stream_options={"include_usage": True}))
    joined = "".join(p.choices[0].delta.content or "" for p in parts if p.choices)
    check("stream: adds up to the whole", joined == text, joined)
    check("stream: role first, finish_reason last, then usage",
          parts[0].choices[0].delta.role == "assistant" and parts[-2].choices[0].finish_reason in ("stop", "length") and
          not parts[-1].choices and parts[-1].usage.completion_tokens == r.usage.completion_tokens, parts[-1])
    n = c.chat.completions.create(**ask, temperature=1.0, n=3)
    one = c.chat.completions.create(**{**ask, "seed": 8}, temperature=1.0)
    check("n=3: choice i draws with seed + i", len(n.choices) == 3 and
          n.choices[1].message.content == one.choices[0].message.content)
    lp = c.chat.completions.create(**ask, temperature=0, logprobs=True, top_logprobs=3)
    tokens = lp.choices[0].logprobs.content
    check("logprobs: a token each, the best first", "".join(t.token for t in tokens).startswith(text[:20]) and
          all(t.top_logprobs[0].logprob >= t.logprob - 1e-6 for t in tokens))
    st = c.chat.completions.create(**ask, temperature=0, stop=[text[8:12]])
    check("stop: ends before it", text[8:12] not in st.choices[0].message.content and
          st.choices[0].finish_reason == "stop", st.choices[0])
    t = c.completions.create(model=model, prompt="The capital of France is", max_tokens=5, temperature=0, echo=True, logprobs=2)
    check("completions: echo with the prompt's logprobs", t.choices[0].text.startswith("The capital of France is") and
          t.choices[0].logprobs.token_logprobs[0] is None and len(t.choices[0].logprobs.tokens) > 5)
    why = fails("errors: a wrong field is a BadRequestError that names it", openai.BadRequestError,
                lambda: c.chat.completions.create(**{**ask, "temperature": -1}))
    check("errors: ... with its path", why is not None and "temperature" in str(why), why)
    fails("errors: a forced tool is refused", openai.BadRequestError,
          lambda: c.chat.completions.create(**ask, tools=TOOLS, tool_choice="required"))
    fails("errors: too long a prompt", openai.BadRequestError,
          lambda: c.completions.create(model=model, prompt="a b " * 9000, max_tokens=1))
    fails("errors: a wrong key", openai.AuthenticationError,
          lambda: openai.OpenAI(base_url=url, api_key="x", max_retries=0).completions.create(model=model, prompt="a"))
    fails("errors: no such path", openai.NotFoundError, lambda: c.embeddings.create(model=model, input="a"))
    s = c.chat.completions.create(**{**ask, "max_tokens": 2000}, temperature=0.8, stream=True)
    next(iter(s))
    s.close()
    check("cancelled: the next one is answered", bool(c.chat.completions.create(**ask).choices))
    try:
        w = c.chat.completions.create(model=model, temperature=0, max_tokens=80, tools=TOOLS, messages=[
            {"role": "user", "content": "What is the weather in Paris? Use the tool."}])
        calls = w.choices[0].message.tool_calls
        if calls:
            check("tools: a call with arguments in JSON", json.loads(calls[0].function.arguments).get("city") == "Paris")
            end = c.chat.completions.create(model=model, temperature=0, max_tokens=60, tools=TOOLS, messages=[
                {"role": "user", "content": "What is the weather in Paris? Use the tool."},
                {"role": "assistant", "content": None, "tool_calls": [calls[0].model_dump()]},
                {"role": "tool", "tool_call_id": calls[0].id, "content": "18 degrees, sunny"}])
            check("tools: the result is read", "18" in (end.choices[0].message.content or ""), end.choices[0])
        else:
            print("skip  tools: this model called none")
    except openai.BadRequestError as why:
        print("skip  tools:", why)
    server.terminate()
    check("SIGTERM: it ends with 0", server.wait(60) == 0)
    sys.exit(1 if BAD else 0)


if __name__ == "__main__":
    main()
