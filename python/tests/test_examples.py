"""The example says what `forerun chat` says, and stands in the README as it is."""

from __future__ import annotations

import subprocess
import sys
import unittest

from support import MODEL, PROGRAM, ROOT, needs_model

EXAMPLE = ROOT / "python" / "examples" / "stream_chat.py"
LINES = b"Name three rivers.\nWhich of them is the longest?\n"


@unittest.skipUnless(EXAMPLE.exists(), "the sources are not there")
class Example(unittest.TestCase):
    def test_the_readme_has_it(self) -> None:
        code = EXAMPLE.read_text().split('"""\n\n', 1)[1]
        self.assertIn(f"```python\n{code}```", (ROOT / "python" / "README.md").read_text())

    @needs_model
    def test_it_says_what_the_program_says(self) -> None:
        line = [PROGRAM, "chat", "-m", str(MODEL), "--quiet", "--temp", "0", "-n", "256"]
        expected = subprocess.run(line, input=LINES, capture_output=True, check=True).stdout
        self.assertGreater(len(expected), 100)
        mine = [sys.executable, str(EXAMPLE), str(MODEL)]
        said = subprocess.run(mine, input=LINES, capture_output=True, check=True).stdout
        self.assertEqual(said, expected)


if __name__ == "__main__":
    unittest.main()
