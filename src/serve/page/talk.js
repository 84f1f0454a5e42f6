// talk.js — a conversation becomes a request, the events of its answer a message: asking, stopping,
// asking again, editing.
import { $, copy, fit, say, stamp } from "./dom.js";
import { NUMBERS, fieldsOf, state } from "./state.js";
import { keep, offerUndo } from "./chats.js";
import { followEnd, showChat, showSoon, stayAtEnd, viewOf } from "./view.js";
import { askKey } from "./key.js";
import * as store from "./store.js";
import * as wire from "./wire.js";

// ---- the request

function messageFor(m) {
  const out = { role: m.role, content: m.content };
  if (m.calls && m.calls.length)
    out.tool_calls = m.calls.map((f) => ({ id: f.id, type: "function", function: { name: f.name, arguments: f.arguments } }));
  return out;
}

// Of an answer that is gone on with, its thinking too.
function bodyOf(c, messages) {
  const { settings, props } = state, last = messages[messages.length - 1];
  const body = { stream_options: { include_usage: true }, return_drafted: true, return_progress: true,
                 timings_per_token: true };
  for (const name of NUMBERS) if (settings[name] !== undefined && settings[name] !== "") body[name] = Number(settings[name]);
  if (settings.drafter && props && props.drafters.includes(settings.drafter)) body.drafter = settings.drafter;
  Object.assign(body, fieldsOf(settings.more || "")); // null adds none; the settings say so
  Object.assign(body, { stream: true, n: 1, messages: messages.map(messageFor) }); // so it is read
  delete body.n_cmpl; // llama.cpp's name of n
  if (c.system.trim()) body.messages.unshift({ role: "system", content: c.system });
  if (last.role === "assistant" && last.thinking) body.messages.at(-1).reasoning_content = last.thinking;
  return body;
}

// ---- the answer

function takeCalls(m, calls) {
  for (const call of calls) {
    m.calls = m.calls || [];
    const known = m.calls[call.index] || (m.calls[call.index] = { id: "", name: "", arguments: "" });
    known.id += call.id || "";
    known.name += (call.function && call.function.name) || "";
    known.arguments += (call.function && call.function.arguments) || "";
  }
}

function takePiece(m, piece) {
  const text = piece.content || piece.reasoning_content, name = piece.content ? "tokens" : "thoughtTokens";
  if (!text) return;
  m.sources = m.sources || [];
  let whose = 0;
  if (piece.drafted) {
    whose = m.sources.indexOf(piece.drafter || "drafted");
    if (whose < 0) whose = m.sources.push(piece.drafter || "drafted") - 1;
  }
  (m[name] = m[name] || []).push(text.length, piece.drafted, whose);
}

// What an event adds to the answer.
function take(m, event) {
  const choice = (event.choices || []).find((x) => !x.index), p = event.prompt_progress;
  if (p && p.total - p.cache > 256) m.progress = "Reading " + Math.round((100 * p.processed) / p.total) + " %";
  if (event.timings && !p) m.timings = event.timings;
  if (Number.isFinite(event.seed)) m.seed = event.seed;
  if (!choice) return;
  if (choice.finish_reason) m.finish = choice.finish_reason;
  const d = choice.delta || {};
  m.thinking = (m.thinking || "") + (d.reasoning_content || "");
  m.content += d.content || "";
  takeCalls(m, d.tool_calls || []);
  for (const piece of choice.pieces || []) takePiece(m, piece);
}

function takeFault(m, e) {
  if (e.name === "AbortError") m.finish = "stopped";
  else m.error = e.status ? e.message : "The answer broke off: " + e.message;
  if (e.status === 401) askKey();
  say(m.error || "Stopped");
}

// What is measured from here on is of what is added.
function goOn(m) {
  if (!m.tokens) m.tokens = [m.content.length, -1, 0]; // of these nothing is known
  if (m.thinking && !m.thoughtTokens) m.thoughtTokens = [m.thinking.length, -1, 0];
  m.since = [(m.thoughtTokens || []).length, m.tokens.length];
  delete m.timings;
}

// Has the last message of the conversation, an answer, written; what it has is gone on with.
export async function answer() {
  const c = state.chat, m = c.messages[c.messages.length - 1], goesOn = !!(m.content || m.thinking);
  state.writing = { chat: c, message: m, abort: new AbortController() };
  delete m.error;
  delete m.finish;
  if (goesOn) goOn(m);
  if (!keep(c)) {
    state.writing = null;
    showChat();
    return;
  }
  const asked = bodyOf(c, c.messages.slice(0, c.messages.indexOf(m) + (goesOn ? 1 : 0)));
  showChat();
  followEnd();
  say("The answer is being written");
  try {
    await wire.stream("v1/chat/completions", asked, state.writing.abort.signal, (event) => { take(m, event); showSoon(); });
    say("The answer is complete");
  } catch (e) {
    takeFault(m, e);
  }
  delete m.progress;
  state.writing = null;
  if (store.get(c.id)) keep(c); // it was not deleted meanwhile
  showChat();
  if (state.chat === c) stayAtEnd();
}

export function send(text) {
  if (state.writing || !text.trim()) return;
  const c = state.chat;
  c.messages.push({ role: "user", content: text }, { role: "assistant", content: "" });
  answer();
  if (state.chat !== c) $("prompt").value = text; // another tab had changed it: what is shown is to be seen first
}

export function stop() {
  if (state.writing) state.writing.abort.abort();
}

// What there is of an answer stays where the page is left.
export function keepWriting() {
  if (!state.writing) return;
  state.writing.message.finish = "stopped";
  keep(state.writing.chat);
}

// ---- what can be done with a message

function retry(m) {
  const messages = state.chat.messages, i = messages.indexOf(m), from = m.role === "user" ? i + 1 : i;
  messages.splice(from, Infinity, { role: "assistant", content: "" });
  answer();
}

function remove(m) {
  const c = state.chat, i = c.messages.indexOf(m), old = c.messages.splice(i);
  if (!keep(c)) return;
  showChat();
  offerUndo(old.length === 1 ? "Message deleted." : old.length + " messages deleted.", () => {
    if (state.chat !== c || state.writing || c.messages.length !== i) return;
    c.messages.push(...old);
    keep(c);
    showChat();
  });
}

function change(m, text) {
  m.content = text;
  for (const name of ["tokens", "since", "timings", "seed", "error", "finish"]) delete m[name];
  if (m.role === "user") {
    retry(m);
    return;
  }
  m.edited = true;
  keep(state.chat);
  showChat();
}

export function edit(m) {
  const li = viewOf(m), there = li.querySelector(".edit textarea");
  if (there) there.focus();
  else openEdit(m, li);
}

function openEdit(m, li) {
  const box = stamp("t-edit"), area = box.querySelector("textarea"), save = box.querySelector(".save");
  const done = () => { box.remove(); li.classList.remove("edits"); showChat(); };
  const leave = () => { done(); $("prompt").focus(); };
  area.value = m.content;
  save.textContent = m.role === "user" ? "Send" : "Save";
  box.querySelector(".cancel").onclick = leave;
  save.onclick = () => {
    if (state.writing) return;
    done();
    change(m, area.value);
    $("prompt").focus();
  };
  area.onkeydown = (e) => {
    const sends = e.ctrlKey || e.metaKey || (m.role === "user" && !e.shiftKey);
    if (e.key === "Escape") { e.stopPropagation(); leave(); }
    if (e.key === "Enter" && sends && !e.isComposing) { e.preventDefault(); save.click(); }
  };
  area.oninput = () => fit(area);
  li.classList.add("edits");
  li.firstElementChild.after(box);
  fit(area);
  area.focus();
  box.scrollIntoView({ block: "nearest" });
}

const ACTS = { copy: (m, button) => copy(m.content, button), edit, retry, delete: remove, continue: () => answer() };

$("messages").addEventListener("click", (e) => {
  const act = e.target.closest("[data-act]"), block = e.target.closest(".code-head button");
  if (block) copy(block.closest(".code").querySelector("code").textContent, block);
  if (act && !act.disabled) ACTS[act.dataset.act](act.closest("li.user, li.assistant").message, act);
});
