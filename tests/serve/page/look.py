"""How it looks and is used: colours by drafter, live numbers, a phone, the dark, the keyboard alone."""
from browser import ALT, SHIFT
from harness import JOINED, Server, answered, ask, content, leave, load, page, press, set_to, text_of

MARKED = """[...document.querySelectorAll('.md .d')].map(e => { const s = getComputedStyle(e);
    return [e.title.split(':')[0], s.backgroundColor, s.textDecorationColor, s.textDecorationStyle, s.textDecorationLine]; })"""
PROMPTS = ("Tell me about the sea.", "Repeat after me: one two three four five, one two three four five.", "What is a river?",
           "Say ten times: the quick brown fox jumps over the lazy dog.", "Explain how bread is made.")


def drafters_have_colours(url):
    for dark in (False, True):
        b = page(url, dark=dark)
        set_to(b, temperature="0", max_tokens="60", drafter=JOINED)
        press(b, "#drafted")
        who = set()
        for prompt in 3 * PROMPTS:  # how much each drafts depends on what passes cost here
            ask(b, prompt)
            answered(b)
            who |= {w for m in b.js("S.chat.messages") for w in m.get("sources", [])}
            if len(who) == 2:
                break
        assert who == {"prompt-lookup", "eagle"}, who  # who drafted together is told apart
        marks = {tuple(m) for m in b.js(MARKED)}
        assert {m[0] for m in marks} == who and len(marks) == 2, marks
        for i in (1, 2, 3):  # back, line, and the kind of line, so that colour is not alone
            assert len({m[i] for m in marks}) == 2, marks
        assert all(m[4] == "underline" for m in marks)
        counts = b.js("""(all => { for (const m of S.chat.messages) for (const [name, n] of colours.sharesOf(m))
            all[name || 'the model’s own'] = (all[name || 'the model’s own'] || 0) + n; return all; })({})""")
        legend = b.js("[...document.querySelectorAll('#legend li')].map(e => e.textContent)")
        assert sorted(legend) == sorted("%s %s" % c for c in counts.items()), (legend, counts)
        press(b, "#drafted")
        assert not b.js("document.querySelectorAll('.md .d').length") and b.js("document.getElementById('legend').hidden")
        leave(b)
    # All that are known have marks of their own.
    b = page(url)
    names = ["prompt-lookup", "eagle", "medusa", "draft-model", "rest", "lookahead", "hidden-state", "ppd", "hidden-transfer",
             "chimera", "layer-skip", "early-exit"]
    tokens = [x for i in range(len(names)) for x in (1, 1, i)]
    load(b, {"messages": [{"role": "user", "content": "?"},
                          {"role": "assistant", "content": "abcdefghijkl", "tokens": tokens, "sources": names}]})
    press(b, "#drafted")
    marks = b.js(MARKED)
    assert [m[0] for m in marks] == names and len({(m[1], m[3]) for m in marks}) == len(names), marks
    leave(b)


def live_numbers(url):
    b = page(url)
    asked = "performance.getEntriesByType('resource').filter(e => e.name.endsWith('/activity')).length"
    assert b.js(asked) == 0  # nobody looks
    press(b, "#show-live")
    b.until("document.getElementById('live-users').textContent === '0 of 2'")
    set_to(b, more='{"ignore_eos": true}', max_tokens="3000")
    ask(b, "Count upwards for ever.")
    b.until("document.getElementById('live-users').textContent === '1 of 2'")
    b.until("parseFloat(document.getElementById('live-rows').textContent) >= 1")
    b.until("parseFloat(document.getElementById('live-tokens').textContent) > 0")  # a second that only read has none
    b.until("parseFloat(document.getElementById('live-rate').textContent) > 0")
    b.until("[...document.querySelectorAll('#live-slots .works .what')].some(e => /^writes [1-9]/.test(e.textContent))")
    b.until("document.querySelectorAll('#live-picture rect').length > 4")
    assert b.js("[...document.querySelectorAll('#live-slots meter')].some(m => m.value > 10 && m.max === 4096)")
    assert "MiB" in text_of(b, "#live-resident") and "model" in text_of(b, "#live-parts")
    stats = "document.querySelector('.assistant .stats').innerText"
    b.until(stats + ".includes('tokens/s')")  # while it is written
    assert b.js("S.writing !== null")
    b.until("/rows a pass|tokens\\n/.test(%s)" % stats)
    if b.js("S.writing.message.timings.plain_ms > 0"):
        assert "plain ≈ " in b.js(stats)
    b.key("Escape")
    answered(b)
    b.until("document.getElementById('live-users').textContent === '0 of 2'")
    press(b, "#hide-live")
    n = b.js(asked)
    b.js("new Promise(r => setTimeout(r, 2500))")
    assert b.js(asked) == n
    leave(b)
    silent = Server("--no-slots")
    b = page(silent.url)
    press(b, "#show-live")
    b.until("document.getElementById('live-says').textContent.includes('does not tell')")
    b.js("new Promise(r => setTimeout(r, 2500))")
    assert b.js(asked) == 1 and b.js("document.getElementById('live-all').hidden")
    leave(b, refused=1)
    silent.end()


LONG = "\n\n".join(["x" * 900, "`" + "y" * 900 + "`", "https://example.com/" + "z" * 900, "```\n" + "w " * 900 + "\n```",
                    "| " + " | ".join("column %d" % i for i in range(30)) + " |\n|" + "-|" * 30 + "\n| " + " | ".join("q" * 90 for _ in range(30)) + " |",
                    "> " + "v" * 900, "1. " + "u" * 900, "# " + "t" * 900])
FITS = """[document.documentElement, document.body, ...document.querySelectorAll('#scroll, header, footer, #legend, #live, dialog[open], #side')]
    .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.id || e.tagName)"""


def narrow(url):
    for dark in (False, True):
        b = page(url, width=360, height=640, dark=dark)
        set_to(b, max_tokens="40")
        ask(b, "Write `" + "x" * 200 + "` in a table.")
        answered(b)
        assert b.js("document.documentElement.scrollWidth") == 360
        assert b.js("getComputedStyle(document.body).backgroundColor") == ("rgb(23, 22, 20)" if dark else "rgb(250, 249, 246)")
        tokens = [x for i in range(len(LONG)) for x in (1, i % 3, i % 2)]
        load(b, {"messages": [{"role": "user", "content": LONG}, {"role": "assistant", "content": LONG, "thinking": LONG,
                                                                 "tokens": tokens, "sources": ["prompt-lookup", "hidden-transfer"]}]})
        for selector in (None, "#drafted", "#show-live", "#hide-live", "#open-settings", "#settings .close", "#show-side"):
            if selector:
                press(b, selector)
            assert b.js(FITS) == [], (selector, b.js(FITS))
            assert b.js("visualViewport.scale") == 1 and b.js("innerWidth") == 360
        b.until("getComputedStyle(document.getElementById('side')).visibility === 'visible'")
        b.key("Escape")
        b.until("getComputedStyle(document.getElementById('side')).visibility === 'hidden'")
        unnamed = b.js("""[...document.querySelectorAll('button, input, textarea, select')].filter(e => !e.closest('[hidden]') &&
            !(e.getAttribute('aria-label') || e.innerText || e.textContent.trim() || (e.labels && e.labels.length))).map(e => e.outerHTML)""")
        assert not unnamed, unnamed
        leave(b)


def tab_to(b, selector, back=False):
    """Presses Tab until the element has the focus, which is seen on every way."""
    for _ in range(80):
        b.key("Tab", modifiers=SHIFT if back else 0)
        at = b.js("""(e => { const r = e.getBoundingClientRect(); return [e.matches(%r), e.outerHTML.slice(0, 120),
            e === document.body || (r.width > 0 && r.height > 0 && r.bottom > 0 && r.top < innerHeight)]; })(document.activeElement)""" % selector)
        assert at[2], "the focus is out of sight: " + at[1]
        if at[0]:
            return
    raise AssertionError("no key leads to " + selector)


def keyboard(url):
    b = page(url)
    b.until("document.activeElement.id === 'prompt'")
    b.js("S.settings.max_tokens = '200'")
    b.type("Say hello.")
    b.key("Enter")
    b.until("S.chat.messages.length === 2")
    answered(b)
    assert b.js("document.activeElement.id") == "prompt"
    b.key("ArrowUp")  # the last prompt is edited and asked again
    b.until("!!document.activeElement.closest('.edit')")
    b.type(" Then count upwards for ever.")
    b.key("Enter")
    b.until("S.writing")
    b.key("Escape")
    answered(b)
    assert text_of(b, ".user .body") == "Say hello. Then count upwards for ever."
    tab_to(b, ".assistant [data-act=retry]", back=True)
    b.key("Enter")
    b.until("S.writing || S.chat.messages[1].timings")
    answered(b)
    first = content(b)
    b.key("d", "KeyD", ALT)
    assert not b.js("document.getElementById('legend').hidden")
    b.key("l", "KeyL", ALT)
    b.until("!document.getElementById('live-all').hidden")
    b.key("l", "KeyL", ALT)
    tab_to(b, "#open-settings", back=True)
    b.key("Enter")
    assert b.js("document.getElementById('settings').contains(document.activeElement)")
    tab_to(b, "[data-slide=temperature]")
    before = float(b.js("document.activeElement.value"))
    b.key("ArrowRight")
    assert b.js("Number(S.settings.temperature)") > before
    assert b.js("document.querySelector('[data-set=temperature]').value") == b.js("S.settings.temperature")
    b.key("Escape")
    assert not b.js("document.getElementById('settings').open") and b.js("document.activeElement.id") == "open-settings"
    b.key("n", "KeyN", ALT)
    assert b.js("S.chat.messages.length") == 0 and b.js("document.activeElement.id") == "prompt"
    tab_to(b, "#chats li:nth-child(2) .open", back=True)
    b.key("Enter")
    assert content(b) == first
    b.key("/")
    assert b.js("document.activeElement.id") == "prompt"
    leave(b)
