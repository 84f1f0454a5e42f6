// self_pack.c — the form of layer-skip, which has no tensors, then that of early-exit.
#include "draft/self/self_pack.h"

// ---------------------------------------------------------------- layer-skip

// Sublayers that a draft leaves out, ascending: 2 l is the attention of layer l, 2 l + 1 its
// feed-forward.
static fr_status read_skip(fr_pack *p, fr_error *err) {
    fr_layer_skip_pack *s = p->settings;
    const fr_gguf_kv *a;
    fr_status st = fr_gguf_get_array(p->gguf, "forerun.skip", FR_GGUF_INTS, &a, err);
    if (st) return st;
    for (uint64_t i = 0; i < a->count; i++) {
        const int64_t at = fr_gguf_item_i64(a, i);
        if (at < s->skip_end || at >= 2 * FR_MAX_LAYERS)
            return fr_fail(err, FR_EDATA, "forerun.skip: expected %d to %d, found %lld at %llu",
                           s->skip_end, 2 * FR_MAX_LAYERS - 1, (long long)at,
                           (unsigned long long)i);
        s->skip[at] = 1;
        s->skip_end = (int)at + 1;
        s->n_skip++;
    }
    if (!s->n_skip) return fr_fail(err, FR_EDATA, "forerun.skip: expected sublayers, found none");
    if ((st = fr_gguf_get_f32(p->gguf, "forerun.share", &s->share, err))) return st;
    if (!(s->share > 0 && s->share <= 1))
        return fr_fail(err, FR_EDATA, "forerun.share: expected above 0 and up to 1, found %g",
                       (double)s->share);
    return FR_OK;
}

static fr_status skip_fits(const fr_pack *p, int n_layer, fr_error *err) {
    const int end = fr_layer_skip_pack_of(p)->skip_end;
    if (end <= 2 * n_layer) return FR_OK;
    return fr_fail(err, FR_EDATA, "forerun.skip: expected 0 to %d, found %d", 2 * n_layer - 1,
                   end - 1);
}

static double skip_share(const fr_pack *p, int depth, const fr_pack_target *t) {
    (void)t;
    return depth * (double)fr_layer_skip_pack_of(p)->share;
}

static void skip_members(const fr_pack *p, json_t *to) {
    const fr_layer_skip_pack *s = fr_layer_skip_pack_of(p);
    json_t *skip = json_array();
    for (int i = 0; skip && i < s->skip_end; i++)
        if (s->skip[i]) json_array_append_new(skip, json_integer(i));
    json_object_set_new(to, "skip", skip);
    json_object_set_new(to, "share", json_real((double)s->share));
}

static void print_sublayers(const fr_layer_skip_pack *s, int first, const char *what, FILE *to) {
    int n = 0;
    for (int i = first; i < s->skip_end; i += 2)
        if (s->skip[i]) fprintf(to, "%s %d", n++ ? "" : what, i / 2);
}

static void skip_words(const fr_pack *p, FILE *to) {
    const fr_layer_skip_pack *s = fr_layer_skip_pack_of(p);
    print_sublayers(s, 0, ", without the attention of layers", to);
    print_sublayers(s, 1, ", without the feed-forward of layers", to);
    fprintf(to, "; a drafted token reads %.0f %% of the model", 100 * (double)s->share);
}

const fr_pack_form fr_layer_skip_form = {.name = "layer-skip",
                                         .bytes = sizeof(fr_layer_skip_pack),
                                         .read = read_skip,
                                         .fits = skip_fits,
                                         .share = skip_share,
                                         .members = skip_members,
                                         .words = skip_words};

// ---------------------------------------------------------------- early-exit

static fr_status read_exit(fr_pack *p, fr_error *err) {
    fr_early_exit_pack *s = p->settings;
    return fr_pack_u32(p, "forerun.exit", 1, FR_MAX_LAYERS - 1, &s->exit, err);
}

static fr_status exit_fits(const fr_pack *p, int n_layer, fr_error *err) {
    const int exit = fr_early_exit_pack_of(p)->exit;
    if (exit < n_layer) return FR_OK;
    return fr_fail(err, FR_EDATA, "forerun.exit: expected 1 to %d, found %d", n_layer - 1, exit);
}

static void exit_tensors(const fr_pack *p, fr_pack_tensors *list) {
    fr_pack_expect(list, "exit.norm", p->d, 0);
    fr_pack_expect(list, "exit.weight", p->d, p->d);
    fr_pack_expect(list, "exit.bias", p->d, 0);
}

// The layers that a draft runs through, the target's head as Q8_0, and what the exit adds. The pass
// saves the layers of all rows but those that begin in it.
static double exit_share(const fr_pack *p, int depth, const fr_pack_target *t) {
    const double whole_head = 34.0 / 32 * p->n_vocab * p->d / (double)t->weights;
    const double layers =
        (double)fr_early_exit_pack_of(p)->exit / t->layers * (whole_head < 1 ? 1 - whole_head : 0);
    return depth * (layers + fr_pack_own_share(p, t) + fr_pack_head_share(p, t));
}

static void exit_members(const fr_pack *p, json_t *to) {
    json_object_set_new(to, "exit", json_integer(fr_early_exit_pack_of(p)->exit));
}

static void exit_words(const fr_pack *p, FILE *to) {
    fprintf(to, ", after layer %d", fr_early_exit_pack_of(p)->exit);
}

const fr_pack_form fr_early_exit_form = {.name = "early-exit",
                                         .bytes = sizeof(fr_early_exit_pack),
                                         .read = read_exit,
                                         .fits = exit_fits,
                                         .tensors = exit_tensors,
                                         .share = exit_share,
                                         .members = exit_members,
                                         .words = exit_words};
