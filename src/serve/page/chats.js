// chats.js — conversations begin, are opened, kept, deleted, written to a file and read from one.
import { $, make, toast, count } from "./dom.js";
import { state } from "./state.js";
import { forgetViews, showChat, showChats, followEnd } from "./view.js";
import { showSide } from "./side.js";
import * as store from "./store.js";

export function listChats() {
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
  const w = state.writing, found = w && w.chat.id === id ? w.chat : store.get(id);
  if (!found) return;
  show(found);
  followEnd();
}

export function keep(c) {
  withdraw();
  const first = c.messages.find((m) => m.role === "user");
  if (!c.title && first) c.title = first.content.trim().split("\n")[0].slice(0, 80);
  c.changed = Date.now();
  store.put({ ...c, messages: c.messages.map(({ progress, ...m }) => m) });
  listChats();
}

function deleteChat(id) {
  const old = store.get(id), w = state.writing;
  if (w && w.chat.id === id) w.abort.abort();
  store.drop(id);
  if (state.chat.id === id) { state.chat = null; newChat(); }
  listChats();
  if (old) toast("Conversation deleted.", () => { store.put(old); openChat(id); });
}

export function forgetAll() {
  const old = store.all();
  if (state.writing) state.writing.abort.abort();
  for (const c of old) store.drop(c.id);
  state.chat = null;
  newChat();
  toast("All conversations deleted.", () => { old.forEach(store.put); listChats(); });
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
  const known = new Set(store.all().map((c) => c.id));
  for (const c of chats) {
    if (known.has(c.id)) c.id = store.newId();
    known.add(c.id);
    store.put(c);
  }
  toast(count(chats.length, "conversation") + " imported.");
  if (chats.length) openChat(chats[0].id);
}
