// print.c — what was found, in sentences, subject by subject; then what to change.
#include "cmd/doctor/doctor.h"
#include "cmd/lib/generate.h"
#include <string.h>

static double gb(uint64_t bytes) {
    return 1e-9 * (double)bytes;
}

static void put(const char *text) {
    fr_cmd_print_clean(stdout, text, strlen(text));
}

static void subject(const char *name) {
    printf("  %-14s", name);
}

static const char *plural(int n) {
    return n == 1 ? "" : "s";
}

static void print_cpu(const fr_doctor_machine *m) {
    subject("CPU");
    put(m->cpu);
    if (m->system.is_virtual) fputs(", in a virtual machine", stdout);
    putchar('\n');
    subject("cores");
    if (m->system.n_cores)
        printf("%d physical core%s, %d CPU%s; ", m->system.n_cores, plural(m->system.n_cores),
               m->system.n_cpus, plural(m->system.n_cpus));
    printf("this process may use %d core%s", m->cpus.n_cores, plural(m->cpus.n_cores));
    if (m->group.cpus) printf(", and its control group allows %.3g CPUs", m->group.cpus);
    printf(". Without -t, %d thread%s compute%s.\n", m->threads, plural(m->threads),
           m->threads == 1 ? "s" : "");
}

static void print_kernels(const fr_doctor_machine *m) {
    int n = 0;
    subject("kernels");
    printf("%s, the best of ", m->isa);
    for (int i = 0; i < FR_ISA_COUNT; i++)
        if (m->has[i]) printf("%s%s", n++ ? ", " : "", fr_isa_name((fr_isa)i));
    fputs(" (not available:", stdout);
    for (int i = n = 0; i < FR_ISA_COUNT; i++)
        if (!m->has[i]) printf("%s %s", n++ ? "," : "", fr_isa_name((fr_isa)i));
    puts(n ? ")" : " none)");
}

static void print_memory(const fr_doctor_machine *m) {
    const fr_machine *s = &m->system;
    subject("memory");
    if (s->memory)
        printf("%.1f GB, of which %.1f GB are free", gb(s->memory), gb(s->available));
    else
        fputs("size not known", stdout);
    if (m->group.memory)
        printf("; the control group allows %.1f GB, of which %.1f GB are used", gb(m->group.memory),
               gb(m->group.memory_used));
    puts(s->memory ? "" : ".");
    subject("swap");
    if (!s->memory)
        puts("not known");
    else if (s->swap)
        printf("%.1f of %.1f GB in use\n", gb(s->swap_used), gb(s->swap));
    else
        puts("none");
    subject("reading");
    if (m->read_all > 0)
        printf("%.1f GB/s with one thread, %.1f GB/s with %d (measured now%s)\n",
               1e-9 * m->read_one, 1e-9 * m->read_all, m->threads,
               m->others.programs > 0 ? ", while other programs ran" : "");
    else
        puts("not measured");
    subject("huge pages");
    puts(!*s->huge_pages                     ? "not known"
         : !strcmp(s->huge_pages, "never")   ? "never"
         : !strcmp(s->huge_pages, "madvise") ? "madvise: used for the weights"
                                             : "always: used for the weights");
}

static void print_clock(const fr_machine *s) {
    static const char *const turbo[] = {"not known", "off", "on"};
    subject("clock");
    printf("governor %s, turbo %s", *s->governor ? s->governor : "not known", turbo[s->turbo]);
    if (s->clock_khz) printf(", at most %.1f GHz", 1e-6 * (double)s->clock_khz);
    putchar('\n');
}

static void print_limits(const fr_control_group *g) {
    subject("limits");
    if (!g->cpus && !g->memory) puts("no control group limits CPUs or memory");
    if (!g->cpus && g->memory) printf("memory %.1f GB, CPUs none\n", gb(g->memory));
    if (g->cpus && !g->memory) printf("CPUs %.3g, memory none\n", g->cpus);
    if (g->cpus && g->memory) printf("CPUs %.3g, memory %.1f GB\n", g->cpus, gb(g->memory));
}

static void print_folders(const fr_doctor_packs *packs) {
    puts("\nPacks (trained drafters), folders in the order of the search");
    for (int i = 0; i < packs->n_folders; i++) {
        const fr_doctor_folder *f = &packs->folder[i];
        fputs("  ", stdout);
        put(f->path);
        if (f->fault)
            printf(": %s\n", strerror(f->fault));
        else if (f->found)
            printf(": %d pack%s\n", f->n, plural(f->n));
        else
            puts(": no such folder");
    }
}

static bool told_before(const fr_doctor_packs *packs, int i) {
    for (int k = 0; k < i; k++)
        if (!strcmp(packs->pack[k].target_name, packs->pack[i].target_name)) return true;
    return false;
}

// A line for each model that there are packs for.
static void print_targets(const fr_doctor_packs *packs) {
    for (int i = 0; i < packs->n; i++) {
        if (told_before(packs, i)) continue;
        fputs("  for ", stdout);
        put(packs->pack[i].target_name);
        for (int k = i, n = 0; k < packs->n; k++)
            if (!strcmp(packs->pack[k].target_name, packs->pack[i].target_name))
                printf("%s %s", n++ ? "," : ":", packs->pack[k].drafter);
        putchar('\n');
    }
}

static void print_fitting(const fr_doctor_packs *packs) {
    int n = 0;
    for (int i = 0; i < packs->n; i++)
        n += packs->pack[i].fits;
    puts(n ? "  For this model, with the speed predicted from their accuracies:"
           : "  No pack fits this model.");
    for (int i = 0; i < packs->n; i++) {
        const fr_doctor_pack *p = &packs->pack[i];
        if (!p->fits) continue;
        printf("    %-16s", p->drafter);
        if (p->speed > 1.005)
            printf("%5.2f times the speed of plain decoding\n", p->speed);
        else
            puts(" no gain");
    }
}

static void print_profile(const fr_doctor_model *m) {
    const fr_cost *c = &m->profile.cost;
    const fr_profile_drafter *best = fr_profile_best(&m->profile);
    subject("passes");
    if (!m->tuned) {
        puts("not measured yet");
        return;
    }
    const double one = fr_cost_pass(c, 1, 1, 0), eight = fr_cost_pass(c, 8, 8, 0);
    printf("1 row (plain decoding): %.1f ms; 8 rows (7 guesses checked): %.1f ms, %.2f times as "
           "long\n",
           1e3 * one, 1e3 * eight, fr_cmd_rate(eight, one));
    if (c->expert > 0)
        printf("experts: 8 unrelated rows read %.2f times those of one; %.3g ms each\n",
               fr_cmd_rate(fr_cost_experts(c, 8, NULL), c->experts[0]), 1e3 * c->expert);
    subject("tuned");
    if (!m->profile.n_drafters) {
        puts("no drafter");
        return;
    }
    printf("%d drafter%s; ", m->profile.n_drafters, plural(m->profile.n_drafters));
    if (!best) {
        puts("plain decoding is the fastest");
        return;
    }
    fputs("the fastest is ", stdout);
    put(best->spec);
    printf(", %.1f tokens per second, %.2f times plain decoding\n", best->tok_s,
           fr_profile_speedup(best));
}

static void print_model(const fr_doctor *d) {
    const fr_doctor_model *m = &d->model;
    fputs("\nModel ", stdout);
    put(m->path);
    putchar('\n');
    if (!m->facts.runs) return;
    subject("kind");
    put(m->facts.architecture);
    printf(", %.2f billion parameters, %s\n", 1e-9 * (double)m->facts.parameters,
           m->facts.quantization);
    subject("memory");
    printf("about %.1f GB with a context of %d tokens; %.1f GB are free\n", gb(fr_doctor_need(m)),
           m->context, gb(fr_doctor_memory(&d->machine)));
    if (d->machine.read_all > 0) {
        subject("reading it");
        printf("a pass reads %.1f GB; at the speed measured now, that is %.0f times per second\n",
               gb(m->weights), d->machine.read_all / (double)m->weights);
    }
    print_profile(m);
}

static void print_advice(const fr_doctor *d) {
    if (!d->n_advice) {
        puts("\nNothing to change.");
        return;
    }
    puts("\nPossible improvements");
    for (int i = 0; i < d->n_advice; i++) {
        printf("  %d. ", i + 1);
        put(d->advice[i].what);
        fputs("\n     -> ", stdout);
        put(d->advice[i].remedy);
        putchar('\n');
    }
}

void fr_doctor_print(const fr_doctor *d) {
    puts("This machine");
    print_cpu(&d->machine);
    print_kernels(&d->machine);
    print_memory(&d->machine);
    print_clock(&d->machine.system);
    print_limits(&d->machine.group);
    if (d->model.path) print_model(d);
    print_folders(&d->packs);
    if (d->model.path)
        print_fitting(&d->packs);
    else
        print_targets(&d->packs);
    print_advice(d);
    if (!d->model.path) puts("\nWith -m MODEL, doctor also reports on that model.");
}
