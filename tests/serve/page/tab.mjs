// tab.mjs — a page of its own for each test: its modules, a browser that is new, and a server that says what the test wants.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { openBrowser } from "./document.mjs";

const [source, folder] = process.argv.slice(2);
const PROPS = { model_alias: "m", isa: "i", drafters: ["none"], default_generation_settings: { n_ctx: 4096, params: {} } };
let tabs = 0;

// What a tab has put off ends with it: its notice is hidden after seconds, in whatever document is shown then.
const later = globalThis.setTimeout, putOff = new Set();
globalThis.setTimeout = (act, ms, ...given) => {
  const timer = later(act, ms, ...given);
  if (ms > 500) putOff.add(timer);
  return timer;
};

// Lets everything that waits go on.
export const settle = () => new Promise((r) => setTimeout(r, 5));

// An answer that the test writes: say(event), end().
class Answer {
  constructor(body, signal) {
    this.asked = JSON.parse(body);
    this.stream = new ReadableStream({ start: (c) => { this.out = c; } });
    signal.addEventListener("abort", () => this.out.error(Object.assign(new Error("aborted"), { name: "AbortError" })));
  }
  async write(text) {
    this.out.enqueue(new TextEncoder().encode("data: " + text + "\n\n"));
    await settle();
  }
  event(event) { return this.write(JSON.stringify(event)); }
  text(content, index = 0) { return this.event({ choices: [{ index, delta: { content } }] }); }
  async end() {
    await this.write("[DONE]");
    this.out.close();
    await settle();
  }
}

export async function openTab(kept = {}) {
  const own = folder + "/" + tabs++, window = openBrowser(readFileSync(source + "/page.html", "utf8"));
  putOff.forEach(clearTimeout);
  putOff.clear();
  mkdirSync(own);
  cpSync(source, own, { recursive: true });
  writeFileSync(own + "/package.json", '{"type": "module"}');
  for (const [key, value] of Object.entries(kept)) localStorage.setItem(key, JSON.stringify(value));
  const answers = [];
  globalThis.fetch = async (path, { body, signal } = {}) => {
    if (path === "props") return { ok: true, json: async () => PROPS };
    answers.push(new Answer(body, signal));
    return { ok: true, body: answers[answers.length - 1].stream };
  };
  const names = ["main", "state", "store", "chats", "talk", "numbers"];
  const [main, { state }, ...parts] = await Promise.all(names.map((name) => import(own + "/" + name + ".js")));
  await settle();
  return new Tab(window, state, answers, Object.fromEntries(parts.map((p, i) => [names[i + 2], p])));
}

class Tab {
  constructor(window, state, answers, parts) { Object.assign(this, { window, state, answers, ...parts }); }
  get messages() { return this.state.chat.messages; }
  get texts() { return this.messages.map((m) => m.content); }
  get last() { return this.answers[this.answers.length - 1]; }
  stored(id) { return this.store.get(id).messages.map((m) => m.content); }
  $(selector) { return document.querySelector(selector); }
  toast() { return this.$("#toast").hidden ? "" : this.$("#toast").children[0].textContent; }
  canUndo() { return !this.$("#toast").hidden && !this.$("#toast button").hidden; }
  async undo() {
    this.$("#toast button").click();
    await settle();
  }
  async act(i, name) { // what stands below the message i
    const button = document.querySelectorAll("#messages li")[i].querySelector("[data-act=" + name + "]");
    button.tell("click");
    await settle();
  }
  async ask(text) {
    this.talk.send(text);
    await settle();
  }
  async asked(text, answer) {
    await this.ask(text);
    await this.last.text(answer);
    await this.last.end();
  }
  set(selector, value) {
    const field = this.$(selector);
    field.value = value;
    field.tell("input");
  }
  // What another tab would do with a conversation, and what this one hears of it.
  async elsewhere(id, change) {
    const c = this.store.get(id);
    change(c);
    c.changed = Date.now() + 10;
    localStorage.setItem("forerun.chat." + id, JSON.stringify(c));
    return () => { this.window.tell("storage", { key: "forerun.chat." + id, newValue: "x" }); return settle(); };
  }
}
