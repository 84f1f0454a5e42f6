"""What goes wrong is an exception with the library's sentence."""

from __future__ import annotations

import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path

import forerun
from forerun import (
    ArgumentError,
    ClosedError,
    ContextError,
    DataError,
    Engine,
    Error,
    FileError,
    Sampling,
    UnsupportedError,
)

from support import MODEL, PACKS, engine, needs_model


class NoModel(unittest.TestCase):
    def test_a_file_that_is_not_there(self) -> None:
        for name in ("./no-such-file.gguf", "no-such-model"):
            with self.assertRaisesRegex(FileError, "no-such-") as caught:
                Engine(name)
            self.assertIsInstance(caught.exception, OSError)
            self.assertIsInstance(caught.exception, Error)

    def test_a_file_that_is_no_model(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.gguf"
            path.write_bytes(b"GGUF" + bytes(200))
            with self.assertRaises((DataError, UnsupportedError)) as caught:
                Engine(path)
            self.assertIn("a.gguf", str(caught.exception))

    def test_names_are_exported(self) -> None:
        for name in forerun.__all__:
            self.assertTrue(hasattr(forerun, name), name)
        self.assertEqual(forerun.library_version(), forerun.__version__)


@needs_model
class WithModel(unittest.TestCase):
    def refuses(self, kind: type[Error], sentence: str, **options: object) -> None:
        with self.assertRaisesRegex(kind, sentence):
            engine().session(**options)  # type: ignore[arg-type]

    def test_sessions(self) -> None:
        self.refuses(ArgumentError, "nonsense", drafter="nonsense")
        self.refuses(FileError, "no-such-pack", drafter="eagle:no-such-pack.gguf")
        other = f"eagle:{PACKS / 'qwen2.5-coder-0.5b-eagle.gguf'}"
        self.refuses(Error, "fingerprint|target|model", drafter=other)
        self.refuses(ArgumentError, "kv", kv_type="f99")
        self.refuses(ArgumentError, "context", n_ctx=-4)
        self.refuses(Error, "tree", tree="no-such-shape")
        self.refuses(ArgumentError, "accept", accept="maybe")
        self.refuses(ArgumentError, "speed", drafter="prompt-lookup", draft_options={"speed": 9})
        self.refuses(ArgumentError, "NUL", drafter="eagle:a\0b")
        self.refuses(ArgumentError, "surrogates", drafter="eagle:\ud800")

    def test_engines(self) -> None:
        with self.assertRaisesRegex(ArgumentError, "threads"):
            Engine(MODEL, threads=-1)
        with self.assertRaisesRegex(ArgumentError, "NUL"):
            Engine(f"{MODEL}\0x")
        with self.assertRaisesRegex(Error, "z80"):
            Engine(MODEL, isa="z80")
        with self.assertRaises(DataError):
            Engine(MODEL, chat_template="{% for %}")
        with self.assertRaisesRegex(ArgumentError, "prompt-share"):
            engine().group(prompt_share=-1)

    def test_requests(self) -> None:
        with engine().session(n_ctx=64) as session:
            with self.assertRaisesRegex(ContextError, "context of 64 tokens"):
                session.generate("river " * 100)
            for prompt in ([], [-1], [10**6], [2**40]):
                with self.assertRaisesRegex(ArgumentError, "prompt"):
                    session.generate(prompt)
            for sampling in (
                Sampling(temperature=-1),
                Sampling(temperature=float("nan")),
                Sampling(top_p=2),
                Sampling(seed=-1),
                Sampling(seed=2**64),
                Sampling(repeat_penalty=1000),
                Sampling(repeat_penalty=0),
                Sampling(repeat_penalty=-1, repeat_last_n=0),
                Sampling(top_p=0, top_k=-5),
                Sampling(logit_bias={10**6: 1}),
                Sampling(logit_bias={2**40: 1}),
                Sampling(logit_bias={1: 1000}),
            ):
                with self.assertRaises(ArgumentError, msg=sampling):
                    session.generate("Hi", sampling=sampling)
            with self.assertRaisesRegex(ArgumentError, "top-logprobs"):
                session.generate("Hi", logprobs=True, top_logprobs=21)
            with self.assertRaisesRegex(ArgumentError, "n-predict"):
                session.generate("Hi", max_tokens=-7)
            with self.assertRaises(ArgumentError):
                session.generate("Hi", max_tokens=2**40)
            with self.assertRaisesRegex(ArgumentError, "NUL"):
                session.generate("Hi", stop=["a\0b"])
            self.assertEqual(len(session.generate("Hi", max_tokens=3).tokens), 3)  # it goes on

    def test_groups(self) -> None:
        with Engine(MODEL, drafter="none") as other, engine().group(n_ctx=64) as group:
            with self.assertRaisesRegex(ArgumentError, "same engine"):
                forerun.Session(other, group)
            with self.assertRaisesRegex(ArgumentError, "at most the group's 64"):
                group.session(n_ctx=128)
            for _ in range(64):
                group.session()
            with self.assertRaisesRegex(UnsupportedError, "64 sessions"):
                group.session()
            with self.assertRaisesRegex(UnsupportedError, "64 sessions"):
                group.generate(["Hi"])
            for session in group.sessions[:2]:
                session.close()
            self.assertEqual(len(group.generate(["Hi"] * 4, max_tokens=2)), 4)  # in the two places
        with Engine(MODEL, drafter="none") as other, other.session(n_ctx=64) as theirs:
            with engine().session(n_ctx=64) as session:
                with self.assertRaisesRegex(ArgumentError, "same engine"):
                    session.adopt(theirs)

    def test_what_is_closed_says_so(self) -> None:
        mine = Engine(MODEL, drafter="none")
        group = mine.group(n_ctx=64)
        session, member, text = mine.session(n_ctx=64), group.session(), mine.text
        stream = session.stream("Hi", max_tokens=9)
        session.close()
        session.close()
        self.assertEqual(stream.result().finish, "interrupted")
        uses: list[Callable[[], object]] = [
            lambda: session.generate("Hi"),
            lambda: session.cancel(),
            lambda: session.context,
            lambda: member.generate("Hi"),
            lambda: group.step(),
            lambda: group.session(),
            lambda: mine.session(),
            lambda: mine.group(),
            lambda: mine.info,
            lambda: mine.text.tokenize("Hi"),
            lambda: text.info,
        ]
        for use in uses[:3]:
            with self.assertRaisesRegex(ClosedError, "session: is closed"):
                use()
        mine.close()
        mine.close()
        for use in uses:
            with self.assertRaises(ClosedError):
                use()


if __name__ == "__main__":
    unittest.main()
