// config_experts.c — how many experts a model has, how a row chooses among them, and which layers
// have them.
#include "model/config_reader.h"
#include <stdio.h>

static const fr_gguf_tensor *tensor_of(const fr_config_reader *r, int layer, const char *suffix) {
    char name[64];
    snprintf(name, sizeof name, "blk.%d.%s", layer, suffix);
    return fr_gguf_tensor_find(r->g, name);
}

static bool has_router(const fr_config_reader *r, int layer) {
    return tensor_of(r, layer, "ffn_gate_inp.weight") != NULL;
}

static void read_counts(fr_config_reader *r, const fr_config *c, fr_experts *e) {
    fr_config_int(r, (fr_config_name){"expert_count", NULL, false}, 0, 1 << 16, &e->n);
    if (r->status) return;
    if (e->n > FR_EXPERTS_MOST)
        r->status = fr_fail(r->err, FR_EUNSUP, "%s.expert_count: expected at most %d, found %d",
                            r->arch, (int)FR_EXPERTS_MOST, e->n);
    else if (e->n > 1 && c->family->has_experts == FR_EXPERTS_NEVER)
        r->status =
            fr_fail(r->err, FR_EUNSUP,
                    "%s.expert_count: expected none, found %d: mixtures of experts cannot be run",
                    r->arch, e->n);
    else if (e->n < 1 && c->family->has_experts == FR_EXPERTS_ALWAYS)
        r->status = fr_fail(r->err, FR_EDATA, "%s.expert_count: expected at least 1, found %d",
                            r->arch, e->n);
}

// The rule by which a row chooses, and its weights.
static void read_rule(fr_config_reader *r, const fr_config *c, fr_experts *e) {
    int gating = c->family->gating ? (int)c->family->gating : FR_GATE_SOFTMAX;
    fr_config_layers_int(r, (fr_config_name){"expert_used_count", NULL, true}, 1, e->n, &e->used);
    fr_config_int(r, (fr_config_name){"expert_gating_func", NULL, false}, 0, 255, &gating);
    fr_config_float(r, (fr_config_name){"expert_weights_scale", NULL, false}, -1e6f, 1e6f,
                    &e->scale);
    fr_config_int(r, (fr_config_name){"expert_group_count", NULL, false}, 0, FR_EXPERT_GROUPS,
                  &e->groups);
    fr_config_int(r, (fr_config_name){"expert_group_used_count", NULL, false}, 0, e->groups,
                  &e->groups_used);
    if (r->status) return;
    e->weighs_inputs = c->family->weighs_inputs;
    e->normed = !c->family->keeps_weights;
    r->status = fr_gguf_opt_bool(r->g, fr_config_key(r, "expert_weights_norm"), &e->normed, r->err);
    if (e->scale == 0) e->scale = 1; // as llama.cpp takes it
    if (gating == 0) gating = FR_GATE_SOFTMAX;
    if (!r->status && gating != FR_GATE_SOFTMAX && gating != FR_GATE_SIGMOID &&
        gating != FR_GATE_CHOSEN)
        r->status = fr_fail(r->err, FR_EUNSUP,
                            "%s.expert_gating_func: expected 1 to 3, found %d: cannot be run",
                            r->arch, gating);
    e->gating = (fr_gating)gating;
}

static void check_rule(fr_config_reader *r, const fr_experts *e) {
    if (r->status) return;
    if (e->used > FR_EXPERTS_USED)
        r->status =
            fr_fail(r->err, FR_EUNSUP, "%s.expert_used_count: expected at most %d, found %d",
                    r->arch, (int)FR_EXPERTS_USED, e->used);
    if (r->status || e->groups < 2) return;
    const int each = e->n % e->groups ? 0 : e->n / e->groups;
    if (each < 2)
        r->status = fr_fail(r->err, FR_EDATA,
                            "%s.expert_group_count: expected a divisor of the %d experts, found %d",
                            r->arch, e->n, e->groups);
    else if (e->groups_used * each < e->used)
        r->status = fr_fail(r->err, FR_EDATA,
                            "%s.expert_group_used_count: expected groups with at least %d experts, "
                            "found %d of %d each",
                            r->arch, e->used, e->groups_used, each);
}

// Inner values, by the tensors: families name them by different keys, or not at all.
static void read_widths(fr_config_reader *r, const fr_config *c, int layer, fr_experts *e) {
    const fr_gguf_tensor *fused = tensor_of(r, layer, "ffn_gate_up_exps.weight");
    const fr_gguf_tensor *up = fused ? fused : tensor_of(r, layer, "ffn_up_exps.weight");
    const fr_gguf_tensor *shared = tensor_of(r, layer, "ffn_up_shexp.weight");
    const int64_t most = 1 << 20;
    if (!up)
        r->status = fr_fail(r->err, FR_EDATA,
                            "blk.%d.ffn_up_exps.weight: expected a tensor, found none", layer);
    else if (up->n_dims != 3 || up->ne[1] > most)
        r->status = fr_fail(r->err, FR_EDATA,
                            "%s: expected [%d, at most %lld, %d], found %d dimensions, [%lld,%lld]",
                            up->name, c->d, (long long)most, e->n, up->n_dims, (long long)up->ne[0],
                            (long long)up->ne[1]);
    else if (shared && (shared->n_dims != 2 || shared->ne[1] > most))
        r->status = fr_fail(r->err, FR_EDATA,
                            "%s: expected [%d, at most %lld], found %d dimensions, [%lld,%lld]",
                            shared->name, c->d, (long long)most, shared->n_dims,
                            (long long)shared->ne[0], (long long)shared->ne[1]);
    if (r->status) return;
    e->d_ff = (int)up->ne[1] / (fused ? 2 : 1);
    e->d_shared = shared ? (int)shared->ne[1] : 0;
    int said = e->d_ff;
    fr_config_layers_int(r, (fr_config_name){"expert_feed_forward_length", NULL, false}, 1, 1 << 20,
                         &said);
    if (!r->status && said != e->d_ff)
        r->status = fr_fail(r->err, FR_EDATA,
                            "%s.expert_feed_forward_length: expected %d, as the tensors have, "
                            "found %d",
                            r->arch, e->d_ff, said);
}

void fr_config_experts(fr_config_reader *r, fr_config *c) {
    fr_experts *e = &c->experts;
    int first = 0;
    *e = (fr_experts){.scale = 1};
    read_counts(r, c, e);
    if (r->status) return;
    while (first < c->n_layer && !has_router(r, first))
        first++;
    if (!e->n || first == c->n_layer) { // dense: experts without a router are refused by name
        e->n = 0;
        return;
    }
    read_rule(r, c, e);
    check_rule(r, e);
    if (!r->status) read_widths(r, c, first, e);
    for (int i = first; i < c->n_layer; i++)
        c->plan[i].experts = has_router(r, i);
}
