// main.js — the page begins: the prompt, the keys, and what is pressed beside them.
import { $, fit, make, toast } from "./dom.js";
import { state } from "./state.js";
import { changedElsewhere, exportAll, importFile, newChat } from "./chats.js";
import { showLive } from "./live.js";
import { load } from "./server.js";
import { showSide } from "./side.js";
import { edit, keepWriting, send, stop } from "./talk.js";
import { showChat, stayAtEnd } from "./view.js";
import * as store from "./store.js";

const IDEAS = ["Write a C function that reverses a string in place, and explain it.",
               "Explain speculative decoding with a comparison from everyday life.",
               "Make a table of five programming languages: name, year, typing."];

// ---- the prompt

const prompt = $("prompt");

function submit() {
  const { writing, chat } = state, text = prompt.value;
  if (writing && writing.chat !== chat) toast("Another conversation is being answered.");
  if (writing) return;
  prompt.value = "";
  fit(prompt);
  send(text);
  prompt.focus();
}

function editLast(e) {
  const last = [...state.chat.messages].reverse().find((m) => m.role === "user");
  if (!last) return;
  e.preventDefault();
  edit(last);
}

prompt.addEventListener("input", () => fit(prompt));
prompt.addEventListener("keydown", (e) => {
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
    e.preventDefault();
    submit();
  } else if (e.key === "ArrowUp" && !prompt.value && !state.writing) {
    editLast(e);
  }
});
$("send").onclick = submit;
$("stop").onclick = stop;
for (const idea of IDEAS) {
  const b = make("button", "", idea);
  b.onclick = () => { if (!state.writing) send(idea); };
  $("ideas").append(b);
}

// ---- keys

const WITH_ALT = { KeyN: newChat, KeyD: () => $("drafted").click(), KeyL: () => $("show-live").click() };

document.addEventListener("keydown", (e) => {
  const typing = /^(TEXTAREA|INPUT|SELECT)$/.test(e.target.tagName);
  if (document.querySelector("dialog[open]")) return;
  if (e.key === "Escape" && document.body.classList.contains("side")) $("hide-side").click();
  else if (e.key === "Escape" && state.writing) stop();
  else if (e.key === "/" && !typing) { e.preventDefault(); prompt.focus(); }
  else if (e.altKey && WITH_ALT[e.code]) { e.preventDefault(); WITH_ALT[e.code](); }
});

// ---- buttons

$("new").onclick = () => { showSide(false); newChat(); };
$("export").onclick = exportAll;
$("import").onclick = () => $("import-file").click();
$("import-file").onchange = (e) => {
  if (e.target.files[0]) importFile(e.target.files[0]);
  e.target.value = "";
};
$("drafted").onchange = (e) => {
  state.settings.drafted = e.target.checked;
  store.putSettings(state.settings);
  showChat();
  stayAtEnd();
};

// ---- begin

addEventListener("storage", (e) => { if (e.key && store.isChat(e.key)) changedElsewhere(e.key); }); // another tab
addEventListener("pagehide", keepWriting);
$("drafted").checked = !!state.settings.drafted;
newChat();
load();
if (state.settings.live) showLive(true);
