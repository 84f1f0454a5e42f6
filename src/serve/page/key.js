// key.js — asks for the key of a server that wants one.
import { $ } from "./dom.js";
import { load } from "./server.js";
import * as wire from "./wire.js";

export function askKey() {
  if ($("key").open) return;
  $("key-text").value = "";
  $("key-says").textContent = "";
  $("key").showModal();
}

async function tryKey() {
  wire.setKey($("key-text").value.trim());
  const e = await load();
  if (e) $("key-says").textContent = e.status === 401 ? "The server does not take this key." : e.message;
  else $("key").close();
}

$("key-ok").onclick = tryKey;
$("key-text").onkeydown = (e) => { if (e.key === "Enter") { e.preventDefault(); tryKey(); } };
