#!/usr/bin/env python3
"""Runs axe-core, a checker of accessibility, over the page of `forerun serve` in a headless Chromium.

    python3 -m venv ../axe && ../axe/bin/pip install axe-playwright-python     # for its axe.min.js alone
    FR_MODELS=models tests/judges/page_axe.py --axe ../axe/lib/python3*/site-packages/axe_playwright_python/axe.min.js

Every state of the page, light and dark, wide and on a phone: no violation of WCAG 2.0 to 2.2, A and AA, is left. Exit code 1: one is.
"""
import argparse
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("FR_SOURCE_DIR", str(ROOT))
os.environ.setdefault("FORERUN", str(ROOT / "build/forerun"))
sys.path.insert(0, str(ROOT / "tests/serve/page"))
from harness import JOINED, Server, answered, ask, load, page, press, set_to  # noqa: E402

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
NAMES = ["prompt-lookup", "eagle", "medusa", "draft-model", "rest", "lookahead", "hidden-state", "ppd", "hidden-transfer", "chimera",
         "layer-skip", "early-exit"]
TEXT = ("# Title\n\nA *text* with `code`, a [link](https://example.com/), https://example.com/x and **more** of it.\n\n- one\n- two\n\n"
        "> said\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```c\nint main(void) { return 0; }\n```\n\n1. first\n2. second\n")
ANSWER = {"role": "assistant", "content": TEXT, "thinking": TEXT, "error": "It broke off.",
          "tokens": [x for i in range(len(TEXT) // 4 + 1) for x in (4, i % 4, i % len(NAMES))], "sources": NAMES,
          "timings": {"predicted_n": 9, "predicted_per_second": 20, "plain_ms": 800, "passes": 4, "draft_n": 8, "draft_n_accepted": 5,
                      "prompt_ms": 50, "prompt_n": 30},
          "calls": [{"id": "1", "name": "f", "arguments": "{}"}], "seed": 7}
CHAT = {"title": "A conversation", "messages": [{"role": "user", "content": "Hello"}, ANSWER]}


def states(b, phone):
    """Brings the page from state to state, whose names it gives."""
    yield "empty"
    press(b, "#open-settings")
    yield "settings"
    press(b, "#settings .close")
    set_to(b, max_tokens="60", drafter=JOINED)
    ask(b, "Tell me about the sea.")
    yield "at work"
    answered(b)
    yield "conversation"
    load(b, CHAT)
    b.js("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    yield "everything"
    press(b, "#drafted")
    yield "colours"
    press(b, ".user [data-act=edit]")
    yield "edit"
    press(b, ".edit .cancel")
    press(b, "#show-live")
    b.until("!document.getElementById('live-all').hidden")
    yield "live"
    press(b, "#hide-live")
    if phone:
        press(b, "#show-side")
        b.until("getComputedStyle(document.getElementById('side')).visibility === 'visible'")
        b.js("new Promise(r => setTimeout(r, 400))")
        yield "side"


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--axe", required=True, help="axe.min.js")
    given = args.parse_args()
    axe = pathlib.Path(given.axe).read_text()
    server, found, looks = Server(), 0, 0
    for phone in (False, True):
        for dark in (False, True):
            b = page(server.url, dark=dark, **({"width": 390, "height": 844} if phone else {"width": 1280, "height": 800}))
            b.js(axe + "; 0")
            for state in states(b, phone):
                said = b.js("axe.run(document, {runOnly: %s}).then(r => ({bad: r.violations.map(v => [v.id, v.help, v.nodes.map(n => "
                            "[n.target.join(' '), n.failureSummary])]), unsure: r.incomplete.map(v => v.id + ' (' + v.nodes.length + ': ' + [...new Set(v.nodes.flatMap(n => n.any.map(a => a.data && a.data.messageKey)))] + ')'), good: r.passes.length}))"
                            % json.dumps(TAGS))
                looks += 1
                found += len(said["bad"])
                print("%-5s %-5s %-12s %d rules hold, %d do not; to be looked at: %s" % (
                    "phone" if phone else "wide", "dark" if dark else "light", state, said["good"], len(said["bad"]),
                    ", ".join(said["unsure"]) or "none"), flush=True)
                for name, says, nodes in said["bad"]:
                    print("    %s: %s" % (name, says))
                    for target, why in nodes[:6]:
                        print("        %s: %s" % (target, " ".join(why.split())[:300]))
            b.close()
    server.end()
    print("%d states, %d violations" % (looks, found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
