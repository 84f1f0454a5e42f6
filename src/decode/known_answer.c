#include "decode/known_answer.h"
#include <assert.h>

static bool contradicts(const fr_known_answer *k, const fr_node *node, int answered) {
    const int at = answered + node->depth - 1;
    return node->depth > 0 && at < k->n && k->ids[at] != node->id;
}

static bool is_in(const fr_known_answer *k, int row) { // negative: a row of before, or the context
    return row < 0 || k->place[row] >= 0;
}

void fr_known_answer_choose(fr_known_answer *k, const fr_tree *tree, const fr_row *rows, int n,
                            int answered, bool all) {
    assert(n <= FR_MAX_ROWS);
    k->n_rows = 0;
    for (int i = 0; i < n; i++) { // parents and sources come first
        bool in = is_in(k, rows[i].parent);
        if (rows[i].kind == FR_ROW_LINEAR) in = in && is_in(k, rows[i].source);
        if (i < tree->n) in = in && !contradicts(k, &tree->node[i], answered);
        k->place[i] = (int16_t)(in || all ? k->n_rows++ : -1);
    }
}

void fr_known_answer_keep(fr_known_answer *k, int n) {
    assert(n <= FR_MAX_ROWS);
    for (int i = 0; i < n; i++)
        k->place[i] = (int16_t)i;
    k->n_rows = n;
}

bool fr_known_answer_serves(const fr_known_answer *k, const fr_tree *tree, const int32_t *ids,
                            int n_ids, int answered) {
    int deepest = 0;
    for (int i = 0; i < tree->n; i++)
        if (k->place[i] >= 0 && tree->node[i].depth > deepest) deepest = tree->node[i].depth;
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
