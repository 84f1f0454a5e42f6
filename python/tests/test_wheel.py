"""The wheel brings its libraries along."""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

import forerun

LIBRARIES = Path(forerun.__file__).parents[1] / "forerun.libs"
CODE = """
import forerun
for line in open("/proc/self/maps"):
    path = line.split(None, 5)[5:]
    if path and ".so" in path[0]:
        print(path[0].strip())
"""


@unittest.skipUnless(LIBRARIES.exists(), "not installed from a wheel")
class Wheel(unittest.TestCase):
    def test_what_debian_may_lack_is_its_own(self) -> None:
        said = subprocess.run([sys.executable, "-c", CODE], capture_output=True, check=True, text=True)
        loaded = {Path(line) for line in said.stdout.splitlines()}
        for name in ("libforerun", "libpcre2-8", "libsqlite3", "libjansson"):
            found = [path for path in loaded if path.name.startswith(name)]
            self.assertEqual(len(found), 1, name)
            self.assertIn(found[0].parent, (LIBRARIES, Path(forerun.__file__).parent))


if __name__ == "__main__":
    unittest.main()
