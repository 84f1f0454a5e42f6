// settings.js — the dialog of settings. A field that is empty is the server's; a number has a slider
// beside it, which shows the server's where nothing is set.
import { $, make } from "./dom.js";
import { NUMBERS, fieldsOf, state } from "./state.js";
import { forgetAll, keep } from "./chats.js";
import { shortSpec, showLegend } from "./colours.js";
import * as store from "./store.js";

const fields = () => document.querySelectorAll("[data-set]");
const sliderOf = (name) => document.querySelector('[data-slide="' + name + '"]');

// What the server takes where the request does not say; null: nothing.
function usual(name) {
  const d = state.props ? state.props.default_generation_settings.params : {};
  const value = name === "max_tokens" ? d.n_predict : d[name];
  return Number.isFinite(value) && value >= 0 ? Math.round(value * 1e4) / 1e4 : null;
}

function showSlider(name) {
  const slider = sliderOf(name), set = state.settings[name];
  if (!slider) return;
  const given = set !== undefined && set !== "";
  slider.value = given ? set : usual(name) ?? slider.min;
  slider.classList.toggle("unset", !given);
  slider.setAttribute("aria-valuetext", given ? set : "the server’s, " + slider.value);
}

function checkMore() {
  const bad = !fieldsOf($("more").value);
  $("more-says").textContent = bad ? "That is no JSON object, so it is not sent." : "JSON; any field that the server takes, also “tools”.";
  $("more-says").className = bad ? "bad" : "";
}

function show() {
  for (const e of fields()) e.value = state.settings[e.dataset.set] ?? "";
  NUMBERS.forEach(showSlider);
  $("system").value = state.chat.system;
  $("more").value = state.settings.more || "";
  checkMore();
}

// The server's own settings and drafters, as empty fields show them.
export function showDefaults() {
  for (const name of NUMBERS) {
    const field = document.querySelector('[data-set="' + name + '"]');
    field.placeholder = usual(name) ?? (name === "seed" ? "random" : "no limit");
    showSlider(name);
  }
  const names = [...new Set(state.props.drafters)];
  $("drafter-field").hidden = names.length < 2;
  document.querySelector("[data-set=drafter]").replaceChildren(...names.map((name, i) => {
    const alone = names.filter((n) => shortSpec(n) === shortSpec(name)).length === 1;
    const o = make("option", "", (alone ? shortSpec(name) : name) + (i ? "" : " (the server’s)"));
    o.value = i ? name : "";
    return o;
  }));
}

function take(e) {
  const { settings, chat } = state, slides = e.target.dataset.slide, name = slides || e.target.dataset.set;
  if (slides) document.querySelector('[data-set="' + slides + '"]').value = e.target.value;
  if (name && e.target.checkValidity()) settings[name] = e.target.value;
  if (name) showSlider(name);
  if (e.target === $("more")) {
    settings.more = $("more").value.trim();
    checkMore();
  }
  if (e.target === $("system")) {
    settings.system = chat.system = $("system").value;
    if (chat.messages.length) keep(chat);
  }
  store.putSettings(settings);
  showLegend();
}

$("open-settings").onclick = () => { show(); $("settings").showModal(); };
for (const b of document.querySelectorAll("#settings .close")) b.onclick = () => $("settings").close();
$("settings").addEventListener("click", (e) => { if (e.target === $("settings")) $("settings").close(); });
$("settings").addEventListener("input", take);
$("reset").onclick = () => {
  for (const name of [...NUMBERS, "drafter", "more"]) delete state.settings[name];
  store.putSettings(state.settings);
  show();
};
$("forget").onclick = () => {
  $("settings").close();
  forgetAll();
};
