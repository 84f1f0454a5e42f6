// The program from outside, on a tiny model: exit codes, sentences, JSON, and that what is printed
// does not depend on how it was drafted.
#define _GNU_SOURCE
#include "cmd/program.h"
#include "support/near.h"
#include "support/tiny_model.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmd/plot/xml.h"
#include "kern/kern.h"

static char folder[64], model[96], model_arg[128], line[1024], path[128];
static said s, t;

static int set_up(void **state) {
    (void)state;
    fr_error err;
    snprintf(folder, sizeof folder, "cmd-test-%d", (int)getpid());
    snprintf(model, sizeof model, "%s/tiny.gguf", folder);
    snprintf(model_arg, sizeof model_arg, "-m %s -t 2", model);
    char make[128];
    snprintf(make, sizeof make, "mkdir -p %s", folder);
    if (system(make)) return -1;
    // A profile that an older program left is measured again, and a sentence says so.
    char cwd[2048], cache[2048 + 80];
    if (!getcwd(cwd, sizeof cwd)) return -1;
    snprintf(cache, sizeof cache, "%s/%s/cache", cwd, folder);
    setenv("XDG_CACHE_HOME", cache, 1);
    return fr_tiny_write(&(fr_tiny_options){.type = FR_TYPE_Q8_0, .n_ctx = 1 << 17}, model, &err);
}

static int tear_down(void **state) {
    (void)state;
    char drop[128];
    snprintf(drop, sizeof drop, "rm -rf %s", folder);
    return system(drop);
}

// "COMMAND -m MODEL -t 2 REST".
static const char *with_model(const char *command, const char *rest) {
    snprintf(line, sizeof line, "%s %s %s", command, model_arg, rest);
    return line;
}

static const char *write_file(const char *name, const char *content) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(content, f);
    fclose(f);
    return path;
}

static json_t *parse(const said *what) {
    json_error_t error;
    json_t *root = json_loads(what->out, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!root) fail_msg("not JSON (%s): %.200s / %.200s", error.text, what->out, what->err);
    return root;
}

static void expect(const char *command, int code, const char *sentence) {
    run_line(&s, command);
    if (s.code != code || !strstr(s.err, sentence) || (code && complaints_in(s.err) != 1))
        fail_msg("%s: exit %d, %s", command, s.code, s.err);
    if (code && s.n_out) fail_msg("%s: printed %s", command, s.out);
}

// What comes from tables and constants elsewhere.
static void help_knows_every_template_and_the_prompts_share(void **state) {
    (void)state;
    char share[32];
    run_line(&s, "tokenize --help");
    const char *row = strstr(s.out, "--chat-template NAME");
    assert_non_null(row);
    for (int i = 0; fr_chat_name_at(i); i++)
        if (!strstr(row, fr_chat_name_at(i))) fail_msg("%s: %s", fr_chat_name_at(i), row);
    run_line(&s, "serve --help");
    snprintf(share, sizeof share, "(default: %g)", FR_PROMPT_SHARE);
    row = strstr(s.out, "--prompt-share X");
    assert_non_null(row);
    assert_non_null(strstr(row, share));
}

static void wrong_command_lines_exit_2_with_one_line(void **state) {
    (void)state;
    run_line(&s, "");
    assert_int_equal(s.code, 2);
    assert_string_equal(s.err, "forerun: a COMMAND is needed (see 'forerun --help')\n");
    assert_int_equal(lines_in(s.out), 6);
    const char *const first[] = {"chat", "run", "serve", "tune", "doctor"};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        snprintf(line, sizeof line, "  forerun %s ", first[i]);
        assert_non_null(strstr(s.out, line));
    }
    assert_non_null(strstr(s.out, "'forerun --help'"));
    expect("frobnicate", 2, "forerun: frobnicate: unknown command");
    expect("rum", 2, "did you mean 'run'?");
    expect("run --nope", 2, "forerun: --nope: unknown option (see 'forerun run --help')");
    expect("run -p x", 2, "-m: a MODEL is needed");
    expect(with_model("run", "-p x -n many"), 2, "-n many: expected a whole number");
    expect(with_model("run", "-p x -n"), 2, "-n: needs a value, N");
    expect(with_model("run", "-p x extra"), 2, "extra: unexpected argument");
    expect(with_model("run", "-p x -f y"), 2, "give one of them");
    expect(with_model("run", "-p x -t 0"), 2, "-t 0: expected a whole number from 1 to");
    expect(with_model("run", "-p x -t 10000"), 2, "-t 10000: expected a whole number from 1 to");
    expect(with_model("run", "-p x -c 999999"), 2, "ctx-size");
    expect(with_model("run", "-p x --drafter nope"), 2, "nope");
    // Before the model is looked for, which may take long to load.
    expect("run -m /nonexistent.gguf -p x --drafter nope", 2, "drafter 'nope'");
    expect("chat -m /nonexistent.gguf --drafter nope", 2, "drafter 'nope'");
    expect("bench -m /nonexistent.gguf --prompts x --drafters none,nope", 2, "drafter 'nope'");
    expect(with_model("run", "-p x --tree 0"), 2, "tree");
    expect(with_model("run", "-p x --drafter none --draft-opt nonsense=1"), 2,
           "draft option 'nonsense=1': none has no options");
    if (!fr_isa_available(FR_ISA_AMX))
        expect(with_model("run", "-p x --isa amx"), 2, "isa amx: this ");
    expect(with_model("run", "-p x --isa z80"), 2,
           "--isa z80: expected one of auto|scalar|avx2|avx-vnni|avx512|amx");
    expect("run -m /nonexistent.gguf -p x --accept magic", 2, "--accept magic: expected exact");
    expect("chat -m /nonexistent.gguf --accept typical:2", 2, "typical:2: expected EPSILON");
    expect("bench -m /nonexistent.gguf --prompts x --accept exact:1", 2, "--accept exact:1");
    expect(with_model("run", "-p x --temp -1"), 2, "--temp -1: expected a number from 0");
    expect(with_model("run", "-p x --stop="), 2, "empty");
    expect(with_model("run", "-p x --chat-template nope"), 2, "nope");
    expect(with_model("logits", "--ids 1,x"), 2, "--ids");
    expect(with_model("logits", "--ids 99999"), 2, "--ids 99999: expected whole numbers from 0");
    expect(with_model("logits", ""), 2, "give one of them");
    expect(with_model("bench", ""), 2, "--prompts");
    expect(with_model("bench", "--prompts ,"), 2, "--prompts");
    expect(with_model("bench", "--prompts x --tree-sizes 2,0"), 2, "--tree-sizes 0: expected");
    expect("inspect", 2, "a FILE is needed");
    expect("completion csh", 2, "expected bash, zsh or fish");
}

static void what_cannot_be_done_exits_1_with_one_line(void **state) {
    (void)state;
    expect("run -m /nonexistent.gguf -p x", 1, "/nonexistent.gguf: No such file");
    expect("run -m / -p x", 1, "forerun: /: ");
    expect(with_model("run", "-f /nonexistent.txt"), 1, "/nonexistent.txt: No such file");
    expect(with_model("run", "-p abcdefgh -c 4"), 1, "do not fit the context of 4 tokens");
    expect(with_model("bench", "--prompts /nonexistent"), 1, "/nonexistent: No such file");
    char command[2048], more[512];
    snprintf(more, sizeof more, "-p x --chat-template-file %s", write_file("empty.jinja", ""));
    expect(with_model("run", more), 1, "empty.jinja: ");
    const char *good =
        write_file("good.jsonl", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n");
    // Before the model is looked for.
    snprintf(command, sizeof command,
             "bench -m /nonexistent.gguf --prompts %s --report /nonexistent/page", good);
    expect(command, 1, "/nonexistent/page: No such file");
    snprintf(command, sizeof command, "bench -m /nonexistent.gguf --prompts %s,%s", good, good);
    expect(command, 2, "good.jsonl is there twice");
    snprintf(command, sizeof command, "%s --messages %s", with_model("run", ""),
             write_file("bad.json", "[{\"role\":5}]"));
    expect(command, 1, "bad.json");
    snprintf(command, sizeof command, "run -p x -m %s", write_file("text.gguf", "hello\nhello\n"));
    expect(command, 1, "text.gguf");
    snprintf(
        command, sizeof command, "%s --prompts %s", with_model("bench", ""),
        write_file("bad.jsonl", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n{]\n"));
    expect(command, 1, "bad.jsonl, line 2");
    snprintf(command, sizeof command, "%s -f %s", with_model("perplexity", ""),
             write_file("short.txt", "too short"));
    expect(command, 1, "fewer than one chunk");
}

static void every_command_helps(void **state) {
    (void)state;
    int n_commands = 0;
    assert_int_equal(run_line(&t, "--help"), 0);
    assert_int_equal(run_line(&s, "--version"), 0);
    assert_string_equal(s.out, "forerun " FR_VERSION "\n");
    for (const char *at = strstr(t.out, "\nCommands:\n"); at; at = strstr(at + 3, "\n  ")) {
        char name[32], command[64];
        if (sscanf(at, "\n  %31[a-z]", name) != 1 || at[3] == ' ') continue; // a second line
        n_commands++;
        snprintf(command, sizeof command, "%s --help", name);
        assert_int_equal(run_line(&s, command), 0);
        assert_non_null(strstr(s.out, "Example:\n"));
        assert_int_equal(s.n_err, 0);
        for (const char *l = s.out; l; l = strchr(l, '\n')) { // fits a terminal
            l += *l == '\n';
            if (strcspn(l, "\n") > 120) fail_msg("%s: %.120s", name, l);
        }
    }
    assert_true(n_commands > 15);
    assert_int_equal(run_line(&s, "run --help"), 0);
    assert_int_equal(run_line(&t, "help run"), 0);
    assert_string_equal(t.out, s.out);
    expect("help walk", 2, "walk: unknown command");
    assert_int_equal(run_line(&s, "run --help-drafters"), 0);
    assert_non_null(strstr(s.out, "prompt-lookup"));
}

static void tokens_go_there_and_back(void **state) {
    (void)state;
    assert_int_equal(run_input(&s, with_model("tokenize", ""), ""), 2); // it has no threads
    snprintf(line, sizeof line, "tokenize -m %s", model);
    assert_int_equal(run_input(&s, line, "{\"text\":\"the\\u0000end\"}\n\n{\"hex\":\"FFc3\"}"), 0);
    assert_int_equal(lines_in(s.out), 2);
    snprintf(line, sizeof line, "detokenize -m %s", model);
    char first[512];
    snprintf(first, sizeof first, "%.*s\n", (int)strcspn(s.out, "\n"), s.out);
    assert_int_equal(run_input(&t, line, first), 0);
    assert_string_equal(t.out, "{\"text\":\"the\\u0000end\"}\n");
    // Ids 0..255 are the bytes: two that are no UTF-8 come as text and as they are.
    assert_int_equal(run_input(&t, line, "{\"ids\":[255,65]}\n"), 0);
    assert_string_equal(t.out, "{\"text\":\"\uFFFDA\",\"hex\":\"ff41\"}\n");
}

static int n_ids(const char *option, const char *text) {
    snprintf(line, sizeof line, "tokenize -m %s %s", model, option);
    if (run_input(&s, line, text)) fail_msg("%s", s.err);
    json_t *root = parse(&s);
    const int n = (int)json_array_size(json_object_get(root, "ids"));
    json_decref(root);
    return n;
}

// A control token's name is one only where it is said to be.
static void names_of_tokens_are_text_unless_asked_for(void **state) {
    (void)state;
    static const char text[] = "{\"text\":\"<|im_end|>\"}\n";
    const int none = n_ids("", "{\"text\":\"\"}\n"); // what begins every text
    assert_true(n_ids("", text) > none + 4);
    assert_int_equal(n_ids("--special", text), none + 1);
}

static void messages_become_a_prompt(void **state) {
    (void)state;
    snprintf(line, sizeof line, "tokenize -m %s --messages", model);
    assert_int_equal(run_input(&s, line,
                               "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],"
                               "\"add_generation_prompt\":true}\n"),
                     0);
    json_t *root = parse(&s);
    assert_non_null(strstr(json_string_value(json_object_get(root, "prompt")), "hi"));
    assert_true(json_array_size(json_object_get(root, "ids")) > 2);
    json_decref(root);
}

static void a_bad_line_is_named_and_the_ones_before_answered(void **state) {
    (void)state;
    static const char *const bad[] = {"hello", "{\"text\":5}",     "{\"hex\":\"abc\"}",  "[]",
                                      "{}",    "{\"hex\":\"zz\"}", "{\"text\":\"\xC3\"}"};
    snprintf(line, sizeof line, "tokenize -m %s", model);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char input[128];
        snprintf(input, sizeof input, "{\"text\":\"a\"}\n%s\n{\"text\":\"b\"}\n", bad[i]);
        assert_int_equal(run_input(&s, line, input), 1);
        assert_int_equal(lines_in(s.out), 1);
        assert_int_equal(lines_in(s.err), 1);
        assert_non_null(strstr(s.err, "standard input, line 2: "));
    }
    snprintf(line, sizeof line, "detokenize -m %s", model);
    assert_int_equal(run_input(&s, line, "{\"ids\":[99999]}\n"), 1);
    assert_int_equal(run_input(&s, line, "{\"ids\":[1.5]}\n"), 1);
}

static void run_answers_with_the_promised_document(void **state) {
    (void)state;
    assert_int_equal(run_line(&s, with_model("run", "-p the^and -n 20 --ignore-eos --json")), 0);
    json_t *root = parse(&s);
    static const char *const keys[] = {"text",
                                       "tokens",
                                       "prompt_tokens",
                                       "completion_tokens",
                                       "finish_reason",
                                       "drafter",
                                       "used",
                                       "lossless",
                                       "exact_law",
                                       "passes",
                                       "tokens_per_pass",
                                       "tok_s",
                                       "seconds",
                                       "prompt_tok_s",
                                       "rows_per_pass",
                                       "accepted_by_depth",
                                       "draft_stats",
                                       "peak_rss_bytes"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!json_object_get(root, keys[i])) fail_msg("no %s", keys[i]);
    static const char *const parts[] = {"load", "prompt", "decode", "draft", "verify"};
    for (size_t i = 0; i < 5; i++)
        assert_non_null(json_object_get(json_object_get(root, "seconds"), parts[i]));
    assert_int_equal(json_array_size(json_object_get(root, "tokens")), 20);
    assert_int_equal(json_integer_value(json_object_get(root, "completion_tokens")), 20);
    assert_string_equal(json_string_value(json_object_get(root, "finish_reason")), "length");
    assert_string_equal(json_string_value(json_object_get(root, "drafter")), "auto");
    assert_int_equal(s.n_err, 0); // stdout is the document, stderr is silent when all is quick
    // Without --json the same text, and statistics on stderr.
    assert_int_equal(run_line(&t, with_model("run", "-p the^and -n 20 --ignore-eos")), 0);
    const json_t *text = json_object_get(root, "text");
    assert_int_equal(t.n_out, json_string_length(text));
    assert_memory_equal(t.out, json_string_value(text), t.n_out);
    assert_int_equal(lines_in(t.err), 1);
    json_decref(root);
}

static void the_bytes_do_not_depend_on_the_drafter(void **state) {
    (void)state;
    static const char *const how[] = {"--drafter prompt-lookup", "--drafter auto -t 1",
                                      "--drafter prompt-lookup --tree 4 --isa scalar"};
    static const char *const temps[] = {"0", "0.8"};
    for (int k = 0; k < 2; k++) {
        char rest[256];
        snprintf(rest, sizeof rest, "-p the^the^the -n 48 --seed 5 --temp %s --drafter none --json",
                 temps[k]);
        assert_int_equal(run_line(&s, with_model("run", rest)), 0);
        json_t *plain = parse(&s);
        for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
            snprintf(rest, sizeof rest, "-p the^the^the -n 48 --seed 5 --temp %s --json %s",
                     temps[k], how[i]);
            assert_int_equal(run_line(&t, with_model("run", rest)), 0);
            json_t *other = parse(&t);
            assert_true(
                json_equal(json_object_get(plain, "tokens"), json_object_get(other, "tokens")));
            assert_true(json_equal(json_object_get(plain, "text"), json_object_get(other, "text")));
            json_decref(other);
        }
        json_decref(plain);
    }
}

// What a rule promises is said, whether drafts were accepted or not; plain decoding has none to
// accept.
static void every_rule_says_what_it_promises(void **state) {
    (void)state;
    static const struct {
        const char *accept, *drafter, *words;
        bool lossless, exact_law;
    } rules[] = {{"exact", "prompt-lookup", ", lossless;", true, true},
                 {"rejection", "prompt-lookup", ", not lossless (exact law);", false, true},
                 {"typical", "prompt-lookup", ", not lossless;", false, false},
                 {"typical:0.2,0.4", "prompt-lookup", ", not lossless;", false, false},
                 {"rejection", "none", ", lossless;", true, true},
                 {"typical", "none", ", lossless;", true, true}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        char rest[256];
        snprintf(rest, sizeof rest, "-p the^the^the -n 16 --temp 1 -s 3 --accept %s --drafter %s",
                 rules[i].accept, rules[i].drafter);
        assert_int_equal(run_line(&t, with_model("run", rest)), 0);
        assert_non_null(strstr(t.err, rules[i].words));
        strncat(rest, " --json", sizeof rest - strlen(rest) - 1);
        assert_int_equal(run_line(&s, with_model("run", rest)), 0);
        json_t *root = parse(&s);
        assert_int_equal(json_is_true(json_object_get(root, "lossless")), rules[i].lossless);
        assert_int_equal(json_is_true(json_object_get(root, "exact_law")), rules[i].exact_law);
        json_decref(root);
    }
}

static void all_ways_to_give_a_prompt_agree(void **state) {
    (void)state;
    char rest[256], file[160];
    assert_int_equal(run_line(&s, with_model("run", "-p hello -n 8 -q")), 0);
    snprintf(file, sizeof file, "%s", write_file("prompt.txt", "hello"));
    snprintf(rest, sizeof rest, "-f %s -n 8 -q", file);
    assert_int_equal(run_line(&t, with_model("run", rest)), 0);
    assert_string_equal(s.out, t.out);
    assert_int_equal(run_input(&t, with_model("run", "-n 8 -q"), "hello"), 0);
    assert_string_equal(s.out, t.out);
    snprintf(rest, sizeof rest, "--messages %s -n 8 -q",
             write_file("m.json", "[{\"role\":\"user\",\"content\":\"hello\"}]"));
    assert_int_equal(run_line(&t, with_model("run", rest)), 0);
    assert_string_equal(s.out, t.out);
    assert_int_equal(t.n_err, 0); // quiet
    assert_int_equal(run_input(&t, with_model("run", "-n 4 -q --raw"), "\xff\xc3 bad"), 0);
    assert_int_equal(run_input(&t, with_model("run", "-n 4 -q --raw"), ""), 1);
    assert_string_equal(t.err, "forerun: standard input: expected a prompt, found an empty file\n");
}

static void a_seed_is_drawn_and_printed(void **state) {
    (void)state;
    assert_int_equal(run_line(&s, with_model("run", "-p hello -n 24 --temp 1.5 --json")), 0);
    json_t *root = parse(&s);
    char rest[128];
    snprintf(rest, sizeof rest, "-p hello -n 24 --temp 1.5 --json --seed %lld",
             (long long)json_integer_value(json_object_get(root, "seed")));
    assert_int_equal(run_line(&t, with_model("run", rest)), 0);
    json_t *again = parse(&t);
    assert_true(json_equal(json_object_get(root, "tokens"), json_object_get(again, "tokens")));
    json_decref(root);
    json_decref(again);
    run_line(&s, with_model("run", "-p hello -n 4 --temp 1.5"));
    assert_non_null(strstr(s.err, "seed "));
}

// At temperature 1.2 with a penalty that counts, unless told otherwise behind it.
static void expect_same(const char *one, const char *other, bool same) {
    static const char drawn[] = "-p hello -n 30 -q --drafter none --temp 1.2 --min-p 0 -s 4";
    char rest[256];
    snprintf(rest, sizeof rest, "%s %s", drawn, one);
    assert_int_equal(run_line(&s, with_model("run", rest)), 0);
    snprintf(rest, sizeof rest, "%s %s", drawn, other);
    assert_int_equal(run_line(&t, with_model("run", rest)), 0);
    if (!strcmp(s.out, t.out) != same) fail_msg("%s, %s: '%s', '%s'", one, other, s.out, t.out);
}

static void a_zero_means_what_it_says(void **state) {
    (void)state;
    expect_same("--repeat-penalty 1.5 --repeat-last-n 0", "--repeat-penalty 1", true);
    expect_same("--repeat-penalty 1.5", "--repeat-penalty 1", false);
    expect_same("--repeat-penalty 1.5", "--repeat-penalty 1.5 --repeat-last-n 64", true);
    expect_same("--top-p 0", "--top-p 0.0001", true);
    expect_same("--top-p 1e-60", "--temp 0", true);
    expect_same("--top-p 0", "--top-p 1", false);
    expect_same("--top-k 0", "--top-k 100000", true);
    expect(with_model("run", "-p x --temp 101"), 2, "--temp 101: expected a number from 0 to 100");
    expect(with_model("distill", "--temp 101"), 2, "--temp 101: expected a number from 0 to 100");
    assert_int_equal(run_line(&s, with_model("run", "-p x -n 2 -q --temp 100")), 0);
}

static void a_full_disk_is_a_sentence(void **state) {
    (void)state;
    static const char *const rests[] = {"run", "inspect", "logits"};
    static const char *const more[] = {"-p hello -n 8 -q", "", "-p hello --json"};
    for (int i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "%s -m %s %s", rests[i], model, more[i]);
        run_with(&s, line, "", 0, 0, "/dev/full");
        assert_int_equal(s.code, 1);
        assert_non_null(strstr(s.err, "forerun: standard output: No space left on device"));
    }
}

static void an_interrupt_keeps_the_text_so_far(void **state) {
    (void)state;
    run_with(&s, with_model("run", "-p hello -n -1 --ignore-eos --json"), "", 0, 1500, NULL);
    assert_int_equal(s.code, 130);
    json_t *root = parse(&s);
    assert_string_equal(json_string_value(json_object_get(root, "finish_reason")), "interrupted");
    assert_true(json_array_size(json_object_get(root, "tokens")) > 0);
    json_decref(root);
}

static void color_is_for_terminals_or_on_demand(void **state) {
    (void)state;
    run_line(&s, with_model("run", "-p the^the -n 32 -q --raw"));
    run_line(&t, with_model("run", "-p the^the -n 32 -q --raw --color"));
    assert_string_equal(s.out, t.out);
    run_line(&t, with_model("run", "-p the^the -n 32 -q --raw --color=always"));
    size_t n = 0;
    for (const char *c = t.out; *c; c++) { // without the escapes it is the same text
        if (*c == '\033')
            c += strcspn(c, "m");
        else
            t.err[n++] = *c;
    }
    t.err[n] = 0;
    assert_string_equal(s.out, t.err);
}

static const char first_prompts[] =
    "{\"id\":\"<a>&\",\"messages\":[{\"role\":\"user\",\"content\":\"the the the\"}]}\n"
    "{\"id\":\"<b>&\",\"messages\":[{\"role\":\"system\",\"content\":\"x\"},"
    "{\"role\":\"user\",\"content\":\"one\"},{\"role\":\"user\",\"content\":\"two\"}]}\n";
// The second of them stands in the first file too.
static const char second_prompts[] =
    "{\"id\":\"<c>&\",\"messages\":[{\"role\":\"user\",\"content\":\"three\"}]}\n"
    "{\"id\":\"d\",\"messages\":[{\"role\":\"user\",\"content\":\"the the the\"}]}\n";

static int bench(said *to, const char *options) {
    char one[128], rest[512];
    snprintf(one, sizeof one, "%s", write_file("one.jsonl", first_prompts));
    snprintf(rest, sizeof rest, "--prompts %s,%s %s", one, write_file("two.jsonl", second_prompts),
             options);
    return run_line(to, with_model("bench", rest));
}

static double number_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) fail_msg("%s is no number", key);
    return json_number_value(value);
}

// Plain decoding, beside which they are measured, has no settings.
static void settings_are_those_of_the_drafters(void **state) {
    (void)state;
    if (bench(&s, "--drafters prompt-lookup,none -n 8 --draft-opt matches=2 -q"))
        fail_msg("%s", s.err);
}

static void bench_compares_with_plain_decoding(void **state) {
    (void)state;
    assert_int_equal(
        bench(&s, "--drafters prompt-lookup,none,auto -n 16 --repeat 2 --tree-sizes 1,3 --json"),
        0);
    json_t *root = parse(&s), *run;
    size_t i;
    const json_t *runs = json_object_get(root, "runs");
    assert_int_equal(json_array_size(runs), 3);
    json_array_foreach(runs, i, run) {
        static const char *const names[] = {"none", "prompt-lookup", "auto"};
        static const char *const keys[] = {"tok_s",
                                           "speedup",
                                           "speedup_min",
                                           "speedup_max",
                                           "tokens_per_pass",
                                           "speedup_median",
                                           "speedup_low",
                                           "speedup_high",
                                           "draft_share",
                                           "rows_per_pass",
                                           "prompts",
                                           "pairs",
                                           "expected_tokens_per_pass"};
        assert_string_equal(json_string_value(json_object_get(run, "drafter")), names[i]);
        if (i < 2) assert_string_equal(json_string_value(json_object_get(run, "used")), names[i]);
        assert_true(json_is_true(json_object_get(run, "identical")));
        assert_true(json_is_array(json_object_get(run, "accepted_by_depth")));
        assert_true(json_is_object(json_object_get(run, "draft_stats")));
        assert_true(number_of(run, "tokens") == number_of(json_array_get(runs, 0), "tokens"));
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            number_of(run, keys[k]);
        // Three prompts of four turns; the fourth prompt repeats the first. Repeats are no answers.
        assert_true(number_of(run, "prompts") == 3 && number_of(run, "pairs") == 4);
        assert_true(number_of(run, "speedup_low") <= number_of(run, "speedup_median"));
        assert_true(number_of(run, "speedup_median") <= number_of(run, "speedup_high"));
    }
    assert_non_null(strstr(s.err, "1 repeated prompt ran only once"));
    assert_int_equal(number_of(root, "prompts_repeated"), 1);
    const json_t *sets = json_object_get(root, "sets"),
                 *sizes = json_object_get(root, "tree_sizes");
    assert_int_equal(json_array_size(sets), 2);
    double tokens = 0;
    for (i = 0; i < 2; i++)
        tokens += number_of(json_array_get(json_object_get(json_array_get(sets, i), "runs"), 1),
                            "tokens");
    assert_true(tokens == number_of(json_array_get(runs, 1), "tokens"));
    assert_int_equal(json_array_size(sizes), 4);
    json_array_foreach(sizes, i, run) {
        assert_true(number_of(run, "tree") == (i % 2 ? 3 : 1));
        assert_true(number_of(run, "rows_per_pass") <= (i % 2 ? 4 : 2));
        assert_true(json_is_true(json_object_get(run, "identical")));
    }
    const json_t *machine = json_object_get(root, "machine");
    assert_int_equal(json_integer_value(json_object_get(machine, "threads")), 2);
    json_decref(root);
}

// One letter of a drafter's name in a profile.
static void misspell(const char *profile) {
    static char file[1 << 16];
    FILE *f = fopen(profile, "r+b");
    assert_non_null(f);
    const size_t n = fread(file, 1, sizeof file, f);
    const char *name = memmem(file, n, "prompt-lookup", 13);
    assert_non_null(name);
    fseek(f, name + 11 - file, SEEK_SET);
    fputc('o', f);
    fclose(f);
}

// What tuning keeps is what auto then uses; a profile that is not this machine's or is broken is
// measured anew with a sentence.
static void tune_keeps_a_profile_that_auto_reads(void **state) {
    (void)state;
    char cache[200];
    assert_non_null(getcwd(cache, sizeof cache - 80));
    snprintf(cache + strlen(cache), 80, "/%s/cache", folder);
    keep_cache_in(cache);
    run_line(&s, with_model("tune", "--limit 2 -n 24 --drafter prompt-lookup --json --quiet"));
    assert_int_equal(s.code, 0);
    json_t *root = parse(&s);
    const json_t *d = json_array_get(json_object_get(root, "drafters"), 0);
    assert_string_equal(json_string_value(json_object_get(d, "drafter")), "prompt-lookup");
    assert_true(json_number_value(json_object_get(d, "predicted_tok_s")) > 0);
    assert_true(json_number_value(json_object_get(d, "tokens_per_pass")) >= 1);
    const json_t *cost = json_object_get(root, "cost");
    assert_true(json_array_size(json_object_get(cost, "rows")) >= 5);
    assert_int_equal(json_array_size(json_object_get(cost, "rows")),
                     json_array_size(json_object_get(cost, "trunk_ms")));
    char profile[400], chosen[64];
    snprintf(profile, sizeof profile, "%s", json_string_value(json_object_get(root, "profile")));
    snprintf(chosen, sizeof chosen, "%s", json_string_value(json_object_get(root, "chosen")));
    json_decref(root);
    assert_int_equal(access(profile, R_OK), 0);

    run_line(&s, with_model("run", "-p hello -n 8 --json"));
    root = parse(&s);
    assert_string_equal(json_string_value(json_object_get(root, "used")), chosen);
    json_decref(root);

    misspell(profile);
    run_line(&s, with_model("run", "-p hello -n 8"));
    assert_int_equal(s.code, 0);
    assert_non_null(strstr(s.err, "damaged"));
    assert_non_null(strstr(s.err, "; measured anew\n"));
    assert_non_null(strstr(s.err, "Measuring the passes of this model on this machine again"));
    assert_null(strstr(s.err, "First run"));

    FILE *f = fopen(profile, "r+b");
    fputs("NOPE", f);
    fclose(f);
    run_line(&s, with_model("run", "-p hello -n 8"));
    assert_int_equal(s.code, 0);
    assert_non_null(strstr(s.err, "measured anew"));
    run_line(&s, with_model("run", "-p hello -n 8"));
    assert_null(strstr(s.err, "measured anew"));

    expect(with_model("tune", "--drafter none"), 2, "nothing to tune");
    expect(with_model("tune", "--drafter nope"), 2, "nope");
    keep_cache_in(NULL);
}

// The measuring is explained once for a model and machine, on stderr, unless silence was asked for.
static void only_the_first_run_tells_what_it_measures(void **state) {
    (void)state;
    static const char *const silent[] = {"--quiet", "--json", "--drafter none"};
    const char *const why = "First run of this model on this machine: measuring";
    char cache[200], kept[300];
    const char *const words = "-p the^wind^and^the^wind^and^the --ignore-eos -n";
    assert_non_null(getcwd(cache, sizeof cache - 80));
    snprintf(cache + strlen(cache), 80, "/%s/first", folder);
    keep_cache_in(cache);
    char rest[200], drop[300];
    snprintf(drop, sizeof drop, "rm -rf %s", cache);
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
        snprintf(rest, sizeof rest, "%s 40 %s", words, silent[i]);
        assert_int_equal(run_line(&t, with_model("run", rest)), 0);
        assert_int_equal(lines_in(t.err), i == 2); // its statistics
        assert_int_equal(system(drop), 0);
    }
    snprintf(rest, sizeof rest, "%s 40", words);
    assert_int_equal(run_line(&s, with_model("run", rest)), 0);
    assert_string_equal(s.out, t.out);
    assert_int_equal(lines_in(s.err), 3);
    assert_int_equal(strncmp(s.err, why, strlen(why)), 0);
    snprintf(kept, sizeof kept, "; the measurements are stored in %s/forerun/", cache);
    const char *gain = strstr(s.err, "\nFirst run: drafting gave ");
    assert_non_null(gain);
    assert_true(atof(gain + strlen("\nFirst run: drafting gave ")) > 0);
    assert_non_null(strstr(gain, kept));
    assert_int_equal(run_line(&s, with_model("run", rest)), 0);
    assert_int_equal(lines_in(s.err), 1);
    assert_int_equal(system(drop), 0);
    snprintf(rest, sizeof rest, "%s 2", words); // too short to say what drafting gains
    assert_int_equal(run_line(&s, with_model("run", rest)), 0);
    assert_non_null(strstr(s.err, "\nFirst run: the measurements are stored in "));
    keep_cache_in(NULL);
}

static void trees_can_be_given(void **state) {
    (void)state;
    char rest[300];
    const char *const words = "run", *prompt = "-p the^wind^and^the^wind^and^the -n 40 --json";
    run_line(&t, with_model(words, "-p the^wind^and^the^wind^and^the -n 40 --json --drafter none"));
    json_t *plain = parse(&t);
    write_file("tree.txt", "# a chain of two and the second best\n0.0\n1\n");
    snprintf(rest, sizeof rest, "%s --drafter prompt-lookup --tree %s", prompt, path);
    run_line(&s, with_model(words, rest));
    assert_int_equal(s.code, 0);
    json_t *root = parse(&s);
    assert_true(json_equal(json_object_get(root, "tokens"), json_object_get(plain, "tokens")));
    assert_true(json_number_value(json_object_get(root, "rows_per_pass")) <= 4);
    json_decref(root);
    snprintf(rest, sizeof rest, "%s --drafter prompt-lookup --tree 2", prompt);
    run_line(&s, with_model(words, rest));
    root = parse(&s);
    assert_true(json_equal(json_object_get(root, "tokens"), json_object_get(plain, "tokens")));
    assert_true(json_number_value(json_object_get(root, "rows_per_pass")) <= 3);
    json_decref(root);
    json_decref(plain);
    expect("run -m none.gguf -p x --tree 0", 2, "expected 1 to");
    expect("run -m none.gguf -p x --tree nowhere.txt", 2, "nowhere.txt");
    snprintf(rest, sizeof rest, "run -m none.gguf -p x --tree %s",
             write_file("bad.txt", "0.0\n0.x\n"));
    expect(rest, 1, "line 2");
}

static void accuracy_is_counted_by_distance(void **state) {
    (void)state;
    const char *prompts = write_file("acc.jsonl", "{\"id\":\"a\",\"messages\":[{\"role\":\"user\","
                                                  "\"content\":\"the wind and the wind\"}]}\n");
    char rest[256];
    snprintf(rest, sizeof rest, "--prompts %s --drafter prompt-lookup -n 40 --json --quiet",
             prompts);
    run_line(&s, with_model("accuracy", rest));
    assert_int_equal(s.code, 0);
    json_t *root = parse(&s);
    const json_t *distance = json_object_get(root, "distance");
    // The first root is the prompt's last token, so 40 tokens have 39 places, 38 with a token left
    // to guess.
    const json_int_t places = json_integer_value(json_object_get(root, "places"));
    assert_true(places > 0 && places <= 38);
    assert_string_equal(json_string_value(json_object_get(root, "ranks_of")), "candidates");
    assert_int_equal(json_array_size(distance), 8);
    for (size_t k = 0; k < json_array_size(distance); k++) {
        const json_t *top = json_object_get(json_array_get(distance, k), "k");
        double before = 0;
        assert_int_equal(json_array_size(top), 10);
        for (size_t r = 0; r < 10; r++) { // cumulative shares
            const double share = json_number_value(json_array_get(top, r));
            assert_true(share >= before && share <= 1);
            before = share;
        }
        const json_t *row = json_array_get(distance, k);
        assert_true(json_integer_value(json_object_get(row, "guessed")) <=
                    json_integer_value(json_object_get(row, "places")));
        assert_int_equal(json_integer_value(json_object_get(row, "places")), places - (int)k);
        const json_t *prompt = json_array_get(json_object_get(row, "by_prompt"), 0);
        for (size_t i = 0; i < 3; i++) { // all of it, as there is one
            const double share = i ? json_number_value(json_array_get(top, i == 1 ? 0 : 9)) : 1;
            const double count = json_number_value(json_array_get(prompt, i));
            assert_near(count, share * (double)(places - (json_int_t)k), 1e-6);
        }
        // Of one prompt nothing can be drawn again.
        assert_true(json_is_null(json_array_get(json_object_get(row, "interval_1"), 0)));
    }
    json_decref(root);
    snprintf(rest, sizeof rest,
             "--prompts %s --drafter prompt-lookup,none -n 40 --json --quiet --plot acc.svg",
             prompts);
    run_line(&s, with_model("accuracy", rest));
    assert_int_equal(s.code, 0);
    root = parse(&s);
    const json_t *both = json_object_get(root, "drafters");
    assert_int_equal(json_array_size(both), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *one = json_array_get(both, i);
        const char *want = i ? "none" : "prompt-lookup";
        const json_t *first = json_array_get(json_object_get(one, "distance"), 0);
        const double top = json_number_value(json_array_get(json_object_get(first, "k"), 9));
        assert_string_equal(json_string_value(json_object_get(one, "drafter")), want);
        assert_true(i ? top == 0 : top > 0);
    }
    json_decref(root);
    assert_int_equal(access("acc.svg", R_OK), 0);
    remove("acc.svg");
    snprintf(rest, sizeof rest, "--prompts %s --drafter prompt-lookup,nobody", prompts);
    expect(with_model("accuracy", rest), 2, "nobody");
    expect(with_model("accuracy", ""), 2, "--prompts");
}

// Where a rule promises no equal bytes, what was found is said all the same.
static void bench_interrupted_shows_what_it_has(void **state) {
    static const char *const how[] = {"--json", ""};
    char rest[256];
    (void)state;
    for (int i = 0; i < 2; i++) {
        snprintf(rest, sizeof rest,
                 "--prompts %s --drafters prompt-lookup -n 200 --repeat 1000 --report page %s",
                 write_file("one.jsonl", first_prompts), how[i]);
        run_with(&s, with_model("bench", rest), "", 0, 1500, NULL);
        assert_int_equal(s.code, 130);
        assert_non_null(strstr(s.err, "interrupted"));
        assert_true(s.n_out > 0);
    }
    assert_non_null(strstr(s.out, "prompt-lookup"));
    assert_int_not_equal(access("page/index.html", F_OK), 0);
    rmdir("page");
    snprintf(rest, sizeof rest, "--prompts %s --drafters prompt-lookup -n 200 --repeat 1000 --json",
             write_file("one.jsonl", first_prompts));
    run_with(&s, with_model("bench", rest), "", 0, 1500, NULL);
    json_t *root = parse(&s);
    assert_true(json_is_true(json_object_get(root, "interrupted")));
    const json_t *runs = json_object_get(root, "runs");
    assert_int_equal(json_array_size(runs), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *run = json_array_get(runs, i);
        assert_true(json_integer_value(json_object_get(run, "tokens")) > 0);
        assert_true(json_number_value(json_object_get(run, "tok_s")) > 0);
        assert_true(json_is_true(json_object_get(run, "identical")));
    }
    json_decref(root);
}

// A folder in which nothing can be made, as on a disk that is full or may only be read.
static void without_a_place_for_profiles_all_is_said(void **state) {
    (void)state;
    run_line(&t, with_model("run", "-p hello -n 8"));
    keep_cache_in("/proc");
    run_line(&s, with_model("run", "-p hello -n 8"));
    assert_int_equal(s.code, 0);
    assert_string_equal(s.out, t.out);
    assert_non_null(strstr(s.err, "/proc/forerun"));
    assert_non_null(strstr(s.err, "measured again next time"));
    run_line(&s, with_model("tune", "--limit 1 -n 8 --drafter prompt-lookup"));
    run_line(&t, with_model("tune", "--limit 1 -n 8 --drafter prompt-lookup --json"));
    keep_cache_in(NULL);
    assert_int_equal(s.code, 1);
    assert_non_null(strstr(s.out, "prompt-lookup"));
    assert_null(strstr(s.out, "Stored in"));
    assert_non_null(strstr(s.err, "forerun: /proc/forerun"));
    assert_int_equal(lines_in(s.err), 1);
    assert_int_equal(t.code, 1);
    json_t *root = parse(&t);
    assert_int_equal(json_array_size(json_object_get(root, "drafters")), 1);
    json_decref(root);
}

static void bench_tells_promises_from_findings(void **state) {
    (void)state;
    const char *file = write_file(
        "rules.jsonl",
        "{\"id\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":\"the the the\"}]}\n");
    char rest[256];
    snprintf(rest, sizeof rest,
             "--prompts %s --drafters prompt-lookup -n 24 --temp 1 -s 4 --accept rejection", file);
    assert_int_equal(run_line(&t, with_model("bench", rest)), 0);
    strncat(rest, " --json", sizeof rest - strlen(rest) - 1);
    assert_int_equal(run_line(&s, with_model("bench", rest)), 0);
    json_t *root = parse(&s);
    static const char *const keys[] = {"identical", "lossless", "exact_law"};
    static const bool expected[2][3] = {{true, true, true}, {false, false, true}};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 3; k++) {
            const json_t *run = json_array_get(json_object_get(root, "runs"), i);
            assert_int_equal(json_is_true(json_object_get(run, keys[k])), expected[i][k]);
        }
    assert_non_null(strstr(t.out, " no\n"));
    assert_null(strstr(t.out, " NO\n"));
    json_decref(root);
}

// A drafter that remembered an earlier run of the same prompt would take fewer passes.
static void repeats_do_not_help_a_drafter(void **state) {
    (void)state;
    double tokens_per_pass[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bench(&s, i ? "--drafters prompt-lookup -n 40 --no-adapt --json --repeat 3"
                                     : "--drafters prompt-lookup -n 40 --no-adapt --json"),
                         0);
        json_t *root = parse(&s);
        const json_t *run = json_array_get(json_object_get(root, "runs"), 1);
        tokens_per_pass[i] = number_of(run, "tokens_per_pass");
        json_decref(root);
    }
    assert_true(tokens_per_pass[0] == tokens_per_pass[1]);
}

static void bench_writes_a_page(void **state) {
    (void)state;
    char options[256];
    snprintf(options, sizeof options,
             "--drafters prompt-lookup,auto -n 8 --tree-sizes 2 --report %s/page", folder);
    assert_int_equal(bench(&s, options), 0);
    assert_non_null(strstr(s.out, "prompt-lookup, 2 nodes"));
    snprintf(path, sizeof path, "%s/page/index.html", folder);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    t.n_out = read_back(f, t.out);
    fclose(f);
    assert_well_formed(t.out + strlen("<!doctype html>"));
    static const char *const wanted[] = {
        "<td>none</td>", "<td>prompt-lookup</td>", "<td>auto", "--tree-sizes 2", "two.jsonl",
        "<svg ",         "&gt;&amp;</td>"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(t.out, wanted[i])) fail_msg("the page has no %s", wanted[i]);
    assert_null(strstr(t.out, "<a>"));
    snprintf(path, sizeof path, "%s/page/bench.json", folder);
    f = fopen(path, "rb");
    assert_non_null(f);
    t.n_out = read_back(f, t.out);
    fclose(f);
    json_decref(parse(&t));
}

static void logits_are_sorted_and_belong_to_the_text(void **state) {
    (void)state;
    assert_int_equal(run_line(&s, with_model("logits", "--ids 104,105,106 --top 9 --all --json")),
                     0);
    json_t *root = parse(&s), *position;
    size_t i;
    assert_int_equal(json_array_size(json_object_get(root, "positions")), 3);
    json_array_foreach(json_object_get(root, "positions"), i, position) {
        const json_t *top = json_object_get(position, "top");
        double before = INFINITY, mass = 0;
        const double lse = json_number_value(json_object_get(position, "logsumexp"));
        assert_int_equal(json_integer_value(json_object_get(position, "pos")), i);
        assert_int_equal(json_array_size(top), 9);
        for (size_t k = 0; k < 9; k++) {
            const double z = json_number_value(json_array_get(json_array_get(top, k), 1));
            assert_true(z <= before);
            before = z;
            mass += exp(z - lse);
        }
        assert_true(mass > 0 && mass < 1);
    }
    json_decref(root);
    // All of the vocabulary: the probabilities sum to one.
    assert_int_equal(run_line(&s, with_model("logits", "--ids 104 --top 100000 --json")), 0);
    root = parse(&s);
    position = json_array_get(json_object_get(root, "positions"), 0);
    const double lse = json_number_value(json_object_get(position, "logsumexp"));
    double mass = 0;
    json_t *pair;
    json_array_foreach(json_object_get(position, "top"), i, pair) mass +=
        exp(json_number_value(json_array_get(pair, 1)) - lse);
    assert_true(fabs(mass - 1) < 1e-6);
    json_decref(root);
}

static void perplexity_scores_second_halves(void **state) {
    (void)state;
    char text[1001], rest[256];
    for (int i = 0; i < 1000; i++)
        text[i] = "etaoinshr "[i * 7 % 10];
    text[1000] = 0;
    snprintf(rest, sizeof rest, "-f %s -c 32 --json", write_file("text.txt", text));
    assert_int_equal(run_line(&s, with_model("perplexity", rest)), 0);
    json_t *root = parse(&s);
    const double nll = json_number_value(json_object_get(root, "nll"));
    const json_int_t tokens = json_integer_value(json_object_get(root, "tokens"));
    assert_true(fabs(exp(nll) / json_number_value(json_object_get(root, "ppl")) - 1) < 1e-6);
    assert_true(tokens > 0 && tokens % 15 == 0); // targets 17..31 of each chunk of 32
    json_decref(root);
}

static void inspect_tells_what_a_file_holds(void **state) {
    (void)state;
    snprintf(line, sizeof line, "inspect %s --json", model);
    assert_int_equal(run_line(&s, line), 0);
    json_t *root = parse(&s);
    assert_int_equal(strlen(json_string_value(json_object_get(root, "fingerprint"))), 32);
    assert_string_equal(json_string_value(json_object_get(json_object_get(root, "metadata"),
                                                          "general.architecture")),
                        "llama");
    assert_true(json_array_size(json_object_get(root, "tensors")) > 10);
    // 3 layers, 2 KV heads of 16 values, K and V in two bytes each.
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(root, "memory"), "kv_bytes_per_token")),
        3 * 2 * 16 * 2 * 2);
    const json_t *by_type =
        json_object_get(json_object_get(root, "memory"), "kv_bytes_at_ctx_train_by_type");
    assert_int_equal(json_object_size(by_type), 1); // heads of 16 values go in f16 alone
    assert_int_equal(json_integer_value(json_object_get(by_type, "f16")),
                     json_integer_value(json_object_get(json_object_get(root, "memory"),
                                                        "kv_bytes_at_ctx_train")));
    json_decref(root);
    snprintf(line, sizeof line, "inspect %s", model);
    assert_int_equal(run_line(&s, line), 0);
    assert_non_null(strstr(s.out, "token_embd.weight"));
}

// I-quants of 2 bits become nibbles.
static void a_model_that_grows_in_memory_says_so(void **state) {
    (void)state;
    char larger[160];
    fr_error err;
    snprintf(larger, sizeof larger, "%s/larger.gguf", folder);
    assert_int_equal(
        fr_tiny_write(&(fr_tiny_options){.type = FR_TYPE_IQ2_S, .n_layer = 1}, larger, &err),
        FR_OK);
    snprintf(line, sizeof line, "inspect %s --json", larger);
    assert_int_equal(run_line(&s, line), 0);
    json_t *root = parse(&s), *memory = json_object_get(root, "memory");
    const double file = json_number_value(json_object_get(memory, "weights_bytes")),
                 packed = json_number_value(json_object_get(memory, "weights_memory_bytes"));
    json_decref(root);
    assert_true(packed > 1.5 * file && packed < 2 * file);
    char sentence[160];
    snprintf(sentence, sizeof sentence,
             "forerun: the weights take %.1f MB of memory, %.2f times their %.1f MB in the file;",
             1e-6 * packed, packed / file, 1e-6 * file);
    snprintf(line, sizeof line, "run -m %s -t 1 -p hello -n 2 --drafter none", larger);
    expect(line, 0, sentence);
    static const char *const silent[] = {"--low-memory", "--quiet"};
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "run -m %s -t 1 -p hello -n 2 --drafter none %s", larger,
                 silent[i]);
        assert_int_equal(run_line(&s, line), 0);
        assert_null(strstr(s.err, "of memory"));
    }
    assert_int_equal(run_line(&s, with_model("run", "-p hello -n 2 --drafter none")), 0);
    assert_null(strstr(s.err, "of memory"));
}

static void inspect_tells_what_a_pack_is(void **state) {
    (void)state;
    snprintf(line, sizeof line, "inspect %s/tests/fuzz/corpus/pack/eagle --json", FR_SOURCE_DIR);
    assert_int_equal(run_line(&s, line), 0);
    json_t *root = parse(&s), *pack = json_object_get(root, "pack");
    assert_string_equal(json_string_value(json_object_get(pack, "drafter")), "eagle");
    assert_string_equal(json_string_value(json_object_get(pack, "target_name")), "tiny");
    assert_int_equal(json_integer_value(json_object_get(pack, "draft_vocab")), 9);
    assert_int_equal(json_array_size(json_object_get(pack, "accuracy")), 3);
    assert_null(json_object_get(root, "memory"));
    json_decref(root);
    snprintf(line, sizeof line, "inspect %s/tests/fuzz/corpus/pack/hydra", FR_SOURCE_DIR);
    assert_int_equal(run_line(&s, line), 0);
    assert_non_null(strstr(s.out, "pack: medusa (hydra), 1 heads"));
    assert_non_null(strstr(s.out, "depth  1   50.0 %  25.0 %"));
}

static const char *inspect_profile(const char *name, const char *more) {
    snprintf(line, sizeof line, "inspect %s/tests/fuzz/corpus/profile/%s %s", FR_SOURCE_DIR, name,
             more);
    return line;
}

static void inspect_tells_what_a_profile_found(void **state) {
    (void)state;
    assert_int_equal(run_line(&s, inspect_profile("drafter", "--json")), 0);
    json_t *root = parse(&s), *profile = json_object_get(root, "profile");
    json_t *machine = json_object_get(profile, "machine");
    json_t *first = json_array_get(json_object_get(profile, "drafters"), 0);
    json_t *rows = json_object_get(json_object_get(profile, "cost"), "rows");
    assert_string_equal(json_string_value(json_object_get(machine, "isa")), "avx2");
    assert_string_equal(json_string_value(json_object_get(profile, "fastest")), "prompt-lookup");
    assert_true(json_number_value(json_object_get(first, "predicted_speedup")) == 1.5);
    assert_int_equal(json_array_size(rows), 3);
    assert_null(json_object_get(root, "memory"));
    json_decref(root);
    assert_int_equal(run_line(&s, inspect_profile("drafter", "")), 0);
    assert_non_null(
        strstr(s.out, "A pass of one row takes 11.0 ms, 9% of it for the output head; of 4 rows"));
    assert_non_null(
        strstr(s.out, "; an expert takes 0.002 ms: one row reads 6, 2 unrelated rows 1.33x"));
    assert_non_null(strstr(s.out, "fastest of these: prompt-lookup"));
    assert_non_null(strstr(s.out, "profile.checksum = 7512537279853846859\n"));
    // Costs alone: nothing was tuned, so nothing is the fastest.
    assert_int_equal(run_line(&s, inspect_profile("cost", "--json")), 0);
    root = parse(&s);
    assert_true(json_is_null(json_object_get(json_object_get(root, "profile"), "fastest")));
    json_decref(root);
    assert_int_equal(run_line(&s, inspect_profile("version", "--json")), 0);
    root = parse(&s);
    assert_true(json_is_null(json_object_get(root, "profile")));
    assert_non_null(strstr(json_string_value(json_object_get(root, "not_usable")),
                           "profile.version: expected"));
    json_decref(root);
    assert_int_equal(run_line(&s, inspect_profile("version", "")), 0);
    assert_non_null(strstr(s.out, "profile: not usable: profile.version"));
}

static void chat_keeps_the_conversation(void **state) {
    (void)state;
    const char *command = with_model("chat", "-n 6 --temp 0");
    assert_int_equal(run_input(&t, command, "hello\n"), 0);
    assert_int_equal(run_input(&s, command, "hello\n/help\nmore\n/reset\nhello\n/exit\nnever\n"),
                     0);
    assert_non_null(strstr(s.err, "/reset starts anew"));
    // After /reset the first question has its first answer again, and after /exit nothing comes.
    assert_true(t.n_out > 1 && s.n_out > 2 * t.n_out);
    assert_memory_equal(s.out, t.out, t.n_out);
    assert_memory_equal(s.out + s.n_out - t.n_out, t.out, t.n_out);
}

// A message without room is told, the next ones are answered, and the code says it to a script.
static void chat_tells_what_it_left_out(void **state) {
    (void)state;
    static char input[20000];
    memset(input, 'a', sizeof input - 20);
    strcpy(input + sizeof input - 20, "\n/reset\nb\n");
    assert_int_equal(run_input(&s, with_model("chat", "-n 2 --temp 0"), input), 1);
    assert_non_null(strstr(s.err, "/reset starts anew"));
    assert_true(s.n_out > 1);
}

// A damaged scale: all commands that read the model's numbers say so, and none goes on as if.
static void a_broken_model_is_a_sentence_everywhere(void **state) {
    (void)state;
    static const char *const commands[] = {
        "run -p hello -n 8",
        "run -p hello -n 8 --drafter prompt-lookup --temp 1 --accept typical",
        "run -p hello -n 8 --drafter prompt-lookup --temp 1 --accept rejection --json",
        "bench --prompts %s --drafters prompt-lookup -n 8 --json --quiet",
        "accuracy --prompts %s --drafter prompt-lookup -n 8 --quiet",
        "tune --prompts %s --drafter prompt-lookup -n 8 --quiet",
        "logits -p hello",
        "logits -p hello --all --json",
        "perplexity -f %s -c 16 --quiet",
        "distill --prompts %s -o %s.out -n 24 -c 200 --quiet",
        "distill --prompts %s -o %s.out -n 24 -c 200 --quiet --capture %s.shards"};
    char broken[128], prompts[128], command[512];
    fr_error err;
    snprintf(broken, sizeof broken, "%s/broken.gguf", folder);
    snprintf(prompts, sizeof prompts, "%s",
             write_file("said.jsonl", "{\"id\":\"a\",\"messages\":[{"
                                      "\"role\":\"user\",\"content\":\"how are you\"}]}\n"));
    if (fr_tiny_write_broken(&(fr_tiny_options){.n_ctx = 1 << 12}, broken, "blk.1.ffn_norm.weight",
                             7, INFINITY, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        snprintf(command, sizeof command, commands[i], prompts, prompts, prompts);
        snprintf(line, sizeof line, "%s -m %s -t 1", command, broken);
        expect(line, 1, "are not finite (expected numbers, found ");
    }
    snprintf(line, sizeof line, "chat -m %s -t 1 -n 8 --temp 0", broken);
    assert_int_equal(run_input(&s, line, "hello\nmore\n"), 1);
    assert_non_null(strstr(s.err, "are not finite"));
}

// A warning, which changes no ids and which --quiet drops.
static void a_prompt_that_begins_twice_gives_a_warning(void **state) {
    (void)state;
    static const char words[] = "forerun: the prompt begins with <s> twice: ";
    char own[256];
    fr_error err;
    snprintf(path, sizeof path, "%s/spm.gguf", folder);
    assert_int_equal(fr_tiny_write(&(fr_tiny_options){.spm = true}, path, &err), FR_OK);
    const struct {
        const char *prompt;
        int n_prompt, n_said;
    } cases[] = {{"--raw -p <s>Hi", 5, 1},
                 {"--raw -p Hi", 4, 0},
                 {"--raw --quiet -p <s>Hi", 5, 0},
                 {"--raw -p <s><s>Hi", 6, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(own, sizeof own, "run -m %s -t 1 --drafter none -n 1 --json %s", path,
                 cases[i].prompt);
        assert_int_equal(run_line(&s, own), 0);
        const char *said_it = strstr(s.err, words);
        if ((said_it != NULL) != cases[i].n_said) fail_msg("%s: %s", own, s.err);
        assert_true(!said_it || !strstr(said_it + 1, words));
        json_t *root = parse(&s);
        assert_int_equal(json_integer_value(json_object_get(root, "prompt_tokens")),
                         cases[i].n_prompt);
        json_decref(root);
    }
    char body[128];
    snprintf(body, sizeof body, "%s/twice.json", folder);
    FILE *f = fopen(body, "w");
    assert_non_null(f);
    fputs("{\"prompt\":\"<s>Hi\",\"max_tokens\":1}", f);
    fclose(f);
    snprintf(own, sizeof own, "run -m %s -t 1 --drafter none --request %s", path, body);
    assert_int_equal(run_line(&s, own), 0);
    assert_non_null(strstr(s.err, words));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_command_lines_exit_2_with_one_line),
        cmocka_unit_test(help_knows_every_template_and_the_prompts_share),
        cmocka_unit_test(what_cannot_be_done_exits_1_with_one_line),
        cmocka_unit_test(every_command_helps),
        cmocka_unit_test(tokens_go_there_and_back),
        cmocka_unit_test(names_of_tokens_are_text_unless_asked_for),
        cmocka_unit_test(messages_become_a_prompt),
        cmocka_unit_test(a_prompt_that_begins_twice_gives_a_warning),
        cmocka_unit_test(a_bad_line_is_named_and_the_ones_before_answered),
        cmocka_unit_test(run_answers_with_the_promised_document),
        cmocka_unit_test(the_bytes_do_not_depend_on_the_drafter),
        cmocka_unit_test(every_rule_says_what_it_promises),
        cmocka_unit_test(all_ways_to_give_a_prompt_agree),
        cmocka_unit_test(a_seed_is_drawn_and_printed),
        cmocka_unit_test(a_zero_means_what_it_says),
        cmocka_unit_test(a_full_disk_is_a_sentence),
        cmocka_unit_test(a_broken_model_is_a_sentence_everywhere),
        cmocka_unit_test(an_interrupt_keeps_the_text_so_far),
        cmocka_unit_test(color_is_for_terminals_or_on_demand),
        cmocka_unit_test(settings_are_those_of_the_drafters),
        cmocka_unit_test(bench_compares_with_plain_decoding),
        cmocka_unit_test(tune_keeps_a_profile_that_auto_reads),
        cmocka_unit_test(only_the_first_run_tells_what_it_measures),
        cmocka_unit_test(trees_can_be_given),
        cmocka_unit_test(accuracy_is_counted_by_distance),
        cmocka_unit_test(bench_interrupted_shows_what_it_has),
        cmocka_unit_test(without_a_place_for_profiles_all_is_said),
        cmocka_unit_test(bench_tells_promises_from_findings),
        cmocka_unit_test(repeats_do_not_help_a_drafter),
        cmocka_unit_test(bench_writes_a_page),
        cmocka_unit_test(logits_are_sorted_and_belong_to_the_text),
        cmocka_unit_test(perplexity_scores_second_halves),
        cmocka_unit_test(inspect_tells_what_a_file_holds),
        cmocka_unit_test(a_model_that_grows_in_memory_says_so),
        cmocka_unit_test(inspect_tells_what_a_pack_is),
        cmocka_unit_test(inspect_tells_what_a_profile_found),
        cmocka_unit_test(chat_keeps_the_conversation),
        cmocka_unit_test(chat_tells_what_it_left_out),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
