// state.js — what all parts of the page share.
import * as store from "./store.js";

export const state = {
  settings: store.settings(),
  props: null,   // of the server (GET /props)
  chat: null,    // that is shown
  writing: null, // the answer that is written: {chat, message, abort}
};

export const contextOf = () => (state.props ? state.props.default_generation_settings.n_ctx : 0);

// The fields that a text gives to requests; null: it is no JSON object.
export function fieldsOf(text) {
  try {
    const x = JSON.parse(text.trim() || "{}");
    return x && typeof x === "object" && !Array.isArray(x) ? x : null;
  } catch { return null; }
}

// Settings of sampling, by their names in requests.
export const NUMBERS = ["temperature", "top_p", "top_k", "min_p", "repeat_penalty", "max_tokens", "seed"];
