// Hidden transfer: trained maps of a middle layer's state of a token enter the target's pass as
// the states of the tokens after it, and the layers above refine them.  [Hidden Transfer, Wu et al.
// 2024, §3.2]
//
// Step i of a node enters after layer t_i as W_i h, h being the node's residual there; above, it
// sees the steps before it.
#include "base/alloc.h"
#include "draft/attached/attached.h"
#include <stdio.h>

typedef struct fr_transfer {
    fr_attached base;
    fr_matrix map[FR_PACK_ATTACHED]; // of the weights
} fr_transfer;

static fr_row pseudo(const fr_attached *a, int step, int member, int node) {
    (void)member;
    return (fr_row){.kind = FR_ROW_LINEAR,
                    .source = node,
                    .map = step,
                    .join = (int16_t)fr_attached_pack_of(a->base.pack)->layer[step]};
}

static void close_transfer(fr_drafter *base) {
    fr_transfer *t = (fr_transfer *)base;
    fr_attached_close(&t->base);
    fr_free(t);
}

static const fr_drafter_ops OPS = {.name = "hidden-transfer",
                                   .begin = fr_attached_begin,
                                   .propose = fr_attached_propose,
                                   .want = fr_no_want,
                                   .got = fr_no_got,
                                   .extend = fr_attached_extend,
                                   .observe = fr_attached_observe,
                                   .report = fr_no_report,
                                   .close = close_transfer};

static const fr_drafter_option OPTIONS[] = {
    FR_OPTION_INT("depth", "N", fr_trained, depth, 1, FR_PACK_HEADS,
                  "tokens drafted ahead, 1 to 16 (default: the number of maps in the pack)"),
    FR_TRAINED_WIDTH("8"),
    {0}};

static fr_status take_maps(fr_transfer *t, fr_error *err) {
    const fr_pack *p = t->base.base.pack;
    fr_status st = FR_OK;
    for (int k = 0; k < p->depth && !st; k++) {
        const fr_matrix *map;
        char name[40];
        snprintf(name, sizeof name, "transfer.%d.weight", k + 1);
        st = fr_pack_weights_matrix(t->base.base.weights, name, &map, err);
        t->map[k] = *map;
    }
    t->base.base.base.needs.maps = t->map;
    t->base.base.base.needs.n_maps = p->depth;
    return st;
}

static fr_status open_hidden_transfer(fr_drafter **out, const char *file,
                                      const fr_drafter_config *config, fr_error *err) {
    *out = NULL;
    fr_transfer *t = fr_alloc_zero(sizeof *t);
    if (!t) return fr_fail(err, FR_ENOMEM, "hidden-transfer: cannot get memory");
    fr_status st = fr_attached_open(&t->base, &fr_hidden_transfer_form, &OPS, file, config, OPTIONS,
                                    pseudo, err);
    if (!st) st = take_maps(t, err);
    if (st) {
        close_transfer(&t->base.base.base);
        return st;
    }
    *out = &t->base.base.base;
    return FR_OK;
}

const fr_drafter_method fr_hidden_transfer_method = {
    .name = "hidden-transfer",
    .what = "states of middle layers, mapped to later positions within the model's own pass",
    .file = "a pack from 'forerun train' (default: the best pack found)",
    .options = OPTIONS,
    .pack = &fr_hidden_transfer_form,
    .in_auto = "prompt-lookup+hidden-transfer",
    .cost = 2,
    .open = open_hidden_transfer};
