// page.js — the page at "/": conversations with the model over this server's own API.
//
// Four parts: markdown (text becomes elements, never markup), storage (this browser's), the wire
// (/v1/chat/completions as a stream), and what is seen and pressed. Text of a model only ever
// becomes text nodes.
"use strict";

const $ = (id) => document.getElementById(id);

function make(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

const stamp = (id) => $(id).content.firstElementChild.cloneNode(true);

// ---------------------------------------------------------------- markdown

// A line is {text, at}: what it holds, and where that stands in the source. Elements are made from
// lines, so that every character knows its place there: drafted tokens are coloured by place.
const Markdown = (() => {
  const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^`]*$/;
  const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+|$)/;
  const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
  const QUOTE = /^ {0,3}> ?/;
  const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)/;
  const DASHES = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
  const DEPTH = 16; // of lists, quotes and emphasis within each other

  const isBlank = (line) => !/\S/.test(line.text);
  const cut = (line, n) => ({ text: line.text.slice(n), at: line.at + n });
  const indent = (line) => line.text.length - line.text.trimStart().length;

  function linesOf(source) {
    const lines = [];
    let at = 0;
    for (const text of source.split("\n")) {
      lines.push({ text: text.replace(/\r$/, ""), at });
      at += text.length + 1;
    }
    return lines;
  }

  function isTable(lines, i) {
    return i + 1 < lines.length && lines[i].text.includes("|") && lines[i + 1].text.includes("-") &&
      DASHES.test(lines[i + 1].text) && cells(lines[i]).length === cells(lines[i + 1]).length;
  }

  function beginsBlock(lines, i) {
    const t = lines[i].text;
    return FENCE.test(t) || HEADING.test(t) || RULE.test(t) || QUOTE.test(t) || ITEM.test(t) || isTable(lines, i);
  }

  // ---- blocks: where each ends, and what is made of it

  function fenceEnd(lines, i) {
    const mark = lines[i].text.match(FENCE)[1];
    const close = new RegExp("^ {0,3}" + (mark[0] === "`" ? "`" : "~") + "{" + mark.length + ",}[ \\t]*$");
    for (let k = i + 1; k < lines.length; k++) if (close.test(lines[k].text)) return k + 1;
    return lines.length;
  }

  function listEnd(lines, i) {
    const first = lines[i].text.match(ITEM), ordered = /\d/.test(first[2]);
    const base = first[1].length;
    let blank = false;
    let k = i + 1;
    for (; k < lines.length; k++) {
      if (isBlank(lines[k])) { blank = true; continue; }
      const item = lines[k].text.match(ITEM), deep = indent(lines[k]);
      if (RULE.test(lines[k].text) && deep <= base) break;
      if (item && deep >= base && (deep > base + 1 || /\d/.test(item[2]) === ordered)) { blank = false; continue; }
      if (deep > base + 1) { blank = false; continue; }
      if (blank || beginsBlock(lines, k)) break;
    }
    while (isBlank(lines[k - 1])) k--;
    return k;
  }

  function quoteEnd(lines, i) {
    let k = i + 1;
    while (k < lines.length && (QUOTE.test(lines[k].text) || !(isBlank(lines[k]) || beginsBlock(lines, k)))) k++;
    return k;
  }

  function paragraphEnd(lines, i) {
    let k = i + 1;
    while (k < lines.length && !isBlank(lines[k]) && !beginsBlock(lines, k)) k++;
    return k;
  }

  function tableEnd(lines, i) {
    let k = i + 2;
    while (k < lines.length && lines[k].text.includes("|") && !isBlank(lines[k])) k++;
    return k;
  }

  // [{type, lines}]
  function blocksOf(lines) {
    const blocks = [];
    for (let i = 0, end; i < lines.length; i = end) {
      const t = lines[i].text;
      let type;
      end = i + 1;
      if (isBlank(lines[i])) continue;
      if (FENCE.test(t)) { type = code; end = fenceEnd(lines, i); }
      else if (HEADING.test(t)) type = heading;
      else if (RULE.test(t)) type = rule;
      else if (QUOTE.test(t)) { type = quote; end = quoteEnd(lines, i); }
      else if (ITEM.test(t)) { type = list; end = listEnd(lines, i); }
      else if (isTable(lines, i)) { type = table; end = tableEnd(lines, i); }
      else { type = paragraph; end = paragraphEnd(lines, i); }
      blocks.push({ type, lines: lines.slice(i, end) });
    }
    return blocks;
  }

  function fill(parent, lines, put, depth) {
    if (depth > DEPTH) {
      inline(parent, lines, put, depth);
      return;
    }
    for (const b of blocksOf(lines)) parent.append(b.type(b.lines, put, depth));
  }

  function paragraph(lines, put, depth) {
    const p = make("p");
    inline(p, lines.map((l) => cut(l, indent(l))), put, depth);
    return p;
  }

  function heading(lines, put, depth) {
    const m = lines[0].text.match(HEADING);
    const h = make("h" + Math.min(6, m[1].length + 1)); // the page's own title is h1
    const rest = cut(lines[0], m[0].length);
    inline(h, [{ text: rest.text.replace(/[ \t]+#*[ \t]*$/, ""), at: rest.at }], put, depth);
    return h;
  }

  const rule = () => make("hr");

  function quote(lines, put, depth) {
    const q = make("blockquote");
    fill(q, lines.map((l) => cut(l, (l.text.match(QUOTE) || [""])[0].length)), put, depth + 1);
    return q;
  }

  function code(lines, put) {
    const m = lines[0].text.match(FENCE), box = stamp("t-code"), into = box.querySelector("code");
    const close = lines.length > 1 && fenceEnd(lines, 0) === lines.length &&
      new RegExp("^ {0,3}[" + m[1][0] + "]{" + m[1].length + ",}[ \\t]*$").test(lines[lines.length - 1].text);
    const inner = lines.slice(1, close ? -1 : undefined), in0 = indent(lines[0]);
    box.querySelector("span").textContent = m[2] || "text";
    inner.forEach((l, i) => {
      const from = Math.min(in0, indent(l));
      put(into, l.text.slice(from), l.at + from);
      if (i + 1 < inner.length) put(into, "\n", l.at + l.text.length);
    });
    return box;
  }

  function list(lines, put, depth) {
    const m = lines[0].text.match(ITEM), ordered = /\d/.test(m[2]);
    const l = make(ordered ? "ol" : "ul");
    if (ordered && parseInt(m[2], 10) !== 1) l.start = parseInt(m[2], 10);
    for (let i = 0, end; i < lines.length; i = end) {
      const here = lines[i].text.match(ITEM), base = here[1].length;
      const width = here[3].length > 4 || !here[3].length ? base + here[2].length + 1 : here[0].length;
      for (end = i + 1; end < lines.length; end++) {
        const next = lines[end].text.match(ITEM);
        if (next && indent(lines[end]) < Math.max(base + 2, 2)) break;
      }
      const inner = [cut(lines[i], Math.min(width, lines[i].text.length))];
      for (let k = i + 1; k < end; k++) inner.push(cut(lines[k], Math.min(indent(lines[k]), width)));
      l.append(item(inner, put, depth));
    }
    return l;
  }

  // An item of one paragraph holds its text directly, so that short lists stand close.
  function item(lines, put, depth) {
    const li = make("li"), task = lines[0].text.match(/^\[([ xX])\] /);
    if (task) {
      li.className = "task";
      li.append(make("span", "box", task[1] === " " ? "☐ " : "☑ "));
      lines[0] = cut(lines[0], task[0].length);
    }
    const blocks = depth < DEPTH ? blocksOf(lines) : [];
    if (!blocks.length && lines.some((l) => !isBlank(l))) inline(li, lines, put, depth);
    blocks.forEach((b, i) => {
      const tight = !i && b.type === paragraph && !(blocks[1] && blocks[1].type === paragraph);
      if (tight) inline(li, b.lines.map((l) => cut(l, indent(l))), put, depth);
      else li.append(b.type(b.lines, put, depth + 1));
    });
    return li;
  }

  // The cells of a table's line; a '|' behind a '\' or in code is text.
  function cells(line) {
    const t = line.text, out = [];
    let from = t.length - t.trimStart().length, end = t.trimEnd().length, ticks = false;
    if (t[from] === "|") from++;
    if (end > from && t[end - 1] === "|" && t[end - 2] !== "\\") end--;
    for (let i = from; i <= end; i++) {
      if (t[i] === "`") ticks = !ticks;
      if (i < end && (t[i] !== "|" || t[i - 1] === "\\" || (ticks && t.indexOf("`", i) > 0))) continue;
      const cell = { text: t.slice(from, i), at: line.at + from };
      const space = indent(cell);
      out.push({ text: cell.text.trim(), at: cell.at + space });
      from = i + 1;
    }
    return out;
  }

  function table(lines, put, depth) {
    const box = make("div", "table"), t = make("table"), head = make("thead"), body = make("tbody");
    const side = cells(lines[1]).map((c) => (/^:-+:$/.test(c.text) ? "mid" : /-:$/.test(c.text) ? "end" : ""));
    const row = (line, tag) => {
      const r = make("tr");
      const all = cells(line);
      side.forEach((s, i) => {
        const c = make(tag, s);
        if (all[i]) inline(c, [all[i]], put, depth);
        r.append(c);
      });
      return r;
    };
    head.append(row(lines[0], "th"));
    for (const line of lines.slice(2)) body.append(row(line, "td"));
    t.append(head, body);
    box.append(t);
    box.tabIndex = 0;
    return box;
  }

  // ---- what stands in a line

  const PUNCTUATION = /[!-/:-@[-`{-~]/;
  const URL_AT = /https?:\/\/[^\s<>"'`]+/y;

  function inline(parent, lines, put, depth) {
    let text = "";
    const starts = [];
    for (const l of lines) {
      if (text || starts.length) text += "\n";
      starts.push([text.length, l.at]);
      text += l.text;
    }
    const place = (i) => {
      let k = starts.length - 1;
      while (k > 0 && starts[k][0] > i) k--;
      return starts[k][1] + i - starts[k][0];
    };
    const plain = (to, i, end) => {
      while (i < end) {
        let stop = text.indexOf("\n", i);
        if (stop < 0 || stop > end) stop = end;
        if (stop > i) put(to, text.slice(i, stop), place(i));
        if (stop < end) to.append(make("br"));
        i = stop + 1;
      }
    };
    run(parent, text, 0, text.length, plain, depth);
  }

  // Only what opens nothing but a page or a letter.
  function safe(url) {
    let u;
    try { u = new URL(url, location.href); } catch { return null; }
    const given = /^[a-z][a-z0-9+.-]*:/i.test(url.trim());
    return given && ["http:", "https:", "mailto:"].includes(u.protocol) ? u.href : null;
  }

  function anchor(url) {
    const a = make("a");
    a.href = url;
    a.rel = "noopener noreferrer nofollow";
    a.target = "_blank";
    return a;
  }

  const isWord = (c) => c !== undefined && /[\p{L}\p{N}]/u.test(c);

  // Where `mark` ends what it begins, before `end`; -1: nowhere. Code is passed over.
  function closing(s, i, end, mark) {
    for (let k = i; k < end; k++) {
      if (s[k] === "\\") { k++; continue; }
      if (s[k] === "`") {
        let n = 1;
        while (s[k + n] === "`") n++;
        const other = s.indexOf("`".repeat(n), k + n);
        k = other > 0 && other < end ? other + n - 1 : k + n - 1;
        continue;
      }
      if (!s.startsWith(mark, k) || k + mark.length > end || /\s/.test(s[k - 1])) continue;
      if (mark.length === 1 && k + 1 < end && s[k + 1] === mark) { k++; continue; } // of a double one
      if (k === i || (mark[0] === "_" && isWord(s[k + mark.length]))) continue;
      return k + (mark.length === 2 && k + 2 < end && s[k + 2] === mark[0] && s[k + 3] !== mark[0] ? 1 : 0);
    }
    return -1;
  }

  // [text](url): its parts; null: it is none. Not far, so that many '[' cost little.
  function link(s, i, end) {
    const far = Math.min(end, i + 1500);
    let depth = 0, k = i;
    for (; k < far; k++) {
      if (s[k] === "\\") k++;
      else if (s[k] === "[") depth++;
      else if (s[k] === "]" && !--depth) break;
    }
    if (k >= far || s[k + 1] !== "(") return null;
    const m = /\(\s*(?:<([^<>\n]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/y;
    m.lastIndex = k + 1;
    const found = m.exec(s);
    return found && m.lastIndex <= end ? { from: i + 1, to: k, url: found[1] ?? found[2], end: m.lastIndex } : null;
  }

  const TAG = { "**": "strong", "__": "strong", "*": "em", "_": "em", "~~": "del" };

  function run(parent, s, i, end, plain, depth) {
    const lost = {}; // marks that nothing ends
    let from = i;
    const flush = (to) => { if (to > from) plain(parent, from, to); };
    while (i < end) {
      const c = s[i];
      if (c === "\\" && i + 1 < end && PUNCTUATION.test(s[i + 1])) {
        flush(i);
        from = i + 1;
        i += 2;
      } else if (c === "`") {
        let n = 1;
        while (s[i + n] === "`") n++;
        const mark = "`".repeat(n);
        let other = lost[mark] ? -1 : s.indexOf(mark, i + n);
        while (other > 0 && s[other + n] === "`") { // a longer run is none
          let k = other + n;
          while (s[k] === "`") k++;
          other = s.indexOf(mark, k);
        }
        if (other < 0 || other >= end) { lost[mark] = true; i += n; continue; }
        flush(i);
        const pad = s[i + n] === " " && s[other - 1] === " " && other - i - n > 2 ? 1 : 0;
        const e = make("code");
        plain(e, i + n + pad, other - pad);
        parent.append(e);
        from = i = other + n;
      } else if (c === "[" || (c === "!" && s[i + 1] === "[")) {
        const l = depth < DEPTH ? link(s, c === "!" ? i + 1 : i, end) : null, url = l && safe(l.url);
        if (!url) { i++; continue; }
        flush(i);
        const a = anchor(url); // of a picture too: nothing is loaded from elsewhere
        run(a, s, l.from, l.to, plain, DEPTH);
        parent.append(a);
        from = i = l.end;
      } else if (c === "<") {
        const m = /<((?:https?:\/\/|mailto:)[^\s<>]+)>/y;
        m.lastIndex = i;
        const found = m.exec(s), url = found && m.lastIndex <= end && safe(found[1]);
        if (!url) { i++; continue; }
        flush(i);
        const a = anchor(url);
        plain(a, i + 1, m.lastIndex - 1);
        parent.append(a);
        from = i = m.lastIndex;
      } else if (c === "h" && !isWord(s[i - 1]) && depth < DEPTH && s.startsWith("http", i)) {
        URL_AT.lastIndex = i;
        const found = URL_AT.exec(s);
        let url = found ? found[0].slice(0, end - i).replace(/[.,;:!?*_~\]]+$/, "") : "";
        if (url.endsWith(")") && !url.includes("(")) url = url.slice(0, -1);
        if (!url || !safe(url)) { i += 4; continue; }
        flush(i);
        const a = anchor(safe(url));
        plain(a, i, i + url.length);
        parent.append(a);
        from = i = i + url.length;
      } else if (c === "*" || c === "_" || (c === "~" && s[i + 1] === "~")) {
        const mark = s[i + 1] === c ? c + c : c, after = s[i + mark.length];
        const opens = after !== undefined && !/\s/.test(after) && !(c === "_" && isWord(s[i - 1]));
        const other = opens && depth < DEPTH && !lost[mark] ? closing(s, i + mark.length, end, mark) : -1;
        if (other < 0) {
          if (opens) lost[mark] = true;
          i += mark.length;
          continue;
        }
        flush(i);
        const e = make(TAG[mark]);
        run(e, s, i + mark.length, other, plain, depth + 1);
        parent.append(e);
        from = i = other + mark.length;
      } else {
        i++;
      }
    }
    flush(end);
  }

  // ---- the whole

  // `box` shows the source. What stands before the first block that changed stays as it is, so a
  // text that grows costs its last block. pieces: [length, place in a draft]...; null: no colours.
  function show(box, source, pieces) {
    const put = pieces ? coloured(pieces) : (parent, text) => parent.append(text);
    const blocks = blocksOf(linesOf(source));
    const old = box.shown && box.pieced === !!pieces ? box.shown : [];
    if (!old.length) box.replaceChildren();
    const keys = blocks.map((b) => b.type.name + "\n" + b.lines.map((l) => l.text).join("\n"));
    let same = 0;
    while (same < keys.length && keys[same] === old[same]) same++;
    while (box.childNodes.length > same) box.lastChild.remove();
    for (const b of blocks.slice(same)) box.append(b.type(b.lines, put, 0));
    box.shown = keys;
    box.pieced = !!pieces;
  }

  const ordinal = (n) => n + (["th", "st", "nd", "rd"][n % 100 > 10 && n % 100 < 14 ? 0 : n % 10] || "th");

  // Puts text as spans that say which tokens were drafted.
  function coloured(pieces) {
    const ends = [];
    for (let i = 0, at = 0; i < pieces.length; i += 2) ends.push((at += pieces[i]));
    const piece = (at) => {
      let low = 0, high = ends.length;
      while (low < high) {
        const mid = (low + high) >> 1;
        if (ends[mid] <= at) low = mid + 1;
        else high = mid;
      }
      return low;
    };
    return (parent, text, at) => {
      for (let i = 0, k = piece(at); i < text.length; k++) {
        const end = k < ends.length ? Math.min(text.length, ends[k] - at) : text.length;
        const depth = k < ends.length ? pieces[2 * k + 1] : -1;
        const part = text.slice(i, end);
        if (depth < 0 || part === "\n") {
          parent.append(part);
        } else {
          const s = make("span", depth ? "d" : "o", part);
          s.title = depth ? ordinal(depth) + " drafted token of its pass" : "the model’s own token";
          parent.append(s);
        }
        i = end;
      }
    };
  }

  return { show };
})();

// ---------------------------------------------------------------- storage

const Store = (() => {
  const CHAT = "forerun.chat.", SETTINGS = "forerun.settings";
  let full = false;

  function write(key, value) {
    try {
      localStorage.setItem(key, JSON.stringify(value));
      full = false;
    } catch {
      if (!full) toast("This browser has no room for more: the conversation is not kept. Export it, delete old ones.");
      full = true;
    }
  }

  function read(key) {
    try { return JSON.parse(localStorage.getItem(key)); } catch { return null; }
  }

  const text = (x) => (typeof x === "string" ? x : "");
  const number = (x) => (Number.isFinite(x) ? x : 0);

  // Whatever a file or the storage holds as a message of ours; null: it is none.
  function message(m) {
    if (!m || !["user", "assistant"].includes(m.role) || typeof m.content !== "string") return null;
    const out = { role: m.role, content: m.content };
    for (const name of ["thinking", "finish", "error"]) if (text(m[name])) out[name] = m[name];
    for (const name of ["pieces", "thoughtPieces"])
      if (Array.isArray(m[name]) && m[name].every(Number.isFinite)) out[name] = m[name];
    if (Array.isArray(m.calls))
      out.calls = m.calls.map((c) => ({ id: text(c && c.id), name: text(c && c.name), arguments: text(c && c.arguments) }));
    if (m.timings && typeof m.timings === "object")
      out.timings = Object.fromEntries(Object.entries(m.timings).filter(([, v]) => Number.isFinite(v)));
    if (Number.isFinite(m.seed)) out.seed = m.seed;
    return out;
  }

  function chat(c) {
    if (!c || !Array.isArray(c.messages)) return null;
    const messages = c.messages.map(message).filter(Boolean);
    const id = /^[\w-]{1,64}$/.test(text(c.id)) ? c.id : newId();
    return { id, title: text(c.title), system: text(c.system), changed: number(c.changed), messages };
  }

  const newId = () => Date.now().toString(36) + Math.random().toString(36).slice(2, 8);

  function all() {
    const keys = Object.keys(localStorage).filter((k) => k.startsWith(CHAT));
    return keys.map((k) => chat(read(k))).filter(Boolean).sort((a, b) => b.changed - a.changed);
  }

  return {
    all, chat, newId,
    get: (id) => chat(read(CHAT + id)),
    put: (c) => write(CHAT + c.id, c),
    drop: (id) => localStorage.removeItem(CHAT + id),
    settings: () => {
      const s = read(SETTINGS);
      return s && typeof s === "object" ? s : {};
    },
    putSettings: (s) => write(SETTINGS, s),
  };
})();

// ---------------------------------------------------------------- the wire

const Wire = (() => {
  const KEY = "forerun.key";

  function headers(more) {
    const key = sessionStorage.getItem(KEY);
    return key ? { ...more, Authorization: "Bearer " + key } : more;
  }

  async function problem(response) {
    let said;
    try { said = (await response.json()).error.message; } catch { said = response.statusText; }
    const e = new Error(said || "the server said " + response.status);
    e.status = response.status;
    return e;
  }

  async function get(path) {
    const r = await fetch(path, { headers: headers({}), cache: "no-store" });
    if (!r.ok) throw await problem(r);
    return r.json();
  }

  // Calls take(event) for each event of the answer, until its end.
  async function stream(path, body, signal, take) {
    const r = await fetch(path, { method: "POST", signal, body: JSON.stringify(body),
                                  headers: headers({ "Content-Type": "application/json" }) });
    if (!r.ok) throw await problem(r);
    const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
    let held = "", done = false;
    for (;;) {
      const { value, done: over } = await reader.read();
      if (over) break;
      const lines = (held + value).split("\n");
      held = lines.pop();
      for (const line of lines) {
        if (!line.startsWith("data: ")) continue;
        if (line === "data: [DONE]") { done = true; continue; }
        const event = JSON.parse(line.slice(6));
        if (event.error) throw new Error(event.error.message);
        take(event);
      }
    }
    if (!done) throw new Error("the server hung up before the answer’s end");
  }

  return { get, stream, setKey: (k) => sessionStorage.setItem(KEY, k) };
})();

// ---------------------------------------------------------------- what is seen

let settings = Store.settings();
let props = null;      // of the server
let chat = null;       // that is shown
let writing = null;    // the answer that is written: {chat, message, abort}
const views = new Map(); // message -> its element

const NUMBERS = ["temperature", "top_p", "top_k", "min_p", "max_tokens", "seed"];
const IDEAS = ["Write a C function that reverses a string in place, and explain it.",
               "Explain speculative decoding with a comparison from everyday life.",
               "Make a table of five programming languages: name, year, typing."];

function say(text) { $("status").textContent = text; }

let toastTimer;
function toast(text, undo) {
  const [span, button] = $("toast").children;
  span.textContent = text;
  button.hidden = !undo;
  button.onclick = () => { $("toast").hidden = true; undo(); };
  $("toast").hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { $("toast").hidden = true; }, undo ? 8000 : 5000);
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // no secure context: the old way
    const area = make("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.classList.add("done");
  setTimeout(() => button.classList.remove("done"), 1200);
  say("Copied");
}

// ---- a message

function statsOf(m) {
  const t = m.timings;
  if (!t || !t.predicted_n) return [];
  const parts = [], passes = t.passes || t.predicted_n - t.draft_n_accepted;
  const digits = (x) => (x >= 100 ? Math.round(x).toString() : x.toFixed(1));
  const tokens = t.predicted_n === 1 ? "1 token" : t.predicted_n + " tokens";
  if (t.predicted_per_second > 0) parts.push([digits(t.predicted_per_second) + " tokens/s", "tokens a second, behind the first"]);
  if (t.draft_n > 0 && passes > 0) {
    parts.push([(t.predicted_n / passes).toFixed(2) + " tokens a pass", t.predicted_n + " tokens in " + passes + " passes of the model"]);
    parts.push([Math.round((100 * t.draft_n_accepted) / t.predicted_n) + " % drafted", t.draft_n_accepted + " of " + t.draft_n + " drafted tokens were accepted"]);
  }
  parts.push(["first token " + (t.prompt_ms >= 1000 ? (t.prompt_ms / 1000).toFixed(2) + " s" : Math.round(t.prompt_ms) + " ms"),
              t.prompt_n + " tokens of the prompt read, " + (t.cache_n || 0) + " known before"]);
  parts.push([tokens, "length of the answer"]);
  if (Number.isFinite(m.seed)) parts.push(["seed " + m.seed, "the same request with this seed gives the same bytes"]);
  return parts;
}

const ENDS = { length: "Ended at the limit of tokens.", stopped: "Stopped." };

function showCalls(box, calls) {
  box.replaceChildren(...(calls || []).map((c) => {
    const d = make("div", "call"), pre = make("pre");
    let args = c.arguments;
    try { args = JSON.stringify(JSON.parse(args), null, 2); } catch { /* as it came */ }
    d.append(make("b", "", "Calls " + c.name));
    pre.textContent = args;
    pre.tabIndex = 0;
    d.append(pre);
    return d;
  }));
}

// Fills the parts of an answer; those that it has not stay hidden.
function showAnswer(li, m) {
  const body = li.firstElementChild, busy = writing && writing.message === m;
  if (!body.parts) {
    const [think, thoughts, text, calls, note] = ["details", "div", "div", "div", "p"].map((t) => make(t));
    think.append(make("summary"), thoughts);
    think.className = "thinking";
    thoughts.className = text.className = "md";
    body.replaceChildren(think, text, calls, note);
    body.parts = { think, thoughts, text, calls, note };
  }
  const p = body.parts, marks = settings.drafted;
  p.think.hidden = !m.thinking;
  if (m.thinking) {
    p.think.firstChild.textContent = busy && !m.content ? "Thinking …" : "Thinking";
    Markdown.show(p.thoughts, m.thinking, marks && m.thoughtPieces ? m.thoughtPieces : null);
  }
  Markdown.show(p.text, m.content, marks && m.pieces ? m.pieces : null);
  showCalls(p.calls, m.calls);
  p.note.className = m.error ? "bad" : "note";
  p.note.textContent = m.error || (busy ? (!m.content && !m.thinking && m.progress) || "" : ENDS[m.finish] || "");
  p.note.hidden = !p.note.textContent;
  li.classList.toggle("busy", !!busy);
  li.classList.toggle("waits", !!busy && !m.content && !m.thinking);
  li.querySelector(".stats").replaceChildren(...statsOf(m).map(([text, title]) => {
    const s = make("span", "", text);
    s.title = title;
    return s;
  }));
}

function showMessage(m, last) {
  let li = views.get(m);
  if (!li) {
    li = stamp("t-message");
    li.className = m.role;
    li.setAttribute("aria-label", m.role === "user" ? "You" : "Answer");
    li.message = m;
    views.set(m, li);
  }
  if (m.role === "user") li.firstElementChild.textContent = m.content;
  else showAnswer(li, m);
  const busy = writing && writing.message === m;
  li.querySelector("[data-act=continue]").hidden = !(m.role === "assistant" && last && !busy && !m.error && m.content &&
                                                     (m.finish === "length" || m.finish === "stopped" || m.edited));
  for (const b of li.querySelectorAll(".acts button:not([data-act=copy])")) b.disabled = !!writing;
  return li;
}

function showChat() {
  const n = chat.messages.length;
  const wanted = chat.messages.map((m, i) => showMessage(m, i === n - 1));
  const list = $("messages");
  wanted.forEach((li, i) => { if (list.children[i] !== li) list.insertBefore(li, list.children[i] || null); });
  while (list.children.length > n) list.lastChild.remove();
  $("welcome").hidden = n > 0;
  const busy = !!writing && writing.chat === chat;
  $("stop").hidden = !busy;
  $("send").hidden = busy;
  $("legend").hidden = !settings.drafted;
  document.title = chat.title ? chat.title + " · forerun" : "forerun";
  showUse();
}

function showUse() {
  const last = [...chat.messages].reverse().find((m) => m.timings), n_ctx = props && props.default_generation_settings.n_ctx;
  const t = last && last.timings;
  const used = t ? (t.cache_n || 0) + t.prompt_n + t.predicted_n : 0;
  $("used").textContent = n_ctx ? used.toLocaleString("en") + " of " + n_ctx.toLocaleString("en") + " tokens" : "";
  $("used").classList.toggle("bad", !!n_ctx && used > 0.9 * n_ctx);
}

function showChats() {
  const chats = Store.all();
  if (!chats.some((c) => c.id === chat.id)) chats.unshift(chat);
  $("chats").replaceChildren(...chats.map((c) => {
    const li = stamp("t-chat"), open = li.querySelector(".open");
    open.textContent = c.title || "New conversation";
    open.title = open.textContent;
    if (c.id === chat.id) open.setAttribute("aria-current", "true");
    open.onclick = () => { openChat(c.id); hideSide(); };
    li.querySelector(".delete").onclick = () => deleteChat(c.id);
    return li;
  }));
}

// ---- scrolling: the end stays in sight while nobody looks elsewhere

let follows = true;
const fromEnd = () => $("scroll").scrollHeight - $("scroll").scrollTop - $("scroll").clientHeight;
function toEnd() { $("scroll").scrollTop = $("scroll").scrollHeight; }
$("scroll").addEventListener("scroll", () => {
  follows = fromEnd() < 60;
  $("to-end").hidden = fromEnd() < 240;
}, { passive: true });
$("to-end").onclick = () => { follows = true; toEnd(); };

let planned = false;
function showSoon() { // at most once a frame
  if (planned) return;
  planned = true;
  requestAnimationFrame(() => {
    planned = false;
    if (!writing || writing.chat !== chat) return;
    const m = writing.message;
    showAnswer(views.get(m) || showMessage(m, true), m);
    if (follows) toEnd();
  });
}

// ---------------------------------------------------------------- conversations

function newChat() {
  if (chat && !chat.messages.length) { $("prompt").focus(); return; }
  chat = { id: Store.newId(), title: "", system: settings.system || "", changed: Date.now(), messages: [] };
  views.clear();
  $("messages").replaceChildren();
  showChat();
  showChats();
  $("prompt").focus();
}

function openChat(id) {
  const found = writing && writing.chat.id === id ? writing.chat : Store.get(id);
  if (!found) return;
  chat = found;
  views.clear();
  $("messages").replaceChildren();
  showChat();
  showChats();
  follows = true;
  toEnd();
}

function keep(c) {
  const first = c.messages.find((m) => m.role === "user");
  if (!c.title && first) c.title = first.content.trim().split("\n")[0].slice(0, 80);
  c.changed = Date.now();
  Store.put({ ...c, messages: c.messages.map(({ progress, ...m }) => m) });
  showChats();
}

function deleteChat(id) {
  const old = Store.get(id);
  if (writing && writing.chat.id === id) writing.abort.abort();
  Store.drop(id);
  if (chat.id === id) { chat = null; newChat(); }
  showChats();
  if (old) toast("Conversation deleted.", () => { Store.put(old); openChat(id); });
}

function exportAll() {
  const file = new Blob([JSON.stringify({ forerun: 1, chats: Store.all() }, null, 1)], { type: "application/json" });
  const a = make("a");
  a.href = URL.createObjectURL(file);
  a.download = "forerun-conversations-" + new Date().toISOString().slice(0, 10) + ".json";
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}

async function importFile(file) {
  let chats;
  try {
    chats = JSON.parse(await file.text()).chats.map(Store.chat).filter((c) => c && c.messages.length);
  } catch {
    toast("That file holds no conversations of forerun.");
    return;
  }
  const known = new Set(Store.all().map((c) => c.id));
  for (const c of chats) {
    if (known.has(c.id)) c.id = Store.newId();
    Store.put(c);
  }
  toast(chats.length === 1 ? "One conversation imported." : chats.length + " conversations imported.");
  if (chats.length) openChat(chats[0].id);
}

// ---------------------------------------------------------------- asking

function bodyOf(c, messages) {
  const body = { messages: [], stream: true, stream_options: { include_usage: true }, return_drafted: true, return_progress: true };
  for (const name of NUMBERS) if (settings[name] !== undefined && settings[name] !== "") body[name] = Number(settings[name]);
  if (settings.drafter && props && props.drafters.includes(settings.drafter)) body.drafter = settings.drafter;
  try { Object.assign(body, JSON.parse(settings.more || "{}")); } catch { /* the settings say so */ }
  body.stream = true; // it is read as one
  if (c.system.trim()) body.messages.push({ role: "system", content: c.system });
  for (const m of messages) {
    const out = { role: m.role, content: m.content };
    if (m.calls && m.calls.length)
      out.tool_calls = m.calls.map((f) => ({ id: f.id, type: "function", function: { name: f.name, arguments: f.arguments } }));
    body.messages.push(out);
  }
  return body;
}

// What an event adds to the answer.
function take(m, event) {
  const choice = event.choices && event.choices[0], p = event.prompt_progress;
  if (p && p.total - p.cache > 256) m.progress = "Reading " + Math.round((100 * p.processed) / p.total) + " %";
  if (event.usage && event.timings) m.timings = event.timings;
  if (Number.isFinite(event.seed)) m.seed = event.seed;
  if (!choice) return;
  if (event.timings && choice.finish_reason) m.timings = event.timings;
  if (choice.finish_reason) m.finish = choice.finish_reason;
  const d = choice.delta || {};
  m.thinking = (m.thinking || "") + (d.reasoning_content || "");
  m.content += d.content || "";
  for (const call of d.tool_calls || []) {
    m.calls = m.calls || [];
    const known = m.calls[call.index] || (m.calls[call.index] = { id: "", name: "", arguments: "" });
    known.id += call.id || "";
    known.name += (call.function && call.function.name) || "";
    known.arguments += (call.function && call.function.arguments) || "";
  }
  for (const piece of choice.pieces || []) {
    if (piece.content) (m.pieces = m.pieces || []).push(piece.content.length, piece.drafted);
    if (piece.reasoning_content) (m.thoughtPieces = m.thoughtPieces || []).push(piece.reasoning_content.length, piece.drafted);
  }
}

// Has the last message of the conversation, an answer, written; what it has is gone on with.
async function answer() {
  const c = chat, m = c.messages[c.messages.length - 1], goesOn = !!m.content;
  const asked = bodyOf(c, goesOn ? c.messages : c.messages.slice(0, -1));
  writing = { chat: c, message: m, abort: new AbortController() };
  delete m.error;
  delete m.finish;
  if (goesOn && !m.pieces) m.pieces = [m.content.length, -1]; // of these nothing is known
  keep(c);
  showChat();
  follows = true;
  toEnd();
  say("The answer is being written");
  try {
    await Wire.stream("v1/chat/completions", asked, writing.abort.signal, (event) => { take(m, event); showSoon(); });
    say("The answer is complete");
  } catch (e) {
    if (e.name === "AbortError") m.finish = "stopped";
    else m.error = e.status ? e.message : "The answer broke off: " + e.message;
    if (e.status === 401) askKey();
    say(m.error || "Stopped");
  }
  delete m.progress;
  writing = null;
  if (Store.get(c.id)) keep(c); // it was not deleted meanwhile
  showChat();
  if (chat === c && follows) toEnd();
}

function send(text) {
  if (writing || !text.trim()) return;
  chat.messages.push({ role: "user", content: text }, { role: "assistant", content: "" });
  answer();
}

function stop() { if (writing) writing.abort.abort(); }

function retry(m) {
  const i = chat.messages.indexOf(m), from = m.role === "user" ? i + 1 : i;
  chat.messages.splice(from, Infinity, { role: "assistant", content: "" });
  answer();
}

function remove(m) {
  const c = chat, i = c.messages.indexOf(m), old = c.messages.splice(i);
  keep(c);
  showChat();
  toast(old.length === 1 ? "Message deleted." : old.length + " messages deleted.", () => {
    c.messages.splice(i, Infinity, ...old);
    keep(c);
    if (chat.id === c.id) openChat(c.id);
  });
}

function edit(m) {
  const li = views.get(m), box = stamp("t-edit"), area = box.querySelector("textarea"), save = box.querySelector(".save");
  const done = () => { box.remove(); li.classList.remove("edits"); showChat(); };
  area.value = m.content;
  save.textContent = m.role === "user" ? "Send" : "Save";
  box.querySelector(".cancel").onclick = done;
  save.onclick = () => {
    if (writing) return;
    m.content = area.value;
    for (const name of ["pieces", "timings", "seed", "error", "finish"]) delete m[name];
    if (m.role === "assistant") m.edited = true;
    done();
    if (m.role === "user") retry(m);
    else keep(chat);
  };
  area.onkeydown = (e) => {
    if (e.key === "Escape") { e.stopPropagation(); done(); $("prompt").focus(); }
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey || (m.role === "user" && !e.shiftKey)) && !e.isComposing) { e.preventDefault(); save.click(); }
  };
  area.oninput = () => fit(area);
  li.classList.add("edits");
  li.prepend(box);
  li.insertBefore(li.querySelector(".body"), box); // the body stays first
  fit(area);
  area.focus();
  box.scrollIntoView({ block: "nearest" });
}

const ACTS = {
  copy: (m, b) => copy(m.content, b),
  edit, retry, delete: remove,
  continue: () => answer(),
};

$("messages").addEventListener("click", (e) => {
  const act = e.target.closest("[data-act]"), block = e.target.closest(".code-head button");
  if (block) copy(block.closest(".code").querySelector("code").textContent, block);
  if (!act || act.disabled) return;
  ACTS[act.dataset.act](act.closest("li.user, li.assistant").message, act);
});

// ---------------------------------------------------------------- the prompt

function fit(area) {
  area.style.height = "auto";
  area.style.height = Math.min(area.scrollHeight + 2, innerHeight * 0.45) + "px";
}

const prompt_ = $("prompt");
prompt_.addEventListener("input", () => fit(prompt_));
prompt_.addEventListener("keydown", (e) => {
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
    e.preventDefault();
    submit();
  } else if (e.key === "ArrowUp" && !prompt_.value && !writing) {
    const last = [...chat.messages].reverse().find((m) => m.role === "user");
    if (last) { e.preventDefault(); edit(last); }
  }
});

function submit() {
  if (writing && writing.chat !== chat) toast("Another conversation is being answered.");
  if (writing) return;
  const text = prompt_.value;
  prompt_.value = "";
  fit(prompt_);
  send(text);
}
$("send").onclick = submit;
$("stop").onclick = stop;

document.addEventListener("keydown", (e) => {
  const typing = /^(TEXTAREA|INPUT|SELECT)$/.test(e.target.tagName), open = document.querySelector("dialog[open]");
  if (e.key === "Escape" && !open && writing) stop();
  else if (e.key === "Escape" && !open) hideSide();
  else if (e.key === "/" && !typing && !open) { e.preventDefault(); prompt_.focus(); }
  else if (e.altKey && e.code === "KeyN" && !open) { e.preventDefault(); newChat(); }
  else if (e.altKey && e.code === "KeyD" && !open) { e.preventDefault(); $("drafted").click(); }
});

// ---------------------------------------------------------------- side, settings, key

function showSide(on) {
  document.body.classList.toggle("side", on);
  $("shade").hidden = !on;
  $("show-side").setAttribute("aria-expanded", String(on));
}
function hideSide() { showSide(false); }
$("show-side").onclick = () => { showSide(true); $("new").focus(); };
$("hide-side").onclick = () => { hideSide(); $("show-side").focus(); };
$("shade").onclick = hideSide;
$("new").onclick = () => { newChat(); hideSide(); };
$("export").onclick = exportAll;
$("import").onclick = () => $("import-file").click();
$("import-file").onchange = (e) => {
  if (e.target.files[0]) importFile(e.target.files[0]);
  e.target.value = "";
};

$("drafted").onchange = (e) => {
  settings.drafted = e.target.checked;
  Store.putSettings(settings);
  showChat();
};

function showSettings() {
  for (const e of document.querySelectorAll("[data-set]")) e.value = settings[e.dataset.set] ?? "";
  $("system").value = chat.system;
  $("more").value = settings.more || "";
  checkMore();
}

function checkMore() {
  let bad = false;
  try {
    const x = JSON.parse($("more").value.trim() || "{}");
    bad = !x || typeof x !== "object" || Array.isArray(x);
  } catch { bad = true; }
  $("more-says").textContent = bad ? "That is no JSON object, so it is not sent." : "JSON; any field that the server takes, also “tools”.";
  $("more-says").className = bad ? "bad" : "";
  return !bad;
}

$("open-settings").onclick = () => { showSettings(); $("settings").showModal(); };
for (const b of document.querySelectorAll("#settings .close")) b.onclick = () => $("settings").close();
$("settings").addEventListener("click", (e) => { if (e.target === $("settings")) $("settings").close(); });
$("settings").addEventListener("input", (e) => {
  const name = e.target.dataset.set;
  if (name && e.target.checkValidity()) settings[name] = e.target.value;
  if (e.target === $("more") && checkMore()) settings.more = $("more").value.trim();
  if (e.target === $("system")) {
    settings.system = chat.system = $("system").value;
    if (chat.messages.length) keep(chat);
  }
  Store.putSettings(settings);
});
$("reset").onclick = () => {
  for (const name of [...NUMBERS, "drafter", "more"]) delete settings[name];
  Store.putSettings(settings);
  showSettings();
};
$("forget").onclick = () => {
  const old = Store.all();
  stop();
  for (const c of old) Store.drop(c.id);
  chat = null;
  newChat();
  $("settings").close();
  toast("All conversations deleted.", () => { old.forEach(Store.put); showChats(); });
};

function askKey() {
  if ($("key").open) return;
  $("key-text").value = "";
  $("key-says").textContent = "";
  $("key").showModal();
}
async function tryKey() {
  Wire.setKey($("key-text").value.trim());
  const e = await load();
  if (e) $("key-says").textContent = e.status === 401 ? "The server does not take this key." : e.message;
  else $("key").close();
}
$("key-ok").onclick = tryKey;
$("key-text").onkeydown = (e) => { if (e.key === "Enter") { e.preventDefault(); tryKey(); } };

// ---------------------------------------------------------------- begin

function showServer() {
  const d = props.default_generation_settings.params;
  $("model").textContent = props.model_alias;
  $("about").textContent = [props.model_alias, props.isa, props.drafters[0] === "none" ? "no drafter" : "drafter " + props.drafters[0],
    props.default_generation_settings.n_ctx.toLocaleString("en") + " tokens of context"].join(" · ");
  for (const name of NUMBERS) {
    const e = document.querySelector('[data-set="' + name + '"]');
    const value = name === "max_tokens" ? d.n_predict : d[name];
    if (Number.isFinite(value) && value >= 0) e.placeholder = String(Math.round(value * 1e4) / 1e4);
    else e.placeholder = name === "seed" ? "random" : "no limit";
  }
  $("drafter-field").hidden = props.drafters.length < 2;
  const names = [...new Set(props.drafters)];
  document.querySelector("[data-set=drafter]").replaceChildren(...names.map((name, i) => {
    const o = make("option", "", name);
    o.value = i ? name : "";
    return o;
  }));
  showUse();
}

// What the server is. Null, or why that cannot be known.
async function load() {
  try {
    props = await Wire.get("props");
    showServer();
    return null;
  } catch (e) {
    if (e.status === 401) askKey();
    else $("about").textContent = "The server does not answer: " + e.message;
    return e;
  }
}

for (const idea of IDEAS) {
  const b = make("button", "", idea);
  b.onclick = () => send(idea);
  $("ideas").append(b);
}
$("drafted").checked = !!settings.drafted;
addEventListener("storage", (e) => { // another tab
  if (e.key && e.key.startsWith("forerun.chat.")) showChats();
});
addEventListener("pagehide", () => { // what there is of an answer stays
  if (!writing) return;
  writing.message.finish = "stopped";
  keep(writing.chat);
});
newChat();
load();
