// numbers.js — what is told of an answer, also while it is written: speed beside plain decoding's,
// rows and tokens a pass, who drafted how much. Of one that was gone on with: of what was added last.
import { make } from "./dom.js";
import { sharesOf } from "./colours.js";

const digits = (x) => (x >= 100 ? Math.round(x).toString() : x.toFixed(1));

function speeds(t) {
  const parts = [];
  if (!(t.predicted_per_second > 0)) return parts;
  parts.push([digits(t.predicted_per_second) + " tokens/s", "tokens a second, behind the first"]);
  if (t.plain_ms > 0) {
    const plain = (1000 * t.predicted_n) / t.plain_ms;
    parts.push(["plain ≈ " + digits(plain), "tokens a second that plain decoding is predicted to give here, by the measured cost of a pass"]);
    parts.push([(t.predicted_per_second / plain).toFixed(2) + "×", "times plain decoding’s predicted speed"]);
  }
  return parts;
}

function drafting(m) {
  const t = m.timings, parts = [];
  if (!(t.draft_n > 0 && t.passes > 0)) return parts;
  parts.push([(t.predicted_n / t.passes).toFixed(2) + " tokens a pass", t.predicted_n + " tokens in " + t.passes + " passes of the model"]);
  parts.push([(1 + t.draft_n / t.passes).toFixed(1) + " rows a pass", "the last token and " + t.draft_n + " drafted ones in " + t.passes + " passes"]);
  const shares = [...sharesOf(m, m.since)].filter(([name]) => name).map(([name, n]) => name + " " + n);
  parts.push([Math.round((100 * t.draft_n_accepted) / t.predicted_n) + " % drafted",
              t.draft_n_accepted + " of " + t.draft_n + " drafted tokens were accepted" + (shares.length ? ": " + shares.join(", ") : "")]);
  return parts;
}

function statsOf(m) {
  const t = m.timings;
  if (!t || !t.predicted_n) return [];
  const parts = [...speeds(t), ...drafting(m)];
  parts.push(["first token " + (t.prompt_ms >= 1000 ? (t.prompt_ms / 1000).toFixed(2) + " s" : Math.round(t.prompt_ms) + " ms"),
              t.prompt_n + " tokens of the prompt read, " + (t.cache_n || 0) + " known before"]);
  parts.push([t.predicted_n === 1 ? "1 token" : t.predicted_n + " tokens", m.since ? "length of what was added" : "length of the answer"]);
  if (Number.isFinite(m.seed)) parts.push(["seed " + m.seed, "the same request with this seed gives the same bytes"]);
  return parts;
}

export function showStats(box, m) {
  const stats = statsOf(m);
  while (box.children.length > stats.length) box.lastChild.remove();
  stats.forEach(([text, title], i) => {
    const s = box.children[i] || box.appendChild(make("span"));
    if (s.textContent !== text) s.textContent = text;
    s.title = title;
  });
}
