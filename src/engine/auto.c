#include "engine/auto.h"
#include "decode/group.h"
#include "draft/pack/find.h"
#include "draft/pack/speed.h"
#include "draft/registry.h"
#include <string.h>

// 0: `auto` does not take this drafter, or there is no pack for it.
static double speed_of_pack(const fr_engine *e, const fr_drafter_method *m) {
    char path[FR_PACK_PATH];
    fr_error unsaid;
    fr_pack p;
    if (!m->in_auto || fr_pack_find(path, m->pack, e->gguf, &unsaid) ||
        fr_pack_open(&p, path, &unsaid))
        return 0;
    const fr_cost guess = fr_guessed_cost(&e->model);
    const fr_cost *cost = e->profile && e->profile->cost.n ? &e->profile->cost : &guess;
    const double speed = fr_pack_speed(&p, cost, e->model.config.n_layer, e->model.row_bytes);
    fr_pack_close(&p);
    return speed;
}

const char *fr_auto_spec(const fr_engine *e, const char **reason) {
    const fr_profile *p = e->profile;
    const bool tuned = p && fr_profile_holds(p);
    const fr_profile_drafter *best = tuned ? fr_profile_best(p) : NULL;
    const char *spec = !tuned ? FR_DRAFTER_AUTO : best ? best->spec : "none";
    double speed = best ? best->tok_s / best->plain_tok_s : 1;
    *reason = tuned ? "predicted to be fastest" : "nothing was tuned for this model";
    const fr_drafter_method *m;
    for (int i = 0; (m = fr_drafter_method_at(i)); i++) {
        if (tuned && m->in_auto && fr_profile_find(p, m->in_auto)) continue; // compared above
        if (e->unfit_packs & (uint64_t)1 << i) continue;
        const double pack = speed_of_pack(e, m);
        if (pack <= speed) continue;
        speed = pack;
        spec = m->in_auto;
        *reason = "its pack is predicted to be fastest";
    }
    return spec;
}

bool fr_auto_forget(fr_engine *e, const char *spec) {
    for (int i = 0; e->profile && i < e->profile->n_drafters; i++)
        if (!strcmp(e->profile->drafter[i].spec, spec)) return e->profile->drafter[i].gone = true;
    const fr_drafter_method *m;
    for (int i = 0; (m = fr_drafter_method_at(i)); i++) {
        if (!m->in_auto || strcmp(m->in_auto, spec)) continue;
        e->unfit_packs |= (uint64_t)1 << i;
        return true;
    }
    return false;
}
