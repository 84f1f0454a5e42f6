// attached_pack.c — what both forms share, then PPD's, then Hidden Transfer's.
#include "draft/attached/attached_pack.h"

static fr_status check_steps(const fr_pack *p, fr_error *err) {
    if (p->depth <= FR_PACK_ATTACHED) return FR_OK;
    return fr_fail(err, FR_EDATA, "forerun.heads: expected 1 to %d, found %d", FR_PACK_ATTACHED,
                   p->depth);
}

static double share(const fr_pack *p, int depth, const fr_pack_target *t) {
    (void)depth;
    return fr_pack_head_share(p, t);
}

static fr_pack_chains chains(const fr_pack *p, int n_layer) {
    const fr_attached_pack *s = fr_attached_pack_of(p);
    fr_pack_chains c = {.ensemble = s->ensemble};
    for (int i = 0; i < p->depth; i++)
        c.share += (double)(n_layer - s->layer[i]) / n_layer / p->depth;
    return c;
}

// ---------------------------------------------------------------- PPD

static fr_status read_ppd(fr_pack *p, fr_error *err) {
    fr_attached_pack *s = p->settings;
    const fr_status st = check_steps(p, err);
    return st ? st : fr_pack_u32(p, "forerun.ensemble", 1, FR_PACK_ENSEMBLE, &s->ensemble, err);
}

static void ppd_tensors(const fr_pack *p, fr_pack_tensors *list) {
    fr_pack_expect(list, "ppd.vectors", p->d, p->depth * fr_attached_pack_of(p)->ensemble);
}

static void ppd_members(const fr_pack *p, json_t *to) {
    json_object_set_new(to, "ensemble", json_integer(fr_attached_pack_of(p)->ensemble));
}

static void ppd_words(const fr_pack *p, FILE *to) {
    fprintf(to, ", %d prompt tokens of %d vectors", p->depth, fr_attached_pack_of(p)->ensemble);
}

const fr_pack_form fr_ppd_form = {.name = "ppd",
                                  .bytes = sizeof(fr_attached_pack),
                                  .read = read_ppd,
                                  .tensors = ppd_tensors,
                                  .share = share,
                                  .chains = chains,
                                  .members = ppd_members,
                                  .words = ppd_words};

// ---------------------------------------------------------------- Hidden Transfer

// The layers of the maps: 1 or more, none below the one before.
static fr_status read_layers(fr_attached_pack *s, const fr_pack *p, fr_error *err) {
    const fr_gguf_kv *a;
    const fr_status st = fr_gguf_get_array(p->gguf, "forerun.layers", FR_GGUF_INTS, &a, err);
    if (st) return st;
    if (a->count != (uint64_t)p->depth)
        return fr_fail(err, FR_EDATA, "forerun.layers: expected %d, one a step, found %llu",
                       p->depth, (unsigned long long)a->count);
    for (int i = 0; i < p->depth; i++) {
        const int64_t layer = fr_gguf_item_i64(a, (uint64_t)i);
        const int least = i ? s->layer[i - 1] : 1;
        if (layer < least || layer >= FR_MAX_LAYERS)
            return fr_fail(err, FR_EDATA, "forerun.layers: expected %d to %d, found %lld at %d",
                           least, FR_MAX_LAYERS - 1, (long long)layer, i);
        s->layer[i] = (int)layer;
    }
    return FR_OK;
}

static fr_status read_transfer(fr_pack *p, fr_error *err) {
    fr_attached_pack *s = p->settings;
    const fr_status st = check_steps(p, err);
    s->ensemble = 1;
    return st ? st : read_layers(s, p, err);
}

static fr_status transfer_fits(const fr_pack *p, int n_layer, fr_error *err) {
    const int last = fr_attached_pack_of(p)->layer[p->depth - 1];
    if (last < n_layer) return FR_OK;
    return fr_fail(err, FR_EDATA, "forerun.layers: expected 1 to %d, found %d", n_layer - 1, last);
}

static void transfer_tensors(const fr_pack *p, fr_pack_tensors *list) {
    for (int k = 1; k <= p->depth; k++) {
        char name[40];
        snprintf(name, sizeof name, "transfer.%d.weight", k);
        fr_pack_expect(list, name, p->d, p->d);
    }
}

static void transfer_members(const fr_pack *p, json_t *to) {
    json_t *layers = json_array();
    for (int i = 0; layers && i < p->depth; i++)
        json_array_append_new(layers, json_integer(fr_attached_pack_of(p)->layer[i]));
    json_object_set_new(to, "layers", layers);
}

static void transfer_words(const fr_pack *p, FILE *to) {
    fprintf(to, ", %d maps, after layers", p->depth);
    for (int i = 0; i < p->depth; i++)
        fprintf(to, " %d", fr_attached_pack_of(p)->layer[i]);
}

const fr_pack_form fr_hidden_transfer_form = {.name = "hidden-transfer",
                                              .bytes = sizeof(fr_attached_pack),
                                              .read = read_transfer,
                                              .fits = transfer_fits,
                                              .tensors = transfer_tensors,
                                              .share = share,
                                              .chains = chains,
                                              .members = transfer_members,
                                              .words = transfer_words};
