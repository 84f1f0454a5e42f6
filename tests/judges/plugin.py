"""A plugin of pytest for llama.cpp's server tests: nothing is fetched, no text of a model is judged, results go to a file.

FR_JUDGE_TESTS is the folder of the tests, FR_JUDGE_RESULTS the file: a JSON document a line, {"id", "outcome", "why"}.
"""
import json
import os
import sys

sys.path.insert(0, os.environ["FR_JUDGE_TESTS"])

import utils  # the tests' own

# It starts every model that the tests know, those of pictures and embeddings too.
utils.ServerPreset.load_all = staticmethod(lambda: None)
# What a draft model is fetched from; the wrapper puts a model of this machine in its place.
utils.download_file = lambda url, output_file_path=None: "draft.gguf"
# What another model wrote: what the answer is judged by otherwise stays.
utils.match_regex = lambda regex, text: isinstance(text, str)

# Tests that need answers of some length, whatever the model says.
LONG = ("test_completion_unified", "test_completion_parallel_slots")
ask = utils.ServerProcess.make_request


def ask_for_more(self, method, path, data=None, *rest, **kwargs):
    if any(name in os.environ.get("PYTEST_CURRENT_TEST", "") for name in LONG) and path == "/completion":
        data = dict(data, ignore_eos=True)
    return ask(self, method, path, data, *rest, **kwargs)


utils.ServerProcess.make_request = ask_for_more


def why_of(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr or "")
    return " ".join(text.split())[:300]


def pytest_runtest_logreport(report):
    if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
        with open(os.environ["FR_JUDGE_RESULTS"], "a", encoding="utf-8") as out:
            out.write(json.dumps({"id": report.nodeid, "outcome": report.outcome, "why": why_of(report)}) + "\n")
