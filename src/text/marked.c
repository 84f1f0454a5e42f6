#include "text/marked.h"
#include "base/alloc.h"

fr_status fr_marked_add(fr_marked *m, const char *bytes, size_t n, fr_mark mark, fr_error *err) {
    if (!n) return FR_OK;
    const bool same = m->n_runs && m->run[m->n_runs - 1].mark == mark;
    void *runs = m->run;
    if (!same && !fr_list_reserve(&runs, &m->cap_runs, m->n_runs, 1, sizeof *m->run))
        return fr_fail(err, FR_ENOMEM, "text: no memory for %zu runs", m->n_runs + 1);
    m->run = runs;
    const fr_status st = fr_buffer_add(&m->text, bytes, n, err);
    if (st) return st;
    if (!same) m->run[m->n_runs++].mark = mark;
    m->run[m->n_runs - 1].end = m->text.n;
    return FR_OK;
}

void fr_marked_free(fr_marked *m) {
    fr_buffer_free(&m->text);
    fr_free(m->run);
    *m = (fr_marked){0};
}
