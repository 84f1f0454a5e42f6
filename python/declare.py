"""Writes the declarations of forerun.h as a module for cffi: declare.py HEADER FOLDER

FOLDER/_declared.py has every type, enum and function of the header (cffi's out-of-line ABI mode),
FOLDER/_header.py those of its macros that are no integers. So the header is the only place where
they are written down: what cffi cannot read in it stops the build.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import cffi


def declarations(header: str) -> str:
    """The header without comments, lines of the preprocessor and what C++ alone sees."""
    text = re.sub(r"//[^\n]*", "", header)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.DOTALL)
    return re.sub(r"^[ \t]*#.*$", "", text, flags=re.MULTILINE)


def macros(header: str) -> dict[str, str]:
    """Macros with a value, as it is written: a number or a string in double quotes."""
    return dict(re.findall(r'^#define FR_(\w+) +("[^"]*"|[0-9.]+) *$', header, flags=re.MULTILINE))


def main() -> None:
    header = Path(sys.argv[1]).read_text(encoding="utf-8")
    folder = Path(sys.argv[2])
    ffi = cffi.FFI()
    ffi.set_source("forerun._declared", None)
    ffi.cdef(declarations(header))
    ffi.emit_python_code(str(folder / "_declared.py"))
    lines = [f"{name} = {value}\n" for name, value in macros(header).items()]
    text = '"""Macros of forerun.h."""\n\n' + "".join(lines)
    (folder / "_header.py").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
