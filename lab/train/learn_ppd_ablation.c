// learn_ppd_ablation.c — what PPD compares its prompt tokens with [arXiv 2405.18628, appendix B]:
// masks under which members see each other, a prefix in every layer's keys and values, learned
// weights of the members, a head of the prompts' own, the mean of the last layers; and prompt tokens
// that see none of the others [section 3.1], or that stand at the end of a text alone [section 3.3].
// It is learned and judged, not drafted with: the pack is called ppd-ablation, which no drafter
// takes.
#include "base/alloc.h"
#include "draft/attached/train/learn_ppd.h"
#include "lab/train/learners.h"
#include "train/learner/setting.h"
#include <string.h>

static const float PREFIX_SIZE = 0.02f; // of keys in the beginning; values begin as 0

typedef enum ppd_mask { // what member j of prompt i sees of its base's vectors
    MASK_ENSEMBLE,      // member j of the prompts up to i
    MASK_DECODER,       // all before it
    MASK_ENCODER,       // all of the prompts up to i
    MASK_ALONE,         // itself
} ppd_mask;
static const char *const masks[] = {"mask=ensemble", "mask=decoder", "mask=encoder", "mask=alone"};

typedef struct ablation {
    fr_ppd_learner ppd; // first
    int prefix_rows;    // parameter, [layers * 2 * depth * members][n_kv head_dim]; -1: none
    ppd_mask mask;
    int exits;
    bool has_prefix, has_weights, has_head, at_end;
    void (*enter)(fr_attached_learner *a); // PPD's
} ablation;

static ablation *self(fr_ppd_learner *p) {
    return (ablation *)(void *)p;
}

static void enter(fr_attached_learner *a) {
    const ablation *b = (const ablation *)(void *)a;
    b->enter(a);
    if (!b->has_prefix) return;
    a->trunk.prefix = fr_param_w(&a->learner.params, b->prefix_rows);
    a->trunk.dprefix = fr_param_grad(&a->learner.params, b->prefix_rows);
}

// ---------------------------------------------------------------- opening
static bool read_mask(ablation *b, const char *option) {
    for (int m = 0; m < (int)(sizeof masks / sizeof *masks); m++)
        if (!strcmp(option, masks[m])) {
            b->mask = (ppd_mask)m;
            return true;
        }
    return false;
}

static bool read_option(fr_ppd_learner *p, const char *option) {
    ablation *b = self(p);
    const int n_layer = p->attached.learner.target->config.n_layer;
    return fr_setting_int(option, "exits", 1, n_layer, &b->exits) || read_mask(b, option) ||
           fr_setting_switch(option, "prefix", &b->has_prefix) ||
           fr_setting_switch(option, "weights", &b->has_weights) ||
           fr_setting_switch(option, "head", &b->has_head) ||
           fr_setting_switch(option, "end", &b->at_end);
}

// Which of the other vectors vector `step` sees.
static void reshape(const fr_ppd_learner *p, fr_trunk_shape *shape) {
    const ablation *b = (const ablation *)(const void *)p;
    const int members = p->attached.members;
    for (int s = 0; s < shape->steps; s++) {
        if (b->mask == MASK_ENCODER) shape->sees[s] = (1u << (s / members + 1) * members) - 1;
        if (b->mask == MASK_DECODER) shape->sees[s] = (2u << s) - 1;
        if (b->mask == MASK_ALONE) shape->sees[s] = 1u << s;
    }
    shape->exits = b->exits;
    shape->prefix = b->has_prefix;
}

static int add(fr_ppd_learner *p, bool wanted, const char *name, int rows, int cols) {
    fr_params *params = &p->attached.learner.params;
    if (!wanted) return -1;
    const int number = fr_params_add(params, name, rows, cols);
    params->item[number].decays = false;
    return number;
}

static void add_params(fr_ppd_learner *p) {
    fr_attached_learner *a = &p->attached;
    ablation *b = self(p);
    const fr_config *c = &a->learner.target->config;
    const int n = a->guesses * a->members;
    b->prefix_rows = add(p, b->has_prefix, "ppd.prefix", c->n_layer * 2 * n, c->n_kv * c->head_dim);
    a->weights = add(p, b->has_weights, "ppd.weights", 1, n);
    a->head = add(p, b->has_head, "ppd.head", a->learner.vocab->n, c->d);
}

static void start(fr_ppd_learner *p, uint64_t seed) {
    const fr_attached_learner *a = &p->attached;
    const ablation *b = self(p);
    const fr_params *params = &a->learner.params;
    if (b->has_prefix) {
        const fr_param *item = &params->item[b->prefix_rows];
        const size_t half = (size_t)(a->guesses * a->members) * (size_t)item->cols;
        float *w = fr_param_w(params, b->prefix_rows);
        fr_param_random(params, b->prefix_rows, PREFIX_SIZE, seed);
        for (int layer = 0; layer < a->learner.target->config.n_layer; layer++)
            memset(w + (2 * (size_t)layer + 1) * half, 0, half * sizeof *w);
    }
    for (int s = 0; s < a->guesses * a->members && b->has_weights; s++)
        fr_param_w(params, a->weights)[s] = 1 / (float)a->members;
    if (b->has_head)
        memcpy(fr_param_w(params, a->head), a->learner.vocab->head,
               (size_t)params->item[a->head].rows * (size_t)params->item[a->head].cols *
                   sizeof(float));
}

fr_status lab_learn_ppd_ablation_open(fr_learner **out, const fr_learner_config *config,
                                      fr_error *err) {
    static const fr_ppd_more more = {
        .read_option = read_option,
        .options = ", mask=ensemble, decoder, encoder or alone, prefix=0 or 1, weights=0 or 1, "
                   "head=0 or 1, end=0 or 1, exits=1 to as many as the model has layers",
        .reshape = reshape,
        .add_params = add_params,
        .start = start};
    *out = NULL;
    ablation *b = fr_alloc_zero(sizeof *b);
    if (!b) return fr_fail(err, FR_ENOMEM, "train: no memory");
    b->exits = 1;
    const fr_status st = fr_ppd_learner_open(&b->ppd, "ppd-ablation", &more, config, err);
    if (st) return st; // b is freed
    b->enter = b->ppd.attached.enter;
    b->ppd.attached.enter = enter;
    b->ppd.attached.last = b->at_end ? b->ppd.attached.points : 0;
    *out = &b->ppd.attached.learner;
    return FR_OK;
}
