// live.js — what the server does now (GET /activity): users, passes, memory. Asked once a second
// while the panel is open and the page is seen, else never.
import { $, make } from "./dom.js";
import { state } from "./state.js";
import { markOf, namesOf } from "./colours.js";
import * as store from "./store.js";
import * as wire from "./wire.js";

const EVERY = 1000, KEPT = 60; // milliseconds; seconds in the picture
let timer = 0, before = null;
const seen = []; // {rows, tokens, rate}, the last KEPT

const short = (x) => (x >= 100 ? Math.round(x).toLocaleString("en") : x.toFixed(1));

function bytes(n) {
  if (n >= 2 ** 30) return (n / 2 ** 30).toFixed(2) + " GiB";
  return Math.round(n / 2 ** 20).toLocaleString("en") + " MiB";
}

// What passes were since the last look; null: there was none.
function since(now) {
  const p = now.passes, q = before && before.passes, seconds = before ? (now.at - before.at) / 1000 : 0;
  if (!q || p.passes < q.passes || !seconds) return null;
  const n = p.passes - q.passes;
  return { rows: n ? (p.rows - q.rows) / n : 0, tokens: n ? (p.tokens - q.tokens) / n : 0,
           rate: (p.tokens - q.tokens) / seconds };
}

// ---- the picture: rows of a pass behind, tokens of a pass before. Passes that read prompts have many
// times as many rows, which are cut, so that the others can be seen.

const SVG = "http://www.w3.org/2000/svg";

function bars(key, most) {
  return seen.map((s, i) => {
    const r = document.createElementNS(SVG, "rect"), h = Math.min(40, (38 * s[key]) / most);
    r.setAttribute("class", key);
    r.setAttribute("x", String((KEPT - seen.length + i) * 4));
    r.setAttribute("width", "3");
    r.setAttribute("y", String(40 - h));
    r.setAttribute("height", String(h));
    return r;
  });
}

function showPicture() {
  const of = (key) => Math.max(1, ...seen.map((s) => s[key]));
  const most = Math.min(of("rows"), 3 * of("tokens"));
  $("live-picture").replaceChildren(...bars("rows", most), ...bars("tokens", most));
}

// ---- numbers

function showNumbers(now, d) {
  const idle = !now.running, last = now.passes.last;
  const set = (id, text) => { $(id).textContent = text; };
  set("live-users", now.running + " of " + now.most + (now.paused ? " · " + now.paused + " paused" : "") + (now.waiting ? " · " + now.waiting + " wait" : ""));
  set("live-rate", d && !idle ? short(d.rate) : "–");
  set("live-rows", idle || !d || !d.rows ? "–" : short(d.rows));
  set("live-tokens", idle || !d || !d.rows ? "–" : d.tokens.toFixed(2));
  set("live-pass", now.passes.passes ? last.ms.toFixed(1) + " ms" : "–");
  $("live-pass").title = last.predicted_ms > 0 ? "predicted: " + last.predicted_ms.toFixed(1) + " ms" : "";
}

function showMemory(m) {
  const rest = Math.max(0, m.resident - m.weights - m.contexts), all = m.weights + m.contexts + rest;
  $("live-resident").textContent = bytes(m.resident);
  const parts = [["weights", "model", m.weights], ["contexts", "contexts", m.contexts], ["rest", "the rest", rest]];
  let x = 0;
  $("live-bar").replaceChildren(...parts.map(([name, , n]) => {
    const r = document.createElementNS(SVG, "rect"), width = all ? (100 * n) / all : 0;
    r.setAttribute("class", name);
    r.setAttribute("x", String(x));
    r.setAttribute("width", String(width));
    r.setAttribute("height", "8");
    x += width;
    return r;
  }));
  $("live-parts").replaceChildren(...parts.map(([name, words, n]) => {
    const li = make("li", name, words + " ");
    li.append(make("b", "", bytes(n)));
    return li;
  }));
}

// ---- contexts

function stateOf(s) {
  if (!s.is_processing) return s.n_tokens ? "kept" : "free";
  if (s.n_prompt_tokens_processed < s.n_prompt_tokens && !s.next_token[0].n_decoded)
    return "reads " + Math.round((100 * s.n_prompt_tokens_processed) / s.n_prompt_tokens) + " %";
  return "writes " + s.next_token[0].n_decoded;
}

function contextView(s) {
  const li = make("li", s.is_processing ? "works" : ""), who = make("span", "who"), meter = make("meter");
  const names = namesOf(s.drafter);
  who.append(...(names.length ? names : [s.drafter === "auto" ? "auto" : "plain"]).map((n, i) => {
    const e = make("span", names.length ? "d " + markOf(n) : "", n);
    return i ? [" ", e] : [e];
  }).flat());
  meter.max = s.n_ctx;
  meter.value = s.n_tokens;
  meter.title = s.n_tokens.toLocaleString("en") + " of " + s.n_ctx.toLocaleString("en") + " tokens";
  meter.setAttribute("aria-label", "Context " + s.id + ", " + meter.title);
  li.append(make("b", "", String(s.id)), make("span", "what", stateOf(s)), who, meter);
  return li;
}

// ---- looking

function showFault(e) {
  $("live-says").textContent = e.status === 501 ? "This server does not tell (--no-slots)." :
    e.status === 401 ? "This server asks for a key." : "The server does not answer: " + e.message;
}

async function look() {
  clearTimeout(timer);
  if ($("live").hidden || document.hidden) return;
  let again = true;
  try {
    const now = await wire.get("activity");
    now.at = performance.now();
    const d = since(now);
    if (d) seen.push(d);
    if (seen.length > KEPT) seen.shift();
    showNumbers(now, d);
    showPicture();
    showMemory(now.memory);
    $("live-slots").replaceChildren(...now.slots.map(contextView));
    before = now;
    $("live-says").textContent = "";
  } catch (e) {
    before = null;
    showFault(e);
    again = e.status !== 501;
  }
  $("live-all").hidden = !before;
  clearTimeout(timer);
  if (again) timer = setTimeout(look, EVERY);
}

export function showLive(on) {
  $("live").hidden = !on;
  $("show-live").setAttribute("aria-expanded", String(on));
  state.settings.live = on;
  store.putSettings(state.settings);
  before = null;
  seen.length = 0;
  if (on) look();
}

$("show-live").onclick = () => showLive($("live").hidden);
$("hide-live").onclick = () => { showLive(false); $("show-live").focus(); };
document.addEventListener("visibilitychange", look);
