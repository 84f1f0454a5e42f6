// view.js — the shown conversation: its messages, the list of conversations, and scrolling.
import { $, make, stamp } from "./dom.js";
import { state, contextOf } from "./state.js";
import { colours, showLegend } from "./colours.js";
import { showStats } from "./numbers.js";
import * as markdown from "./markdown.js";
import * as store from "./store.js";

const views = new Map(); // message -> its element
const ENDS = { length: "Ended at the limit of tokens.", stopped: "Stopped." };

export const viewOf = (m) => views.get(m);
export function forgetViews() {
  views.clear();
  $("messages").replaceChildren();
}

// ---- a message

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

function partsOf(body) {
  if (body.parts) return body.parts;
  const [think, thoughts, text, calls, note] = ["details", "div", "div", "div", "p"].map((t) => make(t));
  think.append(make("summary"), thoughts);
  think.className = "thinking";
  thoughts.className = text.className = "md";
  body.replaceChildren(think, text, calls, note);
  return (body.parts = { think, thoughts, text, calls, note });
}

// Fills the parts of an answer; those that it has not stay hidden.
function showAnswer(li, m) {
  const p = partsOf(li.firstElementChild), busy = state.writing && state.writing.message === m;
  const colour = (tokens) => (state.settings.drafted && tokens ? colours(tokens, m.sources || []) : null);
  p.think.hidden = !m.thinking;
  if (m.thinking) {
    p.think.firstChild.textContent = busy && !m.content ? "Thinking …" : "Thinking";
    markdown.show(p.thoughts, m.thinking, colour(m.thoughtTokens));
  }
  markdown.show(p.text, m.content, colour(m.tokens));
  showCalls(p.calls, m.calls);
  p.note.className = m.error ? "bad" : "note";
  p.note.textContent = m.error || (busy ? (!m.content && !m.thinking && m.progress) || "" : ENDS[m.finish] || "");
  p.note.hidden = !p.note.textContent;
  li.classList.toggle("busy", !!busy);
  li.classList.toggle("waits", !!busy && !m.content && !m.thinking);
  showStats(li.querySelector(".stats"), m);
}

function newView(m) {
  const li = stamp("t-message");
  li.className = m.role;
  li.setAttribute("aria-label", m.role === "user" ? "You" : "Answer");
  li.message = m;
  views.set(m, li);
  return li;
}

function showMessage(m, last) {
  const li = views.get(m) || newView(m), busy = state.writing && state.writing.message === m;
  if (m.role === "user") li.firstElementChild.textContent = m.content;
  else showAnswer(li, m);
  const goesOn = m.role === "assistant" && last && !busy && !m.error && (m.content || m.thinking) &&
    (m.finish === "length" || m.finish === "stopped" || m.edited);
  li.querySelector("[data-act=continue]").hidden = !goesOn;
  for (const b of li.querySelectorAll(".acts button:not([data-act=copy])")) b.disabled = !!state.writing;
  return li;
}

// ---- the conversation

export function showChat() {
  const { chat, writing } = state, n = chat.messages.length, list = $("messages");
  const wanted = chat.messages.map((m, i) => showMessage(m, i === n - 1));
  wanted.forEach((li, i) => { if (list.children[i] !== li) list.insertBefore(li, list.children[i] || null); });
  while (list.children.length > n) list.lastChild.remove();
  list.hidden = !n;
  $("welcome").hidden = n > 0;
  const busy = !!writing && writing.chat === chat;
  $("stop").hidden = !busy;
  $("send").hidden = busy;
  document.title = chat.title ? chat.title + " · forerun" : "forerun";
  showLegend();
  showUse();
}

export function showUse() {
  const last = [...state.chat.messages].reverse().find((m) => m.timings), n_ctx = contextOf();
  const t = last && last.timings;
  const used = t ? (t.cache_n || 0) + t.prompt_n + t.predicted_n : 0;
  $("used").textContent = n_ctx ? used.toLocaleString("en") + " of " + n_ctx.toLocaleString("en") + " tokens" : "";
  $("used").classList.toggle("bad", !!n_ctx && used > 0.9 * n_ctx);
}

let planned = false;
// What was added to the answer at work, at most once a frame.
export function showSoon() {
  if (planned) return;
  planned = true;
  requestAnimationFrame(() => {
    planned = false;
    const w = state.writing;
    if (!w || w.chat !== state.chat) return;
    showAnswer(views.get(w.message) || showMessage(w.message, true), w.message);
    if (state.settings.drafted) showLegend();
    showUse();
    if (follows) toEnd();
  });
}

// ---- all conversations; `open` and `remove` are called with an id

export function showChats(open, remove) {
  const chats = store.all(), shown = state.chat;
  if (!chats.some((c) => c.id === shown.id)) chats.unshift(shown);
  $("chats").replaceChildren(...chats.map((c) => {
    const li = stamp("t-chat"), button = li.querySelector(".open"), title = c.title || "New conversation";
    button.textContent = button.title = title;
    if (c.id === shown.id) button.setAttribute("aria-current", "true");
    button.onclick = () => open(c.id);
    li.querySelector(".delete").setAttribute("aria-label", "Delete conversation: " + title);
    li.querySelector(".delete").onclick = () => remove(c.id);
    return li;
  }));
}

// ---- scrolling: the end stays in sight while nobody looks elsewhere

let follows = true;
const fromEnd = () => $("scroll").scrollHeight - $("scroll").scrollTop - $("scroll").clientHeight;
function toEnd() { $("scroll").scrollTop = $("scroll").scrollHeight; }
export function followEnd() { follows = true; toEnd(); }
export function stayAtEnd() { if (follows) toEnd(); }

$("scroll").addEventListener("scroll", () => {
  follows = fromEnd() < 60;
  $("to-end").hidden = fromEnd() < 240;
}, { passive: true });
$("to-end").onclick = followEnd;
