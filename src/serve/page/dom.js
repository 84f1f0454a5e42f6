// dom.js — elements, and what is said of them: short words on top, or to screen readers.
export const $ = (id) => document.getElementById(id);

export function make(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

// A copy of what a <template> of the page holds.
export const stamp = (id) => $(id).content.firstElementChild.cloneNode(true);

// To screen readers.
export function say(text) { $("status").textContent = text; }

let timer, shown = 0;
// To all, for some seconds; `undo` is called where it is wanted back. What is returned hides it early.
export function toast(text, undo) {
  const [span, button] = $("toast").children, mine = ++shown;
  span.textContent = text;
  button.hidden = !undo;
  button.onclick = () => { $("toast").hidden = true; undo(); };
  $("toast").hidden = false;
  clearTimeout(timer);
  timer = setTimeout(() => { $("toast").hidden = true; }, undo ? 8000 : 5000);
  return () => { if (mine === shown) $("toast").hidden = true; };
}

export async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // no secure context: the old way
    const area = make("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.classList.add("done");
  setTimeout(() => button.classList.remove("done"), 1200);
  say("Copied");
}

// As high as its text, up to a part of the window.
export function fit(area) {
  area.style.height = "auto";
  area.style.height = Math.min(area.scrollHeight + 2, innerHeight * 0.45) + "px";
}

export const count = (n, one, many) => (n === 1 ? "1 " + one : n.toLocaleString("en") + " " + (many || one + "s"));
