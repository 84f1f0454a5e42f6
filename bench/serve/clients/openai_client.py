#!/usr/bin/env python3
"""Tests OpenAI's Python client with `forerun serve`: chat, stream, choices, log probabilities,
tools, errors.

    bench/serve/clients/openai_client.py --model MODEL.gguf [--program build/forerun]     needs `pip install openai`

Each line of output has one request and whether the answer is what users of the client rely on. The
exit code is 1 if one is not.
"""
import argparse
import concurrent.futures
import json

import openai

from server import Server, arguments, check, fails, finish, skip

TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "Weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]


RIVERS = dict(model="m", messages=[{"role": "user", "content": "Name three rivers."}], max_tokens=40, seed=7)
WEATHER = [{"role": "user", "content": "What is the weather in Paris? Use the tool."}]


def talks(c):
    model = c.models.list().data[0].id
    check("models: listed, and one", bool(model) and c.models.retrieve(model).id == model)
    r = c.chat.completions.create(**RIVERS, temperature=0)
    text = r.choices[0].message.content
    check("chat: text, role, usage", bool(text) and r.choices[0].message.role == "assistant" and
          r.usage.total_tokens == r.usage.prompt_tokens + r.usage.completion_tokens, r)
    again = c.chat.completions.create(**RIVERS, temperature=0)
    check("chat: the same again, from the cache", again.choices[0].message.content == text and
          again.usage.prompt_tokens_details.cached_tokens > 0, again.usage)
    parts = list(c.chat.completions.create(**RIVERS, temperature=0, stream=True, stream_options={"include_usage": True}))
    joined = "".join(p.choices[0].delta.content or "" for p in parts if p.choices)
    check("stream: adds up to the whole", joined == text, joined)
    check("stream: role first, finish_reason last, then usage",
          parts[0].choices[0].delta.role == "assistant" and parts[-2].choices[0].finish_reason in ("stop", "length") and
          not parts[-1].choices and parts[-1].usage.completion_tokens == r.usage.completion_tokens, parts[-1])
    with c.chat.completions.stream(**RIVERS, temperature=0) as helper:
        check("stream: by the client's helper", "".join(e.delta for e in helper if e.type == "content.delta") == text)
    return text


def draws_and_scores(c, text):
    n = c.chat.completions.create(**RIVERS, temperature=1.0, n=3)
    one = c.chat.completions.create(**{**RIVERS, "seed": 8}, temperature=1.0)
    check("n=3: choice i draws with seed + i", len(n.choices) == 3 and n.choices[1].message.content == one.choices[0].message.content)
    lp = c.chat.completions.create(**RIVERS, temperature=0, logprobs=True, top_logprobs=3)
    tokens = lp.choices[0].logprobs.content
    check("logprobs: a token each, the best first", "".join(t.token for t in tokens).startswith(text[:20]) and
          all(t.top_logprobs[0].logprob >= t.logprob - 1e-6 for t in tokens))
    st = c.chat.completions.create(**RIVERS, temperature=0, stop=[text[8:12]])
    check("stop: ends before it", text[8:12] not in st.choices[0].message.content and
          st.choices[0].finish_reason == "stop", st.choices[0])
    t = c.completions.create(model="m", prompt="The capital of France is", max_tokens=5, temperature=0, echo=True, logprobs=2)
    check("completions: echo with the prompt's logprobs", t.choices[0].text.startswith("The capital of France is") and
          t.choices[0].logprobs.token_logprobs[0] is None and len(t.choices[0].logprobs.tokens) > 5)


def goes_wrong(c, url):
    why = fails("errors: a wrong field is a BadRequestError", openai.BadRequestError,
                lambda: c.chat.completions.create(**{**RIVERS, "temperature": -1}))
    check("errors: ... that names it", why is not None and "temperature" in str(why) and why.param == "temperature", why)
    fails("errors: a forced tool is refused", openai.BadRequestError,
          lambda: c.chat.completions.create(**RIVERS, tools=TOOLS, tool_choice="required"))
    fails("errors: too long a prompt", openai.BadRequestError,
          lambda: c.completions.create(model="m", prompt="a b " * 9000, max_tokens=1))
    fails("errors: a wrong key", openai.AuthenticationError,
          lambda: openai.OpenAI(base_url=url, api_key="x", max_retries=0).completions.create(model="m", prompt="a"))
    why = fails("errors: embeddings are not served", openai.InternalServerError,
                lambda: c.with_options(max_retries=0).embeddings.create(model="m", input="a"))
    check("errors: ... with 501", why is not None and why.status_code == 501, why)
    fails("timeout", openai.APITimeoutError, lambda: c.with_options(timeout=0.3).chat.completions.create(
        **{**RIVERS, "max_tokens": 3000}, extra_body={"ignore_eos": True}))
    s = c.chat.completions.create(**{**RIVERS, "max_tokens": 2000}, temperature=0.8, stream=True)
    next(iter(s))
    s.close()
    check("cancelled: the next one is answered", bool(c.chat.completions.create(**RIVERS).choices))


def uses_tools(c):
    try:
        w = c.chat.completions.create(model="m", temperature=0, max_tokens=80, tools=TOOLS, messages=WEATHER)
    except openai.BadRequestError as why:
        skip("tools", why)
        return
    calls = w.choices[0].message.tool_calls
    if not calls:
        skip("tools", "this model called none")
        return
    check("tools: a call with arguments in JSON", json.loads(calls[0].function.arguments).get("city") == "Paris" and
          w.choices[0].finish_reason == "tool_calls", w)
    parts = [p.choices[0].delta.tool_calls for p in c.chat.completions.create(
        model="m", temperature=0, max_tokens=80, tools=TOOLS, messages=WEATHER, stream=True) if p.choices[0].delta.tool_calls]
    check("tools: the same as a stream", "".join(p[0].function.arguments for p in parts) == calls[0].function.arguments and
          parts[0][0].function.name == calls[0].function.name and parts[0][0].id, parts)
    end = c.chat.completions.create(model="m", temperature=0, max_tokens=60, tools=TOOLS, messages=WEATHER + [
        {"role": "assistant", "content": None, "tool_calls": [calls[0].model_dump()]},
        {"role": "tool", "tool_call_id": calls[0].id, "content": "18 degrees, sunny"}])
    check("tools: the result is read", "18" in (end.choices[0].message.content or ""), end.choices[0])


def uses_responses(c, text):
    ask = dict(model="m", input="Name three rivers.", max_output_tokens=40, temperature=0)
    try:
        r = c.responses.create(**ask)
    except openai.NotFoundError:
        skip("responses", "this server has no such path")
        return
    check("responses: text and usage", r.output_text == text and r.usage.output_tokens > 0 and
          r.usage.total_tokens == r.usage.input_tokens + r.usage.output_tokens, r)
    events = list(c.responses.create(**ask, stream=True))
    check("responses: the stream adds up", "".join(e.delta for e in events if e.type == "response.output_text.delta") == text, events)
    check("responses: the stream's beginning and end", events[0].type == "response.created" and
          events[-1].type in ("response.completed", "response.incomplete") and events[-1].response.output_text == text, events[-1])
    check("responses: events are numbered", [e.sequence_number for e in events] == list(range(len(events))))
    with c.responses.stream(**ask) as helper:
        check("responses: by the client's helper", "".join(
            e.delta for e in helper if e.type == "response.output_text.delta") == text)
    talk = c.responses.create(**{**ask, "input": [{"role": "user", "content": "Name three rivers."}]}, instructions="You are brief.")
    check("responses: messages and instructions", bool(talk.output_text), talk)
    fails("responses: a wrong field", openai.BadRequestError, lambda: c.responses.create(**{**ask, "temperature": -1}))
    fails("responses: an answer that is not stored", openai.BadRequestError, lambda: c.responses.create(**ask, previous_response_id="resp_1"))
    tools = [{"type": "function", **TOOLS[0]["function"]}]
    try:
        w = c.responses.create(model="m", temperature=0, max_output_tokens=80, tools=tools, input=WEATHER)
    except openai.BadRequestError as why:
        skip("responses: tools", why)
        return
    calls = [x for x in w.output if x.type == "function_call"]
    if not calls:
        skip("responses: tools", "this model called none")
        return
    check("responses: a call", json.loads(calls[0].arguments).get("city") == "Paris", calls)
    events = list(c.responses.create(model="m", temperature=0, max_output_tokens=80, tools=tools, input=WEATHER, stream=True))
    done = [e for e in events if e.type == "response.function_call_arguments.done"]
    check("responses: a call in a stream", len(done) == 1 and done[0].arguments == calls[0].arguments, events)
    end = c.responses.create(model="m", temperature=0, max_output_tokens=60, tools=tools, input=WEATHER + [calls[0].model_dump(
        exclude_none=True), {"type": "function_call_output", "call_id": calls[0].call_id, "output": "18 degrees, sunny"}])
    check("responses: the result is read", "18" in end.output_text, end)


def tries_again(o):
    with Server(o.program, o.model, "--quiet", "--parallel", "1", "--queue", "1") as server, \
            concurrent.futures.ThreadPoolExecutor(6) as pool:
        c = openai.OpenAI(base_url=server.url, api_key="x", max_retries=30)
        said = list(pool.map(lambda i: c.chat.completions.create(**RIVERS, temperature=0).choices[0].message.content, range(6)))
        check("retries: six at a place for two, one text", len(set(said)) == 1, said)


def main():
    o = arguments(argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter))
    with Server(o.program, o.model, "--quiet", "--api-key", "sesame") as server:
        c = openai.OpenAI(base_url=server.url, api_key="sesame", max_retries=0)
        text = talks(c)
        draws_and_scores(c, text)
        goes_wrong(c, server.url)
        uses_tools(c)
        uses_responses(c, text)
    tries_again(o)
    finish()


if __name__ == "__main__":
    main()
