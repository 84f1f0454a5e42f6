// window.h — the window of lookahead decoding: guessed tokens after which the target continues.
//
// Cell (level l, column i) guesses the token l + i places after the root; column 0 of level 0 is
// the root itself. Level 0 is a chain of guesses; the parent of a cell of a higher level is the
// cell below it in its column. So it sees only level 0 up to its column, and its own column, and
// its position is the one that it guesses: the paper's mask and positions are those of a forest.
// [Fu et al. 2024, §3.1, §3.2, figure 3]
//
// A pass gives the tokens after the cells of the highest level. While there are fewer than n - 1
// levels they become a new level. After that each column, from the bottom up, and its new token are
// an n-gram, and every level replaces the one below. In either case the window moves on by one
// column, whatever was accepted. Level 0 begins with tokens of the text, picked at random. It
// begins n - 2 columns wider than the window, as each level that fills costs one column.
#ifndef FR_DRAFT_LOOKAHEAD_WINDOW_H
#define FR_DRAFT_LOOKAHEAD_WINDOW_H
#include "model/row.h"
#include <stdbool.h>

enum { FR_WINDOW_NGRAM = 8, FR_WINDOW_WIDTH = 64, FR_WINDOW_ROWS = 128 };

typedef struct fr_window {
    int n;     // tokens of an n-gram, 2..FR_WINDOW_NGRAM
    int width; // columns of the full window, 1..FR_WINDOW_WIDTH
    int levels, columns;
    int32_t cell[FR_WINDOW_NGRAM - 1][FR_WINDOW_WIDTH + FR_WINDOW_NGRAM];
} fr_window;

// Most rows of a pass beside the root, and how many of them want logits. Too many where more than
// FR_WINDOW_ROWS.
int fr_window_most_rows(int n, int width);
int fr_window_most_logits(int n, int width);

// One level; n and width are set. Only ids of the text are taken.
void fr_window_begin(fr_window *w, const int32_t *ids, int n_ids);
// Levels and columns fit one another: each level costs a column until the window is full.
bool fr_window_is_sound(const fr_window *w);
bool fr_window_is_full(const fr_window *w); // the next pass gives n-grams

int fr_window_rows(const fr_window *w);   // in the next pass, beside the root
int fr_window_logits(const fr_window *w); // ... that want logits
// Appends them from row `n` on, level by level; the root is row 0. Returns the new n.
int fr_window_attach(const fr_window *w, fr_row *rows, int n);
// The row whose likeliest token is what follows column i; `first` is the first row of the window.
int fr_window_last_row(const fr_window *w, int first, int column);

// The n-gram of a column of the full window, `next` being what followed it; `root` is cell (0, 0).
void fr_window_ngram(const fr_window *w, int column, int32_t root, int32_t next, int32_t *ngram);
// A pass is done: next[i] is the likeliest token after column i of the highest level.
void fr_window_shift(fr_window *w, const int32_t *next);

#endif
