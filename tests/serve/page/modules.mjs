// modules.mjs — run by test_modules.sh.
import assert from "node:assert/strict";
import { openTab, settle } from "./tab.mjs";

const tests = {
  async undo_of_a_message_ends_where_the_conversation_goes_on() {
    const tab = await openTab();
    await tab.asked("one", "1");
    await tab.act(0, "delete");
    assert.deepEqual(tab.texts, []);
    await tab.undo();
    assert.deepEqual(tab.texts, ["one", "1"]);
    assert.deepEqual(tab.stored(tab.state.chat.id), ["one", "1"]);

    await tab.act(1, "delete");
    await tab.ask("two");
    assert.ok(!tab.canUndo());
    await tab.last.text("2");
    await tab.last.end();
    await tab.undo();
    assert.deepEqual(tab.texts, ["one", "two", "2"]);
  },

  async undo_of_a_message_ends_where_another_conversation_is_opened() {
    const tab = await openTab();
    await tab.asked("one", "1");
    const { id } = tab.state.chat;
    await tab.act(1, "delete");
    tab.chats.newChat();
    assert.ok(!tab.canUndo());
    tab.chats.openChat(id);
    await tab.asked("two", "2");
    await tab.undo();
    assert.deepEqual(tab.texts, ["one", "two", "2"]);
    assert.deepEqual(tab.stored(id), ["one", "two", "2"]);
  },
};

const only = process.argv[4];
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  if (only && name !== only) continue;
  try {
    await test();
    console.log("ok   " + name);
  } catch (e) {
    failed++;
    console.log("FAIL " + name + "\n" + e.stack);
  }
}
process.exit(failed ? 1 : 0); // timers of the page are left
