#include "draft/kit/draft_block_pack.h"

const fr_pack_block *fr_draft_block_pack_block(const fr_pack *p) {
    return &fr_draft_block_pack_of(p)->block;
}

void fr_draft_block_pack_tensors(const fr_pack *p, fr_pack_tensors *list) {
    const fr_draft_block_pack *s = fr_draft_block_pack_of(p);
    const int d = p->d;
    fr_pack_expect(list, "fc_state.weight", d, d);
    fr_pack_expect(list, "fc_state.norm", d, 0);
    fr_pack_expect(list, "fc.bias", d, 0);
    if (!s->pure) {
        fr_pack_expect(list, "fc_token.weight", d, d);
        fr_pack_expect(list, "fc_token.norm", d, 0);
    }
    if (s->null) fr_pack_expect(list, "null", d, 0);
    if (s->n_taps) {
        fr_pack_expect(list, "fc_taps.weight", s->n_taps * d, d);
        fr_pack_expect(list, "fc_taps.norm", s->n_taps * d, 0);
    }
    fr_pack_block_tensors(&s->block, p, list);
}

void fr_draft_block_pack_members(const fr_pack *p, int rank, bool gate, json_t *to) {
    const fr_draft_block_pack *s = fr_draft_block_pack_of(p);
    json_t *block = fr_pack_block_members(&s->block), *taps = json_array();
    for (int t = 0; taps && t < s->n_taps; t++)
        json_array_append_new(taps, json_integer(s->taps[t]));
    json_object_set_new(block, "rank", json_integer(rank));
    json_object_set_new(block, "gate", json_boolean(gate));
    json_object_set_new(block, "pure", json_boolean(s->pure));
    json_object_set_new(block, "taps", taps);
    json_object_set_new(to, "block", block);
}

void fr_draft_block_pack_words(const fr_pack *p, FILE *to) {
    const fr_draft_block_pack *s = fr_draft_block_pack_of(p);
    if (s->pure) fprintf(to, ", without tokens");
    for (int t = 0; t < s->n_taps; t++)
        fprintf(to, "%s%d", t ? "," : ", states of layers ", s->taps[t]);
    fprintf(to, "; trained to depth %d", p->depth);
}
