// side.js — the list of conversations, which lies above the page where that is narrow.
import { $ } from "./dom.js";

const narrow = matchMedia("(max-width: 52rem)");

export function showSide(on) {
  document.body.classList.toggle("side", on);
  $("shade").hidden = !on;
  $("main").inert = on && narrow.matches;
  $("show-side").setAttribute("aria-expanded", String(on));
}

$("show-side").onclick = () => { showSide(true); $("new").focus(); };
$("hide-side").onclick = () => { showSide(false); $("show-side").focus(); };
$("shade").onclick = () => showSide(false);
narrow.onchange = () => showSide(false);
