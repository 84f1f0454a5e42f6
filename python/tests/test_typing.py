"""mypy --strict is content with a program that uses the package, and with the package."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import forerun

from support import ROOT

CONFIG = ROOT / "python" / "pyproject.toml"
USER = '''
import forerun


def talk(model: str) -> list[str]:
    with forerun.Engine(model, drafter="prompt-lookup", threads=2) as engine:
        with engine.session(n_ctx=1024, kv_type="q8_0") as session:
            pieces: list[str] = []
            for piece in session.stream_chat("Hi", max_tokens=8):
                pieces.append(piece.upper() if piece.drafted else piece)
            result = session.generate(
                [1, 2, 3],
                sampling=forerun.Sampling(temperature=0.8, seed=1),
                stop=["end"],
                on_piece=lambda piece: len(piece) < 3,
            )
            speed: float = result.stats.tokens_per_second
            pieces += [str(speed), result.text]
        with engine.group() as group:
            pieces += [one.text for one in group.generate(["a", "b"], max_tokens=None)]
        return pieces
'''
WRONG = {
    'session.generate("Hi", max_token=3)': "max_token",
    'session.generate("Hi", max_tokens="3")': "max_tokens",
    "session.generate(3)": "Argument 1",
    'engine.session(drafter=3)': "drafter",
    "x: int = session.chat('Hi').text": "int",
}


@unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
class Typing(unittest.TestCase):
    def mypy(self, source: str, *flags: str) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "user.py"
            path.write_text(source)
            line = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={folder}", *flags, str(path)]
            return subprocess.run(line, capture_output=True, text=True, cwd=folder)

    def test_a_user_s_program_is_typed(self) -> None:
        said = self.mypy(USER)
        self.assertEqual(said.returncode, 0, said.stdout)

    def test_wrong_uses_are_found(self) -> None:
        lines = [f"    {line}" for line in WRONG]
        head = "import forerun\n\ndef f(engine: forerun.Engine, session: forerun.Session) -> None:\n"
        said = self.mypy(head + "\n".join(lines) + "\n")
        for number, sentence in enumerate(WRONG.values(), start=4):
            self.assertRegex(said.stdout, rf"user\.py:{number}: error: .*(?:{sentence})")

    @unittest.skipUnless(CONFIG.exists(), "the sources are not there")
    def test_the_package_is_typed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "forerun"
            shutil.copytree(Path(forerun.__file__).parent, copy)
            line = [sys.executable, "-m", "mypy", f"--config-file={CONFIG}", f"--cache-dir={folder}", str(copy)]
            said = subprocess.run(line, capture_output=True, text=True, cwd=folder)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)

    def test_it_says_that_it_is_typed(self) -> None:
        self.assertTrue(Path(forerun.__file__).with_name("py.typed").exists())


if __name__ == "__main__":
    unittest.main()
