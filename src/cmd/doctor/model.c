// model.c — the model's header, its memory, and its profile for this machine.
#include "model/model.h"
#include "cmd/doctor/doctor.h"
#include "cmd/lib/generate.h"
#include "model/kv.h"

static void read_profile(fr_doctor_model *m, const fr_doctor_machine *machine, const fr_gguf *g) {
    char dir[FR_CMD_PATH], path[FR_CMD_PATH];
    fr_error unsaid;
    fr_profile_key key;
    fr_profile_key_of(&key, g, machine->isa, machine->threads);
    m->profile.key = key;
    if (!fr_cmd_cache_dir(dir, sizeof dir) ||
        fr_profile_path(&key, dir, path, sizeof path, &unsaid))
        return;
    m->tuned = !fr_profile_read(&m->profile, &key, path, &unsaid) && m->profile.cost.n;
    m->profile.key = key;
}

static void read_sizes(fr_doctor_model *m, const fr_gguf *g) {
    fr_config c;
    fr_error unsaid;
    uint64_t packed;
    m->weights = fr_model_tensor_bytes(g);
    if (fr_model_check(&c, &packed, g, &unsaid)) return;
    if (packed > m->weights) m->weights = packed;
    m->layers = c.n_layer;
    m->context = c.n_ctx_train < FR_DOCTOR_CONTEXT ? c.n_ctx_train : FR_DOCTOR_CONTEXT;
    m->kv = fr_kv_bytes(&c, m->context, FR_KV_F16);
}

void fr_doctor_look_at_model(fr_doctor_model *m, const fr_doctor_machine *machine,
                             const char *path) {
    fr_gguf *g;
    fr_error unsaid;
    *m = (fr_doctor_model){.path = path};
    fr_model_facts_read(&m->facts, path);
    if (!m->facts.runs || fr_gguf_open(&g, path, &unsaid)) return;
    read_sizes(m, g);
    read_profile(m, machine, g);
    fr_gguf_close(g);
}

// The weights' tenth is for panels that are filled up, and for the workspace.
uint64_t fr_doctor_need(const fr_doctor_model *m) {
    return m->weights + m->weights / 10 + m->kv;
}
