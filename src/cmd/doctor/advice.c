// advice.c — one function for each subject, which adds what could be better there.
#include "base/path.h"
#include "cmd/doctor/doctor.h"
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define SYS_CPU "/sys/devices/system/cpu"

static double gb(uint64_t bytes) {
    return 1e-9 * (double)bytes;
}

// The next free place; the last one is written over where there are too many.
static fr_advice *next(fr_doctor *d, const char *about) {
    if (d->n_advice < FR_DOCTOR_ADVICE) d->n_advice++;
    fr_advice *a = &d->advice[d->n_advice - 1];
    *a = (fr_advice){.about = about};
    return a;
}

__attribute__((format(printf, 2, 3))) static void say(fr_advice *a, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(a->what, sizeof a->what, format, args);
    va_end(args);
}

__attribute__((format(printf, 2, 3))) static void remedy(fr_advice *a, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(a->remedy, sizeof a->remedy, format, args);
    va_end(args);
}

// A path as a shell takes it.
static const char *quoted(const char *path, char room[PATH_MAX]) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:@+,=%";
    if (!path[strspn(path, plain)]) return path;
    size_t n = 0;
    room[n++] = '\'';
    for (; *path && n < PATH_MAX - 6; path++)
        if (*path == '\'')
            n += (size_t)snprintf(room + n, 5, "'\\''");
        else
            room[n++] = *path;
    snprintf(room + n, 2, "'");
    return room;
}

static void advise_kernels(fr_doctor *d) {
    if (strcmp(d->machine.isa, "scalar") != 0) return;
    fr_advice *a = next(d, "instruction sets");
    say(a, "This CPU has no AVX2, so the plain C kernels are used, which are many times slower.");
    if (d->machine.system.is_virtual)
        remedy(a, "give the virtual machine the host's CPU features (QEMU: -cpu host)");
    else
        remedy(a, "use a CPU with AVX2 or better: Intel since 2013, AMD since 2015");
}

static void advise_cores(fr_doctor *d) {
    const fr_doctor_machine *m = &d->machine;
    if (m->system.n_cores > m->cpus.n_cores) {
        fr_advice *a = next(d, "cores");
        say(a, "This process may use %d of the machine's %d cores.", m->cpus.n_cores,
            m->system.n_cores);
        remedy(a, "start forerun without taskset; in a container, allow more CPUs (Docker: "
                  "--cpuset-cpus)");
    }
    if (m->group.cpus && m->group.cpus < m->cpus.n_cores) {
        fr_advice *a = next(d, "cores");
        say(a, "The control group limits this process to %.3g CPUs, of %d cores.", m->group.cpus,
            m->cpus.n_cores);
        remedy(a, "raise that limit (Docker: --cpus; Kubernetes: limits.cpu; systemd: CPUQuota)");
    }
}

static void advise_others(fr_doctor *d) {
    const fr_cpu_others *o = &d->machine.others;
    if (o->programs >= 0.2) {
        fr_advice *a = next(d, "other programs");
        say(a, "Other programs used %.1f CPUs while memory was measured.", o->programs);
        remedy(a, "let them finish before you measure ('top' shows them)");
    }
    if (o->host >= 0.1) {
        fr_advice *a = next(d, "host");
        say(a, "The host withheld %.1f CPUs from this virtual machine.", o->host);
        remedy(a, "use a machine with dedicated CPUs; no setting of the guest changes this");
    }
}

static void advise_clock(fr_doctor *d) {
    const fr_machine *s = &d->machine.system;
    if (*s->governor && strcmp(s->governor, "performance") != 0) {
        fr_advice *a = next(d, "clock");
        say(a, "The CPU's governor is '%s', which may raise the clock too late.", s->governor);
        remedy(a, "sudo cpupower frequency-set -g performance");
    }
    if (s->turbo == FR_OFF) {
        fr_advice *a = next(d, "clock");
        say(a, "Turbo is switched off.");
        remedy(a, s->turbo_by_intel ? "echo 0 | sudo tee " SYS_CPU "/intel_pstate/no_turbo"
                                    : "echo 1 | sudo tee " SYS_CPU "/cpufreq/boost");
    }
    if (s->clock_khz && s->clock_khz < s->clock_most - s->clock_most / 50) {
        fr_advice *a = next(d, "clock");
        say(a, "The clock is limited to %.1f of %.1f GHz.", 1e-6 * (double)s->clock_khz,
            1e-6 * (double)s->clock_most);
        remedy(a, "sudo cpupower frequency-set -u %.0fMHz", 1e-3 * (double)s->clock_most);
    }
}

static void advise_memory(fr_doctor *d) {
    const uint64_t some = (uint64_t)256 << 20;
    const fr_machine *s = &d->machine.system;
    if (!strcmp(s->huge_pages, "never")) {
        fr_advice *a = next(d, "huge pages");
        say(a, "Transparent huge pages are off, so address translation takes more time.");
        remedy(a, "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled");
    }
    if (s->swap_used >= some) {
        fr_advice *a = next(d, "swap");
        say(a, "%.1f GB are swapped out. Memory ran out before, and may again.", gb(s->swap_used));
        remedy(a, "close programs that use much memory ('top', then M)");
    }
}

static void advise_model_memory(fr_doctor *d) {
    const uint64_t free_bytes = fr_doctor_memory(&d->machine), need = fr_doctor_need(&d->model);
    if (!free_bytes || need <= free_bytes) return;
    fr_advice *a = next(d, "memory");
    say(a, "The model needs about %.1f GB of memory, and %.1f GB are free.", gb(need),
        gb(free_bytes));
    if (d->machine.group.memory && need <= d->machine.system.available)
        remedy(a, "raise the control group's limit (Docker: --memory), or add --low-memory");
    else
        remedy(a, "add --low-memory, use a smaller quantization, or close programs");
}

static void advise_tuning(fr_doctor *d) {
    char room[PATH_MAX];
    const fr_doctor_model *m = &d->model;
    if (!m->tuned || !m->profile.n_drafters) {
        fr_advice *a = next(d, "tuning");
        say(a,
            "No drafter was tuned for this model on this machine with %d thread%s, so 'auto' uses "
            "the speed predicted from packs.",
            d->machine.threads, d->machine.threads == 1 ? "" : "s");
        remedy(a, "forerun tune -m %s", quoted(m->path, room));
    } else if (m->profile.cost.held >= 1.2) {
        fr_advice *a = next(d, "tuning");
        say(a, "The machine was busy when the model was tuned (passes took %.0f%% longer).",
            100 * (m->profile.cost.held - 1));
        remedy(a, "forerun tune -m %s", quoted(m->path, room));
    }
}

static void advise_packs(fr_doctor *d) {
    char room[PATH_MAX], pack[PATH_MAX], pack_room[PATH_MAX], folder[PATH_MAX],
        folder_room[PATH_MAX];
    for (int i = 0; i < d->packs.n; i++)
        if (d->packs.pack[i].fits) return;
    fr_advice *a = next(d, "packs");
    say(a, "No trained drafter was found for this model, so only repeated text is drafted.");
    snprintf(pack, sizeof pack, "%.*spacks/eagle.gguf", (int)fr_path_folder(d->model.path),
             d->model.path);
    snprintf(folder, sizeof folder, "%.*s", (int)fr_path_folder(pack), pack);
    const bool there = !access(folder, F_OK);
    const char *make = there ? "" : quoted(folder, folder_room);
    remedy(a,
           "%s%s%sforerun train eagle -m %s --data PROMPTS.jsonl -o %s --time 60m "
           "(docs/training.md)",
           there ? "" : "mkdir -p ", make, there ? "" : " && ", quoted(d->model.path, room),
           quoted(pack, pack_room));
}

static void advise_model(fr_doctor *d) {
    if (!d->model.path) return;
    if (!d->model.facts.runs) {
        fr_advice *a = next(d, "model");
        say(a, "This model cannot be run: %.250s", d->model.facts.why.text);
        remedy(a, "use another file; 'forerun models' lists the models on this machine that run");
        return;
    }
    advise_model_memory(d);
    advise_packs(d);
    advise_tuning(d);
}

void fr_doctor_advise(fr_doctor *d) {
    d->n_advice = 0;
    advise_kernels(d);
    advise_cores(d);
    advise_others(d);
    advise_clock(d);
    advise_memory(d);
    advise_model(d);
}
