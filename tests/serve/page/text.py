"""What a model writes: Markdown, and text that would like to be more than that."""
import json

from harness import leave, load, page, press, text_of

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
""" + "\n\n" + "x" * 20000 + "\n\n    " + "y " * 5000


def hostile(url):
    b = page(url)
    chat = {"id": "x", "title": "<img src=x onerror=window.hit=20>", "changed": 1, "system": "", "messages": [
        {"role": "user", "content": HOSTILE},
        {"role": "assistant", "content": HOSTILE, "thinking": HOSTILE, "error": HOSTILE, "timings": {"predicted_n": "<b>"},
         "tokens": [5, 1, 0, 7, 0, 0, 100000, 2, 1], "sources": ["<b>x</b>", HOSTILE], "calls": [{"id": "1", "name": HOSTILE, "arguments": HOSTILE}]},
        {"role": "<script>", "content": "x"}, {"role": "assistant", "content": {"x": 1}}, None, 5]}
    for drafted in (False, True):
        load(b, chat, None, {}, {"messages": [1]})
        assert b.js("S.chat.messages.length") == 2
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
    assert all(u.startswith((url, "data:image/svg")) for u in b.requests()), b.requests()
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
    show = ("(s => { const e = document.createElement('div'), t = %s; markdown.show(e, s, t && colours.colours(t, ['eagle', 'rest']));"
            "return e; })(%s)")
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
        for (let i = 1; i <= s.length; i++) markdown.show(a, s.slice(0, i), null);
        markdown.show(b, s, null);
        return a.innerHTML === b.innerHTML; })(%s)""" % json.dumps(whole))
    # What is meant to take for ever does not.
    for bad in ("*a ", "[", "`", "**", "[a](", "> ", "- ", "<", "_a", "~~a", "|", "![", "\\", "```\n", "http://", "* [ ` _"):
        b.until("(s => { const e = document.createElement('div'); markdown.show(e, s, null); return true; })(%s)"
                % ("%s.repeat(20000)" % json.dumps(bad)))
    leave(b)


CODE = "```c\nint main(void) {\n\treturn 0; // <b>\n}\n```"


def copying(url):
    b = page(url)
    b.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"], origin=url)
    load(b, {"messages": [{"role": "user", "content": "a *b*"}, {"role": "assistant", "content": "See:\n\n" + CODE}]})
    for selector, right in ((".code-head button", "\n".join(CODE.split("\n")[1:-1])), (".assistant [data-act=copy]", "See:\n\n" + CODE),
                            (".user [data-act=copy]", "a *b*")):
        press(b, selector)
        b.until("navigator.clipboard.readText().then(t => t === %s)" % json.dumps(right))
    assert text_of(b, "#status") == "Copied"
    leave(b)
