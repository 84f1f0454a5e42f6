"""What tests share: where things are, a model that is opened once, and what the program says."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import unittest
from pathlib import Path
from typing import Any

import forerun

ROOT = Path(os.environ.get("FR_SOURCE_DIR", Path(__file__).resolve().parents[2]))
PROGRAM = os.environ.get("FORERUN", str(ROOT / "build" / "forerun"))
MODEL = Path(os.environ.get("FR_MODELS") or ROOT / "models") / "smollm2-135m.gguf"
PACKS = ROOT / "packs"
EAGLE = f"eagle:{PACKS / 'smollm2-135m-eagle.gguf'}"

PROMPTS = [
    "Once upon a time, in a village by the sea,",
    "def add(a, b):\n    return",
    "The three largest rivers of Europe are",
    "1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3,",
]


def needs_model(test: Any) -> Any:
    return unittest.skipUnless(MODEL.exists(), f"{MODEL} is not there")(test)


@functools.cache
def engine() -> forerun.Engine:
    """One for all tests; it lives to the end, and drafts by nobody where a test does not say."""
    return forerun.Engine(MODEL, drafter="none")


@functools.cache
def program(*arguments: str) -> dict[str, Any]:
    """What `forerun run --json` says to these arguments."""
    line = [PROGRAM, "run", "-m", str(MODEL), "--json", "--quiet", *arguments]
    said = subprocess.run(line, capture_output=True, check=True, stdin=subprocess.DEVNULL)
    document: dict[str, Any] = json.loads(said.stdout)
    return document
