// bench.c — `bench`: every drafter on the same prompts, interleaved, compared with plain decoding.
#include "base/cpus.h"
#include "cmd/generate.h"
#include "cmd/prompts.h"
#include "cmd/talk.h"
#include "draft/registry.h"
#include <stdlib.h>
#include <string.h>

enum { DRAFTERS_MAX = 32 };

typedef struct tally { // of one drafter, over all prompts
    const char *spec;
    fr_session *session;
    double decode, draft, decode_now; // seconds; decode_now: of the generation just done
    double least, most;               // speedup over `none`, by generation
    int64_t tokens, passes, rows, offered[FR_MAX_DEPTH], accepted[FR_MAX_DEPTH];
    bool identical;           // every answer had the bytes of `none`
    bool lossless, exact_law; // what the rule promises
} tally;

typedef struct bench {
    const fr_cmd_args *args;
    fr_engine *engine;
    fr_cmd_text text;
    fr_prompts prompts;
    fr_sampling sampling;
    char *names;             // the list of SPECs, cut
    tally run[DRAFTERS_MAX]; // run[0] is `none`
    int n_runs;
    fr_talk talk;
    fr_ids ids, plain; // plain: the tokens of `none`
    fr_buffer answer;  // its text
    fr_progress bar;
    uint64_t done, total; // generations
} bench;

static fr_status set_drafters(bench *b, fr_error *err) {
    b->n_runs = 1;
    b->run[0] = (tally){.spec = "none", .identical = true};
    b->names = strdup(b->args->drafters);
    if (!b->names) return fr_fail(err, FR_ENOMEM, "no memory");
    char *rest;
    for (char *s = strtok_r(b->names, ",", &rest); s; s = strtok_r(NULL, ",", &rest)) {
        bool known = false;
        for (int i = 0; i < b->n_runs; i++)
            known |= !strcmp(b->run[i].spec, s);
        if (known) continue;
        const fr_status st = fr_drafter_check(s, err);
        if (st) return st;
        if (b->n_runs == DRAFTERS_MAX)
            return fr_fail(err, FR_EARG, "--drafters: more than %d", DRAFTERS_MAX);
        b->run[b->n_runs++] = (tally){.spec = s, .identical = true};
    }
    return FR_OK;
}

static bool go_on(void *user, const fr_piece *piece) {
    bench *b = user;
    (void)piece;
    fr_progress_show(&b->bar, "bench", b->done, b->total);
    return !fr_cmd_interrupted();
}

// One drafter on the ids at hand; what it gave is compared with, or becomes, the plain answer.
static fr_status generate(bench *b, tally *t, int n_predict, fr_result *r, fr_error *err) {
    const fr_request request = {.prompt = b->ids.data,
                                .n_prompt = (int)b->ids.n,
                                .n_predict = n_predict,
                                .sampling = b->sampling,
                                .stream = go_on,
                                .user = b};
    const fr_status st = fr_session_generate(t->session, &request, r, err);
    if (st) return st;
    return fr_cmd_interrupted() ? fr_fail(err, FR_EINTR, "interrupted") : FR_OK;
}

static void add(tally *t, const fr_result *r) {
    const fr_stats *s = &r->stats;
    t->decode += s->seconds_decode;
    t->decode_now = s->seconds_decode;
    t->draft += s->seconds_draft;
    t->tokens += s->completion_tokens;
    t->passes += s->passes;
    t->rows += s->rows;
    t->lossless = s->lossless;
    t->exact_law = s->exact_law;
    for (int i = 0; i < FR_MAX_DEPTH; i++) {
        t->offered[i] += s->offered[i];
        t->accepted[i] += s->accepted[i];
    }
}

static fr_status keep_plain(bench *b, const fr_result *r, fr_error *err) {
    b->plain.n = b->answer.n = 0;
    for (int i = 0; i < r->n_tokens; i++) {
        const fr_status st = fr_ids_push(&b->plain, r->tokens[i], err);
        if (st) return st;
    }
    return fr_buffer_add(&b->answer, r->text, r->text_bytes, err);
}

static bool equals_plain(const bench *b, const fr_result *r) {
    return (size_t)r->n_tokens == b->plain.n && r->text_bytes == b->answer.n &&
           (!r->n_tokens || !memcmp(r->tokens, b->plain.data, b->plain.n * sizeof *r->tokens)) &&
           (!b->answer.n || !memcmp(r->text, b->answer.data, b->answer.n));
}

// All drafters on one turn, one after the other. Who follows `none` changes from turn to turn, so
// that a drift of the machine favours none of them.
static fr_status run_turn(bench *b, int shift, fr_error *err) {
    for (int k = 0; k < b->n_runs; k++) {
        tally *t = &b->run[k ? 1 + (k - 1 + shift) % (b->n_runs - 1) : 0];
        fr_result r;
        fr_status st = generate(b, t, b->args->n_predict, &r, err);
        if (!st && !k) st = keep_plain(b, &r, err);
        if (st) return st;
        add(t, &r);
        t->identical &= equals_plain(b, &r);
        const double plain = b->run[0].decode_now;
        const double speedup = t->decode_now > 0 && plain > 0 ? plain / t->decode_now : 1;
        if (!t->least || speedup < t->least) t->least = speedup;
        if (speedup > t->most) t->most = speedup;
        b->done++;
    }
    return FR_OK;
}

static void close_sessions(bench *b) {
    for (int i = 0; i < b->n_runs; i++) {
        fr_session_close(b->run[i].session);
        b->run[i].session = NULL;
    }
}

// Sessions are new for every conversation, so that no prompt is helped by the one before it.
static fr_status open_sessions(bench *b, const fr_prompt *p, fr_error *err) {
    int64_t need = 64;
    for (int i = 0; i < p->n_turns; i++) // a byte is a token at most, and a template adds some
        need += (int64_t)p->turn_bytes[i] + b->args->n_predict + 256;
    need += (int64_t)p->system_bytes;
    for (int i = 0; i < b->n_runs; i++) {
        const fr_status st = fr_cmd_session_open(&b->run[i].session, b->engine, b->args,
                                                 b->run[i].spec, need, 0, err);
        if (st) return st;
    }
    return FR_OK;
}

// `warm`: one short generation that nothing is counted of.
static fr_status run_conversation(bench *b, const fr_prompt *p, int shift, bool warm,
                                  fr_error *err) {
    fr_talk_drop(&b->talk, 0);
    fr_status st = open_sessions(b, p, err);
    if (!st && p->system) st = fr_talk_add(&b->talk, "system", p->system, p->system_bytes, err);
    for (int i = 0; i < p->n_turns && !st; i++) {
        st = fr_talk_add(&b->talk, "user", p->turns[i], p->turn_bytes[i], err);
        if (!st) st = fr_talk_encode(&b->talk, &b->text, &b->ids, err);
        if (st) break;
        if (warm) {
            fr_result r;
            st = generate(b, &b->run[0], 8, &r, err);
            break;
        }
        st = run_turn(b, shift + i, err);
        if (!st)
            st = fr_talk_add(&b->talk, "assistant", b->answer.data ? b->answer.data : "",
                             b->answer.n, err);
    }
    close_sessions(b);
    return st;
}

static fr_status run_all(bench *b, fr_error *err) {
    for (int i = 0; i < b->prompts.n; i++)
        b->total += (uint64_t)(b->prompts.item[i].n_turns * b->n_runs * b->args->repeat);
    fr_status st = run_conversation(b, &b->prompts.item[0], 0, true, err);
    fr_progress_open(&b->bar, b->args->quiet ? NULL : stderr, "answers", 1);
    for (int k = 0; k < b->args->repeat && !st; k++)
        for (int i = 0; i < b->prompts.n && !st; i++) {
            fr_error why = {0};
            st = run_conversation(b, &b->prompts.item[i], i + k, false, &why);
            if (st == FR_EINTR || st == FR_EARG)
                *err = why;
            else if (st)
                fr_fail(err, st, "%s, prompt %d (%.40s): %s", b->args->prompts, i + 1,
                        b->prompts.item[i].id, why.text);
        }
    fr_progress_clear(&b->bar);
    return st;
}

static double speedup_of(const bench *b, const tally *t) {
    const tally *plain = &b->run[0];
    const double rate = fr_cmd_rate((double)t->tokens, t->decode);
    return fr_cmd_rate(rate, fr_cmd_rate((double)plain->tokens, plain->decode));
}

static json_t *tally_json(const bench *b, const tally *t) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:i, s:I}",
                     "drafter", fr_cmd_json_text(t->spec, strlen(t->spec)), "tok_s",
                     fr_cmd_real(fr_cmd_rate((double)t->tokens, t->decode)), "speedup",
                     fr_cmd_real(speedup_of(b, t)), "speedup_min", fr_cmd_real(t->least),
                     "speedup_max", fr_cmd_real(t->most), "tokens_per_pass",
                     fr_cmd_real(fr_cmd_rate((double)t->tokens, (double)t->passes)),
                     "accepted_by_depth", fr_cmd_depths(t->accepted, t->offered), "draft_share",
                     fr_cmd_real(fr_cmd_rate(t->draft, t->decode)), "rows_per_pass",
                     fr_cmd_real(fr_cmd_rate((double)t->rows, (double)t->passes)), "identical",
                     t->identical, "lossless", t->lossless, "exact_law", t->exact_law, "prompts",
                     b->prompts.n, "tokens", (json_int_t)t->tokens);
}

static json_t *bench_json(const bench *b) {
    char cpu[128];
    fr_cpu_name(cpu, sizeof cpu);
    const fr_engine_info info = fr_engine_describe(b->engine);
    json_t *runs = json_array();
    for (int i = 0; runs && i < b->n_runs; i++)
        json_array_append_new(runs, tally_json(b, &b->run[i]));
    return json_pack("{s:o, s:{s:o, s:s, s:i}, s:o}", "model",
                     fr_cmd_json_text(info.name, strlen(info.name)), "machine", "cpu",
                     fr_cmd_json_text(cpu, strlen(cpu)), "isa", info.isa, "threads", info.threads,
                     "runs", runs);
}

static void bench_print(const bench *b) {
    const fr_engine_info info = fr_engine_describe(b->engine);
    fr_cmd_print_clean(stdout, info.name, strlen(info.name));
    printf(", %s, %d threads, %d prompts\n", info.isa, info.threads, b->prompts.n);
    printf("%-24s %9s %8s %13s %12s %11s %9s\n", "drafter", "tokens/s", "speedup", "(min..max)",
           "tokens/pass", "draft share", "identical");
    for (int i = 0; i < b->n_runs; i++) {
        const tally *t = &b->run[i];
        printf("%-24s %9.2f %7.2fx (%5.2f..%5.2f) %12.2f %10.1f%% %9s\n", t->spec,
               fr_cmd_rate((double)t->tokens, t->decode), speedup_of(b, t), t->least, t->most,
               fr_cmd_rate((double)t->tokens, (double)t->passes),
               100 * fr_cmd_rate(t->draft, t->decode),
               t->identical  ? "yes"
               : t->lossless ? "NO"
                             : "no"); // of a rule that promises none
    }
}

static int run_bench(const fr_cmd_args *args, const fr_parsed *parsed) {
    int code = fr_cmd_check("bench", args);
    if (!code) code = fr_cmd_check_drafting("bench", args);
    if (!code && !args->prompts) code = fr_cmd_usage("bench", "--prompts: a FILE is needed");
    if (code) return code;
    fr_error err = {0};
    bench *b = calloc(1, sizeof *b);
    if (!b) {
        fr_fail(&err, FR_ENOMEM, "bench: no memory");
        return fr_cmd_fail(&err);
    }
    b->args = args;
    b->sampling = fr_cmd_sampling(args, fr_option_given(&fr_cmd_bench.table, parsed, "seed"));
    fr_status st = set_drafters(b, &err);
    if (!st) st = fr_prompts_read(&b->prompts, args->prompts, args->limit, &err);
    if (!st) st = fr_cmd_engine_open(&b->engine, args, &err);
    if (!st) {
        fr_cmd_text_lend(&b->text, b->engine);
        st = fr_cmd_text_template(&b->text, args->chat_template, &err);
    }
    if (!st) st = run_all(b, &err);
    if (st)
        code = fr_cmd_fail(&err);
    else if (args->json)
        code = fr_cmd_print_json(bench_json(b));
    else
        bench_print(b);
    if (!st && !args->quiet && args->temp > 0)
        fprintf(stderr, "seed %llu\n", (unsigned long long)b->sampling.seed);
    close_sessions(b);
    fr_engine_close(b->engine);
    fr_prompts_free(&b->prompts);
    fr_talk_free(&b->talk);
    fr_ids_free(&b->ids);
    fr_ids_free(&b->plain);
    fr_buffer_free(&b->answer);
    free(b->names);
    free(b);
    return code;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    {"prompts",       0,   FR_OPT_FILE,   AT(prompts),   "FILE", NULL, NULL, "JSON lines {\"id\",\"messages\":[...]}; the user's turns are played", 0, 0, NULL},
    {"drafters",      0,   FR_OPT_STRING, AT(drafters),  "SPEC,SPEC...", "auto", NULL, "who drafts; 'none' is always run too", 0, 0, NULL},
    {"n-predict",     'n', FR_OPT_INT,    AT(n_predict), "N", "128", NULL, "tokens to generate at most, for each turn", 1, 1 << 20, NULL},
    {"limit",         0,   FR_OPT_INT,    AT(limit),     "K", "0", "all", "take the first K prompts", 0, 1 << 30, NULL},
    {"repeat",        0,   FR_OPT_INT,    AT(repeat),    "R", "1", NULL, "times that every prompt is run", 1, 1000, NULL},
    {"chat-template", 0,   FR_OPT_STRING, AT(chat_template), "NAME", NULL, "the one in the model file", "chat template to use", 0, 0, NULL},
    {.name = NULL}};
static const fr_option shape[] = {
    {"tree",      0, FR_OPT_STRING, AT(tree),     "auto|N|FILE", "auto", NULL, "candidate tree: sized by what passes cost, N nodes, or the shape in a file (a path of ranks a line, as 0.0.1)", 0, 0, NULL},
    {"no-adapt",  0, FR_OPT_FLAG,   AT(no_adapt), NULL, NULL, NULL, "never shrink the tree or fall back to plain decoding", 0, 0, NULL},
    {"draft-opt", 0, FR_OPT_LIST,   AT(draft_opts), "KEY=VALUE", NULL, NULL, "a setting of the drafters' own; may be given many times", 0, 0, NULL},
    {"accept",    0, FR_OPT_STRING, AT(accept),   "RULE", "exact", NULL, "when a candidate counts: 'exact' gives the bytes of plain decoding, 'rejection' its law, 'typical[:EPSILON,DELTA]' neither", 0, 0, NULL},
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"What is run", options}, shape_group = {"Drafting", shape};

const fr_cmd fr_cmd_bench = {
    {.name = "bench",
     .summary = "compare drafters on the same prompts",
     .about = "Runs every drafter on the same prompts, interleaved prompt by prompt so that the "
              "machine's noise hits all alike, and compares the output with plain decoding's "
              "(NO: it differs against the promise; no: --accept promised no equality). "
              "Rates count decoding alone. The speedup is that of all tokens together; min and max "
              "are over single answers, each paired with plain decoding's of the same moment.",
     .example = "forerun bench -m models/smollm2-135m.gguf --prompts prompts.jsonl --drafters "
                "prompt-lookup --limit 8",
     .groups = {&group, &fr_cmd_model_options, &shape_group, &fr_cmd_sampling_options,
                &fr_cmd_output_options}},
    run_bench};
