#include "draft/eagle/eagle_pack.h"

// The layers whose residuals make a state, each above the one before.
static fr_status read_taps(fr_draft_block_pack *s, const fr_pack *p, fr_error *err) {
    const fr_gguf_kv *a = NULL;
    const fr_status st = fr_gguf_opt_array(p->gguf, "forerun.taps", FR_GGUF_INTS, &a, err);
    if (st || !a) return st;
    if (a->count < 1 || a->count > FR_PACK_TAPS)
        return fr_fail(err, FR_EDATA, "forerun.taps: expected 1 to %d layers, found %llu",
                       FR_PACK_TAPS, (unsigned long long)a->count);
    for (int i = 0; i < (int)a->count; i++) {
        const int64_t layer = fr_gguf_item_i64(a, (uint64_t)i);
        const int least = i ? s->taps[i - 1] + 1 : 0;
        if (layer < least || layer > FR_MAX_LAYERS)
            return fr_fail(err, FR_EDATA, "forerun.taps: expected %d to %d, found %lld at %d",
                           least, FR_MAX_LAYERS, (long long)layer, i);
        s->taps[s->n_taps++] = (int)layer;
    }
    return FR_OK;
}

static fr_status read(fr_pack *p, fr_error *err) {
    fr_draft_block_pack *s = p->settings;
    const fr_status st = fr_pack_block_read(&s->block, p, err);
    return st ? st : read_taps(s, p, err);
}

static fr_status fits(const fr_pack *p, int n_layer, fr_error *err) {
    const fr_draft_block_pack *s = fr_draft_block_pack_of(p);
    if (!s->n_taps || s->taps[s->n_taps - 1] <= n_layer) return FR_OK;
    return fr_fail(err, FR_EDATA, "forerun.taps: expected 0 to %d, found %d", n_layer,
                   s->taps[s->n_taps - 1]);
}

// Block and head are read at every depth; what makes states of several layers, for the rows of the
// text alone.
static double share(const fr_pack *p, int depth, const fr_pack_target *t) {
    const double taps =
        34.0 / 32 * fr_draft_block_pack_of(p)->n_taps * p->d * p->d / (double)t->weights;
    return depth * (fr_pack_own_share(p, t) + fr_pack_head_share(p, t)) - (depth - 1) * taps;
}

static void members(const fr_pack *p, json_t *to) {
    fr_draft_block_pack_members(p, 0, false, to);
}

static void words(const fr_pack *p, FILE *to) {
    fr_pack_block_words(&fr_draft_block_pack_of(p)->block, to);
    fr_draft_block_pack_words(p, to);
}

const fr_pack_form fr_eagle_form = {.name = "eagle",
                                    .bytes = sizeof(fr_draft_block_pack),
                                    .read = read,
                                    .fits = fits,
                                    .tensors = fr_draft_block_pack_tensors,
                                    .share = share,
                                    .block = fr_draft_block_pack_block,
                                    .members = members,
                                    .words = words};
