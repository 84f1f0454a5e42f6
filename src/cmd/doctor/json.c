// json.c — the same as a document. Unknown values are null.
#include "cmd/doctor/doctor.h"
#include "cmd/lib/profile_report.h"
#include "cmd/lib/text.h"
#include <string.h>

static json_t *text(const char *t) {
    return *t ? fr_json_string(t) : json_null();
}

static json_t *number(uint64_t n) {
    return n ? json_integer((json_int_t)n) : json_null();
}

static json_t *known(fr_on_off k) {
    return k == FR_UNKNOWN ? json_null() : json_boolean(k == FR_ON);
}

static json_t *real(double x) {
    return x > 0 ? fr_cmd_real(x) : json_null();
}

static json_t *sets_json(const fr_doctor_machine *m) {
    json_t *sets = json_array();
    for (int i = 0; sets && i < FR_ISA_COUNT; i++)
        if (m->has[i]) json_array_append_new(sets, json_string(fr_isa_name((fr_isa)i)));
    return sets;
}

static json_t *memory_json(const fr_doctor_machine *m) {
    const fr_machine *s = &m->system;
    return json_pack("{s:o, s:o, s:I, s:I, s:o, s:o, s:o}", "bytes", number(s->memory), "available",
                     number(s->available), "swap", (json_int_t)s->swap, "swap_used",
                     (json_int_t)s->swap_used, "huge_pages", text(s->huge_pages),
                     "read_gb_s_one_thread", real(1e-9 * m->read_one), "read_gb_s",
                     real(1e-9 * m->read_all));
}

static json_t *clock_json(const fr_machine *s) {
    return json_pack("{s:o, s:o, s:o, s:o}", "governor", text(s->governor), "turbo",
                     known(s->turbo), "khz_allowed", number(s->clock_khz), "khz_most",
                     number(s->clock_most));
}

static json_t *machine_json(const fr_doctor_machine *m) {
    return json_pack(
        "{s:o, s:b, s:o, s:o, s:i, s:i, s:s, s:o, s:o, s:o, s:{s:o, s:o, s:o}, s:{s:o, "
        "s:o}}",
        "cpu", text(m->cpu), "virtual", (int)m->system.is_virtual, "cores",
        number((uint64_t)m->system.n_cores), "cpus", number((uint64_t)m->system.n_cpus),
        "usable_cores", m->cpus.n_cores, "threads", m->threads, "isa", m->isa, "instruction_sets",
        sets_json(m), "memory", memory_json(m), "clock", clock_json(&m->system), "control_group",
        "cpus", real(m->group.cpus), "memory", number(m->group.memory), "memory_used",
        m->group.memory ? json_integer((json_int_t)m->group.memory_used) : json_null(), "others",
        "programs_cpus", fr_cmd_real(m->others.programs), "host_cpus", fr_cmd_real(m->others.host));
}

static json_t *packs_json(const fr_doctor *d) {
    json_t *folders = json_array(), *packs = json_array();
    for (int i = 0; folders && i < d->packs.n_folders; i++) {
        const fr_doctor_folder *f = &d->packs.folder[i];
        json_array_append_new(folders, json_pack("{s:o, s:b, s:i, s:s*}", "path", text(f->path),
                                                 "found", (int)f->found, "packs", f->n, "fault",
                                                 f->fault ? strerror(f->fault) : NULL));
    }
    for (int i = 0; packs && i < d->packs.n; i++) {
        const fr_doctor_pack *p = &d->packs.pack[i];
        json_array_append_new(packs,
                              json_pack("{s:o, s:s, s:o, s:o, s:o}", "path", text(p->path),
                                        "drafter", p->drafter, "target_name", text(p->target_name),
                                        "fits", d->model.path ? json_boolean(p->fits) : json_null(),
                                        "expected_speedup", real(p->speed)));
    }
    return json_pack("{s:o, s:o}", "folders", folders, "found", packs);
}

static json_t *profile_json(const fr_doctor_model *m) {
    const fr_profile_drafter *best = fr_profile_best(&m->profile);
    if (!m->tuned) return json_null();
    return json_pack("{s:o, s:o, s:i, s:o}", "ms_1_row",
                     fr_cmd_real(1e3 * fr_cost_pass(&m->profile.cost, 1, 1, 0)), "ms_8_rows",
                     fr_cmd_real(1e3 * fr_cost_pass(&m->profile.cost, 8, 8, 0)), "drafters",
                     m->profile.n_drafters, "fastest",
                     best ? fr_cmd_predicted_json(best) : json_null());
}

static json_t *model_json(const fr_doctor *d) {
    const fr_doctor_model *m = &d->model;
    if (!m->path) return json_null();
    return json_pack("{s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "path", text(m->path), "runs",
                     (int)m->facts.runs, "why_not",
                     m->facts.runs ? json_null() : text(m->facts.why.text), "weights_bytes",
                     number(m->weights), "memory_needed", number(fr_doctor_need(m)), "memory_free",
                     number(fr_doctor_memory(&d->machine)), "reads_a_second",
                     m->weights ? real(d->machine.read_all / (double)m->weights) : json_null(),
                     "profile", profile_json(m));
}

json_t *fr_doctor_json(const fr_doctor *d) {
    json_t *advice = json_array();
    for (int i = 0; advice && i < d->n_advice; i++) {
        const fr_advice *a = &d->advice[i];
        json_array_append_new(advice, json_pack("{s:s, s:o, s:o}", "about", a->about, "what",
                                                text(a->what), "do", text(a->remedy)));
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "machine", machine_json(&d->machine), "model",
                     model_json(d), "packs", packs_json(d), "advice", advice);
}
