#!/usr/bin/env python3
"""Compares forerun's tokens with llama.cpp's: recorded ones and those of random texts.

    bench/vocab_check.py llama.cpp/models/ggml-vocab-*.gguf
    bench/vocab_check.py --random 5000 --as gpt-4o,kimi-k2 --peer ./peer llama.cpp/models/ggml-vocab-llama-bpe.gguf

VOCAB.gguf.inp and VOCAB.gguf.out, where they lie beside the vocabulary, are llama.cpp's texts and the ids that the models' own
tokenizers give them. The tokenizer that random texts are compared with is that of the Python package llama-cpp-python, or
--peer PROGRAM: started as PROGRAM VOCAB, it reads a text a line in hexadecimal and writes its ids, separated by spaces, without
bos and with control tokens read as text. --as PRE,... repeats all with another tokenizer.ggml.pre in a copy of the vocabulary,
for families whose vocabularies are not at hand. Exit code 1: something differs."""
import argparse
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

BETWEEN = "\n__ggml_vocab_test__\n"
WORDS = ("the Weather XMLHttpRequest isn't WE'LL they've I'M o'clock don'T camelCase snake_case naïve Ünïcode straße ΟΔΟΣ όμως "
         "Привет МИР миР İstanbul 日本語 カタカナ ひらがな 漢字 한국어 ㄱㄴㄷ ㄅㄆㄇ ไทยคำ ລາວ ខ្មែរ မြန်မာ हिन्दी में বাংলা தமிழ் العربية مُدَرِّس עברית שָׁלוֹם "
         "ქართული Ჿ հայերեն ᏣᎳᎩ አማርኛ Å é e\u0301 ǅabc ªb ʰC ﬁ 𝒳𝓎 𐐀𐐨").split(" ")
NUMBERS = "0 7 42 123 1234 12345 1234567 1234567890 3.14 1,000,000 2²³ ½ Ⅷ ٣١٢٣ ५६७८ ０１２３ 0x1F 1e-10 v2 12abc34 IMGIMGABZ <sentinel:42>".split(" ")
SIGNS = ("! ? . , ; : ' \" - -- --- _ / \\ // /* */ ( ) [ ] { } <> <= => == != += && || | ~ ` ``` # $ % ^ & * @ + … — – “ ” ‘ ’ « » "
         "。 ， 、 ！ ？ ； 「」 ～ ؟ ، ۔ । € £ ° § © → ≠ ∑ ´ ¨ 's 'S 're 'LL '").split(" ")
SPACES = [" ", "  ", "   ", "    ", "     ", "        ", " " * 19, "\n", "\n\n", "\n\n\n", "\r\n", "\r", "\t", "\t\t", " \n", "\n ", " \n \n", "\t\n", "\v",
          "\f", "\u00a0", "\u2009", "\u3000", "\u0085", "\u2028", "\u2581", "\u200b"]
ODD = ["🙂", "👍🏽", "👩‍👩‍👧", "🇩🇪", "❤️", "\u0301", "\u0301\u0302", "\u064b", "\u200d", "\u200e", "\u202e", "\ufeff", "\ufffd", "\ufffe", "\ue000", "\U000f0000",
       "\U0010ffff", "\x00", "\x01", "\x1b", "\x7f", "\u0080", "\u0378", "<|im_end|>", "<s>", "</s>", "<0x0A>", "<unk>", "Ġ", "Ċ", "âĢ"]


def random_text(rng):
    parts = []
    for _ in range(rng.randint(1, 14)):
        kind = rng.random()
        parts.append(rng.choice(WORDS if kind < .35 else NUMBERS if kind < .47 else SIGNS if kind < .65 else SPACES if kind < .93 else ODD))
        if rng.random() < .45:
            parts.append(" ")
        if rng.random() < .05:
            parts.append(chr(rng.choice([rng.randrange(1, 0x250), rng.randrange(0x250, 0xD7FF), rng.randrange(0x1F300, 0x1F650)])))
        if rng.random() < .05:
            parts.append(parts[-1] * rng.randint(2, 9))
    return "".join(parts)


def assigned(text):
    """Characters that newer versions of Unicode added have other categories in older tables; U+017F is an s where case is
    ignored, which llama.cpp's expressions spell out in ASCII."""
    import unicodedata
    return "\u017f" not in text and all(unicodedata.category(c) != "Cn" or c in "\u0378\ufffe\U0010ffff" for c in text)


def random_texts(n, seed):
    rng, texts = random.Random(seed), []
    while len(texts) < n:
        text = random_text(rng)
        if assigned(text):
            texts.append(text)
    return texts


def recorded(vocab):
    """[(text, its ids)]"""
    if not os.path.exists(vocab + ".inp"):
        return []
    with open(vocab + ".inp", encoding="utf-8", newline="") as file:
        texts = file.read().split(BETWEEN)
    with open(vocab + ".out", encoding="utf-8") as file:
        lines = file.read().splitlines()
    if texts[-1] == "" and len(texts) == len(lines) + 1:
        texts.pop()  # after the last mark
    if len(texts) != len(lines):
        sys.exit("%s: expected %d lines of ids, one a text, found %d" % (vocab + ".out", len(texts), len(lines)))
    return [(text, [int(i) for i in line.split()]) for text, line in zip(texts, lines)]


def forerun(program, vocab, texts):
    """The ids of each text, or a sentence: why not."""
    lines = "".join(json.dumps({"hex": text.encode().hex()}) + "\n" for text in texts)
    done = subprocess.run([program, "tokenize", "-m", vocab], input=lines, capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip()
    return [json.loads(line)["ids"] for line in done.stdout.splitlines()]


def peer(program, vocab, texts):
    if program:
        lines = "".join(text.encode().hex() + "\n" for text in texts)
        done = subprocess.run([program, vocab], input=lines, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
        if done.returncode:
            return done.stderr.strip().split("\n")[-1]
        return [[int(i) for i in line.split()] for line in done.stdout.split("\n")[:len(texts)]]
    try:
        import llama_cpp
    except ImportError:
        return "llama-cpp-python is not installed, and no --peer is given"
    try:
        model = llama_cpp.Llama(vocab, vocab_only=True, verbose=False)
        return [model.tokenize(text.encode(), add_bos=False, special=False) for text in texts]
    except ValueError as error:
        return str(error)


def with_pre(vocab, pre, folder):
    """A copy of the vocabulary with another tokenizer.ggml.pre. It has no tensors, so nothing else lies at another place."""
    def text(value):
        return struct.pack("<Q", len(value)) + value
    with open(vocab, "rb") as file:
        data = file.read()
    key = text(b"tokenizer.ggml.pre") + struct.pack("<I", 8)
    at = data.index(key) + len(key)
    size, = struct.unpack_from("<Q", data, at)
    copy = os.path.join(folder, pre + ".gguf")
    with open(copy, "wb") as file:
        file.write(data[:at] + text(pre.encode()) + data[at + 8 + size:])
    return copy


def compare(what, texts, expected, found, show):
    """"equal of all", with the first differences on standard error."""
    if isinstance(expected, str) or isinstance(found, str):
        return expected if isinstance(expected, str) else found
    wrong = [i for i, (a, b) in enumerate(zip(expected, found)) if a != b]
    for i in wrong[:show]:
        print("%s: %r\n  llama.cpp %s\n  forerun   %s" % (what, texts[i], expected[i], found[i]), file=sys.stderr)
    return "%d of %d" % (len(texts) - len(wrong), len(texts))


def check(name, vocab, args, texts, records):
    ours = forerun(args.program, vocab, [text for text, _ in records] + texts)
    if isinstance(ours, str):
        print("%-20s %s" % (name, ours))
        return False
    old = compare(name, [text for text, _ in records], [ids for _, ids in records], ours[:len(records)], args.show) if records else "-"
    new = compare(name, texts, peer(args.peer, vocab, texts), ours[len(records):], args.show) if texts else "-"
    print("%-20s recorded %-10s random %s" % (name, old, new), flush=True)
    return all(part == "-" or len({*part.split(" of ")}) == 1 for part in (old, new))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vocabs", nargs="+", metavar="VOCAB.gguf")
    parser.add_argument("--program", default="build/forerun")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="compare N random texts too")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peer", metavar="PROGRAM")
    parser.add_argument("--as", dest="pre", default="", metavar="PRE,...")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print the first N differences of each vocabulary")
    args = parser.parse_args()
    texts, equal = random_texts(args.random, args.seed), True
    for vocab in args.vocabs:
        name = os.path.basename(vocab).removeprefix("ggml-vocab-").removesuffix(".gguf")
        if not args.pre:
            equal &= check(name, vocab, args, texts, recorded(vocab))
        for pre in filter(None, args.pre.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                equal &= check(name + " as " + pre, with_pre(vocab, pre, folder), args, texts, [])
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
