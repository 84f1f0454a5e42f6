#!/usr/bin/env python3
"""Takes the pictures of the page in docs/serve.md: a real model answers in a headless Chromium.

    FR_MODELS=models bench/serve/page_pictures.py --model models/qwen2.5-coder-1.5b.gguf --pack packs/qwen2.5-coder-1.5b-eagle.gguf --out docs/pictures
"""
import argparse
import json
import os
import pathlib
import sys
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("FR_SOURCE_DIR", str(ROOT))
os.environ.setdefault("FORERUN", str(ROOT / "build/forerun"))
sys.path.insert(0, str(ROOT / "tests/serve/page"))
from harness import Server, answered, ask, page, press, set_to  # noqa: E402

CODE = "Write a C function that reverses a string in place, and explain it."
TABLE = "Make a table of five programming languages: name, year, typing."
OTHERS = ("Write a Python class for a stack, with tests.", "Explain what a hash map is, step by step.",
          "Write a SQL schema for a library, then five queries.")


def settled(b):
    b.js("document.activeElement.blur()")
    b.js("new Promise(r => setTimeout(r, 400))")


def talk(url, *prompts, drafter="", **kw):
    b = page(url, **kw)
    set_to(b, temperature="0", max_tokens="260", drafter=drafter)
    for prompt in prompts:
        ask(b, prompt)
        answered(b)
    settled(b)
    return b


def other_user(url, prompt, stop):
    """One more user, who asks until it is enough."""
    while not stop.is_set():
        body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": 400, "temperature": 0.7, "stream": True}
        with urllib.request.urlopen(urllib.request.Request(url + "/v1/chat/completions", json.dumps(body).encode())) as answer:
            for _ in answer:
                if stop.is_set():
                    break


def with_others(url, out):
    stop = threading.Event()
    users = [threading.Thread(target=other_user, args=(url, p, stop)) for p in OTHERS]
    b = page(url)
    set_to(b, max_tokens="600")
    press(b, "#drafted")
    press(b, "#show-live")
    for u in users:
        u.start()
    ask(b, CODE)
    b.until("S.writing && S.writing.message.content.length > 200")
    time.sleep(20)
    b.until("/^[34] of 4/.test(document.getElementById('live-users').textContent)")
    b.picture(out / "page-live.png")
    b.key("Escape")
    stop.set()
    for u in users:
        u.join()
    b.close()


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--model", required=True)
    args.add_argument("--pack", required=True, help="of eagle, to draft beside prompt-lookup")
    args.add_argument("--out", required=True, type=pathlib.Path)
    args.add_argument("--only", default="", help="some of: light,dark,phone,colours,settings,live")
    given = args.parse_args()
    wanted = lambda name: not given.only or name in given.only.split(",")  # noqa: E731
    server = Server(model=given.model, drafter="prompt-lookup+eagle:" + given.pack, drafters="none,prompt-lookup", parallel=4)
    if wanted("light") or wanted("settings"):
        b = talk(server.url, TABLE)
        b.picture(given.out / "page.png")
        press(b, "#open-settings")
        settled(b)
        b.picture(given.out / "page-settings.png")
        b.close()
    if wanted("dark"):
        b = talk(server.url, CODE, dark=True)
        press(b, "#drafted")
        settled(b)
        b.picture(given.out / "page-dark.png")
        b.close()
    if wanted("phone"):
        b = talk(server.url, CODE, width=390, height=844)
        press(b, "#drafted")
        settled(b)
        b.picture(given.out / "page-phone.png")
        b.close()
    if wanted("colours"):
        b = talk(server.url, CODE, "Now write the same in Python.")
        press(b, "#drafted")
        b.js("document.querySelectorAll('.user')[1].scrollIntoView({block: 'start'})")
        settled(b)
        b.picture(given.out / "page-colours.png")
        b.close()
    if wanted("live"):
        with_others(server.url, given.out)
    server.end()


if __name__ == "__main__":
    main()
