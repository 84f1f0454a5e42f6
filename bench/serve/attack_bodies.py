"""Bodies that take more of a server than they should: each a function of its size in bytes, with
the smallest size that does harm."""
import json

MB = 1 << 20
MOST = 31 * MB  # below the 32 MB that a server takes
WORDS = " ".join("w%d" % (i * 7919 % 1000) for i in range(100))


class Body:
    """One kind. `control`: the same request without what makes it large, beside which a neighbour's time alone is taken;
    None: beside none. size: the least bytes that do harm. hang_up: the sender does not wait. senders: how many at a
    time."""

    def __init__(self, part, name, path, make, size, control=None, hang_up=False, senders=8):
        self.part, self.name, self.path, self.make, self.size = part, name, path, make, size
        self.control, self.hang_up, self.senders = control, hang_up, senders

    def sizes(self):
        """The least, four times that, and the most."""
        return sorted({min(self.size, MOST), min(4 * self.size, MOST), MOST})


def filled(head, item, tail):
    """As many items as there is room for."""
    return lambda size: head + item * max(1, (size - len(head) - len(tail)) // len(item)) + tail


def response(member, value):
    head = '{"input":"%s","stream":true,"return_progress":true,"max_output_tokens":2,"%s":' % (WORDS, member)
    return filled(head.encode() + value[0], value[1], value[2] + b"}")


# ---------------------------------------------------------------- keys that collide in a hash without a key

ALPHABET = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
WORD = (1 << 64) - 1


def mix(h, byte):
    h = (h ^ byte) * 0x9E3779B97F4A7C15 & WORD
    return h ^ h >> 32


def colliding(n):
    """n keys of eight letters that a table of at least twice as many slots, probed one slot after the other, would
    put into an eighth of its slots: each then passes half of those before it."""
    capacity = 4
    while capacity < n:
        capacity *= 2
    mask, window, found, number = 2 * capacity - 1, capacity // 4, [], 0
    while True:
        h, key, rest = 8, bytearray(), number
        for _ in range(7):
            letter = ALPHABET[rest & 63]
            key.append(letter)
            h, rest = mix(h, letter), rest >> 6
        for letter in ALPHABET:
            if mix(h, letter) & mask < window:
                found.append((bytes(key) + bytes((letter,))).decode())
                if len(found) == n:
                    return found
        number += 1


def flood(size):
    keys = colliding(max(8, (size - 100) // 13))
    return ('{"messages":[{"role":"user","content":"hi"}],"chat_template_kwargs":{%s}}' % ",".join('"%s":0' % k for k in keys)).encode()


# ---------------------------------------------------------------- all of them

THINKING = b'{"type":"thinking","thinking":"aaaaaaaaaaaaaaaa","signature":""},'
QUESTION = b'{"role":"user","content":"q"}'
PART = b'{"type":"reasoning_text","text":"aaaaaaaaaaaaaaaa"},'
ITEM = b'{"type":"reasoning","summary":[],"content":[' + PART[:-1] + b"]},"

BODIES = [
    Body("repeat", "metadata", "/v1/responses", response("metadata", (b'{"a":"', b'\\"', b'"}')), int(3.1 * MB), response("user", (b'"', b"u", b'"')), senders=2),
    Body("repeat", "text", "/v1/responses", response("text", (b'{"a":[', b"1,", b"1]}")), int(3.1 * MB), response("user", (b'"', b"u", b'"')), senders=2),
    Body("collide", "colliding keys", "/apply-template", flood, int(1.5 * MB)),
    Body("join", "thinking blocks", "/v1/messages/count_tokens", filled(
        b'{"max_tokens":1,"messages":[' + QUESTION + b',{"role":"assistant","content":[', THINKING,
        b'{"type":"text","text":"a"}]},' + QUESTION + b"]}"), int(1.3 * MB)),
    Body("join", "reasoning items", "/v1/responses", filled(b'{"max_output_tokens":1,"input":[', ITEM, b'{"role":"user","content":"q"}]}'), int(1.7 * MB)),
    Body("join", "reasoning parts", "/v1/responses", filled(
        b'{"max_output_tokens":1,"input":[{"type":"reasoning","summary":[],"content":[', PART,
        PART[:-1] + b']},{"role":"user","content":"q"}]}'), 1 * MB),
    Body("fit", "never fits", "/v1/chat/completions", filled(b'{"messages":[{"role":"user","content":"', b"a", b'"}]}'), 16 * MB),
    Body("fit", "never fits, hung up", "/v1/chat/completions", filled(b'{"messages":[{"role":"user","content":"', b"a", b'"}]}'), 16 * MB, hang_up=True),
    Body("grow", "objects", "/tokenize", filled(b'{"x":[', b"{},", b"0]}"), 8 * MB),
    Body("grow", "numbers", "/tokenize", filled(b'{"x":[', b"1e1,", b"0]}"), 8 * MB),
    Body("grow", "strings", "/tokenize", filled(b'{"x":[', b'"",', b"0]}"), 8 * MB),
    Body("grow", "detokenize", "/detokenize", filled(b'{"tokens":[', b"1,", b"1]}"), 8 * MB),
]
SMALL = 2000  # bytes of a control


def check():
    """AssertionError or ValueError where one is not JSON of about its size."""
    for body in BODIES:
        made = body.make(100000)
        assert 99000 < len(made) <= 100100, (body.name, len(made))
        json.loads(made)
