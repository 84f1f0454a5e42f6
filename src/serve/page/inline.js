// inline.js — what stands in a line of Markdown: emphasis, code, links. Links lead to pages and
// letters alone, pictures become links, so nothing is loaded from elsewhere.
import { make } from "./dom.js";

export const DEPTH = 16; // of lists, quotes and emphasis within each other

const PUNCTUATION = /[!-/:-@[-`{-~]/;
const URL_AT = /https?:\/\/[^\s<>"'`]{1,2000}/y;
const AFTER_URL = ".,;:!?*_~]"; // at its end these are the sentence's

// A pattern that tries no place twice, since what a lookahead has taken it does not give back.
const LINK = /\((?=(\s*))\1(?:<([^<>\n]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/y;

// Adds what the lines hold to `parent`.
export function inline(parent, lines, put, depth) {
  let text = "";
  const starts = [];
  for (const l of lines) {
    if (text || starts.length) text += "\n";
    starts.push([text.length, l.at]);
    text += l.text;
  }
  const place = (i) => {
    let low = 0, high = starts.length - 1;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (starts[mid][0] > i) high = mid - 1;
      else low = mid;
    }
    return starts[low][1] + i - starts[low][0];
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
  LINK.lastIndex = k + 1;
  const found = LINK.exec(s);
  return found && LINK.lastIndex <= end ? { from: i + 1, to: k, url: found[2] ?? found[3], end: LINK.lastIndex } : null;
}

// ---- what may stand at a place i of a line: each adds it and returns where it ends; where there is
// none, it returns from where on to look for another

function escaped(line, i) {
  if (i + 1 >= line.end || !PUNCTUATION.test(line.s[i + 1])) return i + 1;
  line.flush(i);
  line.from = i + 1;
  return i + 2;
}

function code(line, i) {
  const { s, end, lost } = line;
  let n = 1;
  while (s[i + n] === "`") n++;
  const mark = "`".repeat(n);
  let other = lost[mark] ? -1 : s.indexOf(mark, i + n);
  while (other > 0 && s[other + n] === "`") { // a longer run is none
    let k = other + n;
    while (s[k] === "`") k++;
    other = s.indexOf(mark, k);
  }
  if (other < 0 || other >= end) {
    lost[mark] = true;
    return i + n;
  }
  const pad = s[i + n] === " " && s[other - 1] === " " && other - i - n > 2 ? 1 : 0;
  return line.add(i, make("code"), (e) => line.plain(e, i + n + pad, other - pad), other + n);
}

// Of a picture too: nothing is loaded from elsewhere.
function linked(line, i) {
  const { s, end, plain, depth } = line, open = s[i] === "!" ? i + 1 : i;
  const l = s[open] === "[" && depth < DEPTH ? link(s, open, end) : null, url = l && safe(l.url);
  return url ? line.add(i, anchor(url), (a) => run(a, s, l.from, l.to, plain, DEPTH), l.end) : i + 1;
}

function bracketed(line, i) {
  const m = /<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/y;
  m.lastIndex = i;
  const found = m.exec(line.s), next = m.lastIndex, url = found && next <= line.end && safe(found[1]);
  return url ? line.add(i, anchor(url), (a) => line.plain(a, i + 1, next - 1), next) : i + 1;
}

function bare(line, i) {
  const { s, end, depth } = line;
  if (isWord(s[i - 1]) || depth >= DEPTH || !s.startsWith("http", i)) return i + 1;
  URL_AT.lastIndex = i;
  const found = URL_AT.exec(s);
  let url = found ? found[0].slice(0, end - i) : "";
  while (url && AFTER_URL.includes(url[url.length - 1])) url = url.slice(0, -1);
  if (url.endsWith(")") && !url.includes("(")) url = url.slice(0, -1);
  if (!url || !safe(url)) return i + 4;
  const next = i + url.length;
  return line.add(i, anchor(safe(url)), (a) => line.plain(a, i, next), next);
}

const TAG = { "**": "strong", "__": "strong", "*": "em", "_": "em", "~~": "del" };

function emphasis(line, i) {
  const { s, end, plain, depth, lost } = line, c = s[i], mark = s[i + 1] === c ? c + c : c;
  if (!TAG[mark]) return i + 1;
  const from = i + mark.length, after = s[from];
  const opens = after !== undefined && !/\s/.test(after) && !(c === "_" && isWord(s[i - 1]));
  const other = opens && depth < DEPTH && !lost[mark] ? closing(s, from, end, mark) : -1;
  if (other < 0) {
    if (opens) lost[mark] = true;
    return from;
  }
  return line.add(i, make(TAG[mark]), (e) => run(e, s, from, other, plain, depth + 1), other + mark.length);
}

const TAKE = {
  "\\": escaped, "`": code, "[": linked, "!": linked, "<": bracketed, "h": bare,
  "*": emphasis, "_": emphasis, "~": emphasis,
};

// lost: marks that nothing ends; from: where the text begins that was not added yet.
function run(parent, s, i, end, plain, depth) {
  const line = {
    s, end, plain, depth, lost: {}, from: i,
    flush(to) { if (to > line.from) plain(parent, line.from, to); },
    add(at, e, fill, next) {
      line.flush(at);
      fill(e);
      parent.append(e);
      line.from = next;
      return next;
    },
  };
  while (i < end) {
    const take = TAKE[s[i]];
    i = take ? take(line, i) : i + 1;
  }
  line.flush(end);
}
