#!/usr/bin/env python3
"""Tests Anthropic's Python client with `forerun serve`: messages, streams, tools, token counts,
errors, retries.

    bench/serve/clients/anthropic_client.py --model MODEL.gguf [--program build/forerun]     needs `pip install anthropic`
"""
import argparse
import concurrent.futures
import json
import urllib.request

import anthropic

from server import Server, arguments, check, fails, finish, skip

# The client knows no temperature any more; what it does not know goes into the body as it is.
GREEDY = {"extra_body": {"temperature": 0}}
ASK = dict(model="m", max_tokens=40, messages=[{"role": "user", "content": "Name three rivers."}])
TOOLS = [{"name": "get_weather", "description": "Weather of a city",
          "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]
WEATHER = [{"role": "user", "content": "What is the weather in Paris?"}]


def text_of(message):
    return "".join(b.text for b in message.content if b.type == "text")


def talks(c):
    m = c.messages.create(**ASK, **GREEDY)
    text = text_of(m)
    check("messages: text, role, usage, stop_reason", bool(text) and m.role == "assistant" and m.usage.input_tokens > 0 and
          m.usage.output_tokens > 0 and m.stop_reason in ("end_turn", "max_tokens"), m)
    events = list(c.messages.create(**ASK, **GREEDY, stream=True))
    check("stream: adds up to the whole", "".join(
        e.delta.text for e in events if e.type == "content_block_delta" and e.delta.type == "text_delta") == text, events)
    kinds = [e.type for e in events]
    check("stream: begins and ends as it should", kinds[:2] == ["message_start", "content_block_start"] and
          kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"] and events[-2].delta.stop_reason == m.stop_reason and
          events[-2].usage.output_tokens == m.usage.output_tokens, kinds)
    with c.messages.stream(**ASK, **GREEDY) as helper:
        final = helper.get_final_message()
    check("stream: by the client's helper", text_of(final) == text and final.usage.output_tokens == m.usage.output_tokens, final)
    with_system = c.messages.create(**ASK, **GREEDY, system="You are brief.")
    parts = c.messages.create(**{**ASK, "messages": [{"role": "user", "content": [{"type": "text", "text": "Name three rivers."}]}]},
                              **GREEDY, system=[{"type": "text", "text": "You are brief."}])
    check("messages: a system prompt, and text in blocks", bool(text_of(with_system)) and text_of(parts) == text_of(with_system), parts)
    stop = c.messages.create(**ASK, **GREEDY, stop_sequences=[text[8:12]])
    check("stop_sequences", stop.stop_reason == "stop_sequence" and stop.stop_sequence == text[8:12] and
          text[8:12] not in text_of(stop), stop)
    n = c.messages.count_tokens(model="m", messages=ASK["messages"]).input_tokens
    used = m.usage.input_tokens + (m.usage.cache_read_input_tokens or 0)
    check("count_tokens: as many as were read", n == used, (n, m.usage))
    return text


def by_chat(root, call, result):
    """The same conversation over the chat API: (text, inputs of calls)."""
    function = {"name": TOOLS[0]["name"], "description": TOOLS[0]["description"], "parameters": TOOLS[0]["input_schema"]}
    body = {"max_tokens": 60, "temperature": 0, "tools": [{"type": "function", "function": function}], "messages": WEATHER + [
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.input)}}]},
        {"role": "tool", "tool_call_id": "a", "content": result}]}
    request = urllib.request.Request(root + "/v1/chat/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json", "Authorization": "Bearer sesame"})
    message = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
    return message["content"] or "", [json.loads(t["function"]["arguments"]) for t in message.get("tool_calls", [])]


def uses_tools(c, root):
    try:
        m = c.messages.create(model="m", max_tokens=80, **GREEDY, tools=TOOLS, messages=WEATHER)
    except anthropic.BadRequestError as why:
        skip("tools", why)
        return
    calls = [b for b in m.content if b.type == "tool_use"]
    if not calls:
        skip("tools", "this model called none")
        return
    check("tools: a call", calls[0].name == "get_weather" and calls[0].input.get("city") == "Paris" and m.stop_reason == "tool_use", m)
    with c.messages.stream(model="m", max_tokens=80, **GREEDY, tools=TOOLS, messages=WEATHER) as helper:
        final = helper.get_final_message()
    check("tools: the same as a stream", [b.input for b in final.content if b.type == "tool_use"] == [calls[0].input] and
          final.stop_reason == "tool_use", final)
    end = c.messages.create(model="m", max_tokens=60, **GREEDY, tools=TOOLS, messages=WEATHER + [
        {"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in m.content]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": calls[0].id, "content": "18 degrees, sunny"}]}])
    check("tools: the result is read, as by the chat API", by_chat(root, calls[0], "18 degrees, sunny") ==
          (text_of(end), [b.input for b in end.content if b.type == "tool_use"]), end)


def goes_wrong(c, root, text):
    why = fails("errors: a wrong field", anthropic.BadRequestError, lambda: c.messages.create(**ASK, extra_body={"temperature": -1}))
    check("errors: in Anthropic's shape", why is not None and why.body["type"] == "error" and
          why.body["error"]["type"] == "invalid_request_error", why)
    fails("errors: too long a prompt", anthropic.BadRequestError,
          lambda: c.messages.create(**{**ASK, "messages": [{"role": "user", "content": "a b " * 9000}]}))
    fails("errors: a wrong key", anthropic.AuthenticationError,
          lambda: anthropic.Anthropic(base_url=root, api_key="x", max_retries=0).messages.create(**ASK))
    fails("timeout", anthropic.APITimeoutError, lambda: c.with_options(timeout=0.3).messages.create(
        **{**ASK, "max_tokens": 3000}, extra_body={"ignore_eos": True}))
    s = c.messages.create(**{**ASK, "max_tokens": 2000}, stream=True)
    next(iter(s))
    s.close()
    check("cancelled: the next one is answered as before", text_of(c.messages.create(**ASK, **GREEDY)) == text)


def tries_again(o):
    with Server(o.program, o.model, "--quiet", "--parallel", "1", "--queue", "1") as server, \
            concurrent.futures.ThreadPoolExecutor(6) as pool:
        c = anthropic.Anthropic(base_url=server.root, api_key="x", max_retries=30)
        said = list(pool.map(lambda _: text_of(c.messages.create(**ASK, **GREEDY)), range(6)))
        check("retries: six at a place for two, one text", len(set(said)) == 1, said)


def main():
    o = arguments(argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter))
    with Server(o.program, o.model, "--quiet", "--api-key", "sesame") as server:
        c = anthropic.Anthropic(base_url=server.root, api_key="sesame", max_retries=0)
        try:
            c.messages.create(**ASK)
        except anthropic.NotFoundError:
            skip("all", "this server has no /v1/messages")
            finish()
        text = talks(c)
        uses_tools(c, server.root)
        goes_wrong(c, server.root, text)
    tries_again(o)
    finish()


if __name__ == "__main__":
    main()
