#include "lab/cmd/replay/copied.h"

enum { PIECE = 8, BEFORE = 24, BETWEEN = 4 };

static int alike(const int32_t *a, int n_a, const int32_t *b, int n_b) {
    int n = 0;
    while (n < n_a && n < n_b && a[n] == b[n])
        n++;
    return n;
}

// The longest piece of the prompt that the answer begins with.
static int longest(const int32_t *prompt, int n_prompt, const int32_t *answer, int n) {
    int most = 0;
    for (int i = 0; i < n_prompt; i++) {
        const int here = alike(prompt + i, n_prompt - i, answer, n);
        if (here > most) most = here;
    }
    return most;
}

int lab_copied_head(const int32_t *prompt, int n_prompt, const int32_t *answer, int n) {
    int head = 0;
    for (int at = 0; at < n && at <= head + (head ? BETWEEN : BEFORE); at++) {
        const int piece = longest(prompt, n_prompt, answer + at, n - at);
        if (piece < PIECE) continue;
        head = at + piece;
        at = head - 1;
    }
    return head;
}
