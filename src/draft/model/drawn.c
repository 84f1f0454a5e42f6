#include "draft/model/drawn.h"
#include "kern/math.h"
#include <assert.h>

static void take_dist(fr_drawn *d, const fr_chance *dist, int n) {
    double mass = 0;
    if (n > FR_DRAWN_TOKENS) n = FR_DRAWN_TOKENS;
    for (int i = 0; i < n; i++)
        mass += dist[i].p;
    for (int i = 0; i < n; i++) {
        d->id[i] = dist[i].id;
        d->p[i] = (float)(dist[i].p / mass);
    }
    d->dist = (fr_dist){.id = d->id, .p = d->p, .n = n, .draw = d->node};
}

int fr_drawn_take(fr_drawn *d, const fr_chance *dist, int n, int n_draws, uint64_t seed, int stream,
                  int position, uint64_t *k, int32_t ids[FR_DRAWN_MOST]) {
    double ring[FR_DRAWN_MOST]; // of the draws so far, ascending
    int m = 0;
    assert(n_draws >= 1 && n_draws <= FR_DRAWN_MOST);
    take_dist(d, dist, n);
    for (int i = 0; i < d->dist.n; i++) {
        const double u = fr_uniform_at(seed, stream, (uint64_t)position, (*k)++);
        const double at = -fr_log(1 - u) / d->p[i];
        if (!(d->p[i] > 0) || (m == n_draws && at >= ring[m - 1])) continue;
        int place = m < n_draws ? m++ : m - 1;
        for (; place > 0 && ring[place - 1] > at; place--) {
            ring[place] = ring[place - 1];
            ids[place] = ids[place - 1];
        }
        ring[place] = at;
        ids[place] = d->id[i];
    }
    d->dist.n_draws = m;
    return m;
}
