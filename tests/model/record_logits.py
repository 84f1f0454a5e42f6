#!/usr/bin/env python3
"""Writes family_logits.h from the logits of another engine.

    build/tests/bin/model.families --write DIR
    ... DIR/NAME.f32 for every DIR/NAME.gguf: float32 [24][vocabulary], logits of the token ids
        i * 101 % 256 for i in 0..23, by an engine that shares no code with this one ...
    tests/model/record_logits.py DIR > tests/model/family_logits.h
"""
import array
import glob
import os
import sys

POSITIONS, PICKED, PICK = 24, 8, 37


def numbers(values):
    return ", ".join("%.7g" % v for v in values)


def record(path):
    z = array.array("f")
    with open(path, "rb") as f:
        z.frombytes(f.read())
    n = len(z) // POSITIONS
    rows = [z[i * n:(i + 1) * n] for i in range(POSITIONS)]
    best = [max(range(n), key=row.__getitem__) for row in rows]
    margin = []
    for row in rows:
        first, second = sorted(row, reverse=True)[:2]
        margin.append(first - second)
    name = os.path.basename(path)[:-len(".f32")]
    print('{"%s", %.7g,' % (name, max(abs(v) for v in z)))
    print(" {%s}," % ", ".join(map(str, best)))
    print(" {%s}," % numbers(margin))
    print(" {%s}}," % ",\n  ".join("{%s}" % numbers(row[k * PICK] for k in range(PICKED))
                                   for row in rows))


def main():
    print("// Written by record_logits.py.\n// clang-format off")
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.f32"))):
        record(path)


if __name__ == "__main__":
    main()
