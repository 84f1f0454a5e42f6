// accuracy.c — `accuracy`: how often a drafter's guesses at each distance hold the true token.
//
// At every step of a free-running generation the guesses of a depth are ranked by score, whatever
// path they are on, as the heads of Medusa and the prompt tokens of PPD are ranked [Medusa §2.3;
// PPD §4]; the answer tells afterwards which of them was right.
#include "base/path.h"
#include "base/save.h"
#include "cmd/lib/answers.h"
#include "cmd/lib/text.h"
#include "cmd/plot/plot.h"
#include "draft/registry.h"
#include <stdlib.h>
#include <string.h>

enum { DISTANCES = 8, RANKS = 10, DRAFTERS = 8 };

typedef struct guesses { // of one step
    int n_known;         // tokens before distance 1, the root included
    int32_t id[DISTANCES][RANKS];
    uint8_t n[DISTANCES];
} guesses;

typedef struct accuracy { // of a drafter
    const char *spec;
    guesses *steps; // of the answer in flight
    int n_steps, room;
    int64_t positions[DISTANCES], right[DISTANCES][RANKS]; // right: at this rank
    bool no_memory;
} accuracy;

// Keeps the RANKS best of a depth in order; the same token counts once, at its best.
static void keep(guesses *g, float score[DISTANCES][RANKS], const fr_node *node) {
    const int k = node->depth - 1;
    int at = 0;
    while (at < g->n[k] && score[k][at] >= node->score && g->id[k][at] != node->id)
        at++;
    if (at == RANKS || (at < g->n[k] && g->id[k][at] == node->id)) return;
    int end = at;
    while (end < g->n[k] && g->id[k][end] != node->id)
        end++;
    if (end == g->n[k]) {
        if (g->n[k] < RANKS)
            g->n[k]++;
        else
            end--;
    }
    memmove(&g->id[k][at + 1], &g->id[k][at], sizeof g->id[k][0] * (size_t)(end - at));
    memmove(&score[k][at + 1], &score[k][at], sizeof score[k][0] * (size_t)(end - at));
    g->id[k][at] = node->id;
    score[k][at] = node->score;
}

static void watch(void *user, const fr_tree *t, int n_ids) {
    accuracy *a = user;
    float score[DISTANCES][RANKS];
    if (a->n_steps == a->room) {
        const int room = a->room ? 2 * a->room : 256;
        guesses *more = realloc(a->steps, (size_t)room * sizeof *more);
        if (!more) {
            a->no_memory = true;
            return;
        }
        a->steps = more;
        a->room = room;
    }
    guesses *g = &a->steps[a->n_steps++];
    *g = (guesses){.n_known = n_ids};
    for (int i = 1; i < t->n; i++)
        if (t->node[i].depth <= DISTANCES) keep(g, score, &t->node[i]);
}

static void opened(void *user, fr_session *s) {
    fr_session_watch(s, watch, user);
}

static void count(void *user, const fr_ids *prompt, const fr_result *r) {
    accuracy *a = user;
    for (int i = 0; i < a->n_steps; i++) {
        const guesses *g = &a->steps[i];
        for (int k = 0; k < DISTANCES; k++) {
            const int at = g->n_known + k - (int)prompt->n;
            if (at >= r->n_tokens) break;
            a->positions[k]++;
            for (int rank = 0; rank < g->n[k]; rank++)
                a->right[k][rank] += g->id[k][rank] == r->tokens[at];
        }
    }
    a->n_steps = 0;
}

// Top-1 to top-10 of a distance.
static void cumulate(const accuracy *a, int k, double top[RANKS]) {
    int64_t sum = 0;
    for (int r = 0; r < RANKS; r++) {
        sum += a->right[k][r];
        top[r] = fr_cmd_rate((double)sum, (double)a->positions[k]);
    }
}

static json_t *accuracy_json(const accuracy *a) {
    json_t *list = json_array();
    for (int k = 0; list && k < DISTANCES; k++) {
        double top[RANKS];
        json_t *row = json_array();
        cumulate(a, k, top);
        for (int r = 0; row && r < RANKS; r++)
            json_array_append_new(row, fr_cmd_real(top[r]));
        json_array_append_new(list, json_pack("{s:o}", "k", row));
    }
    return json_pack("{s:o, s:I}", "distance", list, "positions", (json_int_t)a->positions[0]);
}

static void accuracy_print(const accuracy *a) {
    printf("%s, %lld positions; share of the true token among the first N guesses\n", a->spec,
           (long long)a->positions[0]);
    printf("distance    top-1   top-2   top-3   top-5  top-10\n");
    for (int k = 0; k < DISTANCES; k++) {
        double top[RANKS];
        cumulate(a, k, top);
        printf("%8d  %6.1f%% %6.1f%% %6.1f%% %6.1f%% %6.1f%%\n", k + 1, 100 * top[0], 100 * top[1],
               100 * top[2], 100 * top[4], 100 * top[9]);
    }
}

typedef struct job {
    const fr_cmd_args *args;
    fr_engine *engine;
    fr_prompts prompts;
    fr_answers answers;
    char *specs; // taken apart
    accuracy of[DRAFTERS];
    int n;
} job;

// ---------------------------------------------------------------- what is shown
static json_t *job_json(const job *j) {
    if (j->n == 1) return accuracy_json(&j->of[0]);
    json_t *list = json_array();
    for (int i = 0; list && i < j->n; i++) {
        json_t *one = accuracy_json(&j->of[i]);
        json_object_set_new(one, "drafter", json_string(j->of[i].spec));
        json_array_append_new(list, one);
    }
    return json_pack("{s:o}", "drafters", list);
}

typedef struct drawing {
    fr_plot_series series[2 * DRAFTERS];
    fr_plot_point points[2 * DRAFTERS][DISTANCES];
    char labels[2 * DRAFTERS][64];
} drawing;

// Without the folders of a pack.
static void name_drafter(const char *spec, char *to, size_t size) {
    const char *file = strchr(spec, ':');
    snprintf(to, size, "%.*s%.40s", file ? (int)(file + 1 - spec) : 0, spec,
             file ? fr_path_name(file + 1) : spec);
}

// The best guess in full, the first ten dashed; up to the last distance that was guessed at.
static int draw(const job *j, drawing *d) {
    int n = 0;
    for (int i = 0; i < 2 * j->n; i++) {
        const accuracy *a = &j->of[i / 2];
        const int rank = i % 2 ? RANKS - 1 : 0;
        int count = 0;
        for (int k = 0; k < DISTANCES; k++) {
            double top[RANKS];
            cumulate(a, k, top);
            if (top[RANKS - 1] > 0)
                d->points[n][count++] = (fr_plot_point){.x = k + 1, .y = 100 * top[rank]};
        }
        if (!count) continue;
        char name[64];
        name_drafter(a->spec, name, sizeof name);
        snprintf(d->labels[n], sizeof d->labels[n], "%.48s, first %s", name, i % 2 ? "10" : "1");
        d->series[n] = (fr_plot_series){d->labels[n], i % 2 ? FR_PLOT_DASHED : FR_PLOT_LINE, i / 2,
                                        d->points[n], count};
        n++;
    }
    return n;
}

static fr_status job_plot(const job *j, fr_error *err) {
    drawing *d = calloc(1, sizeof *d);
    if (!d) return fr_fail(err, FR_ENOMEM, "%s: no memory for the picture", j->args->plot);
    const fr_plot plot = {.title = j->engine->model.config.name,
                          .subtitle = "how often the true token is among the first guesses",
                          .x_label = "distance from the last sure token",
                          .y_label = "%",
                          .x_steps = FR_PLOT_COUNTS,
                          .y_steps = FR_PLOT_LINEAR,
                          .y_from_zero = true,
                          .series = d->series,
                          .n_series = draw(j, d)};
    const fr_status st =
        plot.n_series
            ? fr_plot_save(&plot, j->args->plot, err)
            : fr_fail(err, FR_EDATA, "%s: nothing to draw: no guess was right", j->args->plot);
    free(d);
    return st;
}

// ---------------------------------------------------------------- the command
static fr_status list_drafters(job *j, fr_error *err) {
    char *rest;
    if (!(j->specs = strdup(j->args->drafter))) return fr_fail(err, FR_ENOMEM, "no memory");
    for (char *s = strtok_r(j->specs, ",", &rest); s; s = strtok_r(NULL, ",", &rest)) {
        const fr_status st = fr_drafter_check(s, err);
        if (st) return st;
        if (j->n == DRAFTERS) return fr_fail(err, FR_EARG, "--drafter: more than %d", DRAFTERS);
        j->of[j->n++].spec = s;
    }
    return j->n ? FR_OK : fr_fail(err, FR_EARG, "--drafter: expected SPEC or SPEC,SPEC...");
}

static fr_status measure(job *j, fr_error *err) {
    fr_status st = list_drafters(j, err);
    if (!st && j->args->plot) st = fr_save_check(j->args->plot, err);
    if (!st) st = fr_prompts_read(&j->prompts, j->args->prompts, j->args->limit, err);
    if (!st) st = fr_cmd_engine_open(&j->engine, j->args, err);
    if (!st) st = fr_answers_open(&j->answers, j->args, j->engine, &j->prompts, err);
    if (st) return st;
    j->answers.total = (uint64_t)(j->prompts.n * j->n);
    for (int i = 0; i < j->n && !st; i++) {
        accuracy *a = &j->of[i];
        st = fr_answers_run(&j->answers, a->spec, opened, count, a, err);
        if (!st && a->no_memory) st = fr_fail(err, FR_ENOMEM, "accuracy: no memory");
    }
    return st;
}

static int show(const job *j) {
    if (j->args->json) return fr_cmd_print_json(job_json(j));
    for (int i = 0; i < j->n; i++)
        accuracy_print(&j->of[i]);
    return 0;
}

static void close_job(job *j) {
    fr_answers_close(&j->answers);
    fr_engine_close(j->engine);
    fr_prompts_free(&j->prompts);
    for (int i = 0; i < j->n; i++)
        free(j->of[i].steps);
    free(j->specs);
}

static int run_accuracy(const fr_cmd_args *args, const fr_parsed *parsed) {
    (void)parsed;
    int code = fr_cmd_check("accuracy", args);
    if (!code && !args->prompts) code = fr_cmd_usage("accuracy", "--prompts: a FILE is needed");
    if (code) return code;
    fr_error err = {0};
    job j = {.args = args};
    const fr_status st = measure(&j, &err);
    code = st ? fr_cmd_fail(&err) : show(&j);
    // Results are shown first, so that they are there even if the picture cannot be written.
    if (!st && args->plot && job_plot(&j, &err)) code = fr_cmd_fail(&err);
    close_job(&j);
    return code;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    {"drafter",       0,   FR_OPT_SPEC,   AT(drafter),   "SPEC,SPEC...", "auto", NULL, "whose guesses", 0, 0, NULL},
    {"prompts",       0,   FR_OPT_FILE,   AT(prompts),   "FILE", NULL, NULL, "JSON lines {\"id\",\"messages\":[...]}; the first turn is played", 0, 0, NULL},
    {"n-predict",     'n', FR_OPT_INT,    AT(n_predict), "N", "64", NULL, "tokens to generate at most, for each prompt", 1, 1 << 20, NULL},
    {"limit",         0,   FR_OPT_INT,    AT(limit),     "K", "50", NULL, "take the first K prompts; 0 is all", 0, 1 << 30, NULL},
    {"draft-opt",     0,   FR_OPT_LIST,   AT(draft_opts), "KEY=VALUE", NULL, NULL, "a setting of the drafter's own; may be given many times", 0, 0, NULL},
    {"no-adapt",      0,   FR_OPT_FLAG,   AT(no_adapt),  NULL, NULL, NULL, "guess at every step, whether or not it pays: to compare methods", 0, 0, NULL},
    {"plot",          0,   FR_OPT_FILE,   AT(plot),      "FILE.svg", NULL, NULL, "draw the shares by distance into this file", 0, 0, NULL},
    FR_CMD_FORCE,
    FR_CMD_TEMPLATE,
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"What is measured", options};

const fr_cmd fr_cmd_accuracy = {
    {.name = "accuracy",
     .summary = "measure how often a drafter's guesses are right",
     .about = "Generates greedily and looks at every step's candidates: for each distance from the "
              "last sure token, how often the true token is among the first 1 to 10 guesses at it. "
              "Guesses are ranked by the drafter's own estimate; where it guesses nothing it "
              "is not right.",
     .example = "forerun accuracy -m models/smollm2-135m.gguf --drafter prompt-lookup --prompts "
                "prompts.jsonl --limit 8",
     .groups = {&group, &fr_cmd_model_options, &fr_cmd_output_options}},
    run_accuracy};
