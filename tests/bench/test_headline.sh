#!/bin/sh
# The README's picture and the recording: what is made of answers and of what a terminal showed, without a model.
command -v python3 >/dev/null || {
    echo "SKIP python3 is not installed"
    exit 0
}
root=$FR_SOURCE_DIR exec python3 -B - <<'END'
import argparse
import json
import os
import sys
import tempfile
import xml.dom.minidom

root = os.environ["root"]
sys.path[:0] = [os.path.join(root, "bench", part) for part in ("", "headline")]
import headline
import picture
import recording
import speeds
from calls import Failure

SETS = ["humaneval", "gsm8k"]


def line(system, number, prompt, tok_s, others=0.0, tokens=40, same="yes"):
    return {"date": "2026-01-02", "cpu": "C", "isa": "avx2", "threads": "2", "model": "m", "round": str(number), "system": system,
            "set": SETS[prompt], "item": "0", "prompt": str(prompt), "prompt_tokens": "5", "tokens": str(tokens), "first": "0", "ms": str(1e3 * tokens / tok_s), "whole_ms": "1",
            "tok_s": str(tok_s), "same": same, "others": str(others)}


def answers():
    lines = []
    for number in (1, 2, 3):
        for prompt in (0, 1):
            lines += [line("llama", number, prompt, 10), line("llama=ngram-mod", number, prompt, 12),
                      line("forerun=none", number, prompt, 20), line("forerun", number, prompt, [30, 60][prompt] + number)]
    return lines


def medians_are_of_rounds_and_then_of_prompts():
    model, = speeds.models(answers())
    assert model.systems == ["llama", "llama=ngram-mod", "forerun=none", "forerun"]
    assert model.speeds["forerun"] == [32, 62] and model.speed("forerun") == 47 and model.span("forerun") == (32, 62)
    assert model.ratios("forerun", "forerun=none") == (2.35, 1.6, 3.1)
    assert model.sets() == {"humaneval": [0], "gsm8k": [1]} and model.same("forerun") == (6, 6)


def disturbed_answers_count_where_there_is_no_other():
    lines = answers() + [line("forerun", 4, 0, 1, others=1.5)] + [line("llama", n, 1, 5, others=0.5) for n in (4, 5, 6, 7)]
    model, = speeds.models(lines)
    assert model.speeds["forerun"] == [32, 62] and model.speeds["llama"] == [10, 10] and model.dropped == 5
    alone, = speeds.models([dict(l, others="1") for l in answers()])
    assert alone.speeds["forerun"] == [32, 62] and alone.dropped == 0


def the_best_mode_is_of_the_round_that_screens():
    lines = [line("llama", 0, 0, 50), line("llama=a", 0, 0, 10), line("llama=a", 0, 1, 40), line("llama=b", 0, 0, 20), line("llama=b", 0, 1, 20),
             line("llama=c", 1, 0, 99)]
    assert headline.best_mode(lines, "m") == "llama=b"  # 80 tokens in 4 s, not in 5 s
    try:
        headline.best_mode(lines, "n")
    except Failure as failure:
        assert "no speculative mode" in str(failure)
    else:
        raise AssertionError("expected a failure")
    assert speeds.models(lines[:-1]) == []  # what was screened is not shown


class Stream:
    """A request whose answer came in events."""
    sent = 1.0

    def __init__(self, events):
        lines = [b"data: " + json.dumps(event).encode() + b"\n\n" for _, event in events] + [b"data: [DONE]\n\n"]
        self.parts = [(1.5, b"HTTP/1.1 200 OK\r\n\r\n")] + [(at, data) for (at, _), data in zip(events + [(4.0, None)], lines)]


def event(text, tokens=None, usage=None):
    found = {"choices": [{"delta": {"content": text}}], "usage": usage}
    return {**found, "timings": {"predicted_n": tokens}} if tokens else found


def speed_is_of_what_came_after_the_first_event():
    events = [(1.6, event(None)), (2.0, event("ab", 3)), (2.5, event("c", 5)), (3.0, event("", 11)),
              (3.5, event(None, 11, {"completion_tokens": 11, "prompt_tokens": 7}))]
    answer = headline.Answer(Stream(events))
    assert (answer.text, answer.tokens, answer.first, answer.usage["prompt_tokens"]) == ("abc", 11, 3, 7)
    assert abs(answer.speed() - 8) < 1e-9 and abs(answer.whole_ms - 3000) < 1e-9  # 8 tokens in 1 s
    for wrong in (events[:2] + [(3.5, event(None, 3, {"completion_tokens": 3}))], events[:4], [(2.0, {"error": {"message": "no"}})]):
        try:
            headline.Answer(Stream(wrong))
        except ValueError:
            pass
        else:
            raise AssertionError("expected a failure")


def the_first_prompts_of_each_set_are_asked(folder):
    for name in SETS + ["other"]:
        with open(os.path.join(folder, name + "_dev.jsonl"), "w", encoding="utf-8") as f:
            for i in range(3):
                f.write(json.dumps({"task": name, "messages": [{"role": "user", "content": "%s %d" % (name, i)}]}) + "\n")
    args = argparse.Namespace(prompts=folder, sets=SETS)
    sets, asked = headline.sets_of(args), []
    assert list(sets) == SETS

    def long_enough(prompt):
        asked.append(prompt)
        return prompt != "gsm8k 0"

    assert headline.chosen(sets, 2, long_enough) == [("humaneval", 0, "humaneval 0"), ("humaneval", 1, "humaneval 1"),
                                                     ("gsm8k", 1, "gsm8k 1"), ("gsm8k", 2, "gsm8k 2")]
    assert "humaneval 2" not in asked


def the_picture_says_what_was_measured(folder):
    path = os.path.join(folder, "p.svg")
    found = speeds.models(answers())
    picture.picture(path, found, answers())
    with open(path, encoding="utf-8") as f:
        text = f.read()
    xml.dom.minidom.parseString(text.encode())
    for words in ("47.0 tok/s", "4.7 times", "llama.cpp, ngram-mod", "median of 2 prompts", "median of 3 rounds", "2026-01-02", "AVX2, 2 threads"):
        assert words in text, words
    table = picture.details(found, answers())
    assert "| m | forerun | 47.0 (32.0 to 62.0) | 1.05 | 4.70 (3.20 to 6.20) | 2.35 (1.60 to 3.10) | 6 of 6 |" in table
    assert "| model | humaneval | gsm8k |" in table and "| m | 1.60 (3.20) | 3.10 (6.20) |" in table


def cast(folder, name, events, width=5):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        for one in [{"version": 2, "width": width, "height": 2, "command": "c", "title": "t <&"}] + [[at, "o", text] for at, text in events]:
            f.write(json.dumps(one) + "\n")
    return recording.Cast(path)


END_OF_RUN = "\r\n7 tokens at 3.0/s, 1.00 a pass; stop\r\n"


def a_terminal_wraps_colours_and_goes_on(folder):
    found = cast(folder, "a.cast", [(0.0, "ab"), (0.16, "\x1b[32mcdef\x1b[0mg\r\n"), (0.17, "h")])
    runs, begun = found.cells()
    assert [run[1:] for run in runs] == [[0, 0, "", "ab"], [0, 2, "g", "cde"], [1, 0, "g", "f"], [1, 1, "", "g"], [2, 0, "", "h"]]
    assert [round(run[0], 2) for run in runs] == [0, 0.16, 0.16, 0.16, 0.16] and len(begun) == 3


def two_recordings_are_one_picture_if_their_texts_are_equal(folder):
    one = cast(folder, "a.cast", [(0.5, "hello"), (1.5, "\r\nwo<d" + END_OF_RUN)])
    two = cast(folder, "b.cast", [(0.5, "\x1b[36mhello\x1b[0m\r\nwo<d"), (0.9, END_OF_RUN.replace("1.00", "2.00"))])
    text = recording.drawn(one, two)
    xml.dom.minidom.parseString(text.encode())
    assert "the same 10 bytes: 1.5 s one token a pass, 0.9 s drafting" in text and "translateY" in text
    other = cast(folder, "b.cast", [(0.5, "hellO\r\nwo<d" + END_OF_RUN)])
    try:
        recording.drawn(one, other)
    except SystemExit as end:
        assert "differ" in str(end)
    else:
        raise AssertionError("expected an end")


with tempfile.TemporaryDirectory() as folder:
    medians_are_of_rounds_and_then_of_prompts()
    disturbed_answers_count_where_there_is_no_other()
    the_best_mode_is_of_the_round_that_screens()
    speed_is_of_what_came_after_the_first_event()
    the_first_prompts_of_each_set_are_asked(folder)
    the_picture_says_what_was_measured(folder)
    a_terminal_wraps_colours_and_goes_on(folder)
    two_recordings_are_one_picture_if_their_texts_are_equal(folder)
END
