// chats.js — conversations begin, are opened, kept, deleted, written to a file and read from one.
import { $, make, toast, count } from "./dom.js";
import { state } from "./state.js";
import { forgetViews, showChat, showChats, followEnd, stayAtEnd } from "./view.js";
import { showSide } from "./side.js";
import * as store from "./store.js";

function listChats() {
  showChats((id) => { openChat(id); showSide(false); }, deleteChat);
}

let withdraw = () => {};

// Tells of a change to the shown conversation. It can be undone until the next change, an answer or
// another conversation.
export function offerUndo(text, undo) {
  withdraw = toast(text, undo);
}

function show(chat) {
  withdraw();
  state.chat = chat;
  forgetViews();
  showChat();
  listChats();
}

export function newChat() {
  const { chat, settings } = state;
  if (!chat || chat.messages.length)
    show({ id: store.newId(), title: "", system: settings.system || "", changed: Date.now(), messages: [] });
  $("prompt").focus();
}

export function openChat(id) {
  const w = state.writing, found = w && w.chat.id === id ? w.chat : read(id);
  if (!found) return;
  show(found);
  followEnd();
}

// ---- other tabs, which keep conversations in the same place

const known = new WeakMap(); // conversation -> how many messages of it the store had when last read or written

function read(id) {
  const c = store.get(id);
  if (c) known.set(c, c.messages.length);
  return c;
}

// Shows a conversation as it is stored now.
function reload(id) {
  const c = state.chat.id === id && read(id);
  if (!c) {
    listChats();
    return;
  }
  show(c);
  stayAtEnd();
}

export function changedElsewhere(key) {
  const { chat, writing } = state;
  if (key === store.keyOf(chat.id) && !(writing && writing.chat === chat) && !$("messages").querySelector(".edit")) reload(chat.id);
  else listChats();
}

// The same message, or an answer of which the store has the beginning.
const goesWith = (m, stored) => m.role === stored.role &&
  (m.content === stored.content || (m.role === "assistant" && m.content.startsWith(stored.content)));

// Takes over what another tab has stored since `c` was read. False: it does not fit what was done here.
function merge(c) {
  const stored = store.get(c.id);
  if (!stored || stored.changed <= c.changed) return true;
  const theirs = stored.messages, mine = c.messages;
  let n = 0;
  while (n < theirs.length && n < mine.length && goesWith(mine[n], theirs[n])) n++;
  if (n < (known.get(c) || 0)) return false;
  mine.splice(n, 0, ...theirs.slice(n));
  c.changed = stored.changed;
  if (state.chat === c) showChat();
  return true;
}

const put = (c) => store.put({ ...c, messages: c.messages.map(({ progress, ...m }) => m) });

// False: another tab has changed it otherwise, and what that has is shown instead.
export function keep(c) {
  withdraw();
  if (!merge(c)) {
    toast("This conversation was changed in another tab. What is kept is shown.");
    reload(c.id);
    return false;
  }
  const first = c.messages.find((m) => m.role === "user");
  if (!c.title && first) c.title = first.content.trim().split("\n")[0].slice(0, 80);
  c.changed = Math.max(Date.now(), c.changed + 1);
  known.set(c, c.messages.length);
  put(c);
  listChats();
  return true;
}

// Ends the answer at work in the conversation `id`, or in any where there is none. Its conversation,
// of which the store has not all; null: none is at work there.
function endAnswer(id) {
  const w = state.writing;
  if (!w || (id && w.chat.id !== id)) return null;
  w.abort.abort();
  return w.chat;
}

function deleteChat(id) {
  const old = endAnswer(id) || store.get(id);
  store.drop(id);
  if (state.chat.id === id) { state.chat = null; newChat(); }
  listChats();
  if (old) toast("Conversation deleted.", () => { put(old); openChat(id); });
}

export function forgetAll() {
  const busy = endAnswer(), old = store.all().map((c) => (busy && busy.id === c.id ? busy : c));
  for (const c of old) store.drop(c.id);
  state.chat = null;
  newChat();
  toast("All conversations deleted.", () => { old.forEach(put); listChats(); });
}

// ---- files

export function exportAll() {
  const file = new Blob([JSON.stringify({ forerun: 2, chats: store.all() }, null, 1)], { type: "application/json" });
  const a = make("a");
  a.href = URL.createObjectURL(file);
  a.download = "forerun-conversations-" + new Date().toISOString().slice(0, 10) + ".json";
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}

export async function importFile(file) {
  let chats;
  try {
    chats = JSON.parse(await file.text()).chats.map(store.chat).filter((c) => c && c.messages.length);
  } catch {
    toast("That file holds no conversations of forerun.");
    return;
  }
  const ids = new Set(store.all().map((c) => c.id));
  const kept = chats.filter((c) => {
    if (ids.has(c.id)) c.id = store.newId();
    ids.add(c.id);
    return store.put(c);
  });
  const lost = chats.length - kept.length;
  if (kept.length) openChat(kept[0].id);
  toast(count(kept.length, "conversation") + " imported." +
    (lost ? " " + count(lost, "conversation") + " found no room in this browser." : ""));
}
