// step_trace.c — prints what every step of a generation does: the proposal, the accepted path, the
// new ids. Two builds whose lines are equal decode in the same steps.
//
//     step_trace MODEL [--tree N] [--no-adapt] [--clock] [--temp T] [--group [--mixed]] [--steps] SPEC...
//
// One line a SPEC: hashes of proposals, paths and ids, with the numbers of passes, rows and tokens.
// --clock: only passes advance the clock (base/clock.h), so that sizes of trees repeat too. --group:
// all SPECs share passes. --mixed: their prompts differ in length, so that some read while others
// decode. --steps: a line a step before it.
#include "base/clock.h"
#include "engine/session.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS_MAX = 40, PREDICTED = 40 };
static const char *const PROMPT[] = {
    "List the months of the year, one a line, then list them again in the same order.\n",
    "int fibonacci(int n) {\n    if (n < 2) return n;\n    return fibonacci(n - 1) + ",
    "The river rises in the hills and runs to the sea. The river rises in the hills and "};

typedef struct trace { // of one SPEC
    fr_session *session;
    uint64_t proposals, paths, ids;
    int n_steps;
    int64_t n_passes; // of the generation, that were looked at
} trace;

static uint64_t mix(uint64_t hash, const void *bytes, size_t n) { // FNV-1a
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

static void fail(const fr_error *err) {
    fprintf(stderr, "step_trace: %s\n", err->text);
    exit(1);
}

static void on_proposal(void *user, const fr_tree *proposed, int n_ids) {
    trace *t = user;
    t->proposals = mix(t->proposals, &n_ids, sizeof n_ids);
    for (int i = 0; i < proposed->n; i++) {
        const fr_node *node = &proposed->node[i];
        const int32_t words[] = {node->id, node->parent, node->drafter};
        t->proposals = mix(t->proposals, words, sizeof words);
        t->proposals = mix(t->proposals, &node->score, sizeof node->score);
    }
}

// Pieces without a token come while a prompt is read: how many depends on the others' rows.
static bool more(void *user, const fr_piece *piece) {
    trace *t = user;
    if (piece->token >= 0) t->ids = mix(t->ids, &piece->token, sizeof piece->token);
    return true;
}

static void after_step(trace *t, bool print) {
    const fr_decoder *d = &t->session->decoder;
    const fr_verdict *v = &d->verdict;
    if (!t->session->run.begun || d->stats.passes == t->n_passes) return;
    t->n_passes = d->stats.passes;
    t->paths = mix(t->paths, &d->tree.n, sizeof d->tree.n);
    t->paths = mix(t->paths, v->path, sizeof *v->path * (size_t)v->n_path);
    t->n_steps++;
    if (!print) return;
    printf("  %3d %-40s rows %2d path", t->n_steps, t->session->used, d->n_rows);
    for (int i = 0; i < v->n_path; i++)
        printf(" %d", v->path[i]);
    printf("\n");
}

// The prompt, so many times.
static void begin(trace *t, const fr_text *text, const char *prompt, int times,
                  const fr_sampling *sampling) {
    char whole[4096] = "";
    fr_encoded *e;
    fr_error err;
    while (times--)
        strncat(whole, prompt, sizeof whole - strlen(whole) - 1);
    if (fr_text_tokenize(text, whole, strlen(whole), 0, &e, &err)) fail(&err);
    const fr_request request = {.size = sizeof request,
                                .prompt = e->ids,
                                .n_prompt = e->n_ids,
                                .n_predict = PREDICTED,
                                .sampling = sampling,
                                .ignore_eos = true,
                                .stream = more,
                                .user = t};
    if (fr_session_begin(t->session, &request, &err)) fail(&err);
    t->session->decoder.watch = on_proposal;
    t->session->decoder.watch_user = t;
    t->n_passes = 0;
    fr_encoded_free(e);
}

static void end(trace *t) {
    fr_error err;
    if (fr_session_end(t->session, &err)) fail(&err);
}

static void print_line(const trace *t, const char *spec) {
    const fr_stats *s = fr_session_result(t->session)->stats;
    printf("%-44s proposals %016" PRIx64 " paths %016" PRIx64 " ids %016" PRIx64
           " steps %d last: passes %d rows %d\n",
           spec, t->proposals, t->paths, t->ids, t->n_steps, (int)s->passes, (int)s->rows);
    fflush(stdout);
}

int main(int argc, char **argv) {
    fr_engine *engine;
    fr_error err;
    fr_session_options o = {.size = sizeof o, .n_ctx = 1024, .no_adapt = false};
    fr_sampling sampling = {.size = sizeof sampling, .seed = 7, .top_p = 0.95f, .top_k = 40};
    const char *spec[TEXTS_MAX];
    int n = 0;
    bool grouped = false, mixed = false, steps = false;
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--tree"))
            o.tree = argv[++i];
        else if (!strcmp(argv[i], "--temp"))
            sampling.temperature = (float)atof(argv[++i]);
        else if (!strcmp(argv[i], "--no-adapt"))
            o.no_adapt = true;
        else if (!strcmp(argv[i], "--clock"))
            fr_clock_of_passes.on = true;
        else if (!strcmp(argv[i], "--group"))
            grouped = true;
        else if (!strcmp(argv[i], "--mixed"))
            mixed = true;
        else if (!strcmp(argv[i], "--steps"))
            steps = true;
        else if (n < TEXTS_MAX)
            spec[n++] = argv[i];
    }
    if (argc < 3 || !n) {
        fprintf(stderr, "usage: step_trace MODEL [--tree N] [--no-adapt] [--clock] [--temp T] "
                        "[--group [--mixed]] [--steps] SPEC...\n");
        return 2;
    }
    const fr_engine_options eo = {.size = sizeof eo, .threads = 1};
    if (fr_engine_open(&engine, argv[1], &eo, &err)) fail(&err);
    const fr_text *text = fr_engine_text(engine);
    static trace t[TEXTS_MAX];
    fr_group *group = NULL;
    if (grouped && fr_group_open(&group, engine, NULL, &err)) fail(&err);
    for (int i = 0; i < n; i++) {
        o.drafter = spec[i];
        o.group = group;
        if (fr_session_open(&t[i].session, engine, &o, &err)) fail(&err);
    }
    for (int k = 0; k < (int)(sizeof PROMPT / sizeof *PROMPT); k++) {
        for (int i = 0; i < n && grouped; i++)
            begin(&t[i], text, PROMPT[k], mixed ? 1 + 4 * i : 1, &sampling);
        while (grouped && fr_group_step(group))
            for (int i = 0; i < n; i++)
                after_step(&t[i], steps);
        for (int i = 0; i < n; i++) {
            if (!grouped) begin(&t[i], text, PROMPT[k], 1, &sampling);
            while (!grouped && fr_session_step(t[i].session))
                after_step(&t[i], steps);
            if (!grouped) after_step(&t[i], steps);
            end(&t[i]);
        }
    }
    for (int i = 0; i < n; i++) {
        print_line(&t[i], spec[i]);
        fr_session_close(t[i].session);
    }
    fr_group_close(group);
    fr_engine_close(engine);
    return 0;
}
