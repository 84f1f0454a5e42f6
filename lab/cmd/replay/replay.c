// replay.c — `replay`: tokens a pass of drafters on many prompts, without the rows that are wrong.
#include "lab/cmd/replay/replay.h"
#include "base/alloc.h"
#include "cmd/lib/generate.h"
#include "decode/draw/sampler.h"
#include "decode/tree_option.h"
#include "draft/registry.h"
#include "gguf/hash.h"
#include "lab/cmd/lab.h"
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- what is replayed

static fr_status set_drafters(lab_replay *r, fr_error *err) {
    if (!(r->specs = strdup(r->args->drafters))) return fr_fail(err, FR_ENOMEM, "no memory");
    fr_status st = FR_OK;
    char *rest;
    for (char *s = strtok_r(r->specs, ",", &rest); s && !st; s = strtok_r(NULL, ",", &rest)) {
        bool known = false;
        for (int i = 0; i < r->n_drafters; i++)
            known |= !strcmp(r->drafter[i].spec, s);
        if (known) continue;
        if (!strcmp(s, "auto"))
            return fr_fail(err, FR_EARG, "--drafters auto: expected the drafters themselves");
        if (r->n_drafters == LAB_REPLAY_DRAFTERS)
            return fr_fail(err, FR_EARG, "--drafters: more than %d", LAB_REPLAY_DRAFTERS);
        st = fr_drafter_check(s, err);
        r->drafter[r->n_drafters++] = (lab_drafter){.spec = s};
    }
    return st;
}

// A conversation is known by what is said in it.
static void make_key(lab_conversation *c) {
    const fr_prompt *p = c->prompt;
    fr_hash h;
    fr_hash_open(&h, 0);
    if (p->system) fr_hash_add(&h, p->system, p->system_bytes + 1); // with its end
    for (int i = 0; i < p->n_turns; i++) {
        fr_hash_add(&h, &p->turn_bytes[i], sizeof p->turn_bytes[i]);
        fr_hash_add(&h, p->turns[i], p->turn_bytes[i]);
    }
    snprintf(c->key, sizeof c->key, "%016llx", (unsigned long long)fr_hash_value(&h));
}

static const char *task_of(const fr_prompt_set *set, int i) {
    return json_string_value(
        json_object_get(json_array_get(set->prompts.lines, (size_t)i), "task"));
}

static fr_status set_conversations(lab_replay *r, fr_error *err) {
    fr_status st =
        fr_prompt_sets_read(r->set, &r->n_sets, &r->paths, r->args->prompts, r->args->limit, err);
    int n = 0;
    for (int set = 0; set < r->n_sets; set++)
        n += r->set[set].prompts.n;
    if (!st && !(r->item = fr_alloc_array((size_t)n, sizeof *r->item)))
        st = fr_fail(err, FR_ENOMEM, "replay: no memory for %d prompts", n);
    for (int set = 0; set < r->n_sets && !st; set++)
        for (int i = 0; i < r->set[set].prompts.n && !st; i++) {
            lab_conversation *c = &r->item[r->n++];
            c->prompt = &r->set[set].prompts.item[i];
            c->set = set;
            c->task = task_of(&r->set[set], i);
            make_key(c);
            if (!(c->turn = fr_alloc_array((size_t)c->prompt->n_turns, sizeof *c->turn)))
                st = fr_fail(err, FR_ENOMEM, "replay: no memory for %d prompts", n);
        }
    return st;
}

static void close_replay(lab_replay *r) {
    for (int i = 0; i < r->n; i++) {
        for (int t = 0; t < r->item[i].prompt->n_turns && r->item[i].turn; t++)
            fr_free(r->item[i].turn[t].ids);
        fr_free(r->item[i].turn);
    }
    for (int i = 0; i < r->n_drafters; i++) {
        json_decref(r->drafter[i].setup);
        fr_free(r->drafter[i].score);
    }
    for (int i = 0; i < r->n_sets; i++)
        fr_prompts_free(&r->set[i].prompts);
    fr_engine_close(r->engine);
    fr_free(r->item);
    free(r->specs);
    free(r->paths);
    free(r);
}

// ---------------------------------------------------------------- the command

static int check_line(const fr_cmd_args *args) {
    fr_tree_size size;
    fr_error err;
    int code = fr_cmd_check("replay", args);
    if (code) return code;
    if (!args->prompts) return fr_cmd_usage("replay", "--prompts: a FILE is needed");
    if (!args->drafters) return fr_cmd_usage("replay", "--drafters: a SPEC is needed");
    if (fr_tree_size_read(&size, args->tree, &err)) return fr_cmd_usage("replay", "--%s", err.text);
    if (!size.nodes && !size.shape.n)
        return fr_cmd_usage("replay", "--tree %s: expected a size that no clock decides",
                            args->tree);
    return FR_EXIT_DONE;
}

void lab_replay_begin(lab_replay *r, int to_play) {
    r->played = 0;
    r->to_play = to_play;
    fr_progress_open(&r->bar, r->args->quiet ? NULL : stderr, "texts", 1);
}

static int show(const lab_replay *r) {
    int code = FR_EXIT_DONE;
    const lab_seconds *t = &r->seconds;
    if (r->args->json)
        code = fr_cmd_print_json(lab_replay_json(r));
    else
        lab_replay_print(r);
    if (!r->args->quiet)
        fprintf(stderr,
                "answers %.1f s; replay of %.0f tokens %.1f s; real runs of %.0f tokens %.1f s, "
                "%d difference%s\n",
                t->answers, t->replayed, t->replay, t->checked, t->check, r->differences,
                r->differences == 1 ? "" : "s");
    return r->differences ? FR_EXIT_FAILED : code;
}

static fr_status measure(lab_replay *r, fr_error *err) {
    fr_status st = set_drafters(r, err);
    if (!st) st = set_conversations(r, err);
    if (!st) st = fr_cmd_engine_open(&r->engine, r->args, err);
    if (!st) st = lab_replay_answer(r, err);
    return st ? st : lab_replay_run(r, err);
}

static int run_replay(const fr_cmd_args *args, const fr_parsed *parsed) {
    fr_error err = {0};
    int code = check_line(args);
    (void)parsed;
    if (code) return code;
    lab_replay *r = calloc(1, sizeof *r);
    if (!r) {
        fr_fail(&err, FR_ENOMEM, "replay: no memory");
        return fr_cmd_fail(&err);
    }
    r->args = args;
    r->sampling = fr_cmd_sampling(args, true);
    code = measure(r, &err) ? fr_cmd_fail(&err) : show(r);
    close_replay(r);
    return code;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    {"prompts",   0,   FR_OPT_FILE,   AT(prompts),   "FILE,FILE...", NULL, NULL, "files of JSON lines {\"id\",\"messages\":[...]}, of which the user's turns are answered; results are given per file and in total", 0, 0, NULL},
    {"drafters",  0,   FR_OPT_SPEC,   AT(drafters),  "SPEC,SPEC...", NULL, NULL, "drafters to measure", 0, 0, NULL},
    {"n-predict", 'n', FR_OPT_INT,    AT(n_predict), "N", "128", NULL, "maximum number of tokens to generate for each turn", 1, 1 << 20, NULL},
    {"limit",     0,   FR_OPT_INT,    AT(limit),     "K", "0", "all", "use only the first K prompts of each file", 0, 1 << 30, NULL},
    {"width",     0,   FR_OPT_INT,    AT(width),     "N", "16", NULL, "number of texts processed at the same time", 1, 64, NULL},
    {"check",     0,   FR_OPT_FLOAT,  AT(check),     "SHARE", "0.02", NULL, "share of the results that are checked by real runs, selected by a hash", 0, 1, NULL},
    {"answers",   0,   FR_OPT_FILE,   AT(answers),   "FILE", NULL, NULL, "file for the answers of plain decoding; answers that it already has are not generated again", 0, 0, NULL},
    {"output",    'o', FR_OPT_FILE,   AT(results),   "FILE", NULL, NULL, "file for the results, a JSON line for each prompt and drafter; results that it already has are not measured again", 0, 0, NULL},
    FR_CMD_TEMPLATE,
    {.name = NULL}};
static const fr_option drafting[] = {
    {"tree",      0,   FR_OPT_STRING, AT(tree),       "N|FILE", "16", NULL, "candidate tree: N nodes, or a shape file (one path of ranks per line, such as 0.0.1)", 0, 0, NULL},
    {"draft-opt", 0,   FR_OPT_LIST,   AT(draft_opts), "KEY=VALUE", NULL, NULL, "setting of the drafters; may be repeated", 0, 0, NULL},
    {.name = NULL}};
static const fr_option sampling[] = {
    {"temp",      0,   FR_OPT_FLOAT, AT(temp),  "T", "0",    NULL, "temperature; 0: greedy", 0, FR_TEMPERATURE_MAX, NULL},
    {"top-k",     0,   FR_OPT_INT,   AT(top_k), "N", "40",   NULL, "draw from the N likeliest tokens; 0: off", 0, 1 << 30, NULL},
    {"top-p",     0,   FR_OPT_FLOAT, AT(top_p), "P", "0.95", NULL, "draw from the likeliest tokens whose probabilities add up to P; 1: off", 0, 1, NULL},
    {"min-p",     0,   FR_OPT_FLOAT, AT(min_p), "P", "0.05", NULL, "drop tokens less probable than P times the best token; 0: off", 0, 1, NULL},
    {"seed",      's', FR_OPT_U64,   AT(seed),  "N", "0",    NULL, "seed of the random draws", 0, 0, NULL},
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"Replay", options}, draft_group = {"Drafting", drafting},
                             sampling_group = {"Sampling", sampling};

const fr_cmd lab_cmd_replay = {
    {.name = "replay",
     .summary = "measure tokens per pass on many prompts from known answers",
     .about =
         "Plain decoding first answers all prompts, many at a time. Then the model reads each text "
         "once, and every drafter goes over it with trees of a fixed size. Only for a drafter that "
         "attaches rows is a pass run, without the candidates that the answer contradicts. "
         "Drafters propose and learn as if all candidates had been in the pass. So the tokens per "
         "pass are those of 'bench --tree N --no-adapt' in a fraction of its time, and they do not "
         "depend on a clock.\n\nEvery answer is compared with that of plain decoding, and a share "
         "of the conversations is also decoded for real. The exit code is 1 if bytes, passes, rows "
         "or depths differ. After an interruption, the same command line continues both files.",
     .example = "forerun-lab replay -m models/smollm2-135m.gguf --prompts prompts.jsonl --drafters "
                "eagle,medusa,prompt-lookup --answers answers.jsonl -o results.jsonl",
     .groups = {&group, &fr_cmd_model_options, &draft_group, &sampling_group,
                &fr_cmd_output_options}},
    run_replay};
