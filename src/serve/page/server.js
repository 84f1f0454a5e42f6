// server.js — what the server says of itself: its model, its drafters, the usual settings.
import { $ } from "./dom.js";
import { state, contextOf } from "./state.js";
import { shortSpec, showLegend } from "./colours.js";
import { askKey } from "./key.js";
import { showDefaults } from "./settings.js";
import { showUse } from "./view.js";
import * as wire from "./wire.js";

function showServer() {
  const p = state.props, drafter = shortSpec(p.drafters[0]);
  $("model").textContent = p.model_alias;
  $("about").textContent = [p.model_alias, p.isa, drafter === "none" ? "no drafter" : "drafted by " + drafter,
    contextOf().toLocaleString("en") + " tokens of context"].join(" · ");
  showDefaults();
  showLegend();
  showUse();
}

// Asks it. Null, or why that cannot be known.
export async function load() {
  try {
    state.props = await wire.get("props");
    showServer();
    return null;
  } catch (e) {
    if (e.status === 401) askKey();
    else $("about").textContent = "The server does not answer: " + e.message;
    return e;
  }
}
