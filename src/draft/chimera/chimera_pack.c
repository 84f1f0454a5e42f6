#include "draft/chimera/chimera_pack.h"

enum { LARGEST = 1 << 20 };
static const char *const ENCODERS[FR_PACK_ENCODERS] = {"wide", "residual", "layers"};
static const char *const HEADS[] = {"shared", "own-heads"};

const char *fr_pack_encoder_name(fr_pack_encoder encoder) {
    return ENCODERS[encoder];
}

static fr_status read_words(fr_chimera_pack *s, const fr_pack *p, fr_error *err) {
    int heads, encoder;
    fr_status st =
        fr_pack_word(p, "forerun.variant", "shared", HEADS, 2, "shared or own-heads", &heads, err);
    if (!st)
        st = fr_pack_word(p, "forerun.encoder", NULL, ENCODERS, FR_PACK_ENCODERS,
                          "wide, residual or layers", &encoder, err);
    if (st) return st;
    s->own_heads = heads;
    s->encoder = (fr_pack_encoder)encoder;
    return FR_OK;
}

static fr_status read(fr_pack *p, fr_error *err) {
    fr_chimera_pack *s = p->settings;
    fr_status st;
    s->residual = true;
    if ((st = fr_pack_block_read(&s->block, p, err)) || (st = read_words(s, p, err)) ||
        (st = fr_pack_u32(p, "forerun.ngram", 1, FR_PACK_NGRAM, &s->ngram, err)) ||
        (st = fr_pack_u32(p, "forerun.hidden", 1, LARGEST, &s->hidden, err)) ||
        (st = fr_gguf_opt_bool(p->gguf, "forerun.residual", &s->residual, err)))
        return st;
    if (s->encoder == FR_ENCODER_RESIDUAL && s->hidden != s->ngram * p->d)
        return fr_fail(err, FR_EDATA, "forerun.hidden: expected %d, found %d", s->ngram * p->d,
                       s->hidden);
    return FR_OK;
}

static void tensors(const fr_pack *p, fr_pack_tensors *list) {
    static const char *const what[] = {"chain", "state"};
    const fr_chimera_pack *s = fr_chimera_pack_of(p);
    const int d = p->d, t = s->ngram * d;
    fr_pack_block_tensors(&s->block, p, list);
    fr_pack_expect(list, "ngram.hidden.weight", t, s->hidden);
    fr_pack_expect(list, "ngram.hidden.bias", s->hidden, 0);
    fr_pack_expect(list, "ngram.out.weight", s->hidden, d);
    if (s->encoder == FR_ENCODER_WIDE) fr_pack_expect(list, "ngram.skip.weight", t, d);
    for (int k = 1; k <= p->depth; k++) {
        char name[40];
        for (int i = 0; i < (s->residual ? 2 : 1); i++) {
            snprintf(name, sizeof name, "chimera.%d.%s.weight", k, what[i]);
            fr_pack_expect(list, name, d, s->own_heads ? p->n_draft : d);
        }
        snprintf(name, sizeof name, "chimera.%d.norm", k);
        if (!s->own_heads) fr_pack_expect(list, name, d, 0);
    }
}

// Its encoder's states come from a table most of the time.
static double share(const fr_pack *p, int depth, const fr_pack_target *t) {
    const fr_chimera_pack *s = fr_chimera_pack_of(p);
    return fr_pack_own_share(p, t) + (depth - 1) * fr_pack_block_share(&s->block, p, t) +
           (s->own_heads ? 0 : depth * fr_pack_head_share(p, t));
}

static const fr_pack_block *block(const fr_pack *p) {
    return &fr_chimera_pack_of(p)->block;
}

static void members(const fr_pack *p, json_t *to) {
    const fr_chimera_pack *s = fr_chimera_pack_of(p);
    json_object_set_new(to, "variant", json_string(HEADS[s->own_heads]));
    json_object_set_new(to, "ngram", json_integer(s->ngram));
    json_object_set_new(to, "encoder", json_string(ENCODERS[s->encoder]));
    json_object_set_new(to, "residual", json_boolean(s->residual));
    json_object_set_new(to, "block", fr_pack_block_members(&s->block));
}

static void words(const fr_pack *p, FILE *to) {
    const fr_chimera_pack *s = fr_chimera_pack_of(p);
    fr_pack_block_words(&s->block, to);
    fprintf(to, ", n-grams of %d tokens (encoder: %s), %d heads (%s)%s", s->ngram,
            ENCODERS[s->encoder], p->depth, HEADS[s->own_heads],
            s->residual ? "" : " without the target's state");
}

const fr_pack_form fr_chimera_form = {.name = "chimera",
                                      .bytes = sizeof(fr_chimera_pack),
                                      .read = read,
                                      .tensors = tensors,
                                      .share = share,
                                      .block = block,
                                      .members = members,
                                      .words = words};
