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

  async another_tab_goes_on_with_the_shown_conversation() {
    const tab = await openTab();
    await tab.asked("one", "1");
    const { id } = tab.state.chat;
    const hear = await tab.elsewhere(id, (c) => c.messages.push({ role: "user", content: "two" }, { role: "assistant", content: "2" }));
    await hear();
    assert.deepEqual(tab.texts, ["one", "1", "two", "2"]);
    await tab.asked("three", "3");
    assert.deepEqual(tab.stored(id), ["one", "1", "two", "2", "three", "3"]);
  },

  async what_another_tab_added_meanwhile_stays() {
    const tab = await openTab();
    await tab.asked("one", "1");
    const { id } = tab.state.chat, more = (c) => c.messages.push({ role: "user", content: "two" }, { role: "assistant", content: "2" });
    await tab.elsewhere(id, more); // of which this tab hears too late
    await tab.ask("three");
    assert.deepEqual(tab.last.asked.messages.map((m) => m.content), ["one", "1", "two", "2", "three"]);
    await tab.last.text("3");
    const hear = await tab.elsewhere(id, (c) => c.messages.push({ role: "user", content: "four" }, { role: "assistant", content: "4" }));
    await hear(); // while an answer is written
    await tab.last.end();
    assert.deepEqual(tab.texts, ["one", "1", "two", "2", "three", "3", "four", "4"]);
    assert.deepEqual(tab.stored(id), tab.texts);
    assert.equal(document.querySelectorAll("#messages li").length, 8);
    await tab.asked("five", "5");
    assert.deepEqual(tab.stored(id).slice(-4), ["four", "4", "five", "5"]);
  },

  async changes_of_two_tabs_that_do_not_fit_are_told() {
    const tab = await openTab();
    await tab.asked("one", "1");
    const { id } = tab.state.chat;
    await tab.elsewhere(id, (c) => { c.messages = [{ role: "user", content: "other" }, { role: "assistant", content: "o" }]; });
    await tab.act(1, "retry");
    assert.match(tab.toast(), /another tab/);
    assert.equal(tab.answers.length, 1);
    assert.equal(tab.state.writing, null);
    assert.deepEqual(tab.texts, ["other", "o"]);
    assert.deepEqual(tab.stored(id), ["other", "o"]);
    await tab.elsewhere(id, (c) => c.messages.push({ role: "user", content: "two" }));
    await tab.act(0, "delete");
    assert.ok(!tab.canUndo());
    assert.deepEqual(tab.stored(id), ["other", "o", "two"]);
    assert.deepEqual(tab.texts, tab.stored(id));
    await tab.act(0, "delete"); // what is shown now, it does delete
    assert.deepEqual(tab.stored(id), []);
  },

  async a_conversation_deleted_while_it_is_answered_comes_back_with_the_text_so_far() {
    const tab = await openTab();
    await tab.ask("one");
    await tab.last.text("so far");
    const { id } = tab.state.chat;
    tab.$("#chats .delete").click();
    await settle();
    assert.equal(tab.store.get(id), null);
    assert.deepEqual(tab.texts, []);
    await tab.undo();
    assert.deepEqual(tab.stored(id), ["one", "so far"]);
    assert.deepEqual(tab.texts, ["one", "so far"]);
    assert.equal(tab.store.get(id).messages[1].finish, "stopped");
  },

  async all_deleted_while_one_is_answered_come_back_with_the_text_so_far() {
    const tab = await openTab();
    await tab.asked("one", "1");
    const first = tab.state.chat.id;
    tab.chats.newChat();
    await tab.ask("two");
    await tab.last.text("so far");
    const { id } = tab.state.chat;
    tab.$("#forget").click();
    await settle();
    assert.deepEqual(tab.store.all(), []);
    await tab.undo();
    assert.deepEqual(tab.stored(id), ["two", "so far"]);
    assert.deepEqual(tab.stored(first), ["one", "1"]);
    tab.chats.openChat(id);
    assert.deepEqual(tab.texts, ["two", "so far"]);
  },

  async an_import_says_what_found_no_room() {
    const tab = await openTab();
    const chat = (id, n) => ({ id, title: id, changed: 1, messages: [{ role: "user", content: "x".repeat(n) }] });
    const file = (...chats) => ({ text: async () => JSON.stringify({ chats }) });
    localStorage.room = 2000;
    await tab.chats.importFile(file(chat("big", 5000), chat("small", 100), chat("large", 3000)));
    assert.match(tab.toast(), /^1 conversation imported/);
    assert.match(tab.toast(), /2 conversations found no room/);
    assert.deepEqual(tab.store.all().map((c) => c.id), ["small"]);
    assert.equal(tab.state.chat.id, "small");
    await tab.chats.importFile(file(chat("big", 5000)));
    assert.match(tab.toast(), /^0 conversations imported/);
    localStorage.room = Infinity;
    await tab.chats.importFile(file(chat("big", 5000)));
    assert.equal(tab.toast(), "1 conversation imported.");
  },

  async one_choice_is_asked_for_and_taken() {
    const tab = await openTab();
    tab.state.settings.more = '{"n": 2, "n_cmpl": 3, "frequency_penalty": 0.5}';
    await tab.ask("one");
    const { n, n_cmpl, frequency_penalty, stream } = tab.last.asked;
    assert.deepEqual([n, n_cmpl, frequency_penalty, stream], [1, undefined, 0.5, true]);
    await tab.last.text("a");
    await tab.last.text("x", 1);
    await tab.last.text("b");
    await tab.last.end();
    assert.equal(tab.texts[1], "ab");
  },

  async numbers_of_an_answer_that_goes_on_are_of_one_span() {
    const tab = await openTab(), piece = (content, drafted) => ({ content, drafted, drafter: drafted ? "eagle" : undefined });
    const event = (timings, ...pieces) => ({ timings, choices: [{ index: 0, delta: { content: pieces.map((p) => p.content).join("") }, pieces }] });
    const timings = (n, accepted) => ({ predicted_n: n, predicted_per_second: 10, passes: 2, draft_n: 4, draft_n_accepted: accepted,
                                        prompt_n: 1, prompt_ms: 5 });
    const told = () => tab.$("#messages .assistant .stats").children.map((s) => s.textContent + ": " + s.title);
    await tab.ask("one");
    await tab.last.event(event(timings(4, 3), piece("a", 0), piece("b", 1), piece("c", 2), piece("d", 3)));
    tab.talk.stop();
    await settle();
    assert.ok(told().some((s) => s.includes("accepted: eagle 3")), told());
    assert.ok(told().includes("4 tokens: length of the answer"), told());
    await tab.act(1, "continue");
    await settle();
    assert.deepEqual(told(), []); // nothing is known of it yet
    await tab.last.event(event(timings(2, 1), piece("e", 0), piece("f", 1)));
    await tab.last.end();
    assert.equal(tab.texts[1], "abcdef");
    const shown = told();
    assert.ok(shown.some((s) => s.startsWith("50 % drafted: 1 of 4") && s.endsWith("accepted: eagle 1")), shown);
    assert.ok(shown.includes("2 tokens: length of what was added"), shown);
    tab.chats.openChat(tab.state.chat.id); // as it is stored
    assert.deepEqual(told(), shown);
  },

  async an_answer_goes_on_with_its_thinking() {
    const tab = await openTab(), delta = (part) => ({ choices: [{ index: 0, delta: part }] });
    await tab.ask("one");
    await tab.last.event(delta({ reasoning_content: "hm" }));
    tab.talk.stop();
    await settle();
    await tab.act(1, "continue");
    const last = () => tab.last.asked.messages.at(-1);
    assert.deepEqual(last(), { role: "assistant", content: "", reasoning_content: "hm" });
    await tab.last.event(delta({ reasoning_content: " so", content: "2" }));
    tab.talk.stop();
    await settle();
    await tab.act(1, "continue");
    assert.deepEqual(last(), { role: "assistant", content: "2", reasoning_content: "hm so" });
    await tab.last.text("3");
    await tab.last.end();
    assert.equal(tab.texts[1], "23");
    await tab.ask("two"); // thinking of earlier answers is not sent
    assert.deepEqual(tab.last.asked.messages.map((m) => "reasoning_content" in m), [false, false, false]);
  },

  async messages_are_those_of_the_conversation() {
    const tab = await openTab();
    for (const messages of ['"x"', "null", '[{"role": "user", "content": "y"}]']) {
      tab.state.settings.more = '{"messages": ' + messages + "}";
      await tab.ask("one");
      assert.deepEqual(tab.last.asked.messages.at(-1), { role: "user", content: "one" });
      await tab.last.end();
      tab.chats.newChat();
    }
  },

  async an_edited_answer_can_be_gone_on_with_after_a_reload() {
    const tab = await openTab();
    await tab.asked("one", "1");
    await tab.act(1, "edit");
    tab.$(".edit textarea").value = "Hello, dear";
    tab.$(".edit .save").click();
    const { id } = tab.state.chat, goesOn = () => !tab.$("#messages .assistant [data-act=continue]").hidden;
    assert.ok(goesOn());
    const again = await openTab({ ["forerun.chat." + id]: tab.store.get(id) });
    again.chats.openChat(id);
    assert.deepEqual(again.texts, ["one", "Hello, dear"]);
    assert.ok(!again.$("#messages .assistant [data-act=continue]").hidden);
  },

  async a_message_has_one_box_to_edit_it() {
    const tab = await openTab();
    await tab.asked("one", "1");
    await tab.act(0, "edit");
    const area = tab.$(".edit textarea");
    area.value = "changed";
    tab.$("#prompt").focus();
    await tab.act(0, "edit");
    assert.equal(document.querySelectorAll(".edit").length, 1);
    assert.equal(document.activeElement, area);
    assert.equal(area.value, "changed");
    tab.$(".edit .cancel").click();
    await tab.act(0, "edit");
    assert.equal(tab.$(".edit textarea").value, "one");
  },

  async fields_that_are_no_json_object_are_not_sent() {
    const tab = await openTab();
    for (const bad of ['{"top_a": 1', "[7]", "5", "null"]) {
      tab.set("#more", '{"frequency_penalty": 0.5}');
      assert.equal(tab.$("#more-says").className, "");
      tab.set("#more", bad);
      assert.equal(tab.$("#more-says").className, "bad");
      tab.chats.newChat();
      await tab.asked("one", "1");
      assert.ok(!("frequency_penalty" in tab.last.asked) && !("0" in tab.last.asked), JSON.stringify(tab.last.asked));
      tab.$("#open-settings").click(); // and what was written can be mended
      assert.equal(tab.$("#more").value, bad);
      assert.equal(tab.$("#more-says").className, "bad");
    }
    tab.set("#more", '{"frequency_penalty": 0.25}');
    await tab.asked("two", "2");
    assert.equal(tab.last.asked.frequency_penalty, 0.25);
  },

  // A pattern that tries places again takes longer for these than any test may.
  async any_text_is_shown_at_once() {
    const tab = await openTab(), n = 300000, many = (text) => text.repeat(n / text.length);
    const texts = ["```" + many("a") + "`", "```" + many(" ") + "a`", "a|b\n-" + many(" ") + "-x|-", "a|b\n" + many("- ") + "x",
                   "a|b\n-|-\n`" + many("|"), "# " + many(" ") + "x", "# " + many("#") + "x", "http://a" + many("*") + "b",
                   "[a](" + many(" ") + "x", "[a](b" + many(" ") + "x", many("http://"), many("<http://a"), many("* ") + "x"];
    for (const text of texts) {
      await tab.ask("one");
      await tab.last.text(text);
      await tab.last.end();
      assert.equal(tab.texts.at(-1), text);
      tab.chats.newChat();
    }
  },

  async a_table_has_a_bounded_number_of_cells() {
    const tab = await openTab();
    const table = (columns, rows) => "|" + "a|".repeat(columns) + "\n|" + "-|".repeat(columns) + "\n" + "|b\n".repeat(rows);
    const shown = async (text) => {
      await tab.asked("one", text);
      const counts = ["th", "td"].map((tag) => document.querySelectorAll("#messages " + tag).length);
      tab.chats.newChat();
      return counts;
    };
    assert.deepEqual(await shown(table(3, 4)), [3, 12]);
    assert.deepEqual(await shown(table(4000, 20)), [0, 0]);
    const [heads, cells] = await shown(table(100, 2000));
    assert.equal(heads, 100);
    assert.ok(cells > 10000 && cells <= 20000, cells);
  },

  async a_question_that_does_not_fit_is_given_back() {
    const tab = await openTab();
    await tab.asked("one", "1");
    await tab.elsewhere(tab.state.chat.id, (c) => c.messages.splice(0));
    tab.$("#prompt").value = "two";
    tab.$("#send").click();
    await settle();
    assert.match(tab.toast(), /another tab/);
    assert.deepEqual(tab.texts, []);
    assert.equal(tab.answers.length, 1);
    assert.equal(tab.$("#prompt").value, "two");
    tab.$("#send").click();
    await settle();
    assert.deepEqual(tab.texts, ["two", ""]);
    assert.equal(tab.$("#prompt").value, "");
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
