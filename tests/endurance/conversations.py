"""Conversations: `chat` over a pipe and `distill` must say what `run --messages` says, turn by turn."""
import json
import os

import draws
import tally
from lines import company, pick, prepare
from trial import Failed, shown


def said(trial, base, messages, name):
    """(the text of `run` on these messages, or None where it is refused; its arguments)."""
    path = trial.write(name, json.dumps(messages))
    args = ["run", "--json", "--messages", path, "--drafter", "none"] + base
    done = trial.run(args)
    tally.lines["conversations"] += 1
    if done.code:
        return None, done.sentence(), args
    return json.loads(done.out)["text"], "", args


def typed_lines(rng):
    """What somebody types: texts of one line, /reset at times."""
    typed = []
    for _ in range(rng.randint(1, 5)):
        line = draws.text(rng, 60).replace("\n", " ").replace("\r", " ")
        typed.append("/reset" if rng.random() < 0.15 else line.lstrip("/"))
    return typed


def chat(trial):
    """The answers of a chat, drafted or not, are those of `run` on the conversation so far."""
    rng = trial.rng
    prepare(trial)
    model = pick(trial, 0.15)
    base = [a for g in draws.sampling(rng) + [["-n", rng.randint(1, 40)]] + draws.template(trial, model) for a in g]
    base += ["-m", model, "-c", rng.choice([200, 300, 400])]
    if "--temp" not in " ".join(map(str, base)):
        base += ["--temp", "0"]  # chat's default is another
    names, more = draws.drafting(trial, model)
    typed = typed_lines(rng)
    source = trial.write("typed.txt", "\n".join(typed) + rng.choice(["\n", ""]))
    args = ["chat", "-q"] + base + [a for g in more + company_of(trial, model) for a in g]
    with open(source, "rb") as stdin:
        done = trial.run(args, stdin=stdin)
    tally.lines["chat"] += 1
    tally.drew(names, None)
    if done.code in (1, 2) and not done.out:
        return tally.said_no("(chat) " + done.sentence())
    if done.code:
        raise Failed("ended with %d: %s < %s: %s" % (done.code, shown(args), source, done.sentence()))
    messages, expected = [], b""
    for line in typed:
        if line == "/reset":
            messages = []
        elif line:
            messages.append({"role": "user", "content": line})
            answer, sentence, plain = said(trial, base, messages, "turn%d.json" % len(messages))
            if answer is None:
                if "context" not in sentence:
                    raise Failed("run refuses a turn that chat took: %s: %s < %s" % (sentence, shown(plain), source))
                messages.pop()
            else:
                messages.append({"role": "assistant", "content": answer})
            expected += (answer or "").encode() + b"\n"
            if not done.out.startswith(expected):
                raise Failed("chat says %r, run %r in turn %d: %s < %s\n    against: %s" % (
                    done.out[-200:], expected[-200:], len(messages), shown(args), source, shown(plain)))
    if done.out != expected:
        raise Failed("chat says more than run: %r: %s < %s" % (done.out[len(expected):], shown(args), source))


def company_of(trial, model):
    """Threads, instruction set and memory, of which the bytes must not depend."""
    class Here:
        pass
    here = Here()
    here.trial, here.model, here.tiny = trial, model, os.path.basename(model).startswith("tiny-")
    return [g for g in company(here) if g[0] not in ("-q", "--quiet")]


def distill(trial):
    """Greedy answers of texts that share passes are those of `run`."""
    rng = trial.rng
    prepare(trial)
    model = pick(trial, 0.1)
    n, turns, context = rng.choice([1, 5, 20, 60]), rng.randint(1, 3), rng.choice([150, 300, 500])
    questions = [{"id": "q%d" % i, "messages": [{"role": "user", "content": draws.text(rng, 80)} for _ in range(rng.randint(1, 3))]} for i in range(rng.randint(1, 8))]
    for q in questions:
        if rng.random() < 0.2:
            q["messages"].insert(0, {"role": "system", "content": draws.text(rng, 40)})
    prompts = trial.write("prompts.jsonl", "".join(json.dumps(q) + "\n" for q in questions))
    out = trial.path("answers.jsonl")
    shape = draws.template(trial, model) + ([["--kv-type", rng.choice(["q8_0", "f16+q8_0"])]] if rng.random() < 0.15 else [])
    shape = [a for g in shape for a in g]
    args = ["distill", "-q", "-m", model, "--prompts", prompts, "-o", out, "--sampled", 0, "-n", n, "-c", context, "--turns", turns,
            "--width", rng.choice([1, 2, 3, 32])] + shape + [a for g in company_of(trial, model) for a in g]
    if rng.random() < 0.3:
        args += ["--capture", trial.path("states")]
    done = trial.run(args)
    tally.lines["distill"] += 1
    if done.code in (1, 2):
        return tally.said_no("(distill) " + done.sentence())
    if done.code:
        raise Failed("ended with %d: %s" % (done.code, shown(args)))
    with open(out, encoding="utf-8") as f:
        records = [json.loads(line) for line in f]
    if len({r["id"] for r in records}) != len(records):
        raise Failed("an id stands twice in the answers: %s" % shown(args))
    asked = {q["id"]: q["messages"] for q in questions}
    for record in records:
        check_record(trial, record, asked[record["id"]], ["-m", model, "-n", n, "-c", context, "--temp", 0] + shape, args)


def check_record(trial, record, asked, base, args):
    users = [m for m in record["messages"] if m["role"] == "user"]
    if users != [m for m in asked if m["role"] == "user"][:len(users)]:
        raise Failed("record %s does not hold what was asked: %s" % (record["id"], shown(args)))
    for i, message in enumerate(record["messages"]):
        if message["role"] != "assistant":
            continue
        answer, sentence, plain = said(trial, base, record["messages"][:i], "record%d.json" % i)
        if answer != message["content"]:
            raise Failed("%s: distill says %r, run %r %s: %s\n    against: %s" % (record["id"], message["content"][:200], answer and answer[:200], sentence, shown(args), shown(plain)))


def bench(trial):
    """What bench itself compares is the same; its own exit code says so too."""
    rng = trial.rng
    prepare(trial)
    model = pick(trial, 0.1)
    questions = [{"id": str(i), "messages": [{"role": "user", "content": draws.text(rng, 60)} for _ in range(rng.randint(1, 2))]} for i in range(rng.randint(1, 3))]
    prompts = trial.write("prompts.jsonl", "".join(json.dumps(q) + "\n" for q in questions))
    specs = [draws.part(trial, name, model) for name in rng.sample([d for d in draws.settings(trial.forerun) if d != "none"], rng.randint(1, 3))]
    specs = [s for s in specs if "," not in s] or ["prompt-lookup"]
    args = ["bench", "--json", "-q", "-m", model, "--prompts", prompts, "--drafters", ",".join(specs), "-n", rng.randint(1, 40), "-c", 400]
    args += [a for g in draws.sampling(rng) + draws.template(trial, model) + draws.tree(trial) + company_of(trial, model) for a in g]
    args += (["--no-adapt"] if rng.random() < 0.5 else []) + (["--tree-sizes", "1,3,40"] if rng.random() < 0.2 else []) + (["--repeat", "2"] if rng.random() < 0.2 else [])
    done = trial.run(args)
    tally.lines["bench"] += 1
    if done.code in (1, 2) and not done.out:
        return tally.said_no("(bench) " + done.sentence())
    runs = json.loads(done.out)["runs"] if done.code == 0 or done.out.strip() else []
    different = [r["drafter"] for r in runs if not r["identical"] or not r["lossless"]]
    if done.code or different or not runs:
        raise Failed("bench ends with %d, not identical: %s: %s" % (done.code, different, shown(args)))
    tally.drafters.update(r["drafter"].split(":")[0] for r in runs)


KINDS = {"chat": (3, chat), "distill": (2, distill), "bench": (1, bench)}
