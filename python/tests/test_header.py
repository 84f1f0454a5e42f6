"""The package reaches all of forerun.h, and sees its structs as the compiler does."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import forerun
from forerun._native import ffi, lib

from support import ROOT

HEADER = ROOT / "include" / "forerun.h"
# What is there in another way: function -> the one that the package calls.
INSTEAD = {
    "fr_session_generate": "fr_session_begin",
    "fr_text_chat": "fr_text_chat_json",
}


@unittest.skipUnless(HEADER.exists(), "the sources are not there")
class Header(unittest.TestCase):
    def setUp(self) -> None:
        folder = Path(forerun.__file__).parent
        self.source = "\n".join(
            path.read_text(encoding="utf-8")
            for path in folder.glob("*.py")
            if path.name != "_declared.py"
        )

    def functions(self) -> list[str]:
        line = ["sh", str(ROOT / "tools" / "exports.sh"), str(HEADER)]
        return subprocess.run(line, capture_output=True, check=True, text=True).stdout.split()

    def structs(self) -> list[str]:
        """Those that have members to see."""
        names = re.findall(r"^typedef struct (fr_\w+) \{", HEADER.read_text(), flags=re.MULTILINE)
        self.assertGreater(len(names), 12)
        return names

    def test_every_function_is_called(self) -> None:
        functions = self.functions()
        self.assertGreater(len(functions), 30)
        for name in functions:
            self.assertTrue(hasattr(lib, name), name)
            called = re.search(rf"\b_?lib\.{INSTEAD.get(name, name)}\b", self.source)
            self.assertTrue(called, f"{name}: the package does not call it")

    def test_every_member_is_read_or_set(self) -> None:
        words = set(re.findall(r"\w+", self.source))
        skipped = {"fr_chat_message"}  # messages go as JSON
        for name in self.structs():
            if name not in skipped:
                members = {member for member, _ in ffi.typeof(name).fields}
                self.assertLessEqual(members, words, name)

    def test_structs_lie_as_the_compiler_has_them(self) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc")
        if not compiler:
            self.skipTest("no C compiler")
        found, prints = {}, []
        for name in self.structs():
            found[name] = ffi.sizeof(name)
            prints.append(f'printf("{name} %zu\\n", sizeof({name}));')
            for member, _ in ffi.typeof(name).fields:
                found[f"{name}.{member}"] = ffi.offsetof(name, member)
                prints.append(f'printf("{name}.{member} %zu\\n", offsetof({name}, {member}));')
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "layout.c"
            lines = ["#include <forerun.h>", "#include <stdio.h>", "int main(void) {", *prints, "}"]
            source.write_text("\n".join(lines))
            program = Path(folder) / "layout"
            subprocess.run([compiler, f"-I{HEADER.parent}", source, "-o", program], check=True)
            said = subprocess.run([program], capture_output=True, check=True, text=True).stdout
        expected = {name: int(n) for name, n in (line.split() for line in said.splitlines())}
        self.assertEqual(found, expected)


if __name__ == "__main__":
    unittest.main()
