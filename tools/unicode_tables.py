#!/usr/bin/env python3
"""Writes src/text/jinja/unicode.inc: what Python's strings know of characters, as ranges.

    tools/unicode_tables.py > src/text/jinja/unicode.inc

The tables are those of the Python that runs this (unicodedata.unidata_version stands in the file).
"""
import sys
import unicodedata

PROPERTIES = ["isprintable", "isalpha", "isdecimal", "isdigit", "isnumeric", "islower", "isupper"]


def properties(c):
    return sum(1 << i for i, name in enumerate(PROPERTIES) if getattr(c, name)())


def ranges(of, none):
    start, last = 0, of(chr(0))
    for code in range(1, 0x110001):
        now = of(chr(code)) if code < 0x110000 else object()
        if now != last:
            if last != none:
                yield start, code - 1, last
            start, last = code, now


def steps(change):
    """Runs of characters at equal distance (1 or 2) whose change is the same number."""
    run = None
    for code in range(0x110000):
        new = change(chr(code))
        if len(new) != 1 or new == chr(code):
            continue
        delta = ord(new) - code
        if run and run[3] == delta and code - run[1] in (1, 2) and run[2] in (0, code - run[1]):
            run[2], run[1] = code - run[1], code
            continue
        if run:
            yield run
        run = [code, code, 0, delta]
    yield run


def show(name, kind, rows, per_line):
    print(f"static const {kind} {name}[] = {{")
    rows = list(rows)
    for i in range(0, len(rows), per_line):
        print("    " + ", ".join(rows[i : i + per_line]) + ",")
    print("};")


def text(s):
    return '"' + "".join(f"\\x{b:02x}" for b in s.encode()) + '"'


def is_cased_ignorable(c):
    """What final sigma looks through (Unicode 3.13, D136), by what Python does."""
    return ("A" + c + "Σ").lower()[-1] == "ς" and ("1" + c + "Σ").lower()[-1] == "σ"


def main():
    print(f"// unicode.inc — written by tools/unicode_tables.py: Unicode {unicodedata.unidata_version}.")
    print("// clang-format off")
    show("properties", "property", (f"{{{a}, {b}, {p}}}" for a, b, p in ranges(properties, 0)), 6)
    show("to_upper", "change", (f"{{{a}, {b}, {s or 1}, {d}}}" for a, b, s, d in steps(str.upper)), 5)
    show("to_lower", "change", (f"{{{a}, {b}, {s or 1}, {d}}}" for a, b, s, d in steps(str.lower)), 5)
    upper = [c for c in map(chr, range(0x110000)) if len(c.upper()) > 1]
    title = [c for c in map(chr, range(0x110000)) if c.title() != c.upper()]
    show("long_upper", "spelling", (f"{{{ord(c)}, {text(c.upper())}}}" for c in upper), 3)
    show("other_title", "spelling", (f"{{{ord(c)}, {text(c.title())}}}" for c in title), 3)
    show("ignorable", "property", (f"{{{a}, {b}, 1}}" for a, b, p in ranges(is_cased_ignorable, False)), 6)
    print("// clang-format on")


if __name__ == "__main__":
    sys.exit(main())
