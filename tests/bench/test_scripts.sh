#!/bin/sh
# The benchmark scripts: what they read, compare and write, without a model and without llama.cpp.
command -v python3 >/dev/null || {
    echo "SKIP python3 is not installed"
    exit 0
}
root=$FR_SOURCE_DIR exec python3 -B - <<'END'
import argparse
import json
import math
import os
import sys
import tempfile

root = os.environ["root"]
sys.path[:0] = [os.path.join(root, "bench", part) for part in ("", "peers", "comparison", "papers")]
import ablations
import build
import calls
import compare
import curves
import distances
import endurance
import equal
import equal_table
import llamacpp
import machine
import machines
import measure
import modes
import papers
import peers
import program
import quality
import replays
import report
import results
import sides
import sizes
import tables
import tokens
import variants
from systems import SYSTEMS
from calls import Failure


def fails(call, *arguments):
    try:
        call(*arguments)
    except Failure as failure:
        return str(failure)
    raise AssertionError("expected a failure")


def line(what, rows, ratios, model="m", note=""):
    return report.line("cpu", "avx2", model, 2, what, rows, "ms", 10, 20, ratios, note)


def speculative_text_is_compared_behind_the_prompt():
    same = modes.same_text
    assert same(b"\n\nthe prompt and so on\n\n", b"the prompt", b" and so", False)
    assert not same(b"\n\nthe prompt and no", b"the prompt", b" and so", False)
    assert not same(b"\n\nthe prompt and", b"the prompt", b" and so", False)
    # plain decoding came to its end: the mode may print the end token, and nothing else
    assert same(b"the prompt and so<|im_end|>\n\n", b"the prompt", b" and so", True)
    assert not same(b"the prompt and so on", b"the prompt", b" and so", True)
    assert "prompt" in fails(same, b"nothing", b"the prompt", b"", False)


def statistics_of_a_mode_are_read():
    said = "decoded   26 tokens in    1.250 seconds, speed: 20.8 t/s\nn_drafted = 20\nn_accept  = 15\n"
    assert modes.read_mode("x", b"p", said, b"p") == (26, 1.25, 15, 20)
    assert "statistics" in fails(modes.read_mode, "x", b"p", "something else", b"p")


def a_later_line_replaces_an_earlier_one(folder):
    path = os.path.join(folder, "peers.csv")
    report.append(path, [line("pass", 1, [1.0]), line("decode", "", [2.0])])
    report.append(path, [line("pass", 1, [3.0, 5.0, 4.0])])
    kept = report.newest(report.read(path))
    assert [(f["what"], f["ratio"], f["least"], f["greatest"], f["pairs"]) for f in kept] == [
        ("decode", "2", "2", "2", "1"), ("pass", "4", "3", "5", "3")]
    with open(path, "w", encoding="utf-8") as f:
        f.write("a,b\n1,2\n")
    assert "expected the columns" in fails(report.read, path)


def tables_stand_between_the_markers(folder):
    path = os.path.join(folder, "results.md")
    text = report.summary([line("pass", 8, [4.0, 4.5, 5.0]), line("speculative", "", [2.0], note="a against b")])
    assert "| m |  | **4.50** (10 against 20 ms) |" in text and "a against b" in text
    for _ in range(2):  # a second time it stays as it is
        with open(path, "w", encoding="utf-8") as f:
            f.write("before\n%s\nold\n%s\nafter\n" % report.MARKS)
        calls.between_markers(path, report.MARKS, text)
        with open(path, encoding="utf-8") as f:
            assert f.read() == "before\n%s\n%s\n%s\nafter\n" % (report.MARKS[0], calls.wrapped(text), report.MARKS[1])
    with open(path, "w", encoding="utf-8") as f:
        f.write("no markers\n")
    assert report.MARKS[0] in fails(calls.between_markers, path, report.MARKS, text)


def draft_model_is_the_smaller_of_the_family(folder):
    paths = [os.path.join(folder, name) for name in ("qwen-small.gguf", "qwen-big.gguf", "other.gguf")]
    for i, path in enumerate(paths):
        with open(path, "wb") as f:
            f.write(b"x" * (i + 1))
    find = machine.draft_finder(paths[:1])
    assert [find(path) for path in paths] == [None, paths[0], None]


def growth_of_memory_is_seen():
    flat = [(5 * i, 100e6 + 30e6 * (i % 3 == 0)) for i in range(1, 361)]
    grown = [(t, size + 1e5 * t / 5) for t, size in flat]
    assert endurance.judge(flat, 30) and not endurance.judge(grown, 30)
    assert abs(endurance.slope([(0, 0), (60, 1000), (120, 2000)]) - 1000) < 1e-6
    assert "samples" in fails(endurance.judge, flat[:3], 30)


def prompts_are_grouped_by_task(folder):
    path = os.path.join(folder, "set.jsonl")
    with open(path, "w", encoding="utf-8") as f:
        f.write('{"task": "a", "n": 1}\n\n{"task": "a", "n": 2}\n{"n": 3}\n{"task": "a", "n": 4}')
    found = measure.read_prompts([path])
    assert sorted(found) == ["a", "set"] and len(found["a"]) == 3
    with open(measure.write_prompts(os.path.join(folder, "split"), "a", found["a"][:2]), encoding="utf-8") as f:
        assert f.read() == '{"task": "a", "n": 1}\n{"task": "a", "n": 2}\n'
    with open(path, "a", encoding="utf-8") as f:
        f.write("no json\n")
    assert "expected JSON lines" in fails(measure.read_prompts, [path])


def all_units_have_one_seed(folder):
    """Else the systems of two options answer with other texts, and are compared on those."""
    called = os.path.join(folder, "called")
    with open(called, "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\necho "$@" >>%s.log\necho \'{"machine": {}, "model": "m", "runs": [{"speedup": 1, "draft_stats": 2}]}\'\n' % called)
    os.chmod(called, 0o755)
    machine = measure.Machine(called, 2, 7)
    for options, report in (((), None), (("window=0",), "there")):
        assert machine.bench("m.gguf", "p.jsonl", ["lookahead"], options, 0.7, 8, report)["runs"] == [{"speedup": 1}]
    with open(called + ".log", encoding="utf-8") as f:
        lines = f.read().splitlines()
    assert len(lines) == 2 and all("--temp 0.7 --seed 7 " in line for line in lines) and "window=0" in lines[1]
    assert "--report" not in lines[0] and "--report there " in lines[1]


def a_run(speedup, identical=True, confidence=0.97):
    return {"speedup": speedup, "speedup_low": speedup - 0.02, "speedup_high": speedup + 0.02, "speedup_confidence": confidence, "predicted_speedup": 1.25, "tokens_per_pass": 2.0, "rows_per_pass": 3.0, "draft_share": 0.1, "used": "medusa",
            "lossless": True, "identical": identical}


def the_comparison_names_the_fastest(folder):
    out = os.path.join(folder, "comparison")
    os.makedirs(os.path.join(out, "m"))
    names = ["plain", "auto", "Medusa-1", "EAGLE"]
    probed = {s.name: {"spec": s.spec, "memory": 1e9} if s.name in names else {"why": "no pack"} for s in SYSTEMS}
    measure.write(os.path.join(out, "m", "model.json"), {"systems": probed, "trainings": {"medusa": {"seconds": 600, "tokens": 2e6}}})
    assert "no results" in fails(tables.load, out)
    unit = {"task": "gsm8k", "temperature": 0.0, "date": "2026-01-01", "limit": 1, "tokens": 8, "names": names,
            "machine": {"cpu": "cpu", "isa": "avx2", "threads": 2}, "runs": [a_run(1), a_run(1.4), a_run(1.5), a_run(1.2)]}
    measure.write(os.path.join(out, "m", "one.json"), unit)
    text = tables.details(tables.load(out))
    assert "| Medusa-1 | **1.50 (2.00)** | 1.50 | 1.25 | 3.0 | 10 % | 1000 | 10 min, 2.00 M tokens |" in text
    assert "| EAGLE | 1.20 (2.00) |" in text and "| gsm8k | 1.40 | 1.50 | Medusa-1 |  |  |  |  |" in text
    assert "m: 1 pairs, 0 of them in Spec-Bench's order, 1 in neither." in text  # one set says nothing of others
    many = [dict(unit, task="set%d" % i) for i in range(9)]
    for i, other in enumerate(many):
        measure.write(os.path.join(out, "m", "set%d.json" % i), other)
    assert "; reversed: Medusa-1 (1.50) before EAGLE (1.20), there 1.78 and 2.29 on an A100" in tables.details(tables.load(out))
    for i in range(9):
        os.remove(os.path.join(out, "m", "set%d.json" % i))
    assert "All bytes equal." in text and "REST: no pack" in text
    assert "cpu, avx2, 2 threads, 2026-01-01; 1 prompts a set, 8 tokens each." in text
    assert "| gsm8k | 1.50 (1.48 to 1.52) | Medusa-1 |  | 1.40 (1.38 to 1.42) |" in tables.summary(tables.load(out))
    broken = calls.wrapped("- " + "word " * 30 + "\n| " + "cell " * 30).split("\n")
    assert len(broken) == 3 and len(broken[0]) <= 100 and broken[1].startswith("  word") and broken[2] == "| " + "cell " * 30
    assert not list(tables.load(out)[0].behind())  # auto used what was the fastest
    assert tables.same_parts("eagle+prompt-lookup", "prompt-lookup+eagle") and not tables.same_parts("eagle", "medusa")
    unit["runs"][1]["used"] = "eagle"
    measure.write(os.path.join(out, "m", "one.json"), unit)
    assert list(tables.load(out)[0].behind()) == [(0.0, "gsm8k", "Medusa-1")]
    assert "On 0 of 1 sets" in tables.details(tables.load(out))
    measure.write(os.path.join(out, "m", "one-again.json"), dict(unit, again=True, limit=5, runs=[a_run(1), a_run(1.3), a_run(1.31)]))
    looked = tables.details(tables.load(out))
    assert "| gsm8k | 1.40 | 1.50 | Medusa-1 | 5 | 1.30 | 1.31 | 1.25, 1.25 |" in looked
    assert "On 0 of 1 sets it was the fastest drafter, or the intervals of the two meet. Of the other sets 1 were run again" in looked
    assert "on other prompts; there the intervals meet on 1." in looked
    unknown = dict(a_run(1.3), predicted_speedup=None)
    measure.write(os.path.join(out, "m", "one-again.json"), dict(unit, again=True, limit=5, runs=[a_run(1), unknown, a_run(1.31)]))
    assert "| 5 | 1.30 | 1.31 |  |" in tables.details(tables.load(out))
    unit["runs"][3] = a_run(1.47)
    measure.write(os.path.join(out, "m", "one.json"), unit)
    assert "| gsm8k | 1.50 (1.48 to 1.52) | Medusa-1 | EAGLE | 1.40 (1.38 to 1.42) |" in tables.summary(tables.load(out))
    assert "| Medusa-1 | 1.50 (2.00) |" in tables.details(tables.load(out))  # not bold: nobody knows which of two is faster
    few = dict(unit, runs=[a_run(speed, confidence=0.75) for speed in (1, 1.2, 1.5, 1.1)])
    measure.write(os.path.join(out, "m", "one.json"), few)
    assert "| gsm8k | 1.50 | Medusa-1 | too few prompts | 1.20 |" in tables.summary(tables.load(out))
    assert "| Medusa-1 | 1.50 (2.00) |" in tables.details(tables.load(out)) and not list(tables.load(out)[0].behind())
    assert "All of them have too few prompts to separate any two drafters." in tables.details(tables.load(out))
    measure.write(os.path.join(out, "m", "one.json"), unit)
    # A second set without Medusa-1: no mean over all for it, and prompts taken by set.
    other = dict(unit, task="xsum", limit=3, names=["plain", "auto", "EAGLE"], runs=[a_run(1), a_run(1.2), a_run(1.3)])
    measure.write(os.path.join(out, "m", "two.json"), other)
    both = tables.load(out)[0]
    assert both.taken == {"gsm8k": 1, "xsum": 3} and not both.whole(0.0, "Medusa-1") and len(both.whole(0.0, "EAGLE")) == 2
    assert "1 to 3 prompts a set" in tables.describe(both) and "| Medusa-1 | 1.50 (2.00) |  |  |" in tables.details([both])
    os.remove(os.path.join(out, "m", "two.json"))
    # The short table is of one temperature, and says how many prompts that one had.
    measure.write(os.path.join(out, "m", "sampled.json"), dict(unit, temperature=0.7, limit=9))
    assert "; 1 to 9 prompts a set" in tables.details(tables.load(out)) and "; 1 prompts a set" in tables.summary(tables.load(out))
    os.remove(os.path.join(out, "m", "sampled.json"))
    assert not tables.apart(tables.load(out)[0])
    alone = dict(unit, names=["plain", "Jacobi", "Lookahead, window on"], runs=[a_run(1), a_run(1), a_run(1.1)])
    measure.write(os.path.join(out, "m", "alone.json"), alone)
    assert "Settings of Jacobi and Lookahead apply to all drafters of a run" in tables.apart(tables.load(out)[0])[0]
    os.remove(os.path.join(out, "m", "alone.json"))
    # What was taken again says nothing of another winner.
    unit["runs"][3] = a_run(9, identical=False)
    measure.write(os.path.join(out, "m", "one.json"), unit)
    assert "on other prompts" not in tables.details(tables.load(out)) and "| 5 | 1.30" not in tables.details(tables.load(out))
    assert "**Bytes differ from plain decoding: EAGLE.**" in tables.details(tables.load(out))


def sides_take_turns():
    asked = []
    found = sides.in_turns(["a", "b", "c"], lambda side: asked.append(side) or side.upper(), 2, first=1)
    assert asked == ["b", "c", "a", "c", "a", "b"]
    assert found == [[("a", "A"), ("b", "B"), ("c", "C")]] * 2


def script(path, *lines):
    """A program that prints what the first line says whose pattern is among its arguments."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\ncase \" $* \" in\n%s\nesac\n" % "\n".join("*%s*) echo '%s' ;;" % (words.replace(" ", "\\ "), said) for words, said in lines))
    os.chmod(path, 0o755)


def fake_programs(folder):
    """forerun, and ik_llama.cpp twice as fast with -rtr in plain decoding; its suffix mode drafts well and gives another text."""
    script(os.path.join(folder, "forerun"), ("--version", "forerun 1"), ("tokenize*--messages", '{"prompt": "p", "ids": [1]}'),
           (" tokenize ", json.dumps({"ids": list(range(600))})), (" detokenize ", '{"text": "t"}'),
           (" curve ", '{"rows": [1, 8], "ms": [5, 10], "machine": {"isa": "avx2"}}'),
           (" run ", '{"tok_s": 30, "prompt_tok_s": 300}'),
           (" bench ", json.dumps({"machine": {"isa": "avx2"}, "runs": [
               {"drafter": "none", "tokens": 8, "tok_s": 30, "tokens_per_pass": 1, "rows_per_pass": 1, "identical": True},
               {"drafter": "auto", "tokens": 8, "tok_s": 60, "tokens_per_pass": 2, "rows_per_pass": 3, "identical": True}]})))
    script(os.path.join(folder, "ik", "llama-bench"), (" -rtr ", '[{"avg_ts": 20}]'), ("", '[{"avg_ts": 10}]'))
    script(os.path.join(folder, "ik", "passes"), (" -rtr ", '{"rows": [1, 8], "ms": [10, 40], "difference": [0, 0]}'),
           ("", '{"rows": [1, 8], "ms": [10, 15], "difference": [0, 0]}'))

    def attempt(seconds, text):
        return json.dumps({"row_type": "attempt", "tokens": {"generated": 8}, "timing": {"decode_s": seconds}, "output": text,
                           "quality": {"ok": True}, "speculative": {"accepted_tokens": 3, "draft_tokens": 4}})
    script(os.path.join(folder, "ik", "llama-spec-bench"), ("suffix", attempt(0.2, "other")), ("", attempt(0.8, "text")))


def all_peers_are_measured_in_rounds(folder):
    folder = os.path.join(folder, "peers")
    fake_programs(folder)
    model, added = os.path.join(folder, "m.gguf"), os.path.join(folder, "results.json")
    for path, text in ((model, "x"), (os.path.join(folder, "p.jsonl"), '{"messages": [{"content": "hello"}]}'), (os.path.join(folder, "t"), "t")):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    args = peers.arguments(["-m", model, "--rounds", "1", "--add", added, "--rows", "1,8", "--prompts", os.path.join(folder, "p.jsonl"),
                            "--text", os.path.join(folder, "t"), "--forerun", os.path.join(folder, "forerun"), "--ik-modes", "suffix"])
    args.messages = ["hello"]
    places = {"ik_llama.cpp": os.path.join(folder, "ik"), "llama.cpp": os.path.join(folder, "empty")}
    for _ in range(2):  # the second adds to the first; llama.cpp fails, OpenVINO is not there
        assert peers.measure(args, results.load(added), places, folder) == 0
    rounds = results.load(added)
    assert len(rounds) == 8 and "llama.cpp" in rounds[0]["asked"] and set(rounds[0]["sides"]) == {"forerun", "ik_llama.cpp", "ik_llama.cpp -rtr"}
    lines = {line.title: line for line in results.measures(rounds)}
    assert list(lines) == ["plain decoding", "prompt of 512 tokens", "pass of 1 row", "pass of 8 rows", "best speculative mode"]
    assert lines["plain decoding"].best() == "ik_llama.cpp -rtr" and lines["plain decoding"].ratios["ik_llama.cpp"] == [3, 3]
    assert lines["pass of 8 rows"].best() == "ik_llama.cpp" and lines["pass of 8 rows"].ratios["ik_llama.cpp -rtr"] == [4, 4]
    text = results.details(rounds, "the command")
    assert "| 30.0 | 10.0: **3.00** (3.00 to 3.00) | 20.0: **1.50** (1.50 to 1.50) | **1.50** (1.50 to 1.50), ik_llama.cpp -rtr | 2 |" in text
    assert "| 60.0, auto | 40.0: **1.50** (1.50 to 1.50), suffix, other text in 2 of 2 |" in text
    assert "avx2, " in text and "forerun: forerun 1. Command: `the command`." in text
    short = dict(rounds[3], sides=dict(rounds[3]["sides"], **{"ik_llama.cpp": {"none": [1, 1e-4, 0, 0, True]}}))
    assert short["part"] == "speculative"
    assert results.measures([rounds[3], short])[0].ratios == {"ik_llama.cpp": [1.5], "ik_llama.cpp -rtr": [1.5, 1.5]}
    assert "| m | **1.50** (1.50 to 1.50), ik_llama.cpp -rtr | **15.00** " in results.summary(rounds)
    with open(added, "w", encoding="utf-8") as f:
        f.write("[]")
    assert "not results" in fails(results.load, added)


def one_peer_is_measured_in_pairs(folder):
    folder = os.path.join(folder, "peers")
    args = argparse.Namespace(forerun=os.path.join(folder, "forerun"), programs=os.path.join(folder, "ik"), isa="auto", threads=2, modes=[],
                              text=os.path.join(folder, "t"), predict=8, rounds=1, pairs=3, rows=[1, 8], draft_for=lambda model: None)
    bench = llamacpp.Bench(args, os.path.join(folder, "m.gguf"), folder)
    assert bench.prompt() == [("prompt", "", "tokens/s", 300, 10, [30] * 3, "")]
    assert bench.decode()[0] == ("decode", "", "tokens/s", 30, 10, [3] * 3, "")
    assert bench.passes() == [("pass", 1, "ms", 5, 10, [2] * 3, ""), ("pass", 8, "ms", 10, 15, [1.5] * 3, "")]


def a_peer_without_sources_is_left_out(folder):
    assert "FR_IK_SOURCE" in fails(build.build_ik, None, folder, 1) and "not the sources" in fails(build.build_ik, folder, folder, 1)
    assert build.prepare_all(["ik_llama.cpp"], folder, None, 1) == {}


def fake_lab(folder, drafting=2):
    """A program that answers `run` and `replay`: 8 tokens a prompt, an eagle in 2 passes, all others in 4, a head of 4 tokens of
    HumanEval copied in one. Calls are logged; what no model has a pack for fails."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "lab")
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!%s\n" % sys.executable + """import json, sys
line, drafting = sys.argv[1:], %d
value = lambda option: line[line.index(option) + 1]
open(__file__ + ".log", "a").write(line[0] + (" " + value("--drafters") if "replay" in line else "") + "\\n")
if line[0] == "run":
    sys.exit("forerun: no pack") if "chimera" in value("--drafter") else print("{}")
if line[0] == "replay":
    options = [line[i + 1] for i, word in enumerate(line) if word == "--draft-opt"]
    found = []
    for spec in value("--drafters").split(","):
        prompts = [dict(json.loads(text), key=text.strip(), tokens=8, passes=2 if "eagle" in spec else 4, rows=34, checked=not i, date="2026-01-0%%d" %% (1 + i)) for path in value("--prompts").split(",") for i, text in enumerate(open(path))]
        for one in prompts:
            one.update(set=one["task"], copied_tokens=4 * (one["task"] == "humaneval"), copied_passes=1 * (one["task"] == "humaneval"))
        found.append({"setup": {"drafter": spec, "draft_opts": options, "packs": ["abc"], "files": [99], "drafting": drafting}, "prompts": prompts[::-1]})
    print(json.dumps({"drafters": found, "seconds": {"answers": 1, "replay": 2, "check": 3}}))
""" % drafting)
    os.chmod(path, 0o755)
    return path


def prompt_files(folder, **counts):
    os.makedirs(folder, exist_ok=True)
    for task, count in counts.items():
        with open(os.path.join(folder, task + "_dev.jsonl"), "w", encoding="utf-8") as f:
            f.writelines(json.dumps({"task": task, "n": i}) + "\n" for i in range(count))
    return os.path.join(folder, "*.jsonl")


def calls_of(binary):
    with open(binary + ".log", encoding="utf-8") as f:
        return f.read().splitlines()


def a_system_that_can_run_later_is_not_forgotten(folder):
    """A unit that was measured without it, or with another drafter of its name, is not called done."""
    path, eagle = os.path.join(folder, "unit.json"), [system for system in SYSTEMS if system.name == "EAGLE"][0]
    args = argparse.Namespace(tokens=8, limit=3, seed=1, threads=2)
    unit, tasks = (path, "m.gguf", "gsm8k", "", [eagle], ["eagle"], (), 0.0), {"gsm8k": [1, 2]}
    one = {"names": ["plain", "EAGLE"], "runs": [{"drafter": "none"}, {"drafter": "eagle"}], "tokens": 8, "limit": 2, "machine": {"threads": 2, "cpu": machine.cpu_name()}}
    measure.write(path, one)
    assert compare.is_done(args, unit, tasks)  # no word of the seed: 1
    assert "measured with seed 1, here it is 2" in fails(compare.is_done, argparse.Namespace(**dict(vars(args), seed=2)), unit, tasks)
    measure.write(path, dict(one, runs=[{"drafter": "none"}, {"drafter": "medusa"}]))
    assert "measured without EAGLE, or with another drafter" in fails(compare.is_done, args, unit, tasks)
    measure.write(path, dict(one, names=["plain"], runs=[{"drafter": "none"}]))
    assert "measured without EAGLE" in fails(compare.is_done, args, unit, tasks)
    assert compare.is_new(eagle, {"why": "no pack"}, {}) and not compare.is_new(eagle, {"spec": "eagle"}, {}) and compare.is_new(eagle, {"spec": "medusa"}, {})
    two = [system for system in SYSTEMS if "{draft}" in system.spec][0]
    assert not compare.is_new(two, {"spec": "draft-model:a"}, {}) and compare.is_new(two, {"why": "needs --draft"}, {})


def replays_are_of_what_is_asked(folder):
    folder = os.path.join(folder, "replays")
    lab, files = fake_lab(folder), [os.path.join(folder, "gsm8k_dev.jsonl")]
    prompt_files(folder, gsm8k=3)
    found, seconds = replays.replay([lab, "replay"], files, ["medusa"], os.path.join(folder, "m"))
    lines = found["medusa"]["sets"]["gsm8k"]
    assert seconds == 6 and [line["n"] for line in lines] == [0, 1, 2] and lines[0]["passes"] == 4  # by key
    many = ["eagle:%d" % i for i in range(100)]
    assert list(replays.replay([lab, "replay"], files, many, os.path.join(folder, "m"))[0]) == many
    assert [len(call.split(",")) for call in calls_of(lab)] == [1, 64, 36]


def tokens_a_pass_are_pooled(folder):
    work = os.path.join(folder, "tokens")
    args = argparse.Namespace(bin=fake_lab(work), model=["models/m.gguf"], prompts=[prompt_files(os.path.join(work, "in"), gsm8k=4, humaneval=2)], draft={}, store={},
                              threads=1, seed=1, work=work, out=os.path.join(work, "out"), temps="0", tokens=8, longer={"humaneval": 16}, tree="16", width=16, check=0.02,
                              limit=30, systems="Medusa-1;EAGLE;EAGLE-1, static tree;Chimera;REST", status=False)
    tokens.measure(argparse.Namespace(**dict(vars(args), status=True)))
    assert not os.path.exists(args.bin + ".log")  # nothing was run
    tokens.measure(args)
    # Three can run, Chimera cannot, REST needs a store; two sets by two kinds of options.
    assert [call.split()[0] for call in calls_of(args.bin)] == ["run"] * 4 + ["replay"] * 6  # two ask what results depend on
    path = os.path.join(args.out, "m-0.json")
    result = measure.read(path)
    assert list(result["systems"]) == ["Medusa-1", "EAGLE", "EAGLE-1, static tree"] and result["systems"]["EAGLE"]["sets"]["gsm8k"] == [[8, 2, 0, 0]] * 4
    assert result["seconds"] == 24 and result["systems"]["EAGLE"]["dates"] == {"gsm8k": "2026-01-04", "humaneval": "2026-01-02"}
    names = {"Medusa-1": "medusa", "EAGLE": "eagle", "Chimera": "chimera"}
    assert tokens.cells_left(result, names, {"gsm8k": 4, "humaneval": 3}) == 4  # two of Chimera, one prompt of the others
    with open(args.bin + ".log", "w", encoding="utf-8"):
        pass
    tokens.measure(args)  # what could run is not tried again, what could not is; all sets are there
    assert [call.split()[0] for call in calls_of(args.bin)] == ["run"] + ["replay"] * 2
    less = measure.read(path)
    less["systems"]["EAGLE"]["packs"]["gsm8k"] = ["older"]
    del less["systems"]["Medusa-1"]["sets"]["humaneval"]
    measure.write(path, less)
    args.work = os.path.join(work, "another machine's")
    os.makedirs(args.work)
    tokens.measure(args)  # of today's packs, and what is missing
    assert [call for call in calls_of(args.bin) if "replay" in call][4:] == ["replay eagle", "replay medusa"], calls_of(args.bin)
    assert measure.read(path) == dict(result, seconds=36)
    assert "other prompts of gsm8k" in fails(tokens.measure, argparse.Namespace(**dict(vars(args), limit=1)))
    fewer = {"drafting": 2, "systems": {"EAGLE": {"sets": {"gsm8k": [[8, 2, 0, 0]] * 4}}}}
    assert "4 prompts are there, here are 1" in fails(tokens.add, fewer, "EAGLE", {"setup": {"drafting": 2, "drafter": "eagle"}, "sets": {"gsm8k": [{}]}})
    assert "tokens 8, here it is 9" in fails(tokens.measure, argparse.Namespace(**dict(vars(args), tokens=9)))
    fake_lab(work, drafting=3)
    assert "other trees" in fails(tokens.measure, args)
    columns = tokens.columns_of(result)
    assert columns["gsm8k"]["EAGLE"] == (4, 4, 4) and columns["humaneval, not copied"]["EAGLE"][0] == 4 and columns["all"]["Medusa-1"][0] == 2
    del result["systems"]["EAGLE-1, static tree"]
    for part in ("sets", "rows"):
        del result["systems"]["Medusa-1"][part]["humaneval"]
    table = "\n".join(tokens.table(result))
    assert "| Medusa-1 | 2.00 (2.00 to 2.00) |  |  |  | 8 |" in table, table
    assert "| EAGLE | **4.00 (4.00 to 4.00)** | 4.00 (4.00 to 4.00) | " in table  # alone it is before nobody
    measure.write(path, result)
    measure.write(os.path.join(args.out, "m-0.7.json"), dict(result, temperature=0.7))
    args = argparse.Namespace(out=args.out, temps="0", systems="EAGLE")
    assert [list(found["systems"]) for found in tokens.results(args)] == [["EAGLE"]] and "| Medusa-1" not in tokens.tables(args)
    assert "no results" in fails(tokens.tables, argparse.Namespace(out=args.out, temps="1", systems=None))
    # Medusa lacks one set: the ratio is of the other alone, and of prompts that are all alike.
    assert "| EAGLE | Medusa-1 | 2.000 (2.000 to 2.000) | 1 | 1 | 0 |" in tokens.tables(argparse.Namespace(**dict(vars(args), systems=None)))
    assert "8 tokens at most, 16 of humaneval, trees of 16 candidates, 2026-01-02 to 2026-01-04: " in tokens.describe(result)


def methods_are_ordered_at_an_equal_budget(folder):
    work = os.path.join(folder, "equal")
    os.makedirs(work)
    data = {"texts": 9, "answer_tokens": 5000, "held_out_texts": 4}
    methods = {name: [{"seed": right, "steps": 5, "tokens": 4096, "seconds": 600, "right": [right / 100, 0.2, 0.1, 0.05], "data": data, "checked": 1,
                       "machine": "a machine", "date": "2026-01-01",
                       "sets": {"gsm8k": [[8, passes]] * 3, "xsum": [[8, passes]] * 2}} for right in (30, 40)]
               for name, passes in (("Medusa", 4), ("EAGLE", 2))}
    result = {"list": "methods", "model": "m", "seconds": 9, "steps": 0, "threads": 2, "tokens": 8, "methods": methods}
    measure.write(os.path.join(work, "m-methods.json"), result)
    text = equal_table.table(work, "methods").splitlines()
    assert text[0].startswith("m, a machine, 2026-01-01: 9 seconds of 2 threads each") and "3 prompts of gsm8k; 2 prompts of xsum; 4 results" in text[0]
    assert text[4] == "| EAGLE | 5 | 600 | 4 | 35.0, 20.0, 10.0, 5.0 (30.0 to 40.0) | **4.00 (4.00 to 4.00)** | 2.000 (2.000 to 2.000) | 4.00, 4.00 | before Medusa (Li et al. 2024) |"
    told = dict(result, methods={"EAGLE": [methods["EAGLE"][0], dict(methods["EAGLE"][1], right_everywhere=[0.4, 0.1])], "Medusa": methods["Medusa"]})
    assert equal_table.right_of(told["methods"]["EAGLE"], "right_everywhere") == "40.0, 10.0" and equal_table.right_of(methods["Medusa"], "right_everywhere") == ""
    assert equal_table.rights_of(told) == ["right_everywhere", "right"] and equal_table.rights_of(result) == ["right"]
    one = dict(result, methods={name: ones[:1] for name, ones in methods.items()})
    assert not equal_table.stands_out(one, {"EAGLE": (4, 4, 4), "Medusa": (2, 2, 2)})  # one seed shows no order
    near = dict(result, methods={"EAGLE": methods["EAGLE"], "Medusa": [methods["EAGLE"][0], methods["Medusa"][0]]})
    assert not equal_table.stands_out(near, {"EAGLE": (4, 4, 4), "Medusa": (3, 3, 3)})  # nor where a seed of another is as good
    assert text[5].startswith("| Medusa | 5 | 600 | 4 | 35.0, 20.0, 10.0, 5.0 (30.0 to 40.0) | 2.00 (2.00 to 2.00) |  | 2.00, 2.00 |")
    fewer = dict(result, methods={"EAGLE": methods["EAGLE"][1:], "Medusa": [dict(methods["EAGLE"][0]), methods["Medusa"][1]]})
    assert equal_table.over_base(fewer, "EAGLE") == "2.000 (2.000 to 2.000)"  # of the seed that both have
    assert not equal_table.over_base(dict(result, methods={"EAGLE": methods["EAGLE"]}), "EAGLE")
    uneven = [dict(methods["EAGLE"][0], sets={"gsm8k": [[8, 2]], "xsum": [[8, 2]] * 2}), methods["EAGLE"][1]]
    assert "seeds on different prompts" in fails(equal_table.prompts_of, uneven)
    for methods in equal_table.LISTS.values():
        packs = {equal.pack_of(argparse.Namespace(list="methods", work=work, steps=0), method, 0) for method in methods}
        assert len(packs) == len({method.name for method in methods}) == len(methods)
    assert "no results" in fails(equal_table.table, work, "recipes")
    recipe = {equal_table.RECIPES[0].name: result["methods"]["EAGLE"]}
    measure.write(os.path.join(work, "m-recipes.json"), dict(result, list="recipes", methods=recipe))
    assert equal_table.table(work, "recipes").splitlines()[2].startswith("| recipe | steps |") and "paper" not in equal_table.table(work, "recipes")
    measure.write(os.path.join(work, "m-recipes-tokens.json"), dict(result, list="recipes", methods=recipe, seconds=0, steps=70))
    lines = [line.split(": ")[1].split(",")[0] for line in equal_table.table(work, "recipes").splitlines() if line.startswith("m, ")]
    assert lines == ["9 seconds of 2 threads each", "70 steps each"], lines
    args = argparse.Namespace(seconds=30, threads=2)
    assert equal.steps_of(args, [10, 0.5]) == 100 and equal.steps_of(args, [100, 0.5]) == 1


def equal_trainings_are_gone_on_with(folder):
    work = os.path.join(folder, "equal-work")
    args = argparse.Namespace(bin="forerun-lab", model=["m.gguf"], data="states", work=work, out=os.path.join(folder, "equal-out"), list="recipes", seconds=100, steps=0,
                              seeds=[0, 1], threads=1, tokens=8, limit=1, machine="first", part=None, status=False)
    lines, stopped_at = [], 15

    def train(line):
        if len(lines) == stopped_at:
            raise KeyboardInterrupt
        lines.append(line)
        steps = int(line[line.index("--steps") + 1])
        return {"steps": steps, "tokens": 10 * steps, "parameters": 1, "data": {}, "curve": [{"step": 5, "accuracy": [0.5]}],
                "best": {"step": 5, "loss": 1, "accuracy_depth_rank": [[0.5, 0.6]]}}, 20 + 2 * steps

    replaced = {name: getattr(equal, name) for name in ("train", "drafted")}
    equal.train, equal.drafted = train, lambda args, spec: {"sets": {"gsm8k": [[8, 4]]}, "checked": 0}
    try:
        count = len(equal.LISTS["recipes"])
        stopped_at = 2 * count + 3
        try:
            equal.measure(args)
            raise AssertionError("it was not stopped")
        except KeyboardInterrupt:
            pass
        found = measure.read(equal.result_path(args))
        assert len(found["rates"]) == count and sum(map(len, found["methods"].values())) == 3
        stopped_at, args.machine = None, "second"  # the rates, and so the steps, stay those of the first
        del lines[:]
        equal.measure(args)
        ones = [one for ones in measure.read(equal.result_path(args))["methods"].values() for one in ones]
        assert len(lines) == len(ones) - 3 == len(equal.trainings(args)) - 3
        assert {one["steps"] for one in ones} == {40} and {one["machine"] for one in ones} == {"first", "second"}
        args.seconds = 200
        assert "measured with seconds 100" in fails(equal.measure, args)
    finally:
        for name, function in replaced.items():
            setattr(equal, name, function)


def settings_are_compared_on_the_same_prompts(folder):
    work = os.path.join(folder, "variants")
    os.makedirs(work)
    few, many = [[8, 4], [8, 8]], [[8, 2], [8, 4]]
    prompts = prompt_files(os.path.join(work, "in"), gsm8k=2)
    args = argparse.Namespace(bin=fake_lab(work), prompts=[prompts], work=work, out=os.path.join(work, "out"), group="reuse", packs="trained", tokens=8, threads=1, seed=1, check=0, limit=30, status=False)
    variants.measure(args, "m.gguf")
    kept = measure.read(os.path.join(args.out, "m-reuse.json"))["variants"]
    assert len(kept) == len(calls_of(args.bin)) == len(variants.GROUPS["reuse"].variants)
    assert dict(kept[variants.FRESH], packs=[], date="") == {"rows": 68, "checked": 1, "packs": [], "date": "", "sets": {"gsm8k": [[8, 4]] * 2}}
    variants.measure(args, "m.gguf")
    assert len(calls_of(args.bin)) == len(kept) and "limit 30, here it is 5" in fails(variants.measure, argparse.Namespace(**dict(vars(args), limit=5)), "m.gguf")
    others = argparse.Namespace(**dict(vars(args), prompts=[prompt_files(os.path.join(work, "other"), gsm8k=3)]))
    assert "measured with other prompts of gsm8k" in fails(variants.measure, others, "m.gguf")
    there = {variant.name: {"sets": {"gsm8k": many if "mode=fused" in variant.options else few}, "rows": 12, "checked": 1} for variant in variants.GROUPS["reuse"].variants[:3]}
    measure.write(os.path.join(work, "m-reuse.json"), {"model": "m", "date": "2026-01-01", "tokens": 8, "variants": there})
    text = variants.table(argparse.Namespace(out=work, group="reuse")).splitlines()
    assert text[0] == "m, greedy, 8 tokens, 2026-01-01, 2 prompts of gsm8k; 3 results checked by full decoding, all equal." and "over a new chain" in text[2]
    assert text[4].endswith("| 1.33 (1.00 to 2.00) | 1 |  |") and text[5].endswith("| 1.00 (1.00 to 1.00) |")
    assert text[6].endswith("| 2.67 (2.00 to 4.00) | 2 | 2.00 (2.00 to 2.00) |"), text[6]
    for n, one in enumerate(there.values()):
        one.update(packs=["old" if n else "new"], date="2026-01-0%d" % (n + 1))
    measure.write(os.path.join(work, "m-reuse.json"), {"model": "m", "date": "2026-01-01", "tokens": 8, "variants": there})
    assert "two packs" in fails(variants.table, argparse.Namespace(out=work, group="reuse"))
    there[variants.FRESH]["packs"] = ["old"]
    measure.write(os.path.join(work, "m-reuse.json"), {"model": "m", "date": "2026-01-01", "tokens": 8, "variants": there})
    assert "2026-01-01 to 2026-01-03, 2 prompts of gsm8k" in variants.table(argparse.Namespace(out=work, group="reuse"))
    assert "no results" in fails(variants.table, argparse.Namespace(out=work, group="trees"))
    assert variants.measure(argparse.Namespace(**dict(vars(args), group="vectors")), "m.gguf") is None
    assert "ppd:trained/ppd-09-0.gguf" in calls_of(args.bin)[-1] and ablations.GROUPS["ppd"].settings[9].name == variants.GROUPS["vectors"].variants[-1].name
    for group in variants.GROUPS.values():
        names = [variant.name for variant in group.variants]
        assert len(set(names)) == len(names) and all(variant.to in ("", *names) for variant in group.variants)


def guesses_are_compared_at_the_same_places(folder):
    work = os.path.join(folder, "distances")
    os.makedirs(work)
    few, many = [[[10, 2, 5], [10, 4, 5]]] * 3, [[[10, 3, 10], [10, 5, 10]]] * 3
    ones = {method: many if method == "ppd" else few for method in distances.METHODS}
    measure.write(os.path.join(work, "m.json"), {"model": "m", "date": "2026-01-01", "tokens": 8, "sets": {"gsm8k": ones}})
    text = distances.table(argparse.Namespace(out=work)).splitlines()
    assert text[0].endswith("gsm8k 20 of 2 prompts.") and text[5] == "| gsm8k | PPD | %s | %s |" % (", ".join(["40 (30 to 50)"] * 3), ", ".join(["100 (100 to 100)"] * 3))
    assert text[-1] == "| gsm8k | PPD over Medusa | %s | %s |" % (", ".join(["+10.0 (+10.0 to +10.0)"] * 3), ", ".join(["+50.0 (+50.0 to +50.0)"] * 3)), text[-1]


def settings_are_told_with_errors_and_seeds(folder):
    work = os.path.join(folder, "ablations")
    os.makedirs(work)
    data = {"texts": 20, "held_out_texts": 9, "held_out_tokens": 5000}
    one = {"step": 5, "tokens": 2e6, "data": data, "loss": 3.5, "right": [0.4, 0.2], "error": [0.01, 0.02]}
    found = {"model": "m", "machine": "a machine", "date": "2026-01-01", "options": "--steps 9", "settings": {"a": {"0": one, "1": dict(one, right=[0.5, 0.2], loss=4.5)}, "b": {"0": dict(one, step=0)}}}
    measure.write(os.path.join(work, "masked.json"), found)
    text = ablations.table(argparse.Namespace(out=work, group="masked")).splitlines()
    assert "9 of 20 texts held out (5 thousand tokens)" in text[0] and "means of 2 seeds" in text[0]
    assert text[4] == "| a | 45.0 ± 1.0, 20.0 ± 2.0 (40.0, 50.0) | 4.000 (3.500, 4.500) | 2.00 |", text[4]
    assert text[5] == "| b | 40.0 ± 1.0, 20.0 ± 2.0 | 3.500: no step improved on the start | 2.00 |", text[5]
    for name, group in ablations.GROUPS.items():
        names = [setting.name for setting in group.settings]
        assert len(set(names)) == len(names) and all(setting.after in ("", *names[:i]) for i, setting in enumerate(group.settings)), name


def solved_sums_are_compared_question_by_question(folder):
    work = os.path.join(folder, "quality")
    os.makedirs(work)
    assert list(quality.numbers("12 and -1,200.5, then 7")) == [12, -1200.5, 7]
    answers = {"0 exact": [[1, 8, 4], [1, 8, 4]], "0.7 exact": [[0, 8, 4], [1, 8, 4]], "0.7 typical": [[1, 8, 2], [1, 8, 2]]}
    measure.write(os.path.join(work, "m.json"), {"model": "m", "drafter": "ppd", "tree": 8, "tokens": 8, "date": "2026-01-01", "answers": answers})
    greedy, row = quality.table(argparse.Namespace(out=work)).splitlines()[-2:]
    measure.write(os.path.join(work, "m.json"), {"model": "m", "drafter": "ppd", "tree": 8, "tokens": 8, "date": "2026-01-01", "answers": dict(answers, **{"1.0 exact": [[1, 8, 4]]})})
    assert quality.table(argparse.Namespace(out=work)).splitlines()[-1] == row  # of one rule alone: no row yet
    assert greedy == "| 0 | 2 | 2 (34 to 100 %) | the same |  | 2.00 (2.00 to 2.00) | the same |  |", greedy
    assert row == "| 0.7 | 2 | 1 (9 to 91 %) | 2 (34 to 100 %) | +50 (+0 to +100) | 2.00 (2.00 to 2.00) | 4.00 (4.00 to 4.00) | 2.00 (2.00 to 2.00) |", row


def curves_have_points_at_doublings(folder):
    work = os.path.join(folder, "curves")
    os.makedirs(work)
    said = os.path.join(folder, "eagle.json")
    curve = [{"step": i, "tokens": 1000 * i, "seconds": 60 * i, "lr": 1, "loss": None, "held_out_loss": 2, "tokens_per_pass": 1.5, "accuracy": [0.1 * i, 0.05]}
             for i in range(6)]
    measure.write(said, {"data": {"held_out_texts": 4}, "curve": curve})
    args = argparse.Namespace(add=said, out=work, model="m", before=0, text="texts", machine="a machine", line="train")
    curves.add_run(args)
    curves.add_run(argparse.Namespace(**dict(vars(args), before=500)))
    runs = curves.models_of(work)["m"]
    assert len(runs) == 2 and [len(list(curves.points_of(run))) for run in runs] == [5, 6]
    assert [row.split(" | ")[1] for row in curves.rows("m", runs[0])] == ["0.00", "0.00", "0.00", "0.00", "0.01"]  # 0, 1, 2, 4 and 5 thousand
    assert "4 texts held out" in curves.table({"m": runs})
    svg = os.path.join(folder, "learning.svg")
    curves.picture(svg, {"m": runs})
    with open(svg, encoding="utf-8") as f:
        assert f.read().count('class="line') == 4  # two distances of two runs


def parts_without_models_are_left_out(folder):
    folder = os.path.join(folder, "papers")
    os.makedirs(folder)
    args = argparse.Namespace(models=folder, prompts=os.path.join(folder, "*.jsonl"), work=folder, status=True)
    known = papers.parts(args)
    assert len({part.name for part in known}) == len(known) >= 4
    assert all(papers.run(args, part) == 0 for part in known)  # nothing is called
    for name in ("gsm8k_dev.jsonl", "mt_bench_dev.jsonl"):
        with open(os.path.join(folder, name), "w", encoding="utf-8"):
            pass
    assert papers.prompts_of(args, "gsm8k,xsum") == [os.path.join(folder, "gsm8k_dev.jsonl")] and len(papers.prompts_of(args, "")) == 2
    assert papers.options_of(args, papers.MODELS) == []
    with open(os.path.join(folder, papers.MODELS[0] + ".store"), "w", encoding="utf-8"):
        pass
    assert papers.options_of(args, papers.MODELS)[0] == "--store"


def gains_of_two_machines_are_compared_set_by_set(folder):
    """Gains of 2 here and 1 there on one set, 4 and 1 on the other: between them sqrt(8), and an interval of Student's."""
    here, there = os.path.join(folder, "here"), os.path.join(folder, "there")
    def gain(speed):
        return [{"drafter": name, "speedup": speed, "rows_per_pass": 3, "tokens_per_pass": 1.5} for name in machines.DRAFTERS]
    os.makedirs(os.path.join(there, "m"))
    os.makedirs(here)
    for task in ("a", "b"):
        machines.write(os.path.join(there, "m", task + "-0.json"), {"runs": gain(1), "limit": 3, "tokens": 8, "machine": {"cpu": "old", "isa": "none"}, "date": "then"})
    mine = {task: {"limit": 3, "tokens": 8, **machines.gains(gain(speed))} for task, speed in (("a", 2), ("b", 4))}
    machines.write(os.path.join(here, "m.json"), {"model": "m", "machine": "new", "date": "now", "sets": mine})
    was, machines.COMPARED = machines.COMPARED, there
    text = machines.table(here)
    mine["a"]["limit"] = 4
    machines.write(os.path.join(here, "m.json"), {"model": "m", "machine": "new", "date": "now", "sets": mine})
    assert "m, a: 4 prompts of 8 tokens, the comparison has 3 of 8" in fails(machines.table, here)
    machines.COMPARED = was
    spread = 12.706 * math.log(2) / 2  # the standard deviation of the two logarithms over the root of two
    low, high = (math.exp(math.log(8) / 2 + sign * spread) for sign in (-1, 1))
    assert "| m | PPD | 1.00 | 2.83 | 2.83 (%.2f to %.2f) | 3.0 | 3.0 |" % (low, high) in text, text
    assert "old, none (then)" in text and "new (now)" in text


def every_part_can_be_called(folder):
    """With models and prompts that are there all parts say what is left; nothing is run."""
    folder = os.path.join(folder, "parts")
    args = argparse.Namespace(models=folder, prompts=prompt_files(folder, alpaca=1, gsm8k=1, mt_bench=1, humaneval=1, summarization=1), work=folder, status=True)
    for model in papers.MODELS:
        with open(os.path.join(folder, model + ".gguf"), "wb"):
            pass
    known = papers.parts(args)
    # What is committed is of other prompts than these.
    apart = [part._replace(line=[*part.line, "--out", folder]) if part.line[0].endswith("tokens.py") else part for part in known]
    assert [part.name for part in apart if papers.run(args, part)] == []
    learn = [part for part in known if "--data" in part.line]
    real, papers.call = papers.call, None  # without their texts they only say what is left
    assert len(learn) == 9 and all(papers.run(argparse.Namespace(**{**vars(args), "status": False}), part) == 0 for part in learn)
    papers.call = real
    pages = {}
    for part in known:
        for doc in part.docs:
            line = [*part.line[1:], *doc]
            marks = {"tokens.py": tokens.MARKS[0].replace("%s", value_of(line, "--marks", "tokens a pass")), "equal.py": equal.MARKS[0] % value_of(line, "--list", "methods"),
                     "ablations.py": ablations.MARKS[0] % value_of(line, "--group", ""), "variants.py": variants.MARKS[0] % value_of(line, "--group", ""),
                     "distances.py": distances.MARKS[0], "quality.py": quality.MARKS[0], "sizes.py": sizes.MARKS[0], "machines.py": machines.MARKS[0],
                     "compare.py": tables.MARKS[0]}
            pages.setdefault(value_of(line, "--doc", ""), set()).add(marks[os.path.basename(part.line[0])])
    assert len(pages) >= 7
    for page, marks in pages.items():
        with open(page, encoding="utf-8") as f:
            text = f.read()
        assert not [mark for mark in marks if text.count(mark) != 1], page


def the_time_of_a_part_adds_up(folder):
    args, part, clock = argparse.Namespace(work=folder), papers.Part("tokens", "", (), None, [], []), iter((0, 5, 10, 17.2))
    real, papers.time.monotonic = papers.time.monotonic, lambda: next(clock)
    try:
        with papers.timed(args, part):
            pass
        with papers.timed(args, part):
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    finally:
        papers.time.monotonic = real
    assert papers.took(args) == {"tokens": 12}


def value_of(line, option, otherwise):
    return line[line.index(option) + 1] if option in line else otherwise


def a_program_that_fails_is_told(folder):
    assert "exit code" in fails(program.train, ["false", "train", "x", "-o", os.path.join(folder, "p.gguf")])


with tempfile.TemporaryDirectory() as folder:
    speculative_text_is_compared_behind_the_prompt()
    statistics_of_a_mode_are_read()
    a_later_line_replaces_an_earlier_one(folder)
    tables_stand_between_the_markers(folder)
    draft_model_is_the_smaller_of_the_family(folder)
    sides_take_turns()
    all_peers_are_measured_in_rounds(folder)
    one_peer_is_measured_in_pairs(folder)
    a_peer_without_sources_is_left_out(folder)
    growth_of_memory_is_seen()
    prompts_are_grouped_by_task(folder)
    all_units_have_one_seed(folder)
    the_comparison_names_the_fastest(folder)
    a_system_that_can_run_later_is_not_forgotten(folder)
    replays_are_of_what_is_asked(folder)
    tokens_a_pass_are_pooled(folder)
    methods_are_ordered_at_an_equal_budget(folder)
    equal_trainings_are_gone_on_with(folder)
    settings_are_compared_on_the_same_prompts(folder)
    guesses_are_compared_at_the_same_places(folder)
    settings_are_told_with_errors_and_seeds(folder)
    solved_sums_are_compared_question_by_question(folder)
    curves_have_points_at_doublings(folder)
    parts_without_models_are_left_out(folder)
    the_time_of_a_part_adds_up(folder)
    gains_of_two_machines_are_compared_set_by_set(folder)
    every_part_can_be_called(folder)
    a_program_that_fails_is_told(folder)
END
