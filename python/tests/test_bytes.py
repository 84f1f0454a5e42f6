"""The bytes are those of `forerun run`, whoever drafts and whoever else is served."""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from forerun import Engine, Sampling

from support import EAGLE, MODEL, PACKS, PROGRAM, PROMPTS, engine, needs_model, program

QUESTION = "Name three rivers and say where they are."
SAMPLED = Sampling(temperature=0.8, seed=7)
DRAFTERS = ["none", "prompt-lookup", EAGLE, f"{EAGLE}+prompt-lookup", "auto"]
LAWS = [((), Sampling()), (("--temp", "0.8", "--seed", "7"), SAMPLED)]


@needs_model
class Bytes(unittest.TestCase):
    def test_chat_is_that_of_the_program(self) -> None:
        for flags, sampling in LAWS:
            expected = program("-p", QUESTION, "-n", "64", "--drafter", "none", *flags)
            self.assertGreater(len(expected["text"]), 40)
            for drafter in DRAFTERS:
                with self.subTest(drafter=drafter, sampling=sampling):
                    with engine().session(drafter=drafter) as session:
                        result = session.chat(QUESTION, max_tokens=64, sampling=sampling)
                    self.assertEqual(result.text, expected["text"])
                    self.assertEqual(result.tokens, expected["tokens"])
                    self.assertEqual(result.finish, expected["finish_reason"])
                    self.assertEqual(result.stats.prompt_tokens, expected["prompt_tokens"])

    def test_a_drafter_drafts(self) -> None:
        with engine().session(drafter="prompt-lookup") as session:
            stats = session.generate(PROMPTS[3], max_tokens=64).stats
        self.assertEqual(stats.used, "prompt-lookup")
        self.assertTrue(stats.lossless)
        self.assertGreater(stats.tokens_per_pass, 1.5)
        self.assertLess(stats.passes, stats.completion_tokens)
        self.assertEqual(stats.drafted_tokens, sum(stats.accepted))
        self.assertGreater(stats.drafted_tokens, 0)
        self.assertEqual(sum(n * p for n, p in stats.passes_by_rows.items()), stats.rows)

    def test_text_is_that_of_the_program(self) -> None:
        for flags, sampling in LAWS:
            for drafter in ("none", EAGLE):
                for prompt in PROMPTS:
                    expected = program("--raw", "-p", prompt, "-n", "48", "--drafter", "none", *flags)
                    with engine().session(drafter=drafter) as session:
                        result = session.generate(prompt, max_tokens=48, sampling=sampling)
                    self.assertEqual(result.tokens, expected["tokens"])
                    self.assertEqual(result.text, expected["text"])

    def test_every_setting_of_sampling_is_that_of_the_program(self) -> None:
        settings: list[tuple[list[str], dict[str, float]]] = [
            (["--top-k", "0", "--top-p", "1", "--min-p", "0"], {"top_k": 0, "top_p": 1, "min_p": 0}),
            (["--top-k", "3"], {"top_k": 3}),
            (["--top-p", "0"], {"top_p": 0}),
        ]
        for n in (64, 0, -1):
            flags = ["--repeat-penalty", "1.3", "--repeat-last-n", str(n)]
            settings.append((flags, {"repeat_penalty": 1.3, "repeat_last_n": n}))
        told = set()
        with engine().session() as session:
            for flags, members in settings:
                run = ["--raw", "-p", PROMPTS[0], "-n", "40", "--drafter", "none", "--temp", "1.2", "-s", "3"]
                expected = program(*run, *flags)
                sampling = Sampling(temperature=1.2, seed=3, **members)  # type: ignore[arg-type]
                result = session.generate(PROMPTS[0], max_tokens=40, sampling=sampling)
                self.assertEqual(result.tokens, expected["tokens"], flags)
                told.add(result.text)
        self.assertGreater(len(told), 3)

    def test_pieces_are_the_text(self) -> None:
        for sampling in (Sampling(), SAMPLED):
            for drafter in ("none", EAGLE):
                with engine().session(drafter=drafter) as session:
                    whole = session.chat("Write a haiku about 川.", max_tokens=64, sampling=sampling)
                    stream = session.stream_chat(
                        "Write a haiku about 川.", max_tokens=64, sampling=sampling
                    )
                    pieces = list(stream)
                self.assertGreater(len(pieces), 8)
                self.assertEqual("".join(pieces), whole.text)
                self.assertEqual(stream.result().tokens, whole.tokens)
                drafted = [piece for piece in pieces if piece.drafted]
                self.assertEqual(bool(drafted), drafter != "none")

    def test_auto_is_what_the_program_takes(self) -> None:
        """With the same packs and the same folder of profiles the same drafter is chosen."""
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder, Engine(MODEL) as mine:
            (Path(folder) / "packs").symlink_to(PACKS)
            os.chdir(folder)
            try:
                with mine.session() as session:
                    result = session.chat(QUESTION, max_tokens=32)
                expected = program("-p", QUESTION, "-n", "32")
            finally:
                os.chdir(here)
        self.assertEqual(result.text, expected["text"])
        self.assertEqual(result.stats.used, expected["used"])
        self.assertIn("+", result.stats.used)  # a pack was found

    def test_a_group_gives_each_what_it_gets_alone(self) -> None:
        for drafter in ("none", EAGLE):
            for sampling in (Sampling(), SAMPLED):
                with engine().session(drafter=drafter) as session:
                    alone = [
                        session.generate(prompt, max_tokens=40, sampling=sampling) for prompt in PROMPTS
                    ]
                with engine().group(n_ctx=512) as group:
                    sessions = [group.session(drafter=drafter) for _ in PROMPTS]
                    streams = [
                        session.stream(prompt, max_tokens=40, sampling=sampling)
                        for session, prompt in zip(sessions, PROMPTS)
                    ]
                    shared = 0
                    while group.step():
                        shared = max(shared, group.last_pass.sessions)
                    self.assertEqual(shared, 4)
                    for stream, result in zip(streams, alone):
                        self.assertEqual("".join(stream), result.text)
                        self.assertEqual(stream.result().tokens, result.tokens)

    def test_streams_of_a_group_feed_one_another(self) -> None:
        with engine().session() as session:
            alone = [session.chat(prompt, max_tokens=24).text for prompt in PROMPTS]
        with engine().group(n_ctx=512) as group:
            streams = [group.session().stream_chat(prompt, max_tokens=24) for prompt in PROMPTS]
            texts = [""] * len(streams)
            waiting = dict(enumerate(streams))
            while waiting:
                for i, stream in list(waiting.items()):
                    piece = next(stream, None)
                    if piece is None:
                        del waiting[i]
                    else:
                        texts[i] += piece
            self.assertEqual(texts, alone)

    def test_many_prompts_in_few_sessions(self) -> None:
        with engine().session() as session:
            alone = [session.generate(prompt, max_tokens=16).text for prompt in PROMPTS]
            chats = [session.chat(prompt, max_tokens=16).text for prompt in PROMPTS]
        with engine().group(n_ctx=512) as group:
            results = group.generate(PROMPTS * 2, parallel=3, max_tokens=16)
            self.assertEqual([result.text for result in results], alone * 2)
            self.assertEqual([str(r) for r in group.chat(PROMPTS, max_tokens=16)], chats)
            kwargs = {"enable_thinking": False}
            told = group.chat(PROMPTS, max_tokens=16, template_kwargs=kwargs)
            self.assertEqual([str(r) for r in told], chats)  # a template that does not know it
            self.assertEqual(group.sessions, [])
            self.assertEqual(group.generate([]), [])

    def test_a_conversation_is_that_of_the_program(self) -> None:
        questions = [QUESTION, "And which of them is the longest?"]
        line = [PROGRAM, "chat", "-m", str(MODEL), "--quiet", "--temp", "0", "-n", "48", "--drafter", "none"]
        said = subprocess.run(line, input="\n".join(questions).encode(), capture_output=True, check=True)
        messages: list[dict[str, str]] = []
        answers = b""
        with engine().session(drafter="prompt-lookup") as session:
            for question in questions:
                messages.append({"role": "user", "content": question})
                answer = "".join(session.stream_chat(messages, max_tokens=48))
                messages.append({"role": "assistant", "content": answer})
                answers += answer.encode() + b"\n"
            self.assertIsNotNone(session.result)
            assert session.result
            self.assertGreater(session.result.stats.prompt_reused, 30)
        self.assertEqual(answers, said.stdout)

    def test_threads_and_instruction_sets_change_nothing(self) -> None:
        expected = program("-p", QUESTION, "-n", "16", "--drafter", "none")
        with Engine(MODEL, threads=1, isa="scalar", low_memory=True, drafter="none") as other:
            self.assertEqual((other.info.threads, other.info.isa), (1, "scalar"))
            with other.session() as session:
                self.assertEqual(session.chat(QUESTION, max_tokens=16).text, expected["text"])

    def test_the_kv_type_of_an_engine_is_its_sessions(self) -> None:
        flags = ("-p", QUESTION, "-n", "48", "--drafter", "none", "--kv-type")
        with Engine(MODEL, kv_type="q8_0", drafter="none") as other, other.session() as session:
            self.assertEqual(
                session.chat(QUESTION, max_tokens=48).text, program(*flags, "q8_0")["text"]
            )


if __name__ == "__main__":
    unittest.main()
