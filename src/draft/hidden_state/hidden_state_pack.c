#include "draft/hidden_state/hidden_state_pack.h"

static fr_status read(fr_pack *p, fr_error *err) {
    fr_hidden_state_pack *s = p->settings;
    uint32_t rank = 0;
    fr_status st;
    if ((st = fr_pack_block_read(&s->base.block, p, err)) ||
        (st = fr_gguf_opt_u32(p->gguf, "forerun.rank", &rank, err)) ||
        (st = fr_gguf_opt_bool(p->gguf, "forerun.gate", &s->gate, err)) ||
        (st = fr_gguf_opt_bool(p->gguf, "forerun.pure", &s->base.pure, err)))
        return st;
    if (rank > FR_PACK_RANK)
        return fr_fail(err, FR_EDATA, "forerun.rank: expected 0 to %d, found %u", FR_PACK_RANK,
                       rank);
    s->rank = (int)rank;
    s->gate = s->gate && rank;
    s->base.null = !s->base.pure;
    return FR_OK;
}

static void tensors(const fr_pack *p, fr_pack_tensors *list) {
    const fr_hidden_state_pack *s = fr_hidden_state_pack_of(p);
    fr_draft_block_pack_tensors(p, list);
    if (s->rank) {
        fr_pack_expect(list, "inject.token.weight", p->d, s->rank);
        fr_pack_expect(list, "inject.out.weight", s->rank, p->n_draft);
    }
    if (s->gate) fr_pack_expect(list, "inject.gate.weight", p->d, s->rank);
}

// One product of the head for the states of all depths.
static double share(const fr_pack *p, int depth, const fr_pack_target *t) {
    return depth * fr_pack_own_share(p, t) + fr_pack_head_share(p, t);
}

static void members(const fr_pack *p, json_t *to) {
    const fr_hidden_state_pack *s = fr_hidden_state_pack_of(p);
    fr_draft_block_pack_members(p, s->rank, s->gate, to);
}

static void words(const fr_pack *p, FILE *to) {
    const fr_hidden_state_pack *s = fr_hidden_state_pack_of(p);
    fr_pack_block_words(&s->base.block, to);
    if (s->rank) fprintf(to, ", token bias of rank %d%s", s->rank, s->gate ? ", gated" : "");
    fr_draft_block_pack_words(p, to);
}

const fr_pack_form fr_hidden_state_form = {.name = "hidden-state",
                                           .bytes = sizeof(fr_hidden_state_pack),
                                           .read = read,
                                           .tensors = tensors,
                                           .share = share,
                                           .block = fr_draft_block_pack_block,
                                           .members = members,
                                           .words = words};
