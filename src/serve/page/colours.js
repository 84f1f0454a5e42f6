// colours.js — who drafted which token. Every drafter has a mark of its own, a colour and a kind of
// line under the text (.s0 to .s11 of chat.css), and its name wherever the mark is explained.
import { $, make } from "./dom.js";
import { state } from "./state.js";

// No two have both colour and line alike, and those that are often joined neither.
const MARKS = ["prompt-lookup", "eagle", "medusa", "draft-model", "rest", "lookahead", "hidden-state", "ppd",
               "hidden-transfer", "chimera", "layer-skip", "early-exit"];

// The class of a drafter's mark; of "draft-model@eagle" that of what comes first.
export function markOf(name) {
  const i = MARKS.indexOf(name.split("@")[0]);
  if (i >= 0) return "s" + i;
  let sum = 0;
  for (const c of name) sum += c.codePointAt(0);
  return "s" + (sum % MARKS.length);
}

// The parts of a SPEC, without their files.
export function namesOf(spec) {
  const parts = spec.split("+").map((p) => p.split(":")[0]);
  return parts.filter((p) => MARKS.includes(p.split("@")[0]));
}

// A SPEC for people: without its files; whole where it has no name that is known.
export const shortSpec = (spec) => namesOf(spec).join(" + ") || spec;

const ordinal = (n) => n + (["th", "st", "nd", "rd"][n % 100 > 10 && n % 100 < 14 ? 0 : n % 10] || "th");

function spanOf(text, place, source) {
  const s = make("span", place ? "d " + markOf(source) : "o", text);
  s.title = place ? source + ": " + ordinal(place) + " drafted token of its pass" : "the model’s own token";
  return s;
}

// What puts text as spans that say whose it is; `tokens`, `sources` as store.js has them.
export function colours(tokens, sources) {
  const ends = [];
  for (let i = 0, at = 0; i < tokens.length; i += 3) ends.push((at += tokens[i]));
  const tokenAt = (at) => {
    let low = 0, high = ends.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (ends[mid] <= at) low = mid + 1;
      else high = mid;
    }
    return low;
  };
  return (parent, text, at) => {
    for (let i = 0, k = tokenAt(at); i < text.length; k++) {
      const end = k < ends.length ? Math.min(text.length, ends[k] - at) : text.length;
      const place = k < ends.length ? tokens[3 * k + 1] : -1;
      const part = text.slice(i, end);
      if (place < 0 || part === "\n") parent.append(part);
      else parent.append(spanOf(part, place, sources[tokens[3 * k + 2]] || "drafted"));
      i = end;
    }
  };
}

// ---- the legend

// Tokens of an answer by who gave them: [[name, tokens]...], the model's own as "". `since`: those
// of its last request alone (store.js).
export function sharesOf(m, since = [0, 0]) {
  const all = new Map([["", 0]]);
  for (const [list, from] of [[m.thoughtTokens || [], since[0]], [m.tokens || [], since[1]]])
    for (let i = from; i < list.length; i += 3) {
      if (list[i + 1] < 0) continue;
      const name = list[i + 1] ? (m.sources || [])[list[i + 2]] || "drafted" : "";
      all.set(name, (all.get(name) || 0) + 1);
    }
  return all;
}

// Explains the marks of the conversation, or those that may come.
export function showLegend() {
  const all = new Map([["", 0]]);
  const usual = state.props ? namesOf(state.settings.drafter || state.props.drafters[0]) : [];
  for (const name of usual) all.set(name, 0);
  for (const m of state.chat.messages)
    for (const [name, n] of sharesOf(m)) all.set(name, (all.get(name) || 0) + n);
  const own = all.get("");
  all.delete("");
  const item = (name, className, n) => {
    const li = make("li");
    li.append(make("span", className, name));
    if (n) li.append(" " + n.toLocaleString("en"));
    return li;
  };
  $("legend").replaceChildren(...[...all].map(([name, n]) => item(name, "d " + markOf(name), n)),
                              item("the model’s own", "o", own));
  $("legend").hidden = !state.settings.drafted;
}
