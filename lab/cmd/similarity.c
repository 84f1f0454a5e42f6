// similarity.c — `similarity`: how similar the states of attached rows become to the true ones.
#include "lab/draft/similarity.h"
#include "base/save.h"
#include "cmd/lib/answers.h"
#include "cmd/lib/text.h"
#include "cmd/plot/plot.h"
#include "draft/registry.h"
#include "lab/cmd/lab.h"
#include "json/value.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EVERY = 4 }; // one of so many tokens is looked at

typedef struct job {
    fr_engine *engine;
    fr_prompts prompts;
    fr_answers answers;
    fr_drafter *drafter;
    fr_similarity similarity;
    fr_ids text; // of one prompt and its answer
    bool no_memory;
} job;

static void add_answer(void *user, const fr_ids *prompt, const fr_result *r) {
    job *j = user;
    fr_error unsaid;
    j->text.n = 0;
    for (size_t i = 0; i < prompt->n && !j->no_memory; i++)
        j->no_memory = fr_ids_push(&j->text, prompt->data[i], &unsaid) != FR_OK;
    for (int i = 0; i < r->n_tokens && !j->no_memory; i++)
        j->no_memory = fr_ids_push(&j->text, r->tokens[i], &unsaid) != FR_OK;
    if (!j->no_memory)
        fr_similarity_add(&j->similarity, j->text.data, (int)j->text.n, (int)prompt->n, EVERY);
}

static fr_status open_attached(job *j, const fr_cmd_args *args, fr_error *err) {
    char used[64];
    const fr_model *m = &j->engine->model;
    const fr_drafter_config config = {
        .model = m, .tokenizer = j->engine->tokenizer, .n_ctx = FR_SIMILARITY_TEXT};
    const fr_status st = fr_drafter_open(&j->drafter, used, args->drafter, &config, err);
    if (st) return st;
    if (strcmp(used, "ppd") != 0 && strcmp(used, "hidden-transfer") != 0)
        return fr_fail(
            err, FR_EARG,
            "--drafter: expected one whose guesses are rows attached to the pass, ppd or "
            "hidden-transfer, found %s",
            used);
    return fr_similarity_open(&j->similarity, m, (fr_attached *)(void *)j->drafter,
                              fr_cmd_kv_kind(args), err);
}

static fr_status measure(job *j, const fr_cmd_args *args, fr_error *err) {
    fr_status st = fr_drafter_check(args->drafter, err);
    if (!st && args->plot) st = fr_save_check(args->plot, err);
    if (!st) st = fr_prompts_read(&j->prompts, args->prompts, args->limit, err);
    if (!st) st = fr_cmd_engine_open(&j->engine, args, err);
    if (!st) st = open_attached(j, args, err);
    if (!st) st = fr_answers_open(&j->answers, args, j->engine, &j->prompts, err);
    if (st) return st;
    j->answers.total = (uint64_t)j->prompts.n;
    st = fr_answers_run(&j->answers, "none", NULL, add_answer, j, err);
    return !st && j->no_memory ? fr_fail(err, FR_ENOMEM, "similarity: no memory") : st;
}

// ---------------------------------------------------------------- what is shown

static json_t *layers_json(const fr_similarity *s, int step,
                           double (*value)(const fr_similarity *, int, int)) {
    json_t *list = json_array();
    for (int l = 0; list && l <= s->layers; l++)
        json_array_append_new(list, fr_cmd_real(value(s, step, l)));
    return list;
}

static json_t *similarity_json(const fr_similarity *s, const char *spec) {
    json_t *steps = json_array();
    for (int i = 0; steps && i < s->steps; i++)
        json_array_append_new(steps, json_pack("{s:i, s:i, s:o, s:o}", "step", i + 1, "entry",
                                               fr_attached_pack_of(s->drafter->base.pack)->layer[i],
                                               "rides", layers_json(s, i, fr_similarity_attached),
                                               "stays", layers_json(s, i, fr_similarity_stays)));
    return json_pack("{s:o, s:I, s:o}", "drafter", fr_json_string(spec), "rows", (json_int_t)s->n,
                     "steps", steps);
}

static void similarity_print(const fr_similarity *s, const char *spec) {
    printf("%s, %lld rows; mean cosine with the true state of the token i places ahead\n", spec,
           (long long)s->n);
    printf("layers");
    for (int i = 0; i < s->steps; i++)
        printf("  %5d ahead (unmoved)", i + 1);
    putchar('\n');
    for (int l = fr_attached_pack_of(s->drafter->base.pack)->layer[0]; l <= s->layers;
         l++) { // where the first enters
        printf("%6d", l);
        for (int i = 0; i < s->steps; i++)
            if (isnan(fr_similarity_attached(s, i, l)))
                printf("  %11s %9s", "", "");
            else
                printf("  %11.3f  (%6.3f)", fr_similarity_attached(s, i, l),
                       fr_similarity_stays(s, i, l));
        putchar('\n');
    }
}

typedef struct drawing {
    fr_plot_series series[2 * FR_ATTACHED_STEPS];
    fr_plot_point points[2 * FR_ATTACHED_STEPS][FR_MAX_LAYERS + 1];
    char labels[2 * FR_ATTACHED_STEPS][40];
} drawing;

static void draw_step(const fr_similarity *s, drawing *d, int i, bool attached) {
    const int at = 2 * i + attached;
    int n = 0;
    for (int l = fr_attached_pack_of(s->drafter->base.pack)->layer[i]; l <= s->layers; l++)
        d->points[at][n++] = (fr_plot_point){
            .x = l, .y = attached ? fr_similarity_attached(s, i, l) : fr_similarity_stays(s, i, l)};
    snprintf(d->labels[at], sizeof d->labels[at], attached ? "%d ahead" : "%d ahead, unmoved",
             i + 1);
    d->series[at] = (fr_plot_series){d->labels[at], attached ? FR_PLOT_LINE : FR_PLOT_DASHED, i,
                                     d->points[at], n};
}

static fr_status similarity_plot(const fr_similarity *s, const char *spec, const char *path,
                                 fr_error *err) {
    drawing *d = calloc(1, sizeof *d);
    if (!d || !s->n) {
        free(d);
        return fr_fail(err, d ? FR_EDATA : FR_ENOMEM, "%s: nothing to draw", path);
    }
    for (int i = 0; i < s->steps; i++) {
        draw_step(s, d, i, false);
        draw_step(s, d, i, true);
    }
    const fr_plot plot = {.title = s->model->config.name,
                          .subtitle = spec,
                          .x_label = "layers behind",
                          .y_label = "cosine with the true state",
                          .x_steps = FR_PLOT_COUNTS,
                          .y_steps = FR_PLOT_LINEAR,
                          .series = d->series,
                          .n_series = 2 * s->steps};
    const fr_status st = fr_plot_save(&plot, path, err);
    free(d);
    return st;
}

// ---------------------------------------------------------------- the command

static void close_job(job *j) {
    fr_similarity_close(&j->similarity);
    fr_drafter_close(j->drafter);
    fr_answers_close(&j->answers);
    fr_engine_close(j->engine);
    fr_prompts_free(&j->prompts);
    fr_ids_free(&j->text);
}

static int run_similarity(const fr_cmd_args *args, const fr_parsed *parsed) {
    (void)parsed;
    int code = fr_cmd_check("similarity", args);
    if (!code && !args->prompts) code = fr_cmd_usage("similarity", "--prompts: a FILE is needed");
    if (code) return code;
    fr_error err = {0};
    job j = {0};
    fr_status st = measure(&j, args, &err);
    if (!st && args->plot) st = similarity_plot(&j.similarity, args->drafter, args->plot, &err);
    if (st)
        code = fr_cmd_fail(&err);
    else if (args->json)
        code = fr_cmd_print_json(similarity_json(&j.similarity, args->drafter));
    else
        similarity_print(&j.similarity, args->drafter);
    close_job(&j);
    return code;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    {"drafter",       0,   FR_OPT_SPEC,   AT(drafter),   "SPEC", "hidden-transfer", NULL, "drafter whose rows are compared: ppd or hidden-transfer, with a named pack or one that is found", 0, 0, NULL},
    {"prompts",       0,   FR_OPT_FILE,   AT(prompts),   "FILE", NULL, NULL, "file of JSON lines {\"id\",\"messages\":[...]}, of which the first turn is answered", 0, 0, NULL},
    {"n-predict",     'n', FR_OPT_INT,    AT(n_predict), "N", "64", NULL, "maximum number of tokens to generate for each prompt", 1, 1 << 20, NULL},
    {"limit",         0,   FR_OPT_INT,    AT(limit),     "K", "10", NULL, "use only the first K prompts; 0: all", 0, 1 << 30, NULL},
    {"plot",          0,   FR_OPT_FILE,   AT(plot),      "FILE.svg", NULL, NULL, "draw the cosines by layer to this file", 0, 0, NULL},
    FR_CMD_FORCE,
    FR_CMD_TEMPLATE,
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"Measurement", options};

const fr_cmd lab_cmd_similarity = {
    {.name = "similarity",
     .summary = "measure the similarity of attached rows to the true states",
     .about =
         "Generates greedily, then attaches the drafter's rows to every fourth row of the answer. "
         "For each step and after each layer it reports two cosines: of the row's state with the "
         "state of the token that it stands for, and of the state of its parent row with the same, "
         "as if the state had not moved. Only the first 512 tokens of a text are used.",
     .example = "forerun-lab similarity -m models/smollm2-135m.gguf --prompts prompts.jsonl "
                "--plot cosine.svg",
     .groups = {&group, &fr_cmd_model_options, &fr_cmd_output_options}},
    run_similarity};
