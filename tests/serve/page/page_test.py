"""Run by test_page.sh."""
import os
import sys

sys.path.insert(0, os.environ["here"])
import browser  # noqa: E402
import look  # noqa: E402
import talk  # noqa: E402
import text  # noqa: E402
from harness import MODEL, Server  # noqa: E402

TALK = (talk.a_conversation, talk.stopping)
REST = (text.markdown, text.hostile, text.copying, talk.two_conversations, look.drafters_have_colours, look.live_numbers, look.narrow,
        look.keyboard)

if not os.path.exists(MODEL):
    print("SKIP %s is not there" % MODEL)
elif not browser.find():
    print("SKIP no Chromium is installed (FR_BROWSER names one)")
else:
    quick, only = bool(os.environ.get("FR_QUICK")), os.environ.get("FR_ONLY")  # quick: what the browser alone does is not looked at
    server = Server()
    for test in TALK if quick else TALK + REST:
        if not only or test.__name__ == only:
            print(test.__name__, flush=True)
            test(server.url)
    server.end()
    print("keys", flush=True)
    talk.keys()
