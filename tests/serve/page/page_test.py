"""Run by test_page.sh."""
import atexit
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.environ["here"])
import browser  # noqa: E402

FOLDER = os.environ["folder"]
MODEL = os.path.join(os.environ.get("FR_MODELS") or os.environ["FR_SOURCE_DIR"] + "/models", "smollm2-135m.gguf")


EAGLE = os.environ["FR_SOURCE_DIR"] + "/packs/smollm2-135m-eagle.gguf"
JOINED = "prompt-lookup+eagle:" + EAGLE


class Server:
    def __init__(self, *flags):
        self.process = subprocess.Popen(
            [os.environ["FORERUN"], "serve", "-m", MODEL, "--port", "0", "--quiet", "--parallel", "2", "--drafter",
             "prompt-lookup", "--drafters", "none," + JOINED, *flags], stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        found = re.search(r"http://\S+$", self.process.stdout.readline().strip())
        assert found, "the server does not listen"
        self.url = found.group(0)

    def end(self):
        self.process.terminate()
        assert self.process.wait(600) == 0


count = 0


def page(url, **kw):
    global count
    count += 1
    folder = os.path.join(FOLDER, "profile%d" % count)
    os.mkdir(folder)
    b = browser.Browser(folder, **kw)
    atexit.register(b.process.kill)
    go(b, url)
    return b


def go(b, url):
    """Opens the page; what its modules keep to themselves is then the browser's to see."""
    b.open(url)
    b.js("""Promise.all(['state', 'store', 'markdown', 'colours', 'chats'].map(name => import('/page/' + name + '.js')))
            .then(([s, store, markdown, colours, chats]) => { Object.assign(window, {S: s.state, Store: store, chats, colours},
            {Markdown: {show: (box, text, tokens) => markdown.show(box, text, tokens && colours.colours(tokens, ['eagle', 'rest']))}}); })""")


def folder_for(name):
    path = os.path.join(FOLDER, name)
    os.makedirs(path, exist_ok=True)
    return path


def press(b, selector):
    b.js("document.querySelector(%s).click()" % json.dumps(selector))


def text_of(b, selector):
    return b.js("document.querySelector(%s).innerText" % json.dumps(selector))


def ask(b, prompt):
    b.js("document.getElementById('prompt').focus()")
    b.type(prompt)
    b.key("Enter")
    b.until("document.querySelector('#messages li.busy')")


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


def content(b):
    return b.js("S.chat.messages[S.chat.messages.length - 1].content")


REPEAT = "Repeat after me: one two three four, one two three four, one two three four, one two three four."


def a_conversation(url):
    b = page(url)
    b.until("document.getElementById('model').textContent === 'smollm2-135m'")
    set_to(b, temperature="0", max_tokens="60", seed="7", system="You answer briefly.")
    ask(b, REPEAT)
    answered(b)
    first = content(b)
    assert len(first) > 10
    stats = text_of(b, ".assistant .stats")
    for word in ("tokens/s", "tokens a pass", "first token", "seed 7"):
        assert word in stats, stats
    assert "of 4,096 tokens" in text_of(b, "#used")

    # What was drafted is told, adds up to the answer, and can be seen.
    tokens = b.js("S.chat.messages[1].tokens")
    assert sum(tokens[::3]) == b.js("S.chat.messages[1].content.length")
    drafted = sum(1 for d in tokens[1::3] if d > 0)
    assert drafted > 0 and b.js("S.chat.messages[1].sources") == ["prompt-lookup"], tokens
    before = text_of(b, ".assistant .md:not(.thinking .md)")
    assert not b.js("document.querySelectorAll('.md .d, .md .o').length")
    press(b, "#drafted")
    assert 0 < b.js("document.querySelectorAll('.md .d').length") <= drafted
    assert text_of(b, ".assistant .md:not(.thinking .md)") == before
    press(b, "#drafted")

    # The same again, by the button, and without drafting: the same bytes.
    press(b, ".assistant [data-act=retry]")
    b.until("S.writing")
    answered(b)
    assert content(b) == first
    set_to(b, drafter="none")
    press(b, ".assistant [data-act=retry]")
    b.until("S.writing")
    answered(b)
    assert content(b) == first
    assert not any(d > 0 for d in b.js("S.chat.messages[1].tokens")[1::3])

    # An edited prompt is asked anew, an edited answer is kept and gone on with.
    press(b, ".user [data-act=edit]")
    b.js("document.querySelector('.edit textarea').value = 'Say hello.'")
    press(b, ".edit .save")
    b.until("S.writing")
    answered(b)
    assert b.js("S.chat.messages.length") == 2 and text_of(b, ".user .body") == "Say hello."
    press(b, ".assistant [data-act=edit]")
    b.js("document.querySelector('.edit textarea').value = 'Hello, dear'")
    press(b, ".edit .save")
    assert content(b) == "Hello, dear" and "Hello, dear" in text_of(b, ".assistant .body")
    press(b, ".assistant [data-act=continue]")
    b.until("S.writing")
    answered(b)
    assert content(b).startswith("Hello, dear") and len(content(b)) > len("Hello, dear")

    # It outlives the page; what is deleted comes back once.
    go(b, url)
    b.until("S.props !== null")
    press(b, "#chats li:nth-child(2) .open")
    assert b.js("S.chat.messages.length") == 2 and text_of(b, ".user .body") == "Say hello."
    press(b, ".user [data-act=delete]")
    assert b.js("S.chat.messages.length") == 0
    press(b, "#toast button")
    assert b.js("S.chat.messages.length") == 2
    said = b.js("(async () => { chats.importFile(new File([JSON.stringify({forerun: 2, chats: Store.all()})], 'a.json'));"
                "await new Promise(r => setTimeout(r, 200)); return Store.all().length; })()")
    assert said == 2, said
    assert not b.complaints(), b.complaints()
    assert all(u.startswith(url) for u in b.requests()), b.requests()
    b.close()


def stopping(url):
    b = page(url)
    set_to(b, more='{"ignore_eos": true}', max_tokens="2000")
    ask(b, "Count upwards for ever.")
    b.until("S.writing && S.writing.message.content.length > 20")
    b.key("Escape")
    answered(b)
    assert "Stopped." in text_of(b, ".assistant .body")
    kept = content(b)
    b.until("fetch('slots').then(r => r.json()).then(s => s.every(x => !x.is_processing))")  # and the server knows
    assert content(b) == kept
    press(b, "#new")
    ask(b, "Say hello.")
    press(b, "#stop")
    answered(b)

    # What there is when the page is left stays; beside an answer no other one begins.
    press(b, "#new")
    ask(b, "Count upwards for ever.")
    b.until("S.writing && S.writing.message.content.length > 20")
    b.js("chats.openChat(Store.all()[1].id)")
    assert b.js("[...document.querySelectorAll('[data-act=retry]')].every(e => e.disabled)")
    n = b.js("S.chat.messages.length")
    b.js("document.getElementById('prompt').focus()")
    b.type("Say hello.")
    b.key("Enter")
    assert b.js("S.chat.messages.length") == n and b.js("document.getElementById('prompt').value") == "Say hello."
    go(b, url + "/?again")
    b.until("S.props !== null")
    assert b.js("Store.all()[0].messages[1].content.length") > 20
    assert not b.complaints(), b.complaints()
    b.close()


HOSTILE = r"""<script>window.hit = 1</script>
<img src=x onerror="window.hit = 2">
![x](x" onerror="window.hit=3) ![y](https://evil.example/pixel.png)
[a](javascript:window.hit=4) [b](JaVaScRiPt:window.hit=5) [c](data:text/html,<script>window.hit=6</script>)
[d](https://example.com/"onmouseover="window.hit=7) <javascript:window.hit=8> [e](java&#115;cript:window.hit=9)
[f](vbscript:x) [g](//evil.example) [h](\x01javascript:window.hit=10) [i]( javascript:window.hit=11)

```html"><script>window.hit = 12</script>
</code></pre><script>window.hit = 13</script>
```

| <b onclick=x> | `</td><script>` |
|---|:-:|
| <iframe src="javascript:window.hit=14"> | <svg onload=window.hit=15> |

1. <details open ontoggle=window.hit=16>
   > <style>*{display:none}</style> **<u>bold</u>**
"""


def hostile(url):
    b = page(url)
    b.until("S.props !== null")
    chat = {"id": "x", "title": "<img src=x onerror=window.hit=20>", "changed": 1, "system": "", "messages": [
        {"role": "user", "content": HOSTILE},
        {"role": "assistant", "content": HOSTILE, "thinking": HOSTILE, "error": HOSTILE, "timings": {"predicted_n": "<b>"},
         "tokens": [5, 1, 0, 7, 0, 0, 100000, 2, 1], "sources": ["<b>x</b>", HOSTILE], "calls": [{"id": "1", "name": HOSTILE, "arguments": HOSTILE}]},
        {"role": "<script>", "content": "x"}, {"role": "assistant", "content": {"x": 1}}, None, 5]}
    for drafted in (False, True):
        b.js("chats.importFile(new File([%s], 'a.json'))" % json.dumps(json.dumps({"chats": [chat, None, {}, {"messages": [1]}]})))
        b.until("S.chat.messages.length === 2")
        b.js("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        if drafted:
            press(b, "#drafted")
        b.js("new Promise(r => setTimeout(r, 100))")
        bad = b.js("""[...document.querySelectorAll('#messages *, #chats *')].filter(e =>
            ['SCRIPT', 'IMG', 'IFRAME', 'STYLE', 'OBJECT', 'EMBED', 'LINK', 'BASE', 'FORM', 'U'].includes(e.tagName) ||
            [...e.attributes].some(a => a.name.startsWith('on') || a.name === 'src' || a.name === 'style')).map(e => e.outerHTML)""")
        assert not bad, bad
        links = b.js("[...document.querySelectorAll('#messages a')].map(a => [a.protocol, a.rel, a.target])")
        assert links, "no link is left"
        for protocol, rel, target in links:
            assert protocol in ("http:", "https:", "mailto:") and "noopener" in rel and target == "_blank", links
        shown = text_of(b, ".assistant .md:not(.thinking .md)")
        assert "<script>window.hit = 1</script>" in shown and "onerror=" in shown
        assert b.js("window.hit") is None
    # The policy holds where the page would fail.
    b.js("(() => { const s = document.createElement('div'); try { s.innerHTML = '<img src=x onerror=\"window.hit=30\">'; "
         "document.body.append(s); } catch {} })()")
    b.js("(() => { const s = document.createElement('script'); try { s.textContent = 'window.hit = 31'; "
         "document.body.append(s); } catch {} })()")
    b.js("new Promise(r => setTimeout(r, 200))")
    assert b.js("window.hit") is None
    assert all(u.startswith(url) or u.startswith("data:image/svg") for u in b.requests()), b.requests()
    b.close()


RENDERED = [  # source, what becomes of it
    ("a *b* **c** ~~d~~ `e*f*`", "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e*f*</code></p>"),
    ("***x*** a_b_c __d__ 2 * 3 * 4", "<p><strong><em>x</em></strong> a_b_c <strong>d</strong> 2 * 3 * 4</p>"),
    ("# H\n## I *j* ##", "<h2>H</h2><h3>I <em>j</em></h3>"),
    ("one\ntwo\n\nthree", "<p>one<br>two</p><p>three</p>"),
    ("- a\n- b\n  - c\n\n    d\n- e", "<ul><li>a</li><li>b<ul><li><p>c</p><p>d</p></li></ul></li><li>e</li></ul>"),
    ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
    ("> q\n> > r", "<blockquote><p>q</p><blockquote><p>r</p></blockquote></blockquote>"),
    ("a\n***\nb", "<p>a</p><hr><p>b</p>"),
    ("\\*x\\* `` a`b ``", "<p>*x* <code>a`b</code></p>"),
    ("**open *and", "<p>**open *and</p>"),
    ("| a | b |\n|--|:-:|\n| `x|y` | \\| |",
     '<div class="table" tabindex="0"><table><thead><tr><th>a</th><th class="mid">b</th></tr></thead><tbody><tr><td><code>x|y'
     '</code></td><td class="mid">|</td></tr></tbody></table></div>'),
    ("a | b is no table", "<p>a | b is no table</p>"),
]


def markdown(url):
    b = page(url)
    show = "(s => { const e = document.createElement('div'); Markdown.show(e, s, %s); return e; })(%s)"
    for source, html in RENDERED:
        found = b.js((show % ("null", json.dumps(source))) + ".innerHTML")
        assert found == html, (source, found, html)
        # Coloured, every character but markup is in a piece, and the text is the same.
        tokens = [x for i in range(len(source)) for x in (1, i % 3, i % 2)]
        plain = b.js((show % (tokens, json.dumps(source))) + ".textContent")
        assert plain == b.js((show % ("null", json.dumps(source))) + ".textContent"), source
        loose = b.js("""(e => {
            const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT), out = [];
            while (walk.nextNode())
                if (!walk.currentNode.parentElement.matches('.d, .o') && walk.currentNode.data !== '\\n') out.push(walk.currentNode.data);
            return out; })(%s)""" % (show % (tokens, json.dumps(source))))
        assert not loose, (source, loose)
    link = b.js((show % ("null", json.dumps("[a *b*](https://x.example/(y) \"t\") https://z.example/q?a=1). <mailto:a@b.c>")))
                + ".innerHTML")
    assert link.count("<a ") == 3 and "<em>b</em></a>" not in link and 'href="https://z.example/q?a=1"' in link, link
    code = b.js("(e => [e.querySelector('code').textContent, e.querySelector('.code-head span').textContent])("
                + (show % ("null", json.dumps("```c\nint x;\n\n    `y`\n```\nend"))) + ")")
    assert code == ["int x;\n\n    `y`", "c"], code

    # A text that grows is the text at once, wherever it was cut.
    whole = "\n\n".join(s for s, _ in RENDERED) + "\n```py\nx = 1\n```\n- a\n- b"
    assert b.js("""(s => { const a = document.createElement('div'), b = document.createElement('div');
        for (let i = 1; i <= s.length; i++) Markdown.show(a, s.slice(0, i), null);
        Markdown.show(b, s, null);
        return a.innerHTML === b.innerHTML; })(%s)""" % json.dumps(whole))
    # What is meant to take for ever does not.
    for bad in ("*a ", "[", "`", "**", "[a](", "> ", "- ", "<", "_a", "~~a", "|", "![", "\\", "```\n", "http://", "* [ ` _"):
        b.until("(s => { const e = document.createElement('div'); Markdown.show(e, s, null); return true; })(%s)"
                % ("%s.repeat(20000)" % json.dumps(bad)))
    assert not b.complaints(), b.complaints()
    b.close()


def keys():
    server = Server("--api-key", "sesame")
    b = page(server.url)
    b.until("document.getElementById('key').open")
    assert b.js("document.title") == "forerun"
    b.type("wrong")
    b.key("Enter")
    b.until("document.getElementById('key-says').textContent")
    b.js("document.getElementById('key-text').select()")
    b.type("sesame")
    b.key("Enter")
    b.until("!document.getElementById('key').open && S.props !== null")
    set_to(b, max_tokens="8")
    ask(b, "Say hello.")
    answered(b)
    assert b.js("sessionStorage.getItem('forerun.key')") == "sesame"
    assert "sesame" not in b.js("JSON.stringify(localStorage)")
    b.close()
    server.end()


def narrow(url):
    for dark in (False, True):
        b = page(url, width=360, height=640, dark=dark)
        b.until("S.props !== null")
        set_to(b, max_tokens="40")
        ask(b, "Write `" + "x" * 200 + "` in a table.")
        answered(b)
        assert b.js("document.documentElement.scrollWidth") == 360
        assert b.js("getComputedStyle(document.body).backgroundColor") == ("rgb(23, 22, 20)" if dark else "rgb(250, 249, 246)")
        assert b.js("getComputedStyle(document.getElementById('side')).visibility") == "hidden"
        press(b, "#show-side")
        b.until("getComputedStyle(document.getElementById('side')).visibility === 'visible'")
        b.key("Escape")
        b.until("getComputedStyle(document.getElementById('side')).visibility === 'hidden'")
        unnamed = b.js("""[...document.querySelectorAll('button, input, textarea, select')].filter(e => !e.closest('[hidden]') &&
            !(e.getAttribute('aria-label') || e.innerText || e.textContent.trim() || (e.labels && e.labels.length))).map(e => e.outerHTML)""")
        assert not unnamed, unnamed
        b.close()


if not os.path.exists(MODEL):
    print("SKIP %s is not there" % MODEL)
elif not browser.find():
    print("SKIP no Chromium is installed (FR_BROWSER names one)")
else:
    server = Server()
    quick = bool(os.environ.get("FR_QUICK"))  # what the browser alone does is then not looked at
    for test in (a_conversation, stopping) if quick else (markdown, hostile, a_conversation, stopping, narrow):
        print(test.__name__, flush=True)
        test(server.url)
    server.end()
    print("keys", flush=True)
    keys()
