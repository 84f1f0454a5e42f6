// wire.js — requests to this server: documents, and answers as streams. The key is kept until the
// tab is closed.
const KEY = "forerun.key";

export const setKey = (key) => sessionStorage.setItem(KEY, key);

function headers(more) {
  const key = sessionStorage.getItem(KEY);
  return key ? { ...more, Authorization: "Bearer " + key } : more;
}

async function problem(response) {
  let said;
  try { said = (await response.json()).error.message; } catch { said = response.statusText; }
  const e = new Error(said || "the server said " + response.status);
  e.status = response.status;
  return e;
}

export async function get(path) {
  const r = await fetch(path, { headers: headers({}), cache: "no-store" });
  if (!r.ok) throw await problem(r);
  return r.json();
}

// Calls take(event) for each event of the answer, until its end.
export async function stream(path, body, signal, take) {
  const r = await fetch(path, { method: "POST", signal, body: JSON.stringify(body),
                                headers: headers({ "Content-Type": "application/json" }) });
  if (!r.ok) throw await problem(r);
  const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "", done = false;
  for (;;) {
    const { value, done: over } = await reader.read();
    if (over) break;
    const lines = (held + value).split("\n");
    held = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data: ")) continue;
      if (line === "data: [DONE]") { done = true; continue; }
      const event = JSON.parse(line.slice(6));
      if (event.error) throw new Error(event.error.message);
      take(event);
    }
  }
  if (!done) throw new Error("the server hung up before the answer’s end");
}
