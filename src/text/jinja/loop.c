// loop.c — for loops, and the attributes of `loop` inside them.
#include "text/jinja/run.h"

// The items that the loop's condition lets through.
static seq *chosen(run *r, const node *n, const seq *all, scope *outer) {
    seq *some = fr_jinja_make_seq(r, SEQ_LIST);
    scope *inner = fr_jinja_push_scope(r, outer);
    for (size_t i = 0; inner && i < all->n && fr_jinja_work(r, 0); i++) {
        fr_jinja_assign(r, n->a, all->item[i]);
        if (fr_jinja_truth(fr_jinja_eval(r, n->c))) fr_jinja_add(r, some, all->item[i]);
    }
    r->scope = outer;
    return r->status ? NULL : some;
}

// False: no iteration was completed, so the loop's else follows.
static bool turns(run *r, const node *n, loop *l) {
    scope *inner = NULL;
    bool ended = false;
    for (l->at = 0; l->at < l->n && fr_jinja_work(r, 0); l->at++) {
        if (!inner || inner->captured) inner = fr_jinja_push_scope(r, l->scope);
        if (!inner) break;
        fr_jinja_empty_scope(inner);
        r->scope = inner;
        fr_jinja_set_var(r, r->program->loop, make_ref(J_LOOP, l));
        fr_jinja_assign(r, n->a, l->item[l->at]);
        fr_jinja_exec(r, n->list);
        const bool stop = r->flow == FLOW_BREAK;
        ended |= r->flow == FLOW_ON;
        r->flow = FLOW_ON;
        if (stop) break;
    }
    r->scope = l->scope;
    return ended;
}

static void exec_over(run *r, const node *n, value over, scope *outer, int depth) {
    scope *before = r->scope;
    const seq *all = fr_jinja_iterate(r, over);
    loop *l = all ? fr_jinja_alloc(r, sizeof *l) : NULL;
    r->scope = outer;
    if (l && n->c) all = chosen(r, n, all, outer);
    if (l && all) {
        *l = (loop){.item = all->item,
                    .n = all->n,
                    .depth = depth,
                    .node = n,
                    .scope = outer,
                    .last = MISSING};
        if (!turns(r, n, l) && n->other && fr_jinja_push_scope(r, outer))
            fr_jinja_exec(r, n->other);
    }
    r->scope = before;
}

void fr_jinja_exec_for(run *r, const node *n) {
    exec_over(r, n, fr_jinja_eval(r, n->b), r->scope, 0);
}

// loop(items) of a recursive loop: the same over other items, as a string.
value fr_jinja_call_loop(run *r, value v, const args *a) {
    const loop *l = v.as.ref;
    if (!l->node->flag) return fr_jinja_fail(r, "this loop is not recursive");
    if (a->n != 1 || a->named.n) return fr_jinja_fail(r, "loop() takes one list");
    writer t = {.r = r}, *outer = r->out;
    r->out = &t;
    exec_over(r, l->node, a->pos[0], l->scope, l->depth + 1);
    r->out = outer;
    return fr_jinja_text_value(&t);
}

value fr_jinja_loop_attr(const loop *l, const str *name) {
    const int64_t at = (int64_t)l->at, n = (int64_t)l->n;
    const struct {
        const char *name;
        value v;
    } known[] = {
        {"index", make_int(at + 1)},
        {"index0", make_int(at)},
        {"revindex", make_int(n - at)},
        {"revindex0", make_int(n - at - 1)},
        {"first", make_bool(at == 0)},
        {"last", make_bool(at + 1 == n)},
        {"length", make_int(n)},
        {"depth", make_int(l->depth + 1)},
        {"depth0", make_int(l->depth)},
        {"previtem", at > 0 ? l->item[at - 1] : UNDEFINED},
        {"nextitem", at + 1 < n ? l->item[at + 1] : UNDEFINED},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_is(name, known[i].name)) return known[i].v;
    return make_ref(J_UNDEFINED, name);
}

static value cycle(run *r, value self, const value *arg, const args *all) {
    const loop *l = self.as.ref;
    (void)arg;
    if (!all->n) return fr_jinja_fail(r, "no items for cycling given");
    return all->pos[l->at % all->n];
}

static value changed(run *r, value self, const value *arg, const args *all) {
    loop *l = self.as.ref;
    (void)arg;
    seq *now = fr_jinja_make_seq(r, SEQ_TUPLE);
    for (size_t i = 0; i < all->n && !r->status; i++)
        fr_jinja_add(r, now, all->pos[i]);
    const value v = make_ref(J_SEQ, now);
    if (r->status || (l->changed && fr_jinja_same(r, l->last, v))) return make_bool(false);
    l->changed = true;
    l->last = v;
    return make_bool(true);
}

const function fr_jinja_loop_methods[] = {
    {"cycle", cycle, NULL},
    {"changed", changed, NULL},
    {NULL, NULL, NULL},
};
