// document.mjs — as much of a browser as the page's modules use, made of page.html: no layout, no styles.

class Classes {
  constructor(e) { this.e = e; }
  all() { return new Set(this.e.className.split(" ").filter(Boolean)); }
  contains(name) { return this.all().has(name); }
  add(name) { this.toggle(name, true); }
  remove(name) { this.toggle(name, false); }
  toggle(name, on = !this.contains(name)) {
    const all = this.all();
    if (on) all.add(name);
    else all.delete(name);
    this.e.className = [...all].join(" ");
  }
}

class Element {
  constructor(tag) {
    Object.assign(this, { tagName: tag.toUpperCase(), attributes: {}, children: [], texts: "", parent: null, listeners: {}, style: {},
                          dataset: {}, value: "", hidden: false, checked: false, open: false, scrollHeight: 0, scrollTop: 0 });
    this.classList = new Classes(this);
  }
  get id() { return this.attributes.id; }
  get className() { return this.attributes.class || ""; }
  set className(text) { this.attributes.class = text; }
  get textContent() { return this.texts + this.children.map((c) => c.textContent).join(""); }
  set textContent(text) { this.replaceChildren(); this.texts = String(text); }
  get firstElementChild() { return this.children[0] || null; }
  get firstChild() { return this.firstElementChild; }
  get lastChild() { return this.children[this.children.length - 1] || null; }
  get childNodes() { return this.children; }
  get content() { return this; } // of a template
  setAttribute(name, value) {
    this.attributes[name] = value;
    if (name.startsWith("data-")) this.dataset[name.slice(5)] = value;
    if (["value", "hidden", "className"].includes(name)) this[name] = name === "hidden" || value;
  }
  remove() {
    if (this.parent) this.parent.children = this.parent.children.filter((c) => c !== this);
    this.parent = null;
  }
  insertBefore(child, next) {
    child.remove();
    child.parent = this;
    this.children.splice(next ? this.children.indexOf(next) : this.children.length, 0, child);
    return child;
  }
  appendChild(child) { return this.insertBefore(child, null); }
  append(...all) { for (const c of all) if (c instanceof Element) this.appendChild(c); else this.texts += c; }
  after(child) { this.parent.insertBefore(child, this.parent.children[this.parent.children.indexOf(this) + 1] || null); }
  replaceChildren(...all) {
    for (const c of [...this.children]) c.remove();
    this.texts = "";
    this.append(...all);
  }
  cloneNode() {
    const e = new Element(this.tagName);
    for (const [name, value] of Object.entries(this.attributes)) e.setAttribute(name, value);
    e.texts = this.texts;
    e.append(...this.children.map((c) => c.cloneNode()));
    return e;
  }
  addEventListener(name, f) { (this.listeners[name] = this.listeners[name] || []).push(f); }
  // Calls what listens, here and above.
  tell(name, more = {}) {
    const event = { target: this, preventDefault() {}, stopPropagation() {}, ...more };
    for (let e = this; e; e = e.parent)
      for (const f of [e["on" + name], ...(e.listeners[name] || [])]) if (f) f(event);
  }
  click() { if (!this.disabled) this.tell("click"); }
  focus() { globalThis.document.activeElement = this; }
  scrollIntoView() {}
  checkValidity() { return true; }
  showModal() { this.open = true; }
  close() { this.open = false; }
  *below() { // what a template holds is no part of the page
    for (const c of this.children) {
      yield c;
      if (c.tagName !== "TEMPLATE") yield* c.below();
    }
  }
  matches(selector) { return selector.split(/, */).some((one) => matches(this, one.trim().split(/ +/))); }
  closest(selector) {
    for (let e = this; e; e = e.parent) if (e.matches(selector)) return e;
    return null;
  }
  querySelectorAll(selector) { return [...this.below()].filter((e) => e.matches(selector)); }
  querySelector(selector) { return this.querySelectorAll(selector)[0] || null; }
}

// Words of a selector, of which the last is the element's and the others stand above it.
function matches(e, words) {
  if (!matchesOne(e, words[words.length - 1])) return false;
  if (words.length === 1) return true;
  for (let p = e.parent; p; p = p.parent) if (matches(p, words.slice(0, -1))) return true;
  return false;
}

function matchesOne(e, word) {
  const parts = word.match(/:not\([^)]*\)|\[[^\]]*\]|[.#]?[\w-]+/g);
  return parts.every((p) => {
    if (p.startsWith(":not(")) return !matchesOne(e, p.slice(5, -1));
    if (p.startsWith("#")) return e.id === p.slice(1);
    if (p.startsWith(".")) return e.classList.contains(p.slice(1));
    if (!p.startsWith("[")) return e.tagName === p.toUpperCase();
    const [name, value] = p.slice(1, -1).replaceAll('"', "").split("=");
    return name === "open" ? e.open : value === undefined ? name in e.attributes : e.attributes[name] === value;
  });
}

const EMPTY = /^(meta|link|input|path|rect|circle|img|br|hr)$/;

// A page that closes what it opens.
function parse(html) {
  const root = new Element("document");
  let at = root;
  for (const [, end, tag, given, text] of html.replace(/<!doctype[^>]*>/, "").matchAll(/<(\/?)([\w-]+)((?:"[^"]*"|'[^']*'|[^>"'])*)>|([^<]+)/g)) {
    if (text) at.texts += text.trim();
    else if (end) at = at.parent;
    else {
      const e = at.appendChild(new Element(tag));
      for (const [, name, , value] of given.matchAll(/([\w-]+)(=["']([^"']*)["'])?/g)) e.setAttribute(name, value || "");
      if (!EMPTY.test(tag) && !given.endsWith("/")) at = e;
    }
  }
  return root;
}

// Where the browser keeps things; `room`: bytes that it takes.
class Storage {
  constructor() { Object.defineProperty(this, "room", { value: Infinity, writable: true }); }
  getItem(key) { return Object.hasOwn(this, key) ? this[key] : null; }
  setItem(key, value) {
    const used = Object.entries(this).reduce((n, [k, v]) => n + (k === key ? 0 : v.length), 0);
    if (used + value.length > this.room) throw new Error("QuotaExceededError");
    this[key] = value;
  }
  removeItem(key) { delete this[key]; }
}

// A new browser, whose window is all that is global here.
export function openBrowser(html) {
  const window = new Element("window"), root = parse(html);
  Object.assign(root, { body: root.querySelector("body"), createElement: (tag) => new Element(tag),
                        createElementNS: (ns, tag) => new Element(tag), createTextNode: (text) => text,
                        getElementById: (id) => root.querySelector("#" + id), execCommand() {} });
  Object.assign(globalThis, { document: root, localStorage: new Storage(), sessionStorage: new Storage(), innerHeight: 800,
                              addEventListener: (name, f) => window.addEventListener(name, f),
                              matchMedia: () => ({ matches: false, addEventListener() {} }),
                              requestAnimationFrame: (f) => setTimeout(f, 0) });
  return window;
}
