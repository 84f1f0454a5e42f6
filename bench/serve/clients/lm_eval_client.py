#!/usr/bin/env python3
"""Tests lm-eval's `local-completions` with `forerun serve`: its numbers must match those that this
script computes from the model's logits.

    bench/serve/clients/lm_eval_client.py --model MODEL.gguf [--program build/forerun]     needs `pip install 'lm-eval[api]'`

Three tasks from files made here: multiple choice (log likelihoods), perplexity (rolling log
likelihoods) and generation. Every log likelihood is compared with the sum over `forerun logits
--all` (logit minus logsumexp, no server), to 1e-4. Generated texts are compared with `forerun run
--request`. The tokenizer is the server's (/tokenizer_info, /tokenize, /detokenize).
"""
import argparse
import json
import os
import subprocess
import tempfile

from server import Server, arguments, check, finish

ITEMS = [("Water freezes at", ["zero degrees.", "a hundred degrees.", "noon."], 0), ("The opposite of up is", ["left.", "down.", "blue."], 1),
         ("Two plus two is", ["five.", "seven.", "four."], 2), ("Paris is the capital of", ["France.", "Spain.", "Peru."], 0),
         ("def add(a, b):\n    return", ["a + b", "a - b", "print"], 0), ("Grüße aus", ["Köln 🙂.", "der Küche.", "東京。"], 0)]
TEXTS = ["The lighthouse keeper climbed the steps every evening and lit the lamp.",
         "Once upon a time there was a ship.\nIt had three masts, and nobody on board.", "Ein Satz mit Umlauten: äöü ß, und 漢字."]
CHOICE = """
task: fr_choice
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/choice.jsonl}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{q}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: "{{{{answer}}}}"
metric_list: [{{metric: acc}}]
"""
ROLLING = """
task: fr_rolling
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/text.jsonl}}}}
test_split: test
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{{{text}}}}"
metric_list: [{{metric: word_perplexity}}]
"""
WRITTEN = """
task: fr_written
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/choice.jsonl}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{q}}}}"
doc_to_target: "{{{{choices[answer]}}}}"
generation_kwargs: {{until: ["\\n\\n", "."], max_gen_toks: 24, temperature: 0, do_sample: false}}
metric_list: [{{metric: exact_match}}]
"""


def write_tasks(folder):
    with open(os.path.join(folder, "choice.jsonl"), "w", encoding="utf-8") as f:
        for q, choices, answer in ITEMS:
            f.write(json.dumps({"q": q, "choices": choices, "answer": answer}) + "\n")
    with open(os.path.join(folder, "text.jsonl"), "w", encoding="utf-8") as f:
        for text in TEXTS:
            f.write(json.dumps({"text": text}) + "\n")
    for name, text in (("choice", CHOICE), ("rolling", ROLLING), ("written", WRITTEN)):
        with open(os.path.join(folder, name + ".yaml"), "w", encoding="utf-8") as f:
            f.write(text.format(folder=folder))


def forerun(o, *words, stdin=""):
    done = subprocess.run([o.program, words[0], "-m", o.model, *words[1:]], capture_output=True, text=True, input=stdin, check=True)
    return json.loads(done.stdout)


def ids_of(o, text):
    return forerun(o, "tokenize", "--special", stdin=json.dumps({"text": text}) + "\n")["ids"]


def score(o, before, after):
    """Log probability of the ids `after` the ids before, and whether each was the likeliest."""
    total, greedy = 0.0, True
    ids = before + after
    found = forerun(o, "logits", "--json", "-q", "--all", "--top", "100000", "--ids", ",".join(map(str, ids[:-1])))["positions"]
    for i, token in enumerate(after):
        at = found[len(before) - 1 + i]
        total += dict(map(tuple, at["top"]))[token] - at["logsumexp"]
        greedy &= at["top"][0][0] == token
    return total, greedy


def compare_choices(o, samples):
    worst, same = 0, True
    for s in samples["fr_choice"]:
        for i, ((said, greedy),) in enumerate(s["resps"]):
            context, choice = s["arguments"][i]
            before = ids_of(o, context)
            after = ids_of(o, context + choice)[len(before):]
            want, best = score(o, before, after)
            worst = max(worst, abs(said - want))
            same &= greedy == best
    check(f"loglikelihood: {3 * len(ITEMS)} are those of the model to 1e-4 (worst {worst:.1e})", worst <= 1e-4, worst)
    check("loglikelihood: whether it is what the model would say", same)


def compare_rolling(o, samples, start):
    worst = 0
    for s in samples["fr_rolling"]:
        ids = ids_of(o, s["doc"]["text"])
        worst = max(worst, abs(s["resps"][0][0] - score(o, [start], ids)[0]))
    check(f"loglikelihood_rolling: those of the model to 1e-4 (worst {worst:.1e})", worst <= 1e-4, worst)


def compare_written(o, samples, folder):
    same = True
    for s in samples["fr_written"]:
        body = os.path.join(folder, "body.json")
        with open(body, "w", encoding="utf-8") as f:
            json.dump({"prompt": ids_of(o, s["arguments"][0][0]), "max_tokens": 24, "temperature": 0, "stop": ["\n\n", "."]}, f)
        want = forerun(o, "run", "--json", "-q", "--drafter", "none", "--request", body)["text"]
        same &= want == s["resps"][0][0] or print(repr(want), repr(s["resps"][0][0]))
    check("generate_until: the text of `run --request`", same)


def main():
    o = arguments(argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter))
    os.environ.update(HF_DATASETS_OFFLINE="1", HF_HUB_OFFLINE="1", OPENAI_API_KEY="sesame", TQDM_DISABLE="1")
    with tempfile.TemporaryDirectory() as folder, Server(o.program, o.model, "--quiet", "--api-key", "sesame") as server:
        os.environ["HF_HOME"] = os.path.join(folder, "cache")
        import lm_eval
        from lm_eval.tasks import TaskManager
        write_tasks(folder)
        for number, more in ((1, "num_concurrent=1"), (2, "num_concurrent=4,tokenized_requests=False"), (3, "num_concurrent=4,batch_size=3")):
            found = lm_eval.simple_evaluate(
                model="local-completions", model_args=f"model=m,base_url={server.url}/completions,tokenizer_backend=remote,"
                f"auth_token=sesame,max_retries=1,{more}", tasks=["fr_choice", "fr_rolling", "fr_written"],
                task_manager=TaskManager(include_path=folder, include_defaults=False), log_samples=True, bootstrap_iters=0)
            print(f"with {more}: acc {found['results']['fr_choice']['acc,none']:.2f}, "
                  f"word perplexity {found['results']['fr_rolling']['word_perplexity,none']:.2f}")
            info = json.loads(server.ask("GET", "/tokenizer_info", headers={"X-Api-Key": "sesame"})[1])
            start = ids_of(o, info.get("bos_token") or info["eos_token"])[0]
            compare_choices(o, found["samples"])
            compare_rolling(o, found["samples"], start)
            compare_written(o, found["samples"], folder)
    finish()


if __name__ == "__main__":
    main()
