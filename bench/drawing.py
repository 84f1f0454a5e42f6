"""Shared by the pictures of bench/: the background card, which can be read on light and dark pages,
and its texts."""
from xml.sax.saxutils import escape

NAMES = {"smollm2-135m": "SmolLM2-135M", "qwen2.5-coder-0.5b": "Qwen2.5-Coder-0.5B", "qwen2.5-coder-1.5b": "Qwen2.5-Coder-1.5B"}

# Of pictures that are lines; l0 to l3 are their colours.
LINES = """
text { font: 12.5px -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2328 }
.card { fill: #ffffff; stroke: #d1d9e0 } .grid { stroke: #e6eaef } .line { fill: none; stroke-width: 2 }
.title { font-size: 15px; font-weight: 600 } .model { font-weight: 600 } .small { font-size: 11.5px; fill: #59636e }
.l0 { stroke: #1f6fc4; fill: #1f6fc4 } .l1 { stroke: #bc6c3a; fill: #bc6c3a } .l2 { stroke: #4c9a5b; fill: #4c9a5b } .l3 { stroke: #8a63b8; fill: #8a63b8 }
.line { fill: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .card { fill: #0d1117; stroke: #30363d } .grid { stroke: #262c34 } .small { fill: #9198a1 }
}
"""


def label(x, y, text, kind="", anchor="start"):
    return '<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>' % (x, y, kind, anchor, escape(text))


def write_card(path, width, height, title, style, heading, parts):
    """An SVG file: `title` is what a screen reader says, `heading` stands on the card, `parts` are elements."""
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">' % (width, height, width, height),
           "<title>%s</title><style>%s</style>" % (escape(title), style),
           '<rect x="0.5" y="0.5" width="%d" height="%d" rx="8" class="card"/>' % (width - 1, height - 1),
           label(16, 28, heading, "title"), *parts]
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n</svg>\n")
