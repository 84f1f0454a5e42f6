#include "draft/self/skip_set.h"
#include "draft/shared/linear.h"
#include <string.h>

uint64_t fr_sublayer_bytes(const fr_model *m, int sublayer) {
    const fr_layer *l = &m->layers[sublayer / 2];
    if (sublayer % 2) {
        const fr_layer_experts *e = &l->experts;
        const uint64_t one = fr_matrix_bytes(&e->gate.first) + fr_matrix_bytes(&e->up.first) +
                             fr_matrix_bytes(&e->down.first);
        return fr_matrix_bytes(&l->gate) + fr_matrix_bytes(&l->up) + fr_matrix_bytes(&l->down) +
               fr_matrix_bytes(&e->router) + (uint64_t)m->config.experts.used * one;
    }
    return fr_matrix_bytes(&l->q) + fr_matrix_bytes(&l->k) + fr_matrix_bytes(&l->v) +
           fr_matrix_bytes(&l->o);
}

double fr_skip_trunk_share(const fr_model *m, const uint8_t *skip) {
    uint64_t bytes = 0;
    for (int i = 0; i < 2 * m->config.n_layer; i++)
        if (!skip[i]) bytes += fr_sublayer_bytes(m, i);
    return (double)bytes / (double)m->row_bytes;
}

void fr_skip_default(const fr_model *m, uint8_t *skip) {
    const int layers = m->config.n_layer;
    memset(skip, 0, 2 * (size_t)layers);
    for (int l = layers / 3; l + 1 < layers; l += 2)
        skip[2 * l] = 1;
}
