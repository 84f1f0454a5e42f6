"""Text and tokens, beside the program's."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

import forerun
from forerun import ArgumentError, DataError, FileError, Text, UnsupportedError, chat_templates

from support import MODEL, PROGRAM, PROMPTS, engine, needs_model

TEXTS = [*PROMPTS, "", " ", "naïve 川の流れ 🙂", "<|im_end|>", "a\0b"]
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Which river is <|im_end|> the longest? 川"},
    {"role": "assistant", "content": "The Nile."},
    {"role": "user", "content": [{"type": "text", "text": "And in Asia?"}]},
]


def tokenize(lines: list[Any], *flags: str) -> list[Any]:
    said = subprocess.run(
        [PROGRAM, "tokenize", "-m", str(MODEL), *flags],
        input="".join(json.dumps(line) + "\n" for line in lines).encode(),
        capture_output=True,
        check=True,
    )
    return [json.loads(line) for line in said.stdout.splitlines()]


@needs_model
class TextSide(unittest.TestCase):
    def test_ids_are_those_of_the_program(self) -> None:
        lines = [{"text": text} for text in TEXTS]
        for flags, control in (((), False), (("--special",), True)):
            expected = [answer["ids"] for answer in tokenize(lines, *flags)]
            with Text(MODEL) as text:
                found = [text.tokenize(line, bos=False, control=control) for line in TEXTS]
            self.assertEqual(found, expected)

    def test_ids_are_text_again(self) -> None:
        text = engine().text
        for line in TEXTS:
            self.assertEqual(text.detokenize(text.tokenize(line)), line)
        data = b"\xff\xfe river"
        self.assertIn("\ufffd", text.detokenize(text.tokenize(data)))
        whole = text.tokenize("🙂")
        self.assertEqual(b"".join(text.token(token) or b"" for token in whole), "🙂".encode())
        self.assertEqual(text.detokenize_bytes(whole), "🙂".encode())
        self.assertEqual(text.detokenize_bytes([]), b"")

    def test_conversations_are_those_of_the_program(self) -> None:
        body = {"messages": MESSAGES, "add_generation_prompt": True}
        expected = tokenize([body], "--messages")[0]
        rendered = engine().text.render(MESSAGES)
        self.assertEqual((rendered.text, rendered.ids), (expected["prompt"], expected["ids"]))
        closed = engine().text.render(MESSAGES, add_generation_prompt=False)
        self.assertTrue(rendered.text.startswith(closed.text))
        self.assertGreater(len(rendered.ids), len(closed.ids))

    def test_facts(self) -> None:
        text, info = engine().text, engine().text.info
        end = text.find("<|im_end|>")
        assert end is not None
        self.assertIn(end, info.ends)
        self.assertTrue(text.is_end(end) and text.is_control(end))
        self.assertIsNone(text.find("river"))
        self.assertFalse(text.is_control(text.tokenize("river", bos=False)[0]))
        self.assertIsNone(text.token(info.n_vocab + 10**6))
        self.assertIsNone(text.token(-1))
        assert info.chat_template
        self.assertIn("im_start", info.chat_template)
        self.assertIsNone(info.chat_fault)
        self.assertEqual(engine().info.n_vocab, info.n_vocab)
        self.assertEqual(engine().info.file_bytes, os.path.getsize(MODEL))

    def test_other_templates(self) -> None:
        named = chat_templates()
        self.assertIn("zephyr", named)
        with Text(MODEL) as text, text.with_template(named["zephyr"]) as other:
            rendered = other.render("Hi")
            said = tokenize(
                [{"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": True}],
                "--messages",
                "--chat-template",
                "zephyr",
            )[0]
            self.assertEqual((rendered.text, rendered.ids), (said["prompt"], said["ids"]))
            text.close()
            self.assertEqual(other.render("Hi"), rendered)  # it keeps the other one open
        with forerun.Engine(MODEL, drafter="none", chat_template="{{ messages[0].content }}") as mine:
            with mine.text as own:
                self.assertEqual(own.render("Hello").text, "Hello")
            self.assertEqual(mine.text.render("Hello").text, "Hello")  # it goes with the engine
        tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
        template = "{{ tools | tojson }}{{ flag }}"
        with Text(MODEL) as text, text.with_template(template) as other:
            self.assertIn('"name": "f"', other.render("x", tools=tools).text)
            self.assertTrue(other.render("x", template_kwargs={"flag": "up"}).text.endswith("up"))

    def test_what_is_wrong_is_said(self) -> None:
        text = engine().text
        with self.assertRaisesRegex(DataError, "line 2"):
            text.with_template("fine\n{% if %}")
        with self.assertRaises(UnsupportedError):
            text.with_template("")
        with self.assertRaisesRegex(ArgumentError, "JSON"):
            text.render([{"role": "user", "content": object()}])
        with self.assertRaises(ArgumentError):
            text.render([{"role": "user", "content": 5}])
        with self.assertRaisesRegex(ArgumentError, "id"):
            text.detokenize([-5])
        with self.assertRaisesRegex(ArgumentError, "32 bits"):
            text.detokenize([2**40])
        for token in (10**6, 2**40, -(2**40)):
            self.assertIsNone(text.token(token))
        for ask in (text.is_control, text.is_end):
            self.assertFalse(ask(10**6))
            for token in (2**31, -(2**40)):
                with self.assertRaisesRegex(ArgumentError, "32 bits"):
                    ask(token)

    def test_a_model_is_found_by_name_and_by_folder(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "hub/models--Org--Tiny/snapshots" / ("a" * 40)
            place.mkdir(parents=True)
            (place / "tiny-Q4_K_M.gguf").symlink_to(MODEL)
            old = os.environ.get("HF_HUB_CACHE")
            os.environ["HF_HUB_CACHE"] = str(Path(folder) / "hub")
            try:
                found = forerun.find_model("org/tiny")
                self.assertEqual(found, str(place / "tiny-Q4_K_M.gguf"))
                self.assertEqual(forerun.find_model(place), found)
                with Text("Org/Tiny:Q4_K_M") as text:
                    self.assertEqual(text.info.n_vocab, engine().info.n_vocab)
                with self.assertRaisesRegex(FileError, "org/other"):
                    forerun.find_model("org/other")
            finally:
                if old is None:
                    del os.environ["HF_HUB_CACHE"]
                else:
                    os.environ["HF_HUB_CACHE"] = old


if __name__ == "__main__":
    unittest.main()
