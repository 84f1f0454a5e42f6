#!/usr/bin/env python3
"""The variants with which papers compare their methods: one setting after the other at equal steps,
judged on held-out texts with standard errors.

    bench/papers/ablations.py --group ppd -m smollm2-135m.gguf --data states --work DIR      continues where it was stopped
    bench/papers/ablations.py --group ppd --doc docs/papers/ppd.md                            the table, from committed results

A setting is one training of `forerun-lab train` for each of the group's seeds. Settings that begin
with another setting's pack come after it. All settings of a group have the same steps and order of
texts. The standard errors are those of the held-out texts (docs/training.md). Two settings are
judged on the same texts, so chance separates them less than these errors suggest. The spread of the
seeds is reported beside them.
"""
import argparse
import os
import sys
import time
from collections import namedtuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[1:1] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "comparison")]

from calls import Failure, between_markers, name_of, say, sentences
from measure import dates_of, read, resume, write
from program import add_results, machine_of, physical_cores, train

MARKS = ("<!-- ablations, %s: begin, written by bench/papers/ablations.py -->", "<!-- ablations, %s: end -->")

# learner: what `train` calls it; after: the setting whose pack it begins with.
Setting = namedtuple("Setting", "name learner settings options after", defaults=((), (), ""))
Group = namedtuple("Group", "options settings seeds", defaults=((0,),))


def layers(*places):
    return ("layers=" + "/".join(map(str, places)),)


GROUPS = {
    # PPD, appendix B, tables 2 to 8.
    "ppd": Group(("--steps", "400", "--batch-rows", "256", "--lr", "0.02", "--held-out", "200", "--judgements", "1"), [
        Setting("one vector a prompt", "ppd"),
        Setting("two (`ensemble=2`)", "ppd", ("ensemble=2",)),
        Setting("five (`ensemble=5`)", "ppd", ("ensemble=5",)),
        Setting("ten (`ensemble=10`)", "ppd", ("ensemble=10",)),
        Setting("without distillation (`distil=0`)", "ppd", ("distil=0",)),
        Setting("two, a member sees all before it (`mask=decoder`)", "ppd-ablation", ("ensemble=2", "mask=decoder")),
        Setting("two, a member sees all of its prompt too (`mask=encoder`)", "ppd-ablation", ("ensemble=2", "mask=encoder")),
        Setting("prompt tokens that see none of the others (`mask=alone`)", "ppd-ablation", ("mask=alone",)),
        Setting("learned at the end of texts alone (`end=1`)", "ppd-ablation", ("end=1",)),
        Setting("four prompt tokens (`--depth 4`)", "ppd", (), ("--depth", "4")),
        Setting("two, with learned weights (`weights=1`)", "ppd-ablation", ("ensemble=2", "weights=1")),
        Setting("a trained prefix in every layer (`prefix=1`)", "ppd-ablation", ("prefix=1",)),
        Setting("the mean of the last two layers (`exits=2`)", "ppd-ablation", ("exits=2",)),
        Setting("a head of its own, in one stage (`head=1`)", "ppd-ablation", ("head=1",)),
        Setting("the same in two stages (`--init`)", "ppd-ablation", ("head=1",), ("--lr", "0.002"), "one vector a prompt"),
    ]),
    # Chimera, sections 3.2 and 3.3: from the published form to ours, one change after the other.
    "chimera": Group(("--steps", "200", "--depth", "4", "--held-out", "200", "--judgements", "1"), [
        Setting("as published", "chimera-published"),
        Setting("... with light heads", "chimera-published", ("variant=shared",)),
        Setting("... and the target's states for the earlier text", "chimera-published", ("variant=shared", "context=states")),
        Setting("... and its distributions for labels", "chimera-published", ("variant=shared", "context=states", "labels=soft")),
        Setting("... and the wide encoder: ours", "chimera"),
        Setting("ours without the distance of states (`feature=0`)", "chimera", ("feature=0",)),
    ], (0, 1)),
    # Hidden Transfer, figures 5, 6 and 7.
    "layers": Group(("--steps", "200", "--batch-rows", "512", "--held-out", "200", "--judgements", "1"), [
        *(Setting("all three after layer %d" % at, "hidden-transfer", layers(at, at, at)) for at in (5, 10, 15, 20, 25)),
    ]),
    "second": Group(("--steps", "200", "--batch-rows", "512", "--held-out", "200", "--judgements", "1"), [
        Setting("the first after layer 15", "hidden-transfer", (*layers(15), "step=1")),
        *(Setting("the second after layer %d" % at, "hidden-transfer", (*layers(15, at), "step=2"), (), "the first after layer 15")
          for at in (15, 17, 19, 21, 23, 25)),
    ]),
    "masked": Group(("--steps", "250", "--batch-rows", "512", "--held-out", "200", "--judgements", "1"), [
        Setting("the second sees the first", "hidden-transfer", layers(15, 20)),
        Setting("it does not (`masked=1`)", "hidden-transfer", (*layers(15, 20), "masked=1")),
    ], (0, 1, 2)),
}


def result_path(args):
    return os.path.join(args.out, args.group + ".json")


def pack_name(group, name, seed):
    return "%s-%02d-%d.gguf" % (group, [s.name for s in GROUPS[group].settings].index(name), seed)


def pack_of(args, name, seed):
    return os.path.join(args.work, pack_name(args.group, name, seed))


def train_line(args, setting, seed):
    line = [args.bin, "train", setting.learner, "-m", args.model, "--data", args.data, "-o", pack_of(args, setting.name, seed), "-t", str(args.threads),
            "--seed", str(seed), "--checkpoint-every", "3600", "--json", *GROUPS[args.group].options, *setting.options]
    for option in setting.settings:
        line += ["--set", option]
    return line + (["--init", pack_of(args, setting.after, seed)] if setting.after else [])


def is_there(args, found, setting, seed):
    """Whether a setting has been judged, and its pack lies where another begins with it."""
    judged = {other.name: str(seed) in found["settings"].get(other.name, {}) for other in GROUPS[args.group].settings}
    needed = any(other.after == setting.name and not judged[other.name] for other in GROUPS[args.group].settings)
    return judged[setting.name] and (not needed or os.path.exists(pack_of(args, setting.name, seed)))


def say_left(args, found, left):
    taken = [one["seconds"] / 60 for seeds in found["settings"].values() for one in seeds.values()]
    group = GROUPS[args.group]
    say("%s, %s: %d of %d trainings are left%s" % (args.group, found["model"], len(left), len(group.settings) * len(group.seeds),
                                                   ", %.0f minutes each so far" % (sum(taken) / len(taken)) if taken else ""))


def measure(args):
    """Every training that is not there; the best judgement of each, with its errors: {setting: {seed: ...}}."""
    path = result_path(args)
    found = resume(path, {"model": name_of(args.model), "options": " ".join(GROUPS[args.group].options)},
                   {"machine": machine_of(args), "date": time.strftime("%Y-%m-%d"), "settings": {}})
    group = GROUPS[args.group]
    left = [(setting, seed) for seed in group.seeds for setting in group.settings if not is_there(args, found, setting, seed)]
    say_left(args, found, left)
    if args.status:
        return
    os.makedirs(args.work, exist_ok=True)
    os.makedirs(args.out, exist_ok=True)
    for setting, seed in left:
        start = time.monotonic()
        said, _ = train(train_line(args, setting, seed))
        best = [point for point in said["curve"] if point["step"] == said["best"]["step"]][-1]
        found["settings"].setdefault(setting.name, {})[str(seed)] = {
            "line": " ".join([setting.learner, *("--set " + one for one in setting.settings), *setting.options]), "step": best["step"], "machine": machine_of(args), "date": time.strftime("%Y-%m-%d"),
            "tokens": said["tokens"], "seconds": time.monotonic() - start, "data": said["data"], "loss": best["held_out_loss"],
            "right": best["accuracy"], "error": best["accuracy_error"]}
        write(path, found)
        say("%s: %s, seed %d" % (args.group, setting.name, seed))


def table(args):
    if not os.path.exists(result_path(args)):
        raise Failure("%s: no results" % result_path(args))
    found = read(result_path(args))
    settings = found["settings"]
    first = next(iter(settings.values()))
    data, seeds = first["0"]["data"], len(first)
    trained = [one for by_seed in settings.values() for one in by_seed.values()]
    far = max(len(one["right"]) for one in trained)
    machines = sorted({one.get("machine", found["machine"]) for one in trained})
    if any(one["data"] != data for one in trained):
        raise Failure("%s: its trainings are of different texts" % result_path(args))
    text = ["%s, %s, %s; `%s`; %d of %d texts held out (%d thousand tokens). ± is the standard error%s." % (
        found["model"], " and ".join(machines), dates_of(found, trained), found["options"], data["held_out_texts"], data["texts"], data["held_out_tokens"] // 1000,
        "; means of %d seeds, in brackets the first distance and the loss of each" % seeds if seeds > 1 else ""), "",
        "| setting | right at %s, %% | held-out loss | million tokens |" % ", ".join(map(str, range(1, far + 1))), "| --- | --- | --- | --- |"]
    for name, by_seed in settings.items():
        ones = [by_seed[seed] for seed in sorted(by_seed, key=int)]
        means = [[sum(values) / len(ones) for values in zip(*(one[key] for one in ones))] for key in ("right", "error")]
        right = ", ".join("%.1f ± %.1f" % (100 * share, 100 * error) for share, error in zip(*means))
        loss = "%.3f" % (sum(one["loss"] for one in ones) / len(ones))
        if len(ones) > 1:
            right += " (%s)" % ", ".join("%.1f" % (100 * one["right"][0]) for one in ones)
            loss += " (%s)" % ", ".join("%.3f" % one["loss"] for one in ones)
        loss += "" if any(one["step"] for one in ones) else ": no step improved on the start"
        text.append("| %s | %s | %s | %.2f |" % (name, right, loss, ones[0]["tokens"] / 1e6))
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--group", choices=GROUPS, required=True)
    add_results(add, "ablations")
    add("-m", "--model")
    add("--data", help="folder of shards of the target's own answers")
    add("--work", help="folder of packs, which are gone on with")
    add("-t", "--threads", type=int, default=physical_cores())
    add("--machine", default="", help="the processor, in words")
    args = parser.parse_args()
    if args.model and not (args.work and args.data):
        parser.error("--data DIR and --work DIR are needed")
    with sentences(__file__):
        if args.model:
            measure(args)
        if args.doc:
            between_markers(args.doc, [mark % args.group for mark in MARKS], table(args))


if __name__ == "__main__":
    main()
