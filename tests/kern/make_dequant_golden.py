#!/usr/bin/env python3
"""Writes dequant_golden.inc: random blocks of every type and the values that the Python package `gguf`, an
independent implementation, reads from them; and grid_golden.inc: a hash of the values of so many blocks of the
types with grids that every entry occurs. Needs `pip install gguf`; the tests themselves need only its output."""
import os
import numpy as np
from gguf import GGMLQuantizationType as T
from gguf.quants import GGML_QUANT_SIZES, dequantize

# Where each type's block holds f16 scales: these bytes must be finite numbers.
SCALES = {T.F32: [], T.F16: [0], T.BF16: [], T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0],
          T.Q2_K: [80, 82], T.Q3_K: [108], T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208], T.IQ4_NL: [0],
          T.IQ4_XS: [0], T.MXFP4: [],
          T.IQ2_XXS: [0], T.IQ2_XS: [0], T.IQ2_S: [0], T.IQ3_XXS: [0], T.IQ3_S: [0]}
# Of MXFP4, whose scale is a byte: the least three, a usual one, the largest with finite values.
EXPONENTS = [0, 1, 2, 120, 252]
rng = np.random.default_rng(20250301)
out = ["// Written by make_dequant_golden.py. Type, blocks, their bytes, the bits of their f32 values."]


def record(number, n, data, values):
    out.append('{%d, %d,' % (number, n))
    for text in (data.tobytes().hex(), ''.join('%08x' % v for v in values.view(np.uint32))):
        out.extend('    "%s"' % text[i:i + 96] for i in range(0, len(text), 96))
        out[-1] += ','
    out[-1] = out[-1][:-1] + '},'


def in_order(blocks):
    """Type 4, as Ollama wrote it: MXFP4 with its 32 codes in their order, two a byte."""
    codes = np.concatenate([blocks[:, 1:] & 15, blocks[:, 1:] >> 4], axis=1)
    return np.concatenate([blocks[:, :1], codes[:, 0::2] | codes[:, 1::2] << 4], axis=1)


for t, scales in SCALES.items():
    block, size = GGML_QUANT_SIZES[t]
    n = len(EXPONENTS) if t == T.MXFP4 else 2 if block > 1 else 32
    data = rng.integers(0, 256, (n, size), dtype=np.uint8)
    for b in range(n):
        for at in scales:
            # Any finite half, subnormals included.
            bits = int(rng.integers(0, 0x7c00)) | int(rng.integers(0, 2)) << 15
            data[b, at:at + 2] = [bits & 255, bits >> 8]
    if t == T.F32:
        data = rng.standard_normal((n, 1)).astype(np.float32).view(np.uint8).reshape(n, size)
    if t == T.MXFP4:
        data[:, 0] = EXPONENTS
    if t == T.BF16:
        data[:, 1] &= 0xbf  # no infinity, no NaN
    values = dequantize(data.reshape(1, -1), t).astype(np.float32).reshape(-1)
    assert values.size == n * block and np.isfinite(values).all()
    record(t.value, n, data, values)
    if t == T.MXFP4:
        record(4, n, in_order(data), values)

BLOCKS, MASK = 1024, (1 << 64) - 1
grids = ["// Written by make_dequant_golden.py. Type, and FNV-1a over the bits of the values of 1024 blocks of random",
         "// bytes (test_dequant.c: grid_values_are_recorded) whose scale is 1."]


def random_bytes(n, x=1):
    for _ in range(n):
        x = (x * 6364136223846793005 + 1442695040888963407) & MASK
        yield x >> 56


for t in (T.IQ2_XXS, T.IQ2_XS, T.IQ2_S, T.IQ3_XXS, T.IQ3_S):
    size = GGML_QUANT_SIZES[t][1]
    data = np.array(list(random_bytes(BLOCKS * size)), dtype=np.uint8).reshape(BLOCKS, size)
    data[:, :2] = [0, 0x3c]
    value = 0xcbf29ce484222325
    for bits in dequantize(data.reshape(1, -1), t).astype(np.float32).reshape(-1).view(np.uint32).tolist():
        value = (value ^ bits) * 0x100000001b3 & MASK
    grids.append('{%d, 0x%016x},' % (t.value, value))
for name, lines in (('dequant_golden.inc', out), ('grid_golden.inc', grids)):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), 'w') as f:
        f.write('\n'.join(lines) + '\n')
