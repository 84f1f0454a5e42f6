// PPD: trained vectors run in the target's pass where the next tokens will stand, and what the
// target makes of them guesses these tokens.  [PPD, Chen et al. 2024, §3]
//
// Prompt i of a node is as many rows as there are vectors in its ensemble; each sees its own
// member of the prompts before it [§3.2, the ensemble mask], and the mean of the members' final
// states is taken before the head: the head is linear, so that is the mean of their logits. The
// rows join the pass in attached.c (fr_attached_extend); which nodes carry how many is decided in
// attached_benefit.h, in the place of the paper's planned trees (§4; tree/ppd.h).
#include "base/alloc.h"
#include "draft/attached/attached.h"

typedef struct fr_ppd_drafter {
    fr_attached base;
    const float *vectors; // [steps * ensemble][d], members of a prompt next to each other
} fr_ppd_drafter;

static fr_row prompt(const fr_attached *a, int step, int member, int node) {
    const fr_ppd_drafter *p = (const fr_ppd_drafter *)a;
    const size_t at = (size_t)(step * a->attached.ensemble + member) * (size_t)a->base.pack->d;
    (void)node;
    return (fr_row){.kind = FR_ROW_VECTOR, .vec = p->vectors + at};
}

static void close_ppd(fr_drafter *base) {
    fr_ppd_drafter *p = (fr_ppd_drafter *)base;
    fr_attached_close(&p->base);
    fr_free(p);
}

static const fr_drafter_ops OPS = {.name = "ppd",
                                   .begin = fr_attached_begin,
                                   .propose = fr_attached_propose,
                                   .want = fr_no_want,
                                   .got = fr_no_got,
                                   .extend = fr_attached_extend,
                                   .observe = fr_attached_observe,
                                   .report = fr_no_report,
                                   .close = close_ppd};

static const fr_drafter_option OPTIONS[] = {
    FR_OPTION_INT(
        "depth", "N", fr_trained, depth, 1, FR_PACK_HEADS,
        "tokens drafted ahead, 1 to 16 (default: the number of prompt tokens in the pack)"),
    FR_TRAINED_WIDTH("8"),
    {0}};

static fr_status open_ppd(fr_drafter **out, const char *file, const fr_drafter_config *config,
                          fr_error *err) {
    *out = NULL;
    fr_ppd_drafter *p = fr_alloc_zero(sizeof *p);
    if (!p) return fr_fail(err, FR_ENOMEM, "ppd: cannot get memory");
    fr_status st =
        fr_attached_open(&p->base, &fr_ppd_form, &OPS, file, config, OPTIONS, prompt, err);
    if (!st) st = fr_pack_weights_values(p->base.base.weights, "ppd.vectors", &p->vectors, err);
    if (st) {
        close_ppd(&p->base.base.base);
        return st;
    }
    *out = &p->base.base.base;
    return FR_OK;
}

const fr_drafter_method fr_ppd_method = {
    .name = "ppd",
    .what = "trained prompt tokens in the model's own pass that guess later tokens",
    .file = "a pack from 'forerun train' (default: the best pack found)",
    .options = OPTIONS,
    .pack = &fr_ppd_form,
    .in_auto = "prompt-lookup+ppd",
    .cost = 2,
    .open = open_ppd};
