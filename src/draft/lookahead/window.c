// window.c — starts the window with one level of tokens from the text and adds its cells to a pass
// level by level. After the pass it reads the n-grams of the columns and moves the window on by
// one.
#include "draft/lookahead/window.h"
#include "decode/draw/sampler.h"
#include <assert.h>
#include <string.h>

enum { SEED = 7 }; // of what the window begins with: any number does

// Columns that are left when the window has `levels` levels.
static int columns_at(int n, int width, int levels) {
    return width + n - 1 - levels;
}

int fr_window_most_rows(int n, int width) {
    int most = 0;
    for (int levels = 1; levels < n; levels++) {
        const int rows = levels * columns_at(n, width, levels) - 1;
        if (rows > most) most = rows;
    }
    return most;
}

int fr_window_most_logits(int n, int width) {
    return columns_at(n, width, 1);
}

void fr_window_begin(fr_window *w, const int32_t *ids, int n_ids) {
    w->levels = 1;
    w->columns = columns_at(w->n, w->width, 1);
    for (int i = 1; i < w->columns; i++)
        w->cell[0][i] = ids[(int)(fr_uniform(SEED, (uint64_t)i) * n_ids)];
    assert(fr_window_is_sound(w));
}

bool fr_window_is_sound(const fr_window *w) {
    if (w->n < 2 || w->n > FR_WINDOW_NGRAM || w->width < 1 || w->width > FR_WINDOW_WIDTH)
        return false;
    return w->levels >= 1 && w->levels < w->n &&
           w->columns == columns_at(w->n, w->width, w->levels);
}

bool fr_window_is_full(const fr_window *w) {
    return w->levels == w->n - 1;
}

int fr_window_rows(const fr_window *w) {
    return w->levels * w->columns - 1;
}

int fr_window_logits(const fr_window *w) {
    return w->levels == 1 ? w->columns - 1 : w->columns; // the root has its own
}

static int row_of(const fr_window *w, int first, int level, int column) {
    return level == 0 && column == 0 ? 0 : first + level * w->columns + column - 1;
}

int fr_window_last_row(const fr_window *w, int first, int column) {
    return row_of(w, first, w->levels - 1, column);
}

int fr_window_attach(const fr_window *w, fr_row *rows, int n) {
    const int first = n;
    for (int l = 0; l < w->levels; l++)
        for (int i = l == 0; i < w->columns; i++) {
            const int parent = l == 0 ? row_of(w, first, 0, i - 1) : row_of(w, first, l - 1, i);
            rows[n++] =
                fr_row_token(w->cell[l][i], parent, l == w->levels - 1 ? FR_WANT_LOGITS : 0);
        }
    return n;
}

void fr_window_ngram(const fr_window *w, int column, int32_t root, int32_t next, int32_t *ngram) {
    for (int l = 0; l < w->levels; l++)
        ngram[l] = l == 0 && column == 0 ? root : w->cell[l][column];
    ngram[w->levels] = next;
}

// A cell's place counts from the root, which is one further on now. So a level that stays loses its
// first column, and a level that moves down keeps all its columns.
void fr_window_shift(fr_window *w, const int32_t *next) {
    const size_t bytes = sizeof **w->cell * (size_t)w->columns;
    assert(fr_window_is_sound(w));
    if (fr_window_is_full(w)) {
        for (int l = 1; l < w->levels; l++)
            memcpy(w->cell[l - 1], w->cell[l], bytes);
        memcpy(w->cell[w->levels - 1], next, bytes);
        return;
    }
    w->columns--;
    for (int l = 0; l < w->levels; l++)
        memmove(w->cell[l], w->cell[l] + 1, bytes - sizeof **w->cell);
    memcpy(w->cell[w->levels++], next + 1, bytes - sizeof **w->cell);
}
