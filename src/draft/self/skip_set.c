#include "draft/self/skip_set.h"
#include <string.h>

static uint64_t bytes_of(const fr_matrix *w) {
    return w->panel_bytes * (uint64_t)w->n_panels;
}

uint64_t fr_sublayer_bytes(const fr_model *m, int sublayer) {
    const fr_layer *l = &m->layers[sublayer / 2];
    if (sublayer % 2) return bytes_of(&l->gate) + bytes_of(&l->up) + bytes_of(&l->down);
    return bytes_of(&l->q) + bytes_of(&l->k) + bytes_of(&l->v) + bytes_of(&l->o);
}

double fr_skip_trunk_share(const fr_model *m, const uint8_t *skip) {
    uint64_t bytes = 0;
    for (int i = 0; i < 2 * m->config.n_layer; i++)
        if (!skip[i]) bytes += fr_sublayer_bytes(m, i);
    return (double)bytes / (double)m->weights_bytes;
}

void fr_skip_default(const fr_model *m, uint8_t *skip) {
    const int layers = m->config.n_layer;
    memset(skip, 0, 2 * (size_t)layers);
    for (int l = layers / 3; l + 1 < layers; l += 2)
        skip[2 * l] = 1;
}
