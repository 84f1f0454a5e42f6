"""Several threads, and ends from other threads."""

from __future__ import annotations

import threading
import unittest
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from forerun import ArgumentError, ClosedError, Engine, Piece

from support import EAGLE, MODEL, PROMPTS, engine, needs_model


@needs_model
class Threads(unittest.TestCase):
    def alone(self, n: int) -> list[str]:
        with engine().session(n_ctx=512) as session:
            return [session.generate(prompt, max_tokens=n).text for prompt in PROMPTS]

    def test_a_session_for_each_of_two_threads(self) -> None:
        expected = self.alone(24)

        def work(order: int) -> list[str]:
            texts = []
            for _ in range(3):
                with engine().session(n_ctx=512, drafter=EAGLE) as session:
                    texts = [session.generate(prompt, max_tokens=24).text for prompt in PROMPTS]
            return texts

        with ThreadPoolExecutor(2) as pool:
            for texts in pool.map(work, range(2)):
                self.assertEqual(texts, expected)

    def test_two_threads_step_one_group(self) -> None:
        expected = self.alone(32)
        with engine().group(n_ctx=512) as group:
            streams = [group.session().stream(prompt, max_tokens=32) for prompt in PROMPTS]
            with ThreadPoolExecutor(2) as pool:
                texts = list(pool.map("".join, streams))
        self.assertEqual(texts, expected)

    def test_two_threads_take_from_one_stream(self) -> None:
        expected = self.alone(32)[0]
        with engine().session(n_ctx=512) as session:
            stream = session.stream(PROMPTS[0], max_tokens=32)
            with ThreadPoolExecutor(2) as pool:
                taken = list(pool.map(lambda _: list(stream), range(2)))
        self.assertEqual(sorted("".join(taken[0] + taken[1])), sorted(expected))
        self.assertEqual(stream.result().text, expected)

    def test_two_threads_of_one_session_are_refused_or_served(self) -> None:
        expected = set(self.alone(12))
        with engine().session(n_ctx=512) as session:

            def work(prompt: str) -> str | None:
                try:
                    return session.generate(prompt, max_tokens=12).text
                except ArgumentError as error:
                    self.assertIn("a generation is at work", str(error))
                    return None

            with ThreadPoolExecutor(2) as pool:
                texts = set(pool.map(work, PROMPTS * 3)) - {None}
        self.assertLessEqual(texts, expected)
        self.assertTrue(texts)

    def in_the_middle(self, act: Callable[[], None], ready: threading.Event) -> threading.Thread:
        def wait() -> None:
            ready.wait()
            act()

        thread = threading.Thread(target=wait)
        thread.start()
        return thread

    def test_cancel_from_another_thread(self) -> None:
        with engine().session(n_ctx=2048) as session:
            ready = threading.Event()
            thread = self.in_the_middle(session.cancel, ready)

            def heard(piece: Piece) -> None:
                ready.set()

            result = session.generate(
                PROMPTS[0], max_tokens=None, ignore_eos=True, on_piece=heard
            )
            thread.join()
            self.assertEqual(result.finish, "interrupted")
            self.assertLess(len(result.tokens), 1900)
            whole = session.generate(
                PROMPTS[0], max_tokens=len(result.tokens), ignore_eos=True
            )
            self.assertEqual(whole.tokens, result.tokens)
            session.cancel()  # nothing is at work: nothing happens
            self.assertEqual(session.generate(PROMPTS[0], max_tokens=3).finish, "length")

    def test_nobody_generates_while_passes_are_measured(self) -> None:
        came: list[Piece] = []
        seen: list[int] = []  # what had come at each measured pass
        ready, more = threading.Event(), threading.Event()

        def heard(piece: Piece) -> None:
            came.append(piece)
            ready.set()
            if seen and len(came) > seen[-1] + 1:
                more.set()

        with Engine(MODEL, drafter="none") as mine, mine.session(n_ctx=8192) as session:
            with ThreadPoolExecutor(1) as pool:
                answer = pool.submit(
                    session.generate, PROMPTS[0], max_tokens=None, ignore_eos=True, on_piece=heard
                )
                ready.wait()
                mine.take_profile(None, lambda *all: seen.append(len(came)))
                more.clear()
                self.assertTrue(more.wait(60))  # it goes on
                session.cancel()
                self.assertEqual(answer.result().finish, "interrupted")
        self.assertGreater(len(seen), 20)
        self.assertLessEqual(seen[-1] - seen[0], 1)  # a pass may have ended just before

    def test_a_stream_is_dropped_while_another_thread_has_the_turn(self) -> None:
        """Who drops it holds a lock that the other thread waits for, as the collector might."""
        with engine().group(n_ctx=512) as group:
            first, second = group.session(), group.session()
            streams = [second.stream(PROMPTS[1], max_tokens=400)]
            waits, dropped = threading.Event(), threading.Event()

            def heard(piece: Piece) -> None:
                waits.set()
                dropped.wait()

            with ThreadPoolExecutor(1) as pool:
                text = pool.submit(first.generate, PROMPTS[0], max_tokens=12, on_piece=heard)
                waits.wait()
                streams.clear()  # within the other's step
                dropped.set()
                self.assertEqual(text.result().text, self.alone(12)[0])
            assert second.result
            self.assertEqual(second.result.finish, "interrupted")

    def test_close_from_another_thread(self) -> None:
        for what in ("session", "engine"):
            mine = Engine(MODEL, drafter="none")
            session = mine.session(n_ctx=2048)
            ready = threading.Event()
            thread = self.in_the_middle(session.close if what == "session" else mine.close, ready)
            result = None
            try:
                result = session.generate(
                    PROMPTS[0], max_tokens=None, ignore_eos=True, on_piece=lambda _: ready.set()
                )
            except ClosedError:
                pass
            thread.join()
            if result:
                self.assertEqual(result.finish, "interrupted")
            with self.assertRaises(ClosedError):
                session.generate("Hi")
            mine.close()


if __name__ == "__main__":
    unittest.main()
