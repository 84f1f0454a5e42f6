// store.js — conversations and settings, kept by this browser alone.
//
// A conversation is {id, title, system, changed, messages}; a message {role, content} and, of an
// answer, what is known of it: `tokens` and `thoughtTokens` are its text token by token, as [length,
// place in a draft, whose]...: place 0 is the model's own token, below 0 unknown; whose: in `sources`.
// `since`, where it was gone on with: how long `thoughtTokens` and `tokens` were then; `timings` are of
// what came behind.
import { toast } from "./dom.js";

const CHAT = "forerun.chat.", SETTINGS = "forerun.settings";
let full = false;

// Whether there was room.
function write(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    full = false;
    return true;
  } catch {
    if (!full) toast("This browser has no room for more: the conversation is not kept. Export it, delete old ones.");
    full = true;
    return false;
  }
}

function read(key) {
  try { return JSON.parse(localStorage.getItem(key)); } catch { return null; }
}

const text = (x) => (typeof x === "string" ? x : "");
const number = (x) => (Number.isFinite(x) ? x : 0);

function call(c) {
  return { id: text(c && c.id), name: text(c && c.name), arguments: text(c && c.arguments) };
}

const isSince = (x) => Array.isArray(x) && x.length === 2 && x.every((n) => Number.isInteger(n) && n >= 0 && n % 3 === 0);

// Whatever a file or the storage holds as a message of ours; null: it is none.
function message(m) {
  if (!m || !["user", "assistant"].includes(m.role) || typeof m.content !== "string") return null;
  const out = { role: m.role, content: m.content };
  for (const name of ["thinking", "finish", "error"]) if (text(m[name])) out[name] = m[name];
  for (const name of ["tokens", "thoughtTokens"])
    if (Array.isArray(m[name]) && m[name].length % 3 === 0 && m[name].every(Number.isFinite)) out[name] = m[name];
  if (isSince(m.since)) out.since = m.since;
  if (Array.isArray(m.sources)) out.sources = m.sources.map((s) => text(s).slice(0, 80));
  if (Array.isArray(m.calls)) out.calls = m.calls.map(call);
  if (m.timings && typeof m.timings === "object")
    out.timings = Object.fromEntries(Object.entries(m.timings).filter(([, v]) => Number.isFinite(v)));
  if (Number.isFinite(m.seed)) out.seed = m.seed;
  if (m.edited === true) out.edited = true;
  return out;
}

export const newId = () => Date.now().toString(36) + Math.random().toString(36).slice(2, 8);

// The same for a conversation.
export function chat(c) {
  if (!c || !Array.isArray(c.messages)) return null;
  const messages = c.messages.map(message).filter(Boolean);
  const id = /^[\w-]{1,64}$/.test(text(c.id)) ? c.id : newId();
  return { id, title: text(c.title), system: text(c.system), changed: number(c.changed), messages };
}

// The last changed first.
export function all() {
  const keys = Object.keys(localStorage).filter((k) => k.startsWith(CHAT));
  return keys.map((k) => chat(read(k))).filter(Boolean).sort((a, b) => b.changed - a.changed);
}

export const isChat = (key) => key.startsWith(CHAT);
export const keyOf = (id) => CHAT + id;
export const get = (id) => chat(read(CHAT + id));
export const put = (c) => write(CHAT + c.id, c);
export const drop = (id) => localStorage.removeItem(CHAT + id);

export function settings() {
  const s = read(SETTINGS);
  return s && typeof s === "object" ? s : {};
}
export const putSettings = (s) => write(SETTINGS, s);
