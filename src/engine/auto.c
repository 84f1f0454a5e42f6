#include "engine/auto.h"
#include "draft/pack/find.h"
#include "draft/pack/speed.h"
#include "draft/registry.h"
#include <string.h>

static const char *const WITH_PACK[FR_PACK_KINDS] = {
    [FR_PACK_MEDUSA] = "prompt-lookup+medusa",
    [FR_PACK_EAGLE] = "prompt-lookup+eagle",
    [FR_PACK_HIDDEN_STATE] = "prompt-lookup+hidden-state",
    [FR_PACK_PPD] = "prompt-lookup+ppd",
    [FR_PACK_HIDDEN_TRANSFER] = "prompt-lookup+hidden-transfer",
    [FR_PACK_CHIMERA] = "prompt-lookup+chimera",
    [FR_PACK_LAYER_SKIP] = "prompt-lookup+layer-skip",
    [FR_PACK_EARLY_EXIT] = "prompt-lookup+early-exit",
};

// 0: there is no pack of this kind, or no drafter for it.
static double speed_of_pack(const fr_engine *e, fr_pack_kind kind) {
    char path[FR_PACK_PATH];
    fr_error unsaid;
    fr_pack p;
    if (fr_drafter_check(WITH_PACK[kind], &unsaid) || fr_pack_find(path, kind, e->gguf, &unsaid) ||
        fr_pack_open(&p, path, &unsaid))
        return 0;
    const fr_cost *cost = e->profile ? &e->profile->cost : NULL;
    const double speed = fr_pack_speed(&p, cost, e->model.config.n_layer, e->model.weights_bytes);
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
    for (int kind = 0; kind < FR_PACK_KINDS; kind++) {
        if (tuned && fr_profile_find(p, WITH_PACK[kind])) continue; // compared above
        if (e->unfit_packs & 1u << kind) continue;
        const double pack = speed_of_pack(e, (fr_pack_kind)kind);
        if (pack <= speed) continue;
        speed = pack;
        spec = WITH_PACK[kind];
        *reason = "its pack is predicted to be fastest";
    }
    return spec;
}

bool fr_auto_forget(fr_engine *e, const char *spec) {
    for (int i = 0; e->profile && i < e->profile->n_drafters; i++)
        if (!strcmp(e->profile->drafter[i].spec, spec)) return e->profile->drafter[i].gone = true;
    for (int kind = 0; kind < FR_PACK_KINDS; kind++) {
        if (strcmp(WITH_PACK[kind], spec)) continue;
        e->unfit_packs |= 1u << kind;
        return true;
    }
    return false;
}
