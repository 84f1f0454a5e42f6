// markdown.js — Markdown becomes elements, never markup: every text of a model ends as a text node.
//
// A line is {text, at}: what it holds, and where that stands in the source. Elements are made from
// lines, so that every character knows its place there: drafted tokens are coloured by place. `put`
// adds a text that stands at a place to an element.
import { make, stamp } from "./dom.js";
import { inline, DEPTH } from "./inline.js";

// No pattern here tries a text twice, so that every line costs its length, whatever it holds.
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+|$)/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)/;
const DASHES = /^:?-+:?$/; // a cell under a table's heading
const COLUMNS = 100, CELLS = 20000; // of a table, empty ones too; what is beyond is text

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

// The mark and the word of a line that begins code; null: it does not.
function fence(text) {
  const m = text.match(FENCE), rest = m ? text.slice(m[0].length) : "";
  return m && !rest.includes("`") ? { mark: m[1], word: rest.trim().split(/\s/, 1)[0] } : null;
}

// Whether the line ends code that such a mark began.
function endsCode(text, mark) {
  const t = text.trimEnd(), m = t.match(FENCE);
  return m !== null && m[1][0] === mark[0] && m[1].length >= mark.length && m[0].length === t.length;
}

function isTable(lines, i) {
  if (i + 1 >= lines.length || !lines[i].text.includes("|") || !/^[ \t|:-]+$/.test(lines[i + 1].text)) return false;
  const under = cells(lines[i + 1]);
  return under.length <= COLUMNS && under.every((c) => DASHES.test(c.text)) && cells(lines[i]).length === under.length;
}

function beginsBlock(lines, i) {
  const t = lines[i].text;
  return fence(t) || HEADING.test(t) || RULE.test(t) || QUOTE.test(t) || ITEM.test(t) || isTable(lines, i);
}

// ---- blocks: where each ends, and what is made of it

function fenceEnd(lines, i) {
  const { mark } = fence(lines[i].text);
  for (let k = i + 1; k < lines.length; k++) if (endsCode(lines[k].text, mark)) return k + 1;
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
  const most = i + Math.floor(CELLS / cells(lines[i]).length);
  let k = i + 2;
  while (k < lines.length && k < most && lines[k].text.includes("|") && !isBlank(lines[k])) k++;
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
    if (fence(t)) { type = code; end = fenceEnd(lines, i); }
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

// A heading's text without the marks that may close it.
function withoutMarks(text) {
  const t = text.trimEnd();
  let end = t.length;
  while (end && t[end - 1] === "#") end--;
  return end && !/\s/.test(t[end - 1]) ? t : t.slice(0, end).trimEnd();
}

function heading(lines, put, depth) {
  const m = lines[0].text.match(HEADING);
  const h = make("h" + Math.min(6, m[1].length + 1)); // the page's own title is h1
  const rest = cut(lines[0], m[0].length);
  inline(h, [{ text: withoutMarks(rest.text), at: rest.at }], put, depth);
  return h;
}

const rule = () => make("hr");

function quote(lines, put, depth) {
  const q = make("blockquote");
  fill(q, lines.map((l) => cut(l, (l.text.match(QUOTE) || [""])[0].length)), put, depth + 1);
  return q;
}

function code(lines, put) {
  const begun = fence(lines[0].text), box = stamp("t-code"), into = box.querySelector("code");
  const close = lines.length > 1 && fenceEnd(lines, 0) === lines.length && endsCode(lines[lines.length - 1].text, begun.mark);
  const inner = lines.slice(1, close ? -1 : undefined), in0 = indent(lines[0]);
  box.querySelector("span").textContent = begun.word || "text";
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
  const t = line.text, out = [], lastTick = t.lastIndexOf("`");
  let from = t.length - t.trimStart().length, end = t.trimEnd().length, ticks = false;
  if (t[from] === "|") from++;
  if (end > from && t[end - 1] === "|" && t[end - 2] !== "\\") end--;
  for (let i = from; i <= end; i++) {
    if (t[i] === "`") ticks = !ticks;
    if (i < end && (t[i] !== "|" || t[i - 1] === "\\" || (ticks && lastTick > i))) continue;
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

// ---- the whole

// `box` shows the source. What stands before the first block that changed stays as it is, so a
// text that grows costs its last block. `colours` (colours.js) puts the text; null: as it is.
export function show(box, source, colours) {
  const put = colours || ((parent, text) => parent.append(text));
  const blocks = blocksOf(linesOf(source));
  const old = box.shown && box.coloured === !!colours ? box.shown : [];
  if (!old.length) box.replaceChildren();
  const keys = blocks.map((b) => b.type.name + "\n" + b.lines.map((l) => l.text).join("\n"));
  let same = 0;
  while (same < keys.length && keys[same] === old[same]) same++;
  while (box.childNodes.length > same) box.lastChild.remove();
  for (const b of blocks.slice(same)) box.append(b.type(b.lines, put, 0));
  box.shown = keys;
  box.coloured = !!colours;
}
