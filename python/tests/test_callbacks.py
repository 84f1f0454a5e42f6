"""Callbacks that raise, stop, or use what they are called from."""

from __future__ import annotations

import _thread
import os
import signal
import tempfile
import unittest

from forerun import ArgumentError, Engine, Interrupted, Piece, Session

from support import MODEL, PROMPTS, engine, needs_model


class Own(Exception):
    pass


@needs_model
class Callbacks(unittest.TestCase):
    def test_progress_tells_and_its_exception_comes_out(self) -> None:
        told: list[tuple[str, int, int]] = []
        Engine(MODEL, drafter="none", progress=lambda *all: told.append(all)).close()
        self.assertGreater(len(told), 2)
        self.assertTrue(all(what and done <= total for what, done, total in told))

        def fail(what: str, done: int, total: int) -> None:
            raise Own("mine")

        with self.assertRaisesRegex(Own, "mine"):
            Engine(MODEL, progress=fail)
        with self.assertRaises(Interrupted):
            Engine(MODEL, progress=lambda *all: False)

    def test_measuring_can_be_stopped_and_is_asked_again(self) -> None:
        with Engine(MODEL) as mine:
            with self.assertRaises(Interrupted):
                mine.take_profile(None, lambda *all: False)
            told: list[str] = []
            self.assertIsNone(mine.take_profile(None, lambda what, *rest: told.append(what)))
            self.assertGreater(len(told), 0)
            with mine.session(n_ctx=64) as session:
                self.assertGreater(session.generate(PROMPTS[3], max_tokens=16).stats.predicted, 0)

    def test_a_group_takes_the_profile_whoever_drafts(self) -> None:
        told: list[str] = []
        with (
            tempfile.TemporaryDirectory() as folder,
            Engine(
                MODEL, drafter="none", profile=folder, progress=lambda what, *rest: told.append(what)
            ) as mine,
        ):
            told.clear()
            with mine.session(n_ctx=64):
                self.assertEqual(told, [])  # alone it has no use for one
            with mine.group(n_ctx=64) as group:
                self.assertIn("measuring passes", told)
                self.assertEqual(len(os.listdir(folder)), 1)
                session = group.session(drafter="prompt-lookup")
                self.assertGreater(session.generate(PROMPTS[3], max_tokens=16).stats.predicted, 0)

    def test_what_on_piece_raises_comes_out(self) -> None:
        def fail(piece: Piece) -> None:
            raise Own(piece)

        with engine().session(n_ctx=256) as session:
            whole = session.generate(PROMPTS[0], max_tokens=16).text
            with self.assertRaises(Own) as caught:
                session.generate(PROMPTS[0], max_tokens=16, on_piece=fail)
            self.assertTrue(whole.startswith(caught.exception.args[0]))
            with self.assertRaises(Own):
                list(session.stream(PROMPTS[0], max_tokens=16, on_piece=fail))
            self.assertEqual(session.generate(PROMPTS[0], max_tokens=16).text, whole)

    def test_one_that_raises_in_a_group_is_its_own_alone(self) -> None:
        def fail(piece: Piece) -> None:
            raise Own

        with engine().group(n_ctx=256) as group:
            good, bad = group.session(), group.session()
            stream = bad.stream(PROMPTS[0], max_tokens=16, on_piece=fail)
            text = good.generate(PROMPTS[1], max_tokens=16).text
            with self.assertRaises(Own):
                stream.result()
            with engine().session(n_ctx=256) as alone:
                self.assertEqual(text, alone.generate(PROMPTS[1], max_tokens=16).text)

    def test_ctrl_c_while_the_prompt_is_read(self) -> None:
        """The interpreter's own signal handling: KeyboardInterrupt, and the session goes on."""
        # A shell's background jobs are started with this signal ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        pieces: list[Piece] = []

        def interrupt(piece: Piece) -> None:
            pieces.append(piece)
            _thread.interrupt_main()

        with engine().session(n_ctx=1024) as session:
            with self.assertRaises(KeyboardInterrupt):
                session.generate("river " * 400, max_tokens=600, ignore_eos=True, on_piece=interrupt)
            self.assertLess(len(pieces), 600)
            self.assertEqual(len(session.generate("Hi", max_tokens=3).tokens), 3)

    def test_a_session_is_not_used_from_within_its_callback(self) -> None:
        with engine().group(n_ctx=256) as group:
            first, second = group.session(), group.session()
            tried: list[BaseException] = []

            def use(piece: Piece) -> None:
                for call in (lambda: second.generate("Hi"), group.step, lambda: first.context):
                    try:
                        call()
                    except ArgumentError as error:
                        tried.append(error)

            whole = first.generate(PROMPTS[0], max_tokens=4, on_piece=use)
            self.assertEqual(len(tried), 3 * 4)
            self.assertIn("callback", str(tried[0]))
            self.assertEqual(second.generate(PROMPTS[0], max_tokens=4).text, whole.text)

    def test_cancel_and_close_from_within_a_callback(self) -> None:
        with engine().session(n_ctx=256) as session:
            result = session.generate(PROMPTS[0], max_tokens=64, on_piece=lambda _: session.cancel())
            self.assertEqual(result.finish, "interrupted")
            self.assertLess(len(result.tokens), 8)
        with engine().group(n_ctx=256) as group:
            first, second = group.session(), group.session()
            left = second.stream(PROMPTS[1], max_tokens=64)
            with engine().session(n_ctx=256) as alone:
                expected = alone.generate(PROMPTS[0], max_tokens=16).text
            told: list[Session] = []

            def close(piece: Piece) -> None:
                if not told:
                    told.append(second)
                    second.close()  # when the step is over

            self.assertEqual(first.generate(PROMPTS[0], max_tokens=16, on_piece=close).text, expected)
            self.assertEqual(left.result().finish, "interrupted")
            self.assertEqual(group.sessions, [first])


if __name__ == "__main__":
    unittest.main()
