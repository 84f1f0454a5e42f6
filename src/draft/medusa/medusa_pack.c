#include "draft/medusa/medusa_pack.h"

static const char *const VARIANTS[] = {"shared", "own-heads", "hydra", "exit"};
enum { N_VARIANTS = sizeof VARIANTS / sizeof *VARIANTS };

const char *fr_medusa_variant_name(fr_medusa_variant variant) {
    return VARIANTS[variant];
}

static fr_status read(fr_pack *p, fr_error *err) {
    fr_medusa_pack *s = p->settings;
    int v;
    const fr_status st = fr_pack_word(p, "forerun.variant", "shared", VARIANTS, N_VARIANTS,
                                      "shared, own-heads, hydra or exit", &v, err);
    if (st) return st;
    s->variant = (fr_medusa_variant)v;
    return v == FR_MEDUSA_EXIT ? fr_pack_u32(p, "forerun.tap", 0, FR_MAX_LAYERS, &s->tap, err)
                               : FR_OK;
}

static fr_status fits(const fr_pack *p, int n_layer, fr_error *err) {
    const int tap = fr_medusa_pack_of(p)->tap;
    if (tap <= n_layer) return FR_OK;
    return fr_fail(err, FR_EDATA, "forerun.tap: expected 0 to %d, found %d", n_layer, tap);
}

static void tensors(const fr_pack *p, fr_pack_tensors *list) {
    const fr_medusa_variant variant = fr_medusa_pack_of(p)->variant;
    for (int k = 1; k <= p->depth; k++) {
        char name[40];
        snprintf(name, sizeof name, "medusa.%d.weight", k);
        fr_pack_expect(list, name, variant == FR_MEDUSA_HYDRA ? (k + 1) * p->d : p->d, p->d);
        snprintf(name, sizeof name, "medusa.%d.bias", k);
        fr_pack_expect(list, name, p->d, 0);
        snprintf(name, sizeof name, "medusa.%d.head", k);
        if (variant == FR_MEDUSA_OWN_HEADS) fr_pack_expect(list, name, p->d, p->n_draft);
    }
}

// Hydra reads the draft head at every depth.
static double share(const fr_pack *p, int depth, const fr_pack_target *t) {
    const fr_medusa_variant variant = fr_medusa_pack_of(p)->variant;
    const double own = fr_pack_own_share(p, t), head = fr_pack_head_share(p, t);
    if (variant == FR_MEDUSA_HYDRA) return own + depth * head;
    return own + (variant == FR_MEDUSA_OWN_HEADS ? 0 : head);
}

static void members(const fr_pack *p, json_t *to) {
    json_object_set_new(to, "variant", json_string(VARIANTS[fr_medusa_pack_of(p)->variant]));
}

static void words(const fr_pack *p, FILE *to) {
    fprintf(to, " (%s), %d heads", VARIANTS[fr_medusa_pack_of(p)->variant], p->depth);
}

const fr_pack_form fr_medusa_form = {.name = "medusa",
                                     .bytes = sizeof(fr_medusa_pack),
                                     .read = read,
                                     .fits = fits,
                                     .tensors = tensors,
                                     .share = share,
                                     .members = members,
                                     .words = words};
