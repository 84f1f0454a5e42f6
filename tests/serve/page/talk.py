"""Conversations: asked, stopped, edited, kept; keys."""
import json
import os
import time

from harness import FOLDER, Server, answered, ask, content, go, leave, page, press, set_to, text_of

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
    press(b, "#chats li:nth-child(2) .open")
    assert b.js("S.chat.messages.length") == 2 and text_of(b, ".user .body") == "Say hello."
    press(b, ".user [data-act=delete]")
    assert b.js("S.chat.messages.length") == 0
    press(b, "#toast button")
    assert b.js("S.chat.messages.length") == 2
    leave(b)


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
    assert b.js("Store.all()[0].messages[1].content.length") > 20
    leave(b)


def two_conversations(url):
    """They outlive the page, go into a file and come back from it, with who drafted what."""
    b = page(url)
    set_to(b, temperature="0", max_tokens="24")
    ask(b, REPEAT)
    answered(b)
    press(b, "#new")
    ask(b, "Say hello.")
    answered(b)
    kept = b.js("Store.all()")
    assert [c["title"] for c in kept] == ["Say hello.", REPEAT[:80]] and kept[1]["messages"][1]["sources"] == ["prompt-lookup"]
    go(b, url + "/?again")
    assert b.js("[...document.querySelectorAll('#chats .open')].map(e => e.textContent)")[1:] == [c["title"] for c in kept]
    for i, c in enumerate(kept):
        press(b, "#chats li:nth-child(%d) .open" % (i + (2 if not i else 1)))
        assert b.js("S.chat.messages") == c["messages"]
        assert text_of(b, ".user .body") == c["messages"][0]["content"]

    folder = os.path.join(FOLDER, "files")
    os.makedirs(folder, exist_ok=True)
    b.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
    press(b, "#export")
    end = time.time() + 60
    while not [f for f in os.listdir(folder) if f.endswith(".json")] and time.time() < end:
        time.sleep(0.1)
    file = os.path.join(folder, os.listdir(folder)[0])
    with open(file) as f:
        assert json.load(f) == {"forerun": 2, "chats": kept}
    b.js("localStorage.clear()")
    go(b, url + "/?empty")
    assert b.js("Store.all()") == []
    node = b.call("DOM.querySelector", nodeId=b.call("DOM.getDocument")["root"]["nodeId"], selector="#import-file")["nodeId"]
    b.call("DOM.setFileInputFiles", files=[file], nodeId=node)
    b.until("Store.all().length === 2")
    assert b.js("Store.all()") == kept
    with open(file, "w") as f:
        f.write("{")
    b.call("DOM.setFileInputFiles", files=[file], nodeId=node)
    b.until("document.getElementById('toast').innerText.includes('no conversations')")
    leave(b)


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
    press(b, "#show-live")
    b.until("document.getElementById('live-users').textContent === '0 of 2'")
    leave(b, refused=2)
    server.end()
