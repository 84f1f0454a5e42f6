// look.c — queries the system and the CPU, then times reading memory: as `curve` does, over
// memory that no cache holds.
#include "base/alloc.h"
#include "cmd/curve/probe.h"
#include "cmd/doctor/doctor.h"
#include <string.h>
#include <unistd.h>

void fr_doctor_look(fr_doctor_machine *m) {
    const fr_kern *kern;
    fr_error unsaid;
    *m = (fr_doctor_machine){.threads = fr_pool_default_threads(), .isa = "scalar"};
    fr_cpu_name(m->cpu, sizeof m->cpu);
    fr_machine_read(&m->system, "");
    fr_control_group_read(&m->group, "");
    fr_cpus_read(&m->cpus);
    for (int i = 0; i < FR_ISA_COUNT; i++)
        m->has[i] = fr_isa_available((fr_isa)i);
    if (!fr_kern_pick(&kern, NULL, &unsaid)) m->isa = kern->name;
}

uint64_t fr_doctor_memory(const fr_doctor_machine *m) {
    return fr_control_group_room(&m->group, m->system.available);
}

// Four times the last cache, but no more than a quarter of the free memory.
static size_t bytes_to_read(const fr_doctor_machine *m) {
    const size_t least = (size_t)64 << 20, most = (size_t)512 << 20;
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    const uint64_t room = fr_doctor_memory(m) / 4;
    size_t bytes = cache > 0 ? 4 * (size_t)cache : 2 * least;
    if (bytes < 2 * least) bytes = 2 * least;
    if (bytes > most) bytes = most;
    if (room && bytes > room) bytes = (size_t)room;
    return bytes < least ? least : bytes;
}

// The best of a few, as other programs only ever make it slower.
static fr_status rate_with(double *best, int threads, const uint8_t *memory, size_t bytes,
                           fr_error *err) {
    enum { TIMES = 4 };
    const double seconds = 0.05;
    fr_pool *pool;
    fr_probe probe;
    fr_status st = fr_pool_open(&pool, threads, err);
    if (st) return st;
    if (!(st = fr_probe_open(&probe, pool, FR_ISA_SCALAR, memory, bytes, err)))
        for (int i = 0; i < TIMES && !fr_cmd_interrupted(); i++) {
            const double rate = fr_probe_run(&probe, seconds).read;
            *best = rate > *best ? rate : *best;
        }
    fr_pool_close(pool);
    return st;
}

fr_status fr_doctor_read_memory(fr_doctor_machine *m, fr_error *err) {
    const size_t bytes = bytes_to_read(m);
    uint8_t *memory = fr_pages_alloc(bytes);
    if (!memory) return fr_fail(err, FR_ENOMEM, "doctor: cannot get %zu bytes", bytes);
    memset(memory, 1, bytes); // pages of their own, not the one of zeros
    const fr_cpu_use before = fr_cpu_use_now();
    fr_status st = rate_with(&m->read_one, 1, memory, bytes, err);
    if (!st) st = rate_with(&m->read_all, m->threads, memory, bytes, err);
    m->others = fr_cpu_use_others(before, fr_cpu_use_now());
    fr_pages_free(memory, bytes);
    return st;
}
