"""Random conversations in the forms that chat templates receive: see judge.py."""
import json
import random

WORDS = ("the weather in Paris is fine, tell me more about π and naïve café 日本語 한국어 🙂👍🏽 e\u0301 \u200b zero "
         "İstanbul STRASSE straße ΟΔΟΣ <b>bold</b> & \"quotes\" 'single' {braces} {{double}} {% tag %} 100% $5 \\back\\slash").split(" ")
MARKERS = ["<think>", "</think>", "<think>\nhm\n</think>\n\n", "<|im_end|>", "<|eot_id|>", "</s>", "[INST]", "<tool_call>", "\n\n", "\n", "  ",
           "\t", "\r\n", "/think", "/no_think", "<|channel|>final", "\u2028", "\x1f", "{\"a\": 1}", "None", "null", "[1, 2]", "```python\nx\n```",
           "<tool_response>", "</tool_response>", "<|begin_of_thought|>", "[THINK]", "[/THINK]", "tool_code", "\u00a0"]


def text(rng, longest=12):
    if rng.random() < 0.05:
        return ""
    parts = [rng.choice(MARKERS) if rng.random() < 0.2 else rng.choice(WORDS) for _ in range(rng.randint(1, longest))]
    s = " ".join(parts)
    if rng.random() < 0.2:
        s = rng.choice([" ", "\n", "\n\n  "]) + s + rng.choice([" ", "\n", "\t\n"])
    return s


def value(rng, depth=0):
    kind = rng.randrange(10 if depth < 3 else 7)
    if kind < 3:
        return text(rng, 4)
    if kind == 3:
        return rng.choice([0, 1, -7, 42, 2**40, 123456789012345678901234567890])
    if kind == 4:
        return rng.choice([0.5, -1.25, 1e-7, 1e22, 3.0, 0.1, 123456.789, 2.5e-5])
    if kind == 5:
        return rng.random() < 0.5
    if kind == 6:
        return None
    if kind == 7:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(["a", "city", "Größe", "items", "keys", "x y", "name", "type", "B"]): value(rng, depth + 1) for _ in range(rng.randrange(4))}


def schema(rng, depth=0):
    kind = rng.choice(["string", "string", "integer", "number", "boolean", "array", "object", "null"] if depth < 3 else ["string", "integer"])
    s = {"type": kind if rng.random() > 0.1 else [kind, "null"]}
    if rng.random() < 0.7:
        s["description"] = text(rng, 5)
    if kind == "string" and rng.random() < 0.3:
        s["enum"] = [rng.choice(["red", "green", "día"]) for _ in range(rng.randint(1, 3))]
    if kind == "array" and rng.random() < 0.9:
        s["items"] = schema(rng, depth + 1)
    if kind == "object":
        s["properties"] = {name: schema(rng, depth + 1) for name in rng.sample(["alpha", "beta", "items", "keys", "Zed", "ümlaut"], rng.randrange(4))}
        if rng.random() < 0.6:
            s["required"] = list(s["properties"])[: rng.randrange(3)]
        if rng.random() < 0.3:
            s["additionalProperties"] = rng.choice([False, True, {"type": "string"}])
    if rng.random() < 0.2:
        s["default"] = value(rng, 2)
    if rng.random() < 0.1:
        s["nullable"] = rng.random() < 0.5
    if rng.random() < 0.05:
        s["oneOf"] = [schema(rng, 3), schema(rng, 3)]
    if rng.random() < 0.05:
        s["minimum"] = rng.choice([0, 1.5])
    return s


def tool(rng):
    params = {"type": "object", "properties": {n: schema(rng, 1) for n in rng.sample(["city", "unit", "count", "opts", "filter", "when"], rng.randrange(5))}}
    if rng.random() < 0.8:
        params["required"] = list(params["properties"])[: rng.randrange(4)]
    f = {"name": rng.choice(["get_weather", "search", "send-mail", "code_interpreter", "python", "web.run"])}
    if rng.random() < 0.9:
        f["description"] = text(rng, 8)
    if rng.random() < 0.9:
        f["parameters"] = params
    if rng.random() < 0.15:
        f["return"] = {"type": "string", "description": text(rng, 3)}
    if rng.random() < 0.1:
        f["strict"] = rng.random() < 0.5
    if rng.random() < 0.05:
        f["response"] = schema(rng, 1)
    return {"type": "function", "function": f} if rng.plain or rng.random() < 0.8 else f


def content(rng):
    if rng.plain:
        return text(rng)
    kind = rng.random()
    if kind < 0.72:
        return text(rng)
    if kind < 0.76:
        return None
    parts = []
    for _ in range(rng.randint(1, 3)):
        pick = rng.random()
        if pick < 0.8:
            parts.append({"type": "text", "text": text(rng, 6)})
        elif pick < 0.9:
            parts.append({"type": "image"})
        else:
            parts.append({"type": "image_url", "image_url": {"url": "http://example.org/x.png"}})
    return parts


def call(rng, number):
    arguments = {n: value(rng, 1) for n in rng.sample(["city", "unit", "count", "opts", "when"], rng.randrange(4))}
    if not rng.plain and rng.random() < 0.25:
        arguments = json.dumps(arguments)
    f = {"name": rng.choice(["get_weather", "search", "python", "code_interpreter"]), "arguments": arguments}
    if not rng.plain and rng.random() < 0.1:
        return f
    c = {"type": "function", "function": f}
    if rng.random() < 0.85:
        c["id"] = rng.choice([f"call_{number}", f"abcdefgh{number % 10}", f"functions.search:{number}"])
    return c


def assistant(rng, calls):
    m = {"role": "assistant"}
    if not calls or rng.random() < 0.6:
        m["content"] = content(rng)
    elif rng.random() < 0.5:
        m["content"] = rng.choice(["", None])
    if rng.random() < 0.25:
        m[rng.choice(["reasoning_content", "reasoning_content", "thinking", "reasoning"])] = rng.choice([text(rng), text(rng), "", None])
    if calls:
        m["tool_calls"] = calls
    elif not rng.plain and rng.random() < 0.1:
        m["tool_calls"] = rng.choice([[], None])
    return m


def turns(rng):
    out, number = [], 0
    for _ in range(rng.randint(1, 4)):
        out.append({"role": "user", "content": content(rng)})
        if rng.random() < 0.35:
            calls = [call(rng, number + i) for i in range(rng.choice([1, 1, 1, 2, 3]))]
            number += len(calls)
            out.append(assistant(rng, calls))
            for c in calls[: rng.choice([len(calls), len(calls), 1])]:
                m = {"role": "tool", "content": rng.choice([text(rng), '{"temp": 22.5}', content(rng), text(rng) if rng.plain else value(rng, 1)])}
                if rng.random() < 0.7:
                    m["name"] = c.get("function", c).get("name")
                if rng.random() < 0.85:
                    m["tool_call_id"] = c.get("id", "call_9")
                out.append(m)
        out.append(assistant(rng, []))
    if rng.random() < 0.7:
        out.pop()
    return out


OPTIONS = {
    "enable_thinking": [True, False], "thinking": [True, False, None], "reasoning_effort": ["low", "medium", "high", "none", "max"],
    "thinking_budget": [0, 512, 1000, -1], "date_string": ["26 Jul 2024"], "tools_in_user_message": [True, False], "builtin_tools": [["brave_search", "code_interpreter"]],
    "keep_past_thinking": [True, False], "preserve_thinking": [True, False], "clear_thinking": [True, False], "add_vision_id": [True], "truncate_history_thinking": [True, False],
    "model_identity": ["You are ChatBot."], "xml_tools": [["def f(x): pass"]], "python_tools": [["def g(): ..."]], "thinking_mode": ["chat", "thinking"], "drop_thinking": [True, False],
    "documents": [[{"title": "T", "text": "body", "doc_id": 1}], []], "controls": [{"length": "short"}], "json_schema": [{"type": "object"}], "response_format": [{"type": "json_object"}],
    "citations": [True], "low_effort": [True], "force_reasoning": [True], "separate_system": [True], "custom_tools": [[]],
}


def conversation(rng):
    rng.plain = rng.random() < 0.6  # such as applications send; else what they should not send, too
    messages = turns(rng)
    pick = rng.random()
    if pick < 0.5:
        messages.insert(0, {"role": rng.choice(["system"] * 8 + ["developer"]), "content": content(rng)})
    elif pick < 0.55 and not rng.plain:
        messages.insert(rng.randint(0, len(messages)), {"role": rng.choice(["system", "developer", "critic", "observation"]), "content": text(rng)})
    out = {"messages": messages, "tools": None, "documents": None, "add_generation_prompt": rng.random() < 0.7,
           "bos_token": rng.choice(["<s>", "<|begin_of_text|>", "<bos>"]), "eos_token": rng.choice(["</s>", "<|im_end|>"])}
    if rng.random() < 0.4:
        out["tools"] = [tool(rng) for _ in range(rng.choice([1, 1, 2, 3]))]
    elif rng.random() < 0.05:
        out["tools"] = []
    for name in OPTIONS:
        if rng.random() < 0.06:
            out[name] = rng.choice(OPTIONS[name])
    return out


def conversations(seed, n):
    return [conversation(random.Random(f"{seed}:{i}")) for i in range(n)]
