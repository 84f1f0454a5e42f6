"""What is left, dropped or forgotten is freed, in whatever order."""

from __future__ import annotations

import copy
import gc
import subprocess
import sys
import unittest
import weakref
from pathlib import Path

from forerun import Engine, Piece, Sampling

from support import EAGLE, MODEL, PROMPTS, engine, needs_model


def resident() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@needs_model
class Lifetime(unittest.TestCase):
    def test_two_hundred_generations_leave_nothing(self) -> None:
        sampling = Sampling(temperature=0.9, seed=1, logit_bias={i: -1.0 for i in range(100, 600)})
        with engine().group(n_ctx=256) as group, engine().session(n_ctx=256, drafter=EAGLE) as session:
            member = group.session()

            def work(n: int) -> None:
                for i in range(n):
                    prompt = PROMPTS[i % 4]
                    session.generate(prompt, max_tokens=3, sampling=sampling, stop=["x" * 50000])
                    with session.stream_chat(prompt, max_tokens=3) as stream:
                        next(stream)
                    member.generate(prompt, max_tokens=2, logprobs=True, top_logprobs=20)
                    with engine().session(n_ctx=256) as short:
                        short.generate(prompt, max_tokens=1)
                    engine().text.render(prompt)

            def grown() -> int:
                before = resident()
                work(50)
                gc.collect()
                return resident() - before

            work(20)
            gc.collect()
            # 50 requests that stay take more than 2.5 MB of stop strings and biases, every time; sessions
            # more. The C library's heap may grow by 2 MB once.
            self.assertLess(min(grown() for _ in range(3)), 1 << 20)

    def test_engines_leave_nothing(self) -> None:
        def work() -> None:
            for _ in range(3):
                with Engine(MODEL, drafter="none") as mine, mine.session(n_ctx=64) as session:
                    session.generate("Hi", max_tokens=1)

        work()
        before = resident()
        work()
        self.assertLess(resident() - before, MODEL.stat().st_size // 2)

    def test_sessions_outlive_the_name_of_their_engine(self) -> None:
        session = Engine(MODEL, drafter="none").session(n_ctx=64)
        gc.collect()
        self.assertEqual(len(session.generate("Hi", max_tokens=3).tokens), 3)
        stream = session.stream("Hi", max_tokens=9)
        del session
        gc.collect()
        self.assertTrue("".join(stream))

    def test_what_is_dropped_is_freed(self) -> None:
        mine = Engine(MODEL, drafter="none")
        group = mine.group(n_ctx=64)
        stream = group.session().stream("Hi", max_tokens=9)
        gone = [weakref.ref(thing) for thing in (mine, group, stream, stream.session)]
        next(stream)
        del mine, group, stream
        gc.collect()
        self.assertEqual([ref() for ref in gone], [None] * 4)

    def test_nothing_that_is_freed_can_be_copied(self) -> None:
        with self.assertRaisesRegex(TypeError, "Engine: cannot be copied"):
            copy.copy(engine())
        self.assertTrue(engine().info.name)

    def test_a_stream_that_is_dropped_in_a_group_s_callback(self) -> None:
        with engine().session(n_ctx=256) as alone:
            expected = alone.generate(PROMPTS[0], max_tokens=12).text
        with engine().group(n_ctx=256) as group:
            first, second = group.session(), group.session()
            streams = [second.stream(PROMPTS[1], max_tokens=64)]

            def drop(piece: Piece) -> None:
                streams.clear()
                gc.collect()

            self.assertEqual(first.generate(PROMPTS[0], max_tokens=12, on_piece=drop).text, expected)
            assert second.result
            self.assertEqual(second.result.finish, "interrupted")
            self.assertEqual(second.generate(PROMPTS[0], max_tokens=12).text, expected)

    def test_a_program_that_closes_nothing_ends_well(self) -> None:
        code = f"""
import forerun
engine = forerun.Engine({str(MODEL)!r}, drafter="none")
group = engine.group(n_ctx=64)
member, session = group.session(), engine.session(n_ctx=64)
left, other = member.stream("Hi", max_tokens=9), session.stream("Hi", max_tokens=9)
print(next(left) == next(other))
class Cycle: pass
cycle = Cycle(); cycle.me = cycle; cycle.all = [engine, group, member, session, left, other]
"""
        for more in ("", "\ndel engine, group, member, session, left, other, cycle\n"):
            said = subprocess.run(
                [sys.executable, "-X", "dev", "-W", "error", "-c", code + more],
                capture_output=True,
                check=False,
            )
            self.assertEqual((said.returncode, said.stdout, said.stderr), (0, b"True\n", b""))


if __name__ == "__main__":
    unittest.main()
