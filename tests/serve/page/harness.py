"""A server, a browser with its page, and what is done there. `folder` in the environment is for files of the test."""
import atexit
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser  # noqa: E402

FOLDER = os.environ.get("folder") or tempfile.mkdtemp()
SOURCE = os.environ["FR_SOURCE_DIR"]
MODELS = os.environ.get("FR_MODELS") or SOURCE + "/models"
MODEL = MODELS + "/smollm2-135m.gguf"
JOINED = "prompt-lookup+eagle:" + SOURCE + "/packs/smollm2-135m-eagle.gguf"

# What the page's modules keep to themselves is the tests' to see: the state S, the parts by their names.
SHOWN = """Promise.all(['state', 'store', 'markdown', 'colours', 'chats', 'view'].map(name => import('/page/' + name + '.js')))
    .then(([s, Store, markdown, colours, chats, view]) => { Object.assign(window, {S: s.state, Store, markdown, colours, chats, view}); })"""


class Server:
    def __init__(self, *flags, model=MODEL, drafter="prompt-lookup", drafters="none," + JOINED, parallel=2):
        self.process = subprocess.Popen(
            [os.environ["FORERUN"], "serve", "-m", model, "--port", "0", "--quiet", "--parallel", str(parallel), "--drafter",
             drafter, "--drafters", drafters, *flags], stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        found = re.search(r"http://\S+$", self.process.stdout.readline().strip())
        assert found, "the server does not listen"
        self.url = found.group(0)

    def end(self):
        self.process.terminate()
        assert self.process.wait(600) == 0


def page(url, **kw):
    folder = tempfile.mkdtemp(prefix="profile", dir=FOLDER)
    b = browser.Browser(folder, **kw)
    b.url = url
    atexit.register(b.process.kill)
    go(b, url)
    return b


def go(b, url):
    b.open(url)
    b.js(SHOWN)
    b.until("S.props !== null || document.getElementById('key').open")


def leave(b, refused=0):
    """Closes a page that threw nothing, was refused nothing but so many requests, and asked nobody else."""
    complaints = b.complaints()
    assert len(complaints) == refused and all("Failed to load resource" in c for c in complaints), complaints
    away = [u for u in b.requests() if not u.startswith((b.url, "data:image/svg", "blob:" + b.url))]
    assert not away, away
    b.close()


# ---- what is done

def press(b, selector):
    b.js("document.querySelector(%s).click()" % json.dumps(selector))


def text_of(b, selector):
    return b.js("document.querySelector(%s).innerText" % json.dumps(selector))


def ask(b, prompt):
    b.js("document.getElementById('prompt').focus()")
    b.type(prompt)
    b.key("Enter")
    b.until("!!document.querySelector('#messages li.busy')")


def answered(b):
    b.until("!document.querySelector('#messages li.busy')")
    assert not b.js("document.querySelector('#messages .bad')?.innerText"), text_of(b, "#messages")


def set_to(b, **fields):
    press(b, "#open-settings")
    for name, value in fields.items():
        where = {"system": "#system", "more": "#more"}.get(name, "[data-set=%s]" % name)
        b.js("(e => { e.value = %s; e.dispatchEvent(new Event('input', {bubbles: true})); })(document.querySelector(%s))"
             % (json.dumps(value), json.dumps(where)))
    press(b, "#settings .close.primary")


def load(b, *chats):
    """Puts conversations into the browser, of which the first is shown."""
    b.js("chats.importFile(new File([%s], 'a.json'))" % json.dumps(json.dumps({"chats": chats})))
    b.until("S.chat.messages.length > 0")


def content(b):
    return b.js("S.chat.messages[S.chat.messages.length - 1].content")
