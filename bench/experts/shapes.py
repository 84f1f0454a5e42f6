#!/usr/bin/env python3
"""Writes a GGUF file with random weights in the shape of a real mixture of experts: for timings.

    bench/experts/shapes.py qwen3-coder-30b-a3b OUT.gguf --vocab models/qwen2.5-coder-0.5b.gguf
    bench/experts/shapes.py --list

A layer has the sizes, the tensors and the types of the file that people run. Only the number of
layers is smaller (--layers), so that the file fits into small machines. A pass costs what its
layers and its head cost, so the costs carry over.

The tokenizer is that of --vocab. Unused tokens fill it up to the rows of the real embeddings.

Routers are random and see mostly the token itself. All experts are chosen about equally often, and
each token chooses for itself: tokens of a real text share more of them.

The same seed gives the same bytes. Tensors are written piece by piece, so memory is bounded.
"""
import argparse
import mmap
import os
import random
import struct
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(ROOT, "bench"))

import blocks
from calls import Failure, sentences

U32, I32, F32, STRING, ARRAY = 4, 5, 6, 8, 9  # types of values in the file
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, U32: 4, I32: 4, F32: 4, 7: 1, 10: 8, 11: 8, 12: 8}
ALIGNMENT = 32
UNUSED = 5  # type of a token


# ---------------------------------------------------------------- metadata
def string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(data)) + data


def packed(value):
    """A value with its type before it."""
    if isinstance(value, str):
        return struct.pack("<I", STRING) + string(value)
    return struct.pack("<If", F32, value) if isinstance(value, float) else struct.pack("<II", U32, value)


class Metadata:
    """Walks the metadata of a GGUF file: {key: (type, item type, count, bytes of the items)} of those with a prefix."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, form):
        value, = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def skip(self, kind, count):
        if kind == STRING:
            for _ in range(count):
                size = self.number("Q")
                self.at += size
        else:
            self.at += SIZES[kind] * count

    def entry(self):
        size = self.number("Q")
        key = bytes(self.data[self.at:self.at + size]).decode()
        self.at += size
        kind = item = self.number("I")
        count = 1
        if kind == ARRAY:
            item, count = self.number("I"), self.number("Q")
        start = self.at
        self.skip(item, count)
        return key, (kind, item, count, self.data[start:self.at])

    def read(self, prefix):
        if self.data[:4] != b"GGUF":
            raise Failure("not a GGUF file")
        self.at = 16  # magic, version, number of tensors
        return {key: value for key, value in (self.entry() for _ in range(self.number("Q"))) if key.startswith(prefix)}


def vocabulary(path, rows):
    """The keys of a file's tokenizer as bytes, with as many tokens as the embeddings have rows."""
    with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            found = Metadata(data).read("tokenizer.")
        except (Failure, struct.error, KeyError, UnicodeDecodeError) as error:
            raise Failure("--vocab %s: %s" % (path, error)) from error
    count = found.get("tokenizer.ggml.tokens", (0, 0, 0, b""))[2]
    if not 0 < count <= rows:
        raise Failure("--vocab %s: %d tokens, expected 1 to %d" % (path, count, rows))
    more = {"tokenizer.ggml.tokens": b"".join(string("<unused%d>" % i) for i in range(count, rows)),
            "tokenizer.ggml.token_type": struct.pack("<i", UNUSED) * (rows - count)}
    out = []
    for key, (kind, item, items, data) in found.items():
        if key in more:
            items, data = rows, data + more[key]
        out.append(string(key) + (struct.pack("<IIQ", kind, item, items) if kind == ARRAY else struct.pack("<I", kind)) + data)
    return out


# ---------------------------------------------------------------- shapes
class Tensors:
    """The list of a file's tensors: (name, dimensions, type, mean, deviation); inputs are the first dimension."""

    def __init__(self, shape):
        self.list, self.shape = [], shape

    def matrix(self, name, kind, *dims, gain=1.0):
        self.list.append((name + ".weight", dims, kind, 0.0, gain / dims[0] ** 0.5))

    def norm(self, name, n):
        self.list.append((name + ".weight", (n,), "f32", 1.0, 0.1))

    def floats(self, name, *dims, dev=0.1):
        self.list.append((name, dims, "f32", 0.0, dev))

    def ends(self, embedding, head):
        """Embeddings are large beside what layers add: routers see the token."""
        d, rows = self.shape["d"], self.shape["rows"]
        self.matrix("token_embd", embedding, d, rows, gain=d ** 0.5)
        self.norm("output_norm", d)
        self.matrix("output", head, d, rows)

    def attention(self, at, kind, kind_v):
        """What it adds is small: a mean over the context is the same for all tokens, and would grow from layer to layer."""
        d, query, key = self.shape["d"], self.shape["heads"] * self.shape["head"], self.shape["kv"] * self.shape["head"]
        self.norm(at + "attn_norm", d)
        self.matrix(at + "attn_q", kind, d, query)
        self.matrix(at + "attn_k", kind, d, key)
        self.matrix(at + "attn_v", kind_v, d, key)
        self.matrix(at + "attn_output", kind, query, d, gain=0.25)

    def experts(self, at, kind, kind_down):
        d, ff, n = self.shape["d"], self.shape["ff"], self.shape["experts"]
        self.matrix(at + "ffn_gate_inp", "f32", d, n)
        self.matrix(at + "ffn_gate_exps", kind, d, ff, n)
        self.matrix(at + "ffn_up_exps", kind, d, ff, n)
        self.matrix(at + "ffn_down_exps", kind_down, ff, d, n)


def qwen3moe(tensors, layers):
    """Types as Q4_K_M mixes them: values and down in Q6_K in the first and last eighth and in every third layer between."""
    tensors.ends("q4_k", "q6_k")
    for i in range(layers):
        at, eighth = "blk.%d." % i, layers // 8
        finer = "q6_k" if i < eighth or i >= 7 * layers // 8 or (i - eighth) % 3 == 2 else "q4_k"
        tensors.attention(at, "q4_k", finer)
        tensors.norm(at + "attn_q_norm", tensors.shape["head"])
        tensors.norm(at + "attn_k_norm", tensors.shape["head"])
        tensors.norm(at + "ffn_norm", tensors.shape["d"])
        tensors.experts(at, "q4_k", finer)


def gpt_oss(tensors, layers):
    """Experts in MXFP4, the rest in Q8_0, as it was published. Biases are small: they are the same for all tokens."""
    d, ff, n, heads, head = (tensors.shape[key] for key in ("d", "ff", "experts", "heads", "head"))
    tensors.ends("q8_0", "q8_0")
    for i in range(layers):
        at = "blk.%d." % i
        tensors.attention(at, "q8_0", "q8_0")
        for name, size in (("q", heads * head), ("k", tensors.shape["kv"] * head), ("v", tensors.shape["kv"] * head), ("output", d)):
            tensors.floats(at + "attn_%s.bias" % name, size)
        tensors.floats(at + "attn_sinks.weight", heads, dev=1.0)
        tensors.norm(at + "post_attention_norm", d)
        tensors.experts(at, "mxfp4", "mxfp4")
        tensors.floats(at + "ffn_gate_inp.bias", n)
        for name, size in (("gate", ff), ("up", ff), ("down", d)):
            tensors.floats(at + "ffn_%s_exps.bias" % name, size, n)


SHAPES = {
    "qwen3-coder-30b-a3b": {"arch": "qwen3moe", "tensors": qwen3moe, "layers": 12, "of": 48, "file_type": 15, "d": 2048, "heads": 32, "kv": 4, "head": 128,
                            "experts": 128, "used": 8, "ff": 768, "rows": 151936, "context": 262144, "eps": 1e-6, "base": 1e7, "keys": {}},
    "gpt-oss-20b": {"arch": "gpt-oss", "tensors": gpt_oss, "layers": 8, "of": 24, "file_type": 38, "d": 2880, "heads": 64, "kv": 8, "head": 64,
                    "experts": 32, "used": 4, "ff": 2880, "rows": 201088, "context": 131072, "eps": 1e-5, "base": 150000.0,
                    "keys": {"attention.sliding_window": 128, "rope.dimension_count": 64, "rope.scaling.type": "yarn", "rope.scaling.factor": 32.0,
                             "rope.scaling.original_context_length": 4096}},
}


# ---------------------------------------------------------------- the file
def keys(name, shape, layers):
    own = {"block_count": layers, "context_length": shape["context"], "embedding_length": shape["d"], "feed_forward_length": shape["ff"],
           "attention.head_count": shape["heads"], "attention.head_count_kv": shape["kv"], "attention.key_length": shape["head"],
           "attention.value_length": shape["head"], "attention.layer_norm_rms_epsilon": shape["eps"], "rope.freq_base": shape["base"],
           "expert_count": shape["experts"], "expert_used_count": shape["used"], "expert_feed_forward_length": shape["ff"], **shape["keys"]}
    general = {"general.architecture": shape["arch"], "general.name": "random weights, %d layers of the shape of %s" % (layers, name),
               "general.file_type": shape["file_type"], "general.quantization_version": 2}
    return {**general, **{"%s.%s" % (shape["arch"], key): value for key, value in own.items()}}


def padding(size):
    return bytes(-size % ALIGNMENT)


def header(entries, tensors):
    parts = [b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries)), *entries]
    offset = 0
    for name, dims, kind, _, _ in tensors:
        parts.append(string(name) + struct.pack("<I%dQIQ" % len(dims), len(dims), *dims, blocks.TYPES[kind][0], offset))
        size = blocks.bytes_of(kind, product(dims))
        offset += size + len(padding(size))
    data = b"".join(parts)
    return data + padding(len(data))


def product(dims):
    count = 1
    for n in dims:
        count *= n
    return count


def write(path, name, shape, vocab, layers, seed):
    """The file at `path`; it takes its name when it is whole."""
    tensors = Tensors(shape)
    shape["tensors"](tensors, layers)
    entries = [string(key) + packed(value) for key, value in keys(name, shape, layers).items()] + vocabulary(vocab, shape["rows"])
    with open(path + ".new", "wb") as f:
        f.write(header(entries, tensors.list))
        for tensor, dims, kind, mean, dev in tensors.list:
            for piece in blocks.weights(random.Random("%d:%s" % (seed, tensor)), kind, product(dims), mean, dev):
                f.write(piece)
            f.write(padding(f.tell()))
    os.replace(path + ".new", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("shape", nargs="?", choices=list(SHAPES))
    add("out", nargs="?", metavar="OUT.gguf")
    add("--vocab", metavar="FILE.gguf", help="where the tokenizer is taken from")
    add("--layers", type=int, metavar="N", help="default: as --list says, for files of about 5 GB")
    add("--seed", type=int, default=1, metavar="N", help="default: 1")
    add("--list", action="store_true", help="the shapes")
    args = parser.parse_args()
    if args.list:
        for name, shape in SHAPES.items():
            print("%-20s %d layers (the model: %d), %d experts, %d used" % (name, shape["layers"], shape["of"], shape["experts"], shape["used"]))
        return
    if not args.out or not args.vocab:
        parser.error("a shape, OUT.gguf and --vocab are needed")
    shape = SHAPES[args.shape]
    layers = args.layers or shape["layers"]
    if not 1 <= layers <= shape["of"]:
        parser.error("--layers: expected 1 to %d" % shape["of"])
    write(args.out, args.shape, shape, args.vocab, layers, args.seed)
    print("%s: %d bytes" % (args.out, os.path.getsize(args.out)))


if __name__ == "__main__":
    with sentences("shapes.py"):
        main()
