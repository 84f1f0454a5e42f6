// logits.c — `logits`: the best tokens after each position, as numbers.
#include "cmd/lib/passes.h"
#include "engine/engine.h"
#include <stdlib.h>
#include <string.h>

typedef struct best { // a heap whose root is the least of the best
    int32_t *id;
    int n, room;
    const float *z;
} best;

// Whether a comes after b: a smaller logit, or the same one and a higher id.
static bool comes_after(const float *z, int32_t a, int32_t b) {
    return z[a] < z[b] || (z[a] == z[b] && a > b);
}

static void sink(best *h, int at, int n) {
    for (int child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && comes_after(h->z, h->id[child + 1], h->id[child])) child++;
        if (!comes_after(h->z, h->id[child], h->id[at])) return;
        const int32_t t = h->id[at];
        h->id[at] = h->id[child];
        h->id[child] = t;
    }
}

// The `room` largest of n logits, best first.
static void select_best(best *h, const float *z, int n) {
    h->z = z;
    h->n = h->room < n ? h->room : n;
    for (int i = 0; i < h->n; i++)
        h->id[i] = i;
    for (int i = h->n / 2 - 1; i >= 0; i--)
        sink(h, i, h->n);
    for (int i = h->n; i < n; i++) {
        if (!comes_after(z, h->id[0], i)) continue;
        h->id[0] = i;
        sink(h, 0, h->n);
    }
    for (int last = h->n - 1; last > 0; last--) {
        const int32_t t = h->id[0];
        h->id[0] = h->id[last];
        h->id[last] = t;
        sink(h, 0, last);
    }
}

typedef struct collect {
    best best;
    int n_vocab, total;
    json_t *positions; // NULL: print as text
    fr_progress bar;
    bool failed;
} collect;

static bool take(void *user, int pos, float *logits) {
    collect *c = user;
    select_best(&c->best, logits, c->n_vocab);
    const double lse = fr_logsumexp(logits, c->n_vocab);
    fr_progress_show(&c->bar, "logits", (uint64_t)pos, (uint64_t)c->total);
    if (!c->positions) {
        printf("position %d, logsumexp %.6f\n", pos, lse);
        for (int i = 0; i < c->best.n; i++)
            printf("  %8d %12.6f\n", c->best.id[i], (double)logits[c->best.id[i]]);
        return fr_cmd_flush();
    }
    json_t *top = json_array();
    for (int i = 0; top && i < c->best.n; i++)
        json_array_append_new(
            top, json_pack("[i, o]", c->best.id[i], fr_cmd_real((double)logits[c->best.id[i]])));
    c->failed =
        json_array_append_new(c->positions, json_pack("{s:i, s:o, s:o}", "pos", pos, "top", top,
                                                      "logsumexp", fr_cmd_real(lse))) != 0;
    return !c->failed;
}

static fr_status read_ids(const fr_cmd_args *args, const fr_engine *engine, fr_ids *ids,
                          fr_error *err) {
    if (args->prompt)
        return fr_text_encode(engine->text, args->prompt, strlen(args->prompt),
                              FR_TEXT_BOS | FR_TEXT_CONTROL, NULL, ids, err);
    size_t room = 1;
    for (const char *s = args->ids; *s; s++)
        room += *s == ',';
    int n;
    if (room > INT32_MAX / 8) return fr_fail(err, FR_EARG, "--ids: too many");
    if (!(ids->data = fr_alloc_array(room, sizeof *ids->data)))
        return fr_fail(err, FR_ENOMEM, "--ids: no memory for %zu", room);
    ids->cap = room;
    const fr_status st = fr_cmd_numbers(args->ids, "--ids", 0, engine->model.config.n_vocab - 1,
                                        ids->data, (int)room, &n, err);
    ids->n = st ? 0 : (size_t)n;
    return st;
}

static fr_status compute(const fr_cmd_args *args, fr_engine *engine, const fr_ids *ids, collect *c,
                         fr_error *err) {
    fr_passes passes;
    if (!ids->n) return fr_fail(err, FR_EARG, "logits: no tokens");
    if (ids->n > INT32_MAX / 2) return fr_fail(err, FR_ECONTEXT, "logits: too many tokens");
    const int n = (int)ids->n;
    fr_status st = fr_passes_open(&passes, engine, n, FR_PASSES_ROWS, fr_cmd_kv_type(args), err);
    fr_progress_open(&c->bar, args->quiet ? NULL : stderr, "positions", 1);
    c->total = n;
    if (!st) st = fr_passes_read(&passes, ids->data, n, args->all ? 0 : n - 1, take, c, err);
    fr_progress_clear(&c->bar);
    fr_passes_close(&passes);
    if (c->failed) return fr_fail(err, FR_ENOMEM, "logits: no memory for the document");
    return fr_cmd_flush() ? st : FR_OK; // write errors are reported at the end
}

static int run_logits(const fr_cmd_args *args, const fr_parsed *parsed) {
    (void)parsed;
    const int code = fr_cmd_check("logits", args);
    if (code) return code;
    if (!args->ids == !args->prompt)
        return fr_cmd_usage("logits", "--ids and -p: give one of them");
    fr_engine *engine = NULL;
    fr_ids ids = {0};
    fr_error err = {0};
    collect c = {.best.room = args->top};
    fr_status st = fr_cmd_engine_open(&engine, args, &err);
    if (!st) st = read_ids(args, engine, &ids, &err);
    if (!st) {
        c.n_vocab = engine->model.config.n_vocab;
        c.best.id = calloc((size_t)args->top, sizeof *c.best.id);
        c.positions = args->json ? json_array() : NULL;
        if (!c.best.id || (args->json && !c.positions))
            st = fr_fail(&err, FR_ENOMEM, "logits: no memory");
    }
    if (!st) st = compute(args, engine, &ids, &c, &err);
    int result = st ? fr_cmd_fail(&err) : FR_EXIT_DONE;
    if (!st && args->json) result = fr_cmd_print_json(json_pack("{s:O}", "positions", c.positions));
    json_decref(c.positions);
    free(c.best.id);
    fr_ids_free(&ids);
    fr_engine_close(engine);
    return result;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    {"ids",    0,   FR_OPT_STRING, AT(ids),    "1,2,3", NULL, NULL, "token ids, used as they are", 0, 0, NULL},
    {"prompt", 'p', FR_OPT_TEXT,   AT(prompt), "TEXT", NULL, NULL, "text, used as it is; special tokens in it are parsed", 0, 0, NULL},
    {"top",    0,   FR_OPT_INT,    AT(top),    "N", "32", NULL, "number of tokens to list at each position", 1, 1 << 20, NULL},
    {"all",    0,   FR_OPT_FLAG,   AT(all),    NULL, NULL, NULL, "list every position, not only the last", 0, 0, NULL},
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"Input and output", options};

const fr_cmd fr_cmd_logits = {
    {.name = "logits",
     .summary = "show the best next tokens and their logits",
     .about = "Reads token ids or text, and lists the best next tokens after the last position, or "
              "after every position, with their logits and the logsumexp over the whole "
              "vocabulary. Positions count from 0.",
     .example = "forerun logits -m models/smollm2-135m.gguf -p 'The sky is' --top 5",
     .groups = {&group, &fr_cmd_engine_options, &fr_cmd_output_options}},
    run_logits};
