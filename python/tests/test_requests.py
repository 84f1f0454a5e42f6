"""Everything that a generation can be asked for."""

from __future__ import annotations

import math
import unittest

from forerun import ArgumentError, Piece, Sampling

from support import PROMPTS, engine, needs_model


@needs_model
class Requests(unittest.TestCase):
    def setUp(self) -> None:
        self.session = engine().session(n_ctx=512)

    def tearDown(self) -> None:
        self.session.close()

    def test_stop_strings_end_it_and_are_told(self) -> None:
        whole = self.session.generate(PROMPTS[2], max_tokens=40).text
        word = whole.split()[3]
        result = self.session.generate(PROMPTS[2], max_tokens=40, stop=["never said", word])
        self.assertEqual(result.text, whole[: whole.index(word)])
        self.assertEqual((result.finish, result.stopped_by), ("stop", word))
        alone = self.session.generate(PROMPTS[2], max_tokens=40, stop=word)
        self.assertEqual(alone.text, result.text)

    def test_stop_tokens_end_it_and_are_told(self) -> None:
        whole = self.session.generate(PROMPTS[2], max_tokens=40)
        token = whole.tokens[9]
        result = self.session.generate(PROMPTS[2], max_tokens=40, stop_tokens=[token])
        self.assertEqual(result.tokens, whole.tokens[: whole.tokens.index(token) + 1])
        self.assertEqual((result.finish, result.stopped_by, result.stop_token), ("stop", None, token))
        self.assertIsNone(whole.stop_token)

    def test_length(self) -> None:
        result = self.session.generate(PROMPTS[0], max_tokens=5)
        self.assertEqual((len(result.tokens), result.finish), (5, "length"))
        self.assertIsNone(result.stopped_by)
        with engine().session(n_ctx=64) as small:
            result = small.generate(PROMPTS[0], max_tokens=None, ignore_eos=True)
        self.assertEqual(result.stats.prompt_tokens + len(result.tokens), 64)
        self.assertEqual(result.finish, "length")

    def test_logprobs_are_a_distribution_and_agree_with_the_prompt_s(self) -> None:
        result = self.session.generate(PROMPTS[0], max_tokens=8, logprobs=True, top_logprobs=20)
        assert result.logprobs
        self.assertEqual([entry.token for entry in result.logprobs], result.tokens)
        for entry in result.logprobs:  # greedy: the token is the likeliest
            self.assertEqual(entry.top[0], (entry.token, entry.logprob))
            self.assertEqual(len(entry.top), 20)
            self.assertLessEqual(sum(math.exp(value) for _, value in entry.top), 1 + 1e-5)
        self.assertIsNone(result.prompt_logprobs)
        prompt = engine().text.tokenize(PROMPTS[0])
        scored = self.session.generate(prompt + result.tokens, max_tokens=1, prompt_logprobs=True)
        assert scored.prompt_logprobs
        self.assertIsNone(scored.prompt_logprobs[0])
        tail = [entry.logprob for entry in scored.prompt_logprobs[len(prompt) :] if entry]
        self.assertEqual(tail, [entry.logprob for entry in result.logprobs])
        self.assertIsNone(scored.logprobs)

    def test_drawn_logprobs_are_of_what_can_be_drawn(self) -> None:
        sampling = Sampling(temperature=1, top_k=2, top_p=1, min_p=0, seed=1)
        result = self.session.generate(
            PROMPTS[0], max_tokens=8, sampling=sampling, logprobs=True, drawn_logprobs=True, top_logprobs=5
        )
        assert result.logprobs
        for entry in result.logprobs:
            self.assertAlmostEqual(sum(math.exp(value) for _, value in entry.top), 1, delta=1e-5)
            self.assertLessEqual(len(entry.top), 2)

    def test_bias_forbids_and_forces(self) -> None:
        first = self.session.generate(PROMPTS[0], max_tokens=1).tokens[0]
        never = self.session.generate(
            PROMPTS[0], max_tokens=1, sampling=Sampling(logit_bias={first: -math.inf})
        )
        self.assertNotEqual(never.tokens[0], first)
        always = self.session.generate(
            PROMPTS[0], max_tokens=4, sampling=Sampling(logit_bias={1234: 100})
        )
        self.assertEqual(always.tokens, [1234] * 4)

    def test_penalties_count(self) -> None:
        plain = self.session.generate(PROMPTS[3], max_tokens=32).tokens
        frequency = self.session.generate(
            PROMPTS[3], max_tokens=32, sampling=Sampling(frequency_penalty=1)
        ).tokens
        presence = self.session.generate(
            PROMPTS[3], max_tokens=32, sampling=Sampling(presence_penalty=6)
        ).tokens
        self.assertEqual(len({tuple(plain), tuple(frequency), tuple(presence)}), 3)

    def test_a_random_seed_is_told_and_repeats(self) -> None:
        drawn = Sampling(temperature=1.5)
        first = self.session.generate(PROMPTS[0], max_tokens=24, sampling=drawn)
        second = self.session.generate(PROMPTS[0], max_tokens=24, sampling=drawn)
        self.assertNotEqual(first.seed, second.seed)
        again = Sampling(temperature=1.5, seed=first.seed)
        self.assertEqual(self.session.generate(PROMPTS[0], max_tokens=24, sampling=again).text, first.text)

    def test_a_prediction_changes_nothing(self) -> None:
        plain = self.session.generate(PROMPTS[0], max_tokens=16).text
        self.assertEqual(self.session.generate(PROMPTS[0], max_tokens=16, prediction=plain).text, plain)

    def test_control_tokens_are_shown_where_that_is_wanted(self) -> None:
        begin = engine().text.find("<|im_start|>")
        assert begin is not None
        forced = Sampling(logit_bias={begin: 100})
        hidden = self.session.generate("Hi", max_tokens=2, sampling=forced)
        shown = self.session.generate("Hi", max_tokens=2, sampling=forced, shown=[begin])
        self.assertEqual((hidden.text, shown.text), ("", "<|im_start|>" * 2))

    def test_control_tokens_of_a_prompt_are_text_unless_it_is_said(self) -> None:
        text = "<|im_start|>user\nHi<|im_end|>\n"
        outside = self.session.generate(text, max_tokens=1).stats.prompt_tokens
        inside = self.session.generate(text, max_tokens=1, control=True).stats.prompt_tokens
        self.assertGreater(outside, inside)
        told = self.session.chat(text, max_tokens=1).stats.prompt_tokens
        self.assertGreater(told, self.session.chat(text, max_tokens=1, control=True).stats.prompt_tokens)

    def test_on_piece_ends_behind_its_piece(self) -> None:
        whole = self.session.generate(PROMPTS[0], max_tokens=32)
        heard: list[Piece] = []

        def hear(piece: Piece) -> bool:
            heard.append(piece)
            return len(heard) < 5

        with engine().session(drafter="prompt-lookup", n_ctx=512) as session:
            result = session.generate(PROMPTS[0], max_tokens=32, on_piece=hear)
        self.assertEqual(len(heard), 5)
        self.assertEqual("".join(heard), result.text)
        self.assertTrue(whole.text.startswith(result.text))
        self.assertEqual(result.finish, "interrupted")

    def test_an_option_that_is_none_is_named(self) -> None:
        with self.assertRaisesRegex(TypeError, "max_token"):
            self.session.generate("Hi", max_token=3)  # type: ignore[call-arg]
        with self.assertRaisesRegex(TypeError, "draft"):
            engine().session(draft="none")  # type: ignore[call-arg]

    def test_contexts_are_reused_taken_over_and_forgotten(self) -> None:
        ids = engine().text.tokenize(PROMPTS[0])
        first = self.session.generate(ids, max_tokens=8)
        self.assertEqual(self.session.context[: len(ids)], ids)
        again = self.session.generate(ids, max_tokens=8)
        self.assertEqual(again.text, first.text)
        self.assertGreater(again.stats.prompt_reused, 0)
        with engine().session(n_ctx=512) as other:
            other.adopt(self.session)
            self.assertEqual(other.context, self.session.context)
            taken = other.generate(ids, max_tokens=8)
            self.assertEqual((taken.text, taken.stats.prompt_reused > 0), (first.text, True))
        self.session.forget()
        self.assertEqual(self.session.context, [])
        self.assertEqual(self.session.generate(ids, max_tokens=8).stats.prompt_reused, 0)

    def test_drafting_can_be_set(self) -> None:
        plain = self.session.generate(PROMPTS[3], max_tokens=32).text
        with engine().session(
            n_ctx=512, drafter="prompt-lookup", tree=4, adapt=False, draft_options={"matches": 4}
        ) as session:
            result = session.generate(PROMPTS[3], max_tokens=32)
            self.assertEqual(result.text, plain)
            self.assertLessEqual(max(result.stats.passes_by_rows), 5)
        with engine().session(n_ctx=512, drafter="prompt-lookup", accept="rejection") as session:
            stats = session.generate(PROMPTS[3], max_tokens=8).stats
            self.assertEqual((stats.lossless, stats.exact_law), (False, True))

    def test_a_stream_can_be_left(self) -> None:
        whole = self.session.generate(PROMPTS[0], max_tokens=32).text
        with self.session.stream(PROMPTS[0], max_tokens=32) as stream:
            first = next(stream)
        result = stream.result()
        self.assertEqual(result.finish, "interrupted")
        self.assertTrue(whole.startswith(result.text) and result.text.startswith(first))
        for piece in self.session.stream(PROMPTS[0], max_tokens=32):
            self.assertTrue(whole.startswith(piece))
            break
        self.assertEqual(self.session.generate(PROMPTS[0], max_tokens=32).text, whole)
        kept = self.session.stream(PROMPTS[0], max_tokens=32)
        next(kept)
        with self.assertRaisesRegex(ArgumentError, "a generation is at work"):
            self.session.generate(PROMPTS[1])
        self.assertTrue(self.session.running)
        self.assertEqual(kept.result().text, whole)
        self.assertFalse(self.session.running)


if __name__ == "__main__":
    unittest.main()
