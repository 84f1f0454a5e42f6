// OpenAI's JavaScript client against a `forerun serve` that runs already: chat, stream, tools, errors.
//
//     node openai_client.mjs http://127.0.0.1:8080/v1 [KEY]     needs `npm install openai`
import OpenAI from "openai";

const [baseURL, apiKey = "none"] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const ask = { model: "m", messages: [{ role: "user", content: "Name three rivers." }], max_tokens: 40, temperature: 0 };
let bad = 0;

function check(what, ok, found) {
    console.log((ok ? "ok    " : "WRONG ") + what + (ok ? "" : ": " + JSON.stringify(found)));
    bad += !ok;
}

const models = await client.models.list();
check("models", models.data.length === 1, models);
const whole = await client.chat.completions.create(ask);
const text = whole.choices[0].message.content;
check("chat: text and usage", text && whole.usage.total_tokens > 0, whole);
let said = "";
for await (const part of await client.chat.completions.create({ ...ask, stream: true })) said += part.choices[0]?.delta?.content ?? "";
check("stream: adds up to the whole", said === text, said);
const many = await Promise.all([1, 2, 3, 4, 5, 6].map(() => client.chat.completions.create(ask)));
check("six at once: one text", many.every((m) => m.choices[0].message.content === text), many);
const stop = new AbortController();
for await (const part of await client.chat.completions.create({ ...ask, max_tokens: 2000, stream: true }, { signal: stop.signal })) {
    void part;
    stop.abort();
    break;
}
try {
    await client.chat.completions.create({ ...ask, temperature: -1 });
    check("errors: a wrong field", false, "no error");
} catch (why) {
    check("errors: a wrong field", why instanceof OpenAI.BadRequestError && why.param === "temperature", why);
}
check("aborted: the next one is answered as before", (await client.chat.completions.create(ask)).choices[0].message.content === text);
process.exit(bad ? 1 : 0);
