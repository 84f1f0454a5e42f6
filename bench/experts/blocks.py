"""Random weights of GGUF's tensor types, as bytes.

The codes of a block are random bits. Its scales are such that the weights have the mean 0 and the
standard deviation that the caller passes. Layouts are those of the file format.
"""
import array
import math
import struct
import sys

CHUNK = 1 << 24  # bytes made at once, about


def half(number):
    return struct.pack("<e", number)


def put(blocks, size, at, value):
    """Writes the same bytes at the same place of every block."""
    for i, byte in enumerate(value):
        blocks[at + i::size] = bytes([byte]) * (len(blocks) // size)


def q8_0(blocks, size, dev):
    """32 codes of -128 to 127, times d."""
    put(blocks, size, 0, half(dev / math.sqrt((256 ** 2 - 1) / 12)))


def q4_k(blocks, size, dev):
    """8 x 32 codes of 0 to 15: d * scale * code - dmin * min, both of 0 to 63. Here every min equals its scale, and dmin is 7.5 d."""
    d = dev / math.sqrt(63 * 127 / 6 * (16 ** 2 - 1) / 12)
    put(blocks, size, 0, half(d) + half(7.5 * d))
    twice = bytes(17 * (byte & 15) for byte in range(256))
    for i in range(4):
        blocks[8 + i::size] = blocks[4 + i::size]  # mins of the first four and upper bits of the others
        blocks[12 + i::size] = blocks[12 + i::size].translate(twice)  # lower bits of the last four scales and mins


def q6_k(blocks, size, dev):
    """16 x 16 codes of -32 to 31, times d and a scale of -128 to 127."""
    put(blocks, size, 208, half(dev / math.sqrt((64 ** 2 - 1) / 12 * (256 ** 2 - 1) / 12)))


def mxfp4(blocks, size, dev):
    """32 codes of 0 to 6 with a sign, times 2^(e - 127). e is one of two neighbours, as often as the deviation needs it."""
    mean_square = sum(code * code for code in (0, 0.5, 1, 1.5, 2, 3, 4, 6)) / 8
    ratio = dev * dev / mean_square
    e = math.floor(math.log2(ratio) / 2)
    larger = round(256 * (ratio / 4 ** e - 1) / 3)  # of 256 blocks; its squares count four times
    blocks[0::size] = blocks[0::size].translate(bytes(127 + e + (byte < larger) for byte in range(256)))


# Number of the type in the file, weights and bytes of a block, and what writes its scales.
TYPES = {"f32": (0, 1, 4, None), "q8_0": (8, 32, 34, q8_0), "q4_k": (12, 256, 144, q4_k), "q6_k": (14, 256, 210, q6_k), "mxfp4": (39, 32, 17, mxfp4)}


def bytes_of(kind, weights):
    _, block, size, _ = TYPES[kind]
    return weights // block * size


def floats(rng, count, mean, dev):
    numbers = array.array("f", (rng.gauss(mean, dev) for _ in range(count)))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def weights(rng, kind, count, mean, dev):
    """The bytes of `count` weights, in pieces."""
    _, block, size, scales = TYPES[kind]
    step = CHUNK // size
    for at in range(0, count // block, step):
        n = min(step, count // block - at)
        if not scales:
            yield floats(rng, n, mean, dev)
            continue
        blocks = bytearray(rng.randbytes(n * size))
        scales(blocks, size, dev)
        yield blocks
