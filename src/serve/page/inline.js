// inline.js — what stands in a line of Markdown: emphasis, code, links. Links lead to pages and
// letters alone, pictures become links, so nothing is loaded from elsewhere.
import { make } from "./dom.js";

export const DEPTH = 16; // of lists, quotes and emphasis within each other

const PUNCTUATION = /[!-/:-@[-`{-~]/;
const URL_AT = /https?:\/\/[^\s<>"'`]+/y;

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
