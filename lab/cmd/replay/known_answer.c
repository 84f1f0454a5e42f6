#include "lab/cmd/replay/known_answer.h"
#include <assert.h>

static bool contradicts(const fr_known_answer *k, const fr_node *node, int answered) {
    const int at = answered + node->depth - 1;
    return node->depth > 0 && at < k->n && k->ids[at] != node->id;
}

static bool is_in(const fr_known_answer *k, int row) { // negative: a row of before, or the context
    return row < 0 || k->hook.place[row] >= 0;
}

void fr_known_answer_choose(fr_known_answer *k, const fr_tree *tree, const fr_row *rows, int n,
                            int answered, bool all) {
    assert(n <= FR_MAX_ROWS);
    k->hook.n_rows = 0;
    for (int i = 0; i < n; i++) { // parents and sources come first
        bool in = is_in(k, rows[i].parent);
        if (rows[i].kind == FR_ROW_LINEAR) in = in && is_in(k, rows[i].source);
        if (i < tree->n) in = in && !contradicts(k, &tree->node[i], answered);
        k->hook.place[i] = (int16_t)(in || all ? k->hook.n_rows++ : -1);
    }
}

void fr_known_answer_keep(fr_known_answer *k, int n) {
    assert(n <= FR_MAX_ROWS);
    for (int i = 0; i < n; i++)
        k->hook.place[i] = (int16_t)i;
    k->hook.n_rows = n;
}

bool fr_known_answer_serves(const fr_known_answer *k, const fr_tree *tree, const int32_t *ids,
                            int n_ids, int answered) {
    int deepest = 0;
    for (int i = 0; i < tree->n; i++)
        if (k->hook.place[i] >= 0 && tree->node[i].depth > deepest) deepest = tree->node[i].depth;
    return k->text && answered + deepest < k->n && fr_known_text_has(k->text, ids, n_ids) &&
           n_ids + deepest < k->text->n_sound;
}

int fr_known_answer_follow(const fr_known_answer *k, const fr_tree *tree, int answered, int *path,
                           int32_t *next) {
    int n = 0;
    for (int node = 0; node >= 0; node = fr_tree_child(tree, node, next[n - 1])) {
        path[n] = node;
        next[n] = k->ids[answered + n];
        n++;
    }
    return n;
}

// ---------------------------------------------------------------- the hook

static int answered(const fr_decoder *d) {
    return d->n_ids - d->n_prompt;
}

static void choose(fr_step_hook *h, const fr_decoder *d, bool reads) {
    fr_known_answer *k = (fr_known_answer *)h;
    const fr_needs *needs = &d->drafter->needs;
    if (reads) {
        fr_known_answer_keep(k, d->n_rows);
        h->served = k->text && !(d->prompt_scores && d->n_ids == d->n_prompt) &&
                    fr_known_text_has(k->text, d->ids, d->kv.n_committed + d->n_rows);
        return;
    }
    fr_known_answer_choose(k, &d->tree, d->rows, d->n_rows, answered(d), needs->all_rows);
    h->served = !needs->max_attached && !needs->all_rows &&
                fr_known_answer_serves(k, &d->tree, d->ids, d->n_ids, answered(d));
}

static void serve(fr_step_hook *h, fr_decoder *d, bool reads, int i, int at) {
    const fr_known_text *text = ((fr_known_answer *)h)->text;
    const fr_needs *needs = &d->drafter->needs;
    fr_forward *forward = fr_decoder_context(d).forward;
    const int token = d->kv.n_committed + (reads ? i : d->tree.node[i].depth);
    if (needs->final) fr_forward_put_final(forward, at, fr_known_text_final(text, token));
    for (int t = 0; t < needs->n_taps; t++)
        fr_forward_put_tap(forward, d->tap[t], at, fr_known_text_tap(text, needs->taps[t], token));
}

// The path that the answer says.
static void follow(fr_step_hook *h, fr_decoder *d) {
    fr_verdict *v = &d->verdict;
    v->n_path = fr_known_answer_follow((fr_known_answer *)h, &d->tree, answered(d), v->path,
                                       d->ids + d->n_ids);
    v->next = d->ids[d->n_ids + v->n_path - 1];
}

static void commit(fr_step_hook *h, fr_decoder *d, int n) {
    fr_kv_copy_more(&d->kv, &((fr_known_answer *)h)->text->kv, d->kv.n_committed + n);
}

fr_step_hook *fr_known_answer_hook(fr_known_answer *k) {
    k->hook.choose = choose;
    k->hook.serve = serve;
    k->hook.follow = follow;
    k->hook.commit = commit;
    return &k->hook;
}
