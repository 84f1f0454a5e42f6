#!/usr/bin/env python3
"""What typical acceptance does to answers: sums of GSM8K solved, under the exact and under the typical rule.

PPD (arXiv 2405.18628, table 1) asks a judge how good the answers are that typical acceptance gives; here the answers
are numbers, so they are right or wrong. Every question is answered once by each rule at each temperature, with the
same seeds. The data is JSON lines (plain or gzip) of {"id", "messages": [user, assistant]}, where the assistant's last
line ends with "#### NUMBER", as in GSM8K's train split.

    bench/papers/quality.py --model MODEL.gguf --data gsm8k_train.jsonl.gz --limit 40 --drafter ppd
"""
import gzip
import json
import math
import re

from program import ask, options


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"-?\d[\d,]*(?:\.\d+)?", text)]


def questions(path, limit):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for _, line in zip(range(limit), lines):
            ask, answer = json.loads(line)["messages"][:2]
            yield ask["content"], numbers(answer["content"].rsplit("####", 1)[1])[0]


def interval(right, n, z=1.96):
    """Wilson's interval (1927) of a share."""
    share, bend = right / n, z * z / n
    middle, half = share + bend / 2, z * math.sqrt(share * (1 - share) / n + bend / (4 * n))
    return (middle - half) / (1 + bend), (middle + half) / (1 + bend)


def main():
    parser = options(__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--limit", type=int, default=40)
    parser.add_argument("--tokens", type=int, default=320)
    parser.add_argument("--temps", default="0,0.7")
    parser.add_argument("--rules", default="exact,typical")
    args = parser.parse_args()
    asked = list(questions(args.data, args.limit))
    print("%-8s %5s %8s %16s %13s" % ("rule", "temp", "solved", "95 %", "tokens a pass"))
    for temperature in map(float, args.temps.split(",")):
        for rule in args.rules.split(","):
            right = tokens = passes = 0
            for seed, (question, want) in enumerate(asked):
                got = ask(args, "run", "-p", question, "-n", args.tokens, "--drafter", args.drafter, "--accept", rule,
                          "--temp", temperature, "--seed", seed)
                found = numbers(got["text"])
                right += bool(found) and abs(found[-1] - want) < 1e-6
                tokens, passes = tokens + got["completion_tokens"], passes + got["passes"]
            low, high = interval(right, len(asked))
            print("%-8s %5.1f %3d of %3d %6.0f..%.0f %% %13.2f"
                  % (rule, temperature, right, len(asked), 100 * low, 100 * high, tokens / passes), flush=True)


if __name__ == "__main__":
    main()
