// drafter.c — the clock of a drafter, and plain decoding as one: verbs that do nothing.
#include "decode/drafter.h"
#include "base/clock.h"
#include <string.h>

// ---------------------------------------------------------------- the clock

void fr_draft_clock_start(fr_draft_clock *k) {
    k->runs = true;
    k->since = fr_seconds();
}

static void catch_up(fr_draft_clock *k) {
    const double now = fr_seconds();
    k->lap += now - k->since;
    k->since = now;
}

void fr_draft_clock_stop(fr_draft_clock *k) {
    catch_up(k);
    k->runs = false;
}

double fr_draft_clock_seconds(const fr_draft_clock *k) {
    return k->laps + k->lap;
}

double fr_draft_lap(const fr_context *c) {
    fr_draft_clock *k = c->clock;
    if (!k) return 0;
    if (k->runs) catch_up(k);
    const double lap = k->lap;
    k->laps += lap;
    k->lap = 0;
    return lap;
}

// ---------------------------------------------------------------- verbs that do nothing

int fr_no_begin(fr_drafter *d, const fr_context *c, int agree, const fr_drafter *from) {
    (void)d, (void)c, (void)from;
    return agree;
}

static void no_propose(fr_drafter *d, const fr_context *c, fr_proposal *p) {
    (void)d, (void)c, (void)p;
}

fr_draft_want fr_no_want(fr_drafter *d, const fr_context *c, fr_proposal *p) {
    (void)d, (void)c, (void)p;
    return (fr_draft_want){NULL, 0};
}

void fr_no_got(fr_drafter *d, const fr_context *c, fr_proposal *p) {
    (void)d, (void)c, (void)p;
}

int fr_no_extend(fr_drafter *d, const fr_context *c, const fr_tree *tree, fr_row *rows, int n,
                 int max) {
    (void)d, (void)c, (void)tree, (void)rows, (void)max;
    return n;
}

void fr_no_observe(fr_drafter *d, const fr_context *c, const fr_verdict *v) {
    (void)d, (void)c, (void)v;
}

void fr_no_report(const fr_drafter *d, fr_draft_counts *to) {
    (void)d, (void)to;
}

void fr_no_close(fr_drafter *d) {
    (void)d;
}

fr_drafter *fr_drafter_none(void) {
    static const fr_drafter_ops ops = {.name = "none",
                                       .begin = fr_no_begin,
                                       .propose = no_propose,
                                       .want = fr_no_want,
                                       .got = fr_no_got,
                                       .extend = fr_no_extend,
                                       .observe = fr_no_observe,
                                       .report = fr_no_report,
                                       .close = fr_no_close};
    static fr_drafter none = {.ops = &ops, .default_nodes = 1};
    return &none;
}

bool fr_drafter_is_alike(const fr_drafter *d, const fr_drafter *from) {
    if (d->ops != from->ops || d->n_parts != from->n_parts || strcmp(d->file, from->file) != 0)
        return false;
    for (int i = 0; i < d->n_parts; i++)
        if (!fr_drafter_is_alike(d->parts[i], from->parts[i])) return false;
    return true;
}

static bool ops_are_whole(const fr_drafter_ops *o) {
    return o && o->name && o->begin && o->propose && o->want && o->got && o->extend && o->observe &&
           o->report && o->close;
}

bool fr_drafter_is_sound(const fr_drafter *d) {
    const fr_needs *n = &d->needs;
    if (!ops_are_whole(d->ops) || d->default_nodes < 1 || !(d->allowance >= 0)) return false;
    if (n->n_taps < 0 || n->n_taps > FR_NEEDS_TAPS) return false;
    if (n->max_attached < 0 || n->n_maps < 0 || n->resumes < 0) return false;
    if (d->n_parts < 0 || (d->n_parts && !d->parts)) return false;
    for (int i = 0; i < d->n_parts; i++)
        if (!fr_drafter_is_sound(d->parts[i])) return false;
    return d->n_parts || fr_hits_is_sound(&d->hits);
}

void fr_drafter_close(fr_drafter *d) {
    if (d) d->ops->close(d);
}
