#!/usr/bin/env python3
"""Tests langchain-openai with `forerun serve`: chat, stream, batch, tools, log probabilities,
retries, cancellation, errors.

    bench/serve/clients/langchain_client.py --model MODEL.gguf [--program build/forerun]     needs `pip install langchain-openai`
"""
import argparse
import asyncio
import time

import openai
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI

from server import Server, arguments, check, fails, finish, skip


@tool
def get_weather(city: str) -> str:
    """Tells the weather of a city."""
    return "18 degrees, sunny" if city == "Paris" else "rain"


def talks(llm):
    said = llm.invoke("Name three rivers.")
    text = said.content
    check("invoke: text and usage", bool(text) and said.usage_metadata["total_tokens"] ==
          said.usage_metadata["input_tokens"] + said.usage_metadata["output_tokens"], said)
    check("invoke: finish_reason and model", said.response_metadata["finish_reason"] in ("stop", "length") and
          bool(said.response_metadata["model_name"]), said.response_metadata)
    parts = list(llm.stream("Name three rivers.", stream_usage=True))
    check("stream: adds up to the whole", "".join(p.content for p in parts) == text, parts)
    whole = parts[0]
    for p in parts[1:]:
        whole += p
    check("stream: usage is that of the whole", whole.usage_metadata["output_tokens"] == said.usage_metadata["output_tokens"], whole)
    many = llm.batch(["Name three rivers.", "What is 2 + 2?", "Name three rivers.", "Say hello."])
    check("batch: each as alone", many[0].content == text and many[2].content == text and
          many[1].content == llm.invoke("What is 2 + 2?").content, many)
    talk = [SystemMessage("You are brief."), HumanMessage("My name is Ada."), AIMessage("Hello Ada."), HumanMessage("What is my name?")]
    check("messages: system, user, assistant", bool(llm.invoke(talk).content))
    parts = llm.invoke([HumanMessage(content=[{"type": "text", "text": "Name three"}, {"type": "text", "text": " rivers."}])])
    check("messages: text in parts", bool(parts.content))
    scored = llm.bind(logprobs=True, top_logprobs=2).invoke("Name three rivers.")
    check("logprobs", "".join(t["token"] for t in scored.response_metadata["logprobs"]["content"]).startswith(text[:20]))
    return text


def uses_tools(llm):
    with_tools = llm.bind_tools([get_weather])
    ask = [HumanMessage("What is the weather in Paris? Use the tool.")]
    try:
        said = with_tools.invoke(ask)
    except openai.BadRequestError as why:
        skip("tools", why)
        return
    if not said.tool_calls:
        skip("tools", f"this model called none: {said.content[:80]!r}")
        return
    call = said.tool_calls[0]
    check("tools: a call with arguments", call["name"] == "get_weather" and call["args"].get("city") == "Paris", said)
    whole = None
    for part in with_tools.stream(ask):
        whole = part if whole is None else whole + part
    check("tools: the same call as a stream", [(c["name"], c["args"]) for c in whole.tool_calls] == [(call["name"], call["args"])], whole)
    end = with_tools.invoke(ask + [said, ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"])])
    check("tools: the result is read", "18" in end.content, end)


def goes_wrong(server, llm, settings, text):
    fails("errors: a wrong field", openai.BadRequestError, lambda: llm.bind(temperature=-1).invoke("a"))
    fails("errors: a wrong key", openai.AuthenticationError,
          lambda: ChatOpenAI(**{**settings, "api_key": "wrong", "max_retries": 0}).invoke("a"))
    fails("errors: a forced tool is refused", openai.BadRequestError,
          lambda: llm.bind_tools([get_weather], tool_choice="any").invoke("a"))
    fails("errors: too long a prompt", openai.BadRequestError, lambda: llm.invoke("a b " * 9000))
    stream = llm.bind(max_tokens=2000).stream("Tell me a long story.")
    next(stream)
    stream.close()

    async def give_up():
        asked = asyncio.create_task(ChatOpenAI(**{**settings, "max_tokens": 2000}).bind(
            extra_body={"ignore_eos": True}).ainvoke("Tell me a long story."))
        await asyncio.sleep(0.3)
        asked.cancel()
        try:
            await asked
        except asyncio.CancelledError:
            return True
        return False
    check("cancelled: a task", asyncio.run(give_up()))
    fails("timeout: a request that takes too long", openai.APITimeoutError,
          lambda: ChatOpenAI(**{**settings, "max_tokens": 3000, "timeout": 0.3, "max_retries": 0}).bind(
              extra_body={"ignore_eos": True}).invoke("Tell me a long story."))
    for _ in range(100):
        if b'"is_processing":true' not in server.ask("GET", "/slots", headers={"X-Api-Key": "sesame"})[1]:
            break
        time.sleep(0.1)
    else:
        check("cancelled: the slots are free again", False)
    check("cancelled: the next one is answered as before", llm.invoke("Name three rivers.").content == text)


def tries_again(o):
    with Server(o.program, o.model, "--quiet", "--parallel", "1", "--queue", "1") as server:
        llm = ChatOpenAI(model="m", base_url=server.url, api_key="x", temperature=0, max_tokens=24, max_retries=30)
        said = llm.batch([f"What is {i} + {i}?" for i in range(6)], config={"max_concurrency": 6})
        check("retries: six at a place for two", len(said) == 6 and all(isinstance(s.content, str) for s in said))
        none = ChatOpenAI(model="m", base_url=server.url, api_key="x", temperature=0, max_tokens=200, max_retries=0)
        found = none.bind(extra_body={"ignore_eos": True}).batch(["Tell me a story."] * 6, config={"max_concurrency": 6},
                                                                return_exceptions=True)
        check("retries: without them some find it full", any(isinstance(f, openai.InternalServerError) and f.status_code == 503
                                                             for f in found) and any(isinstance(f, AIMessage) for f in found), found)


def main():
    o = arguments(argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter))
    with Server(o.program, o.model, "--quiet", "--api-key", "sesame") as server:
        settings = dict(model="m", base_url=server.url, api_key="sesame", temperature=0, max_tokens=40, seed=7, max_retries=0)
        llm = ChatOpenAI(**settings)
        text = talks(llm)
        old = OpenAI(model="m", base_url=server.url, api_key="sesame", temperature=0, max_tokens=12, max_retries=0)
        said = old.invoke("The capital of France is")
        check("completions: whole and as a stream", bool(said) and "".join(old.stream("The capital of France is")) == said, said)
        uses_tools(llm)
        goes_wrong(server, llm, settings, text)
    tries_again(o)
    finish()


if __name__ == "__main__":
    main()
