#!/bin/sh
# bench/experts/shapes.py: its files run, their weights are sane, and the same seed gives the same bytes.
command -v python3 >/dev/null || {
    echo "SKIP python3 is not installed"
    exit 0
}
root=$FR_SOURCE_DIR forerun=$FORERUN exec python3 -B - <<'END'
import json
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.join(os.environ["root"], "bench", part) for part in ("", "experts")]
import blocks
import shapes
from calls import Failure

SMALL = {"d": 256, "heads": 4, "kv": 2, "head": 64, "experts": 12, "used": 3, "ff": 256, "rows": 300}


def fails(call, *arguments):
    try:
        call(*arguments)
    except Failure as failure:
        return str(failure)
    raise AssertionError("expected a failure")


def write_vocabulary(path):
    """The bytes' tokens and one merge, as files of byte-level BPE have them, without tensors."""
    keep = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    tokens = [chr(byte) if byte in keep else chr(0x100 + i) for i, byte in enumerate(keep + [b for b in range(256) if b not in keep])]
    tokens += ["he"]

    def strings(key, texts):
        return shapes.string(key) + struct.pack("<IIQ", shapes.ARRAY, shapes.STRING, len(texts)) + b"".join(map(shapes.string, texts))
    entries = [shapes.string("general.name") + shapes.packed("left out"), shapes.string("tokenizer.ggml.model") + shapes.packed("gpt2"),
               shapes.string("tokenizer.ggml.pre") + shapes.packed("qwen2"), strings("tokenizer.ggml.tokens", tokens), strings("tokenizer.ggml.merges", ["h e"]),
               shapes.string("tokenizer.ggml.token_type") + struct.pack("<IIQ257i", shapes.ARRAY, shapes.I32, 257, *[1] * 257)]
    with open(path, "wb") as f:
        f.write(shapes.header(entries, []))


def half(block, at):
    return struct.unpack_from("<e", block, at)[0]


def q8_0(block):
    return [half(block, 0) * code for code in struct.unpack_from("32b", block, 2)]


def q4_k(block):
    low, high = [byte & 63 for byte in block[4:12]], [byte >> 6 << 4 for byte in block[4:12]]
    scales = low[:4] + [(block[12 + i] & 15) | high[i] for i in range(4)]
    mins = low[4:] + [(block[12 + i] >> 4) | high[4 + i] for i in range(4)]
    codes = [[byte >> 4 * (j & 1) & 15 for byte in block[16 + 32 * (j // 2):48 + 32 * (j // 2)]] for j in range(8)]
    return [half(block, 0) * scales[j] * code - half(block, 2) * mins[j] for j in range(8) for code in codes[j]]


def q6_k(block):
    out, scales = [], struct.unpack_from("16b", block, 192)
    for i in range(256):
        part, j = i // 128, i % 128
        low = block[64 * part + j % 64] >> 4 * (j // 64) & 15
        high = block[128 + 32 * part + j % 32] >> 2 * (j // 32) & 3
        out.append(half(block, 208) * scales[i // 16] * ((low | high << 4) - 32))
    return out


def mxfp4(block):
    codes = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    codes += [-code for code in codes]
    return [2.0 ** (block[0] - 127) * codes[byte >> shift & 15] for shift in (0, 4) for byte in block[1:]]


def weights_have_the_deviation(dev):
    for kind, decode in (("q8_0", q8_0), ("q4_k", q4_k), ("q6_k", q6_k), ("mxfp4", mxfp4)):
        _, block, size, _ = blocks.TYPES[kind]
        data = b"".join(blocks.weights(random.Random(1), kind, 400 * block, 0, dev))
        assert len(data) == 400 * size == blocks.bytes_of(kind, 400 * block)
        values = [value for at in range(0, len(data), size) for value in decode(data[at:at + size])]
        assert abs(statistics.pstdev(values) / dev - 1) < 0.05 and abs(statistics.fmean(values)) < 0.05 * dev, kind


def pieces_are_whole_blocks():
    blocks.CHUNK = 1000
    try:
        for kind in blocks.TYPES:
            data = list(blocks.weights(random.Random(1), kind, 2560, 1, 0.1))
            assert len(data) > 1 and sum(map(len, data)) == blocks.bytes_of(kind, 2560), kind
    finally:
        blocks.CHUNK = 1 << 24


def small(name):
    return dict(shapes.SHAPES[name], **SMALL)


def files_are_whole(folder, vocab):
    """The last tensor ends where the file ends, and the same seed gives the same bytes."""
    for name in shapes.SHAPES:
        path = os.path.join(folder, name + ".gguf")
        written = []
        for seed in (1, 1, 2):
            shapes.write(path, name, small(name), vocab, 4, seed)
            with open(path, "rb") as f:
                written.append(f.read())
        assert written[0] == written[1] != written[2] and len(written[0]) == len(written[2]), name
        tensors = shapes.Tensors(small(name))
        small(name)["tensors"](tensors, 4)
        found = shapes.Metadata(written[0]).read("")
        assert found["tokenizer.ggml.tokens"][2] == found["tokenizer.ggml.token_type"][2] == SMALL["rows"] and "tokenizer.ggml.merges" in found
        assert found["general.architecture"][3].endswith(small(name)["arch"].encode())
        sizes = [blocks.bytes_of(kind, shapes.product(dims)) for _, dims, kind, _, _ in tensors.list]
        assert len(written[0]) > sum(sizes) and len(written[0]) % shapes.ALIGNMENT == 0
        assert {dims for tensor, dims, _, _, _ in tensors.list if "ffn_down_exps.weight" in tensor} == {(256, 256, 12)}


def finer_types_are_mixed_as_q4_k_m():
    tensors = shapes.Tensors(shapes.SHAPES["qwen3-coder-30b-a3b"])
    shapes.qwen3moe(tensors, 48)
    finer = [int(name.split(".")[1]) for name, _, kind, _, _ in tensors.list if name.endswith("ffn_down_exps.weight") and kind == "q6_k"]
    assert finer == [*range(6), *range(8, 42, 3), *range(42, 48)], finer


def forerun_reads_them(folder):
    """Every row's logits are finite, else the text would end."""
    for name in shapes.SHAPES:
        command = [os.environ["forerun"], "run", "-m", os.path.join(folder, name + ".gguf"), "--raw", "-p", "hello", "-n", "8", "--ignore-eos", "--temp", "0",
                   "--drafter", "none", "--json", "--quiet", "-t", "1"]
        found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        assert found["completion_tokens"] == 8, found


def other_files_are_refused(folder, vocab):
    path = os.path.join(folder, "other")
    with open(path, "wb") as f:
        f.write(b"GGUF" + bytes(100))
    assert "0 tokens, expected 1 to 300" in fails(shapes.vocabulary, path, 300)
    with open(path, "wb") as f:
        f.write(b"other")
    assert "not a GGUF file" in fails(shapes.vocabulary, path, 300)
    with open(vocab, "rb") as f:
        whole = f.read()
    with open(path, "wb") as f:
        f.write(whole[:300])
    fails(shapes.vocabulary, path, 300)
    assert "257 tokens, expected 1 to 256" in fails(shapes.vocabulary, vocab, 256)


with tempfile.TemporaryDirectory() as folder:
    vocab = os.path.join(folder, "vocab.gguf")
    write_vocabulary(vocab)
    weights_have_the_deviation(0.02)
    weights_have_the_deviation(1.0)
    pieces_are_whole_blocks()
    finer_types_are_mixed_as_q4_k_m()
    files_are_whole(folder, vocab)
    forerun_reads_them(folder)
    other_files_are_refused(folder, vocab)
END
