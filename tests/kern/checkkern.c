// checkkern.c — the kernel checker: every kernel of every instruction set against ref/, bit for
// bit; --bench times.
#include "check.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// ---------------------------------------------------------------- cases and random numbers
void check_case(check *c, bool ok, const char *format, ...) {
    if (ok) {
        c->passed++;
        return;
    }
    if (c->failed++ >= 30) return;
    va_list args;
    va_start(args, format);
    printf("FAILED %s ", c->kern->name);
    vprintf(format, args);
    printf("\n");
    va_end(args);
}

uint32_t check_random(check *c) {
    c->random = c->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(c->random >> 32);
}

int check_below(check *c, int n) {
    return (int)(check_random(c) % (uint32_t)n);
}

float check_uniform(check *c, float low, float high) {
    return low + (high - low) * (float)(check_random(c) >> 8) * 0x1p-24f;
}

// ---------------------------------------------------------------- guarded memory
enum { FRONT = 64 };
static struct {
    uint8_t *base, *data;
    size_t mapped;
} buffers[CHECK_MAX_BUFFERS];
static int n_buffers;

void *check_buffer(size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t body = (bytes + FRONT + page - 1) / page * page;
    uint8_t *base =
        mmap(NULL, body + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || n_buffers == CHECK_MAX_BUFFERS ||
        mprotect(base + body, page, PROT_NONE)) {
        fprintf(stderr, "checkkern: no memory for a buffer of %zu bytes\n", bytes);
        exit(2);
    }
    memset(base, CHECK_POISON, body);
    buffers[n_buffers].base = base;
    buffers[n_buffers].data = base + body - bytes;
    buffers[n_buffers++].mapped = body + page;
    return base + body - bytes;
}

bool check_fronts_intact(void) {
    for (int i = 0; i < n_buffers; i++)
        for (int j = 1; j <= FRONT; j++)
            if (buffers[i].data[-j] != CHECK_POISON) return false;
    return true;
}

void check_release(void) {
    while (n_buffers) {
        n_buffers--;
        munmap(buffers[n_buffers].base, buffers[n_buffers].mapped);
    }
}

// ---------------------------------------------------------------- main
static const struct {
    const char *name;
    check_fn *run;
} checks[] = {{"quantize", check_quantize},
              {"matmul", check_matmul},
              {"vector", check_vector},
              {"attend", check_attend}};

enum { CHECKS = sizeof checks / sizeof *checks };

static int usage(void) {
    fprintf(stderr, "usage: checkkern [--isa NAME] [--type NAME] [--check NAME] [--quick] [--seed "
                    "N] [--bench [--threads N]]\nchecks:");
    for (int i = 0; i < CHECKS; i++)
        fprintf(stderr, " %s", checks[i].name);
    fprintf(stderr, "\n");
    return 2;
}

static bool is_check(const char *name) {
    for (int i = 0; i < CHECKS; i++)
        if (!strcmp(name, checks[i].name)) return true;
    return false;
}

static int type_named(const char *name) {
    for (uint32_t id = 0; id < FR_TYPE_LIMIT; id++)
        if (fr_qtype_of(id) && !strcmp(fr_qtype_of(id)->name, name)) return (int)id;
    return -1;
}

int main(int argc, char **argv) {
    const char *isa = NULL, *only_check = NULL;
    bool bench = false;
    int threads = 1;
    check c = {.only_type = -1, .random = 20261121, .ref = fr_kern_of(FR_ISA_SCALAR)};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--quick"))
            c.quick = true;
        else if (!strcmp(argv[i], "--bench"))
            bench = true;
        else if (!value)
            return usage();
        else if (!strcmp(argv[i], "--isa"))
            isa = argv[++i];
        else if (!strcmp(argv[i], "--check") && is_check(value))
            only_check = argv[++i];
        else if (!strcmp(argv[i], "--seed"))
            c.random = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--threads"))
            threads = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--type") && (c.only_type = type_named(argv[++i])) >= 0)
            continue;
        else
            return usage();
    }
    printf("checkkern: seed %llu\n", (unsigned long long)c.random);
    bool known = !isa;
    for (int id = 0; id < FR_ISA_COUNT; id++) {
        const char *name = fr_isa_name((fr_isa)id);
        if (isa && strcmp(isa, name)) continue;
        known = true;
        c.kern = fr_kern_of((fr_isa)id);
        if (!c.kern) {
            printf("%-7s skipped: not available here\n", name);
            c.skipped++;
            continue;
        }
        if (bench) {
            check_bench(c.kern, c.only_type, c.quick, threads);
            continue;
        }
        for (int i = 0; i < CHECKS; i++) {
            if (only_check && strcmp(only_check, checks[i].name)) continue;
            const int passed = c.passed, failed = c.failed;
            checks[i].run(&c);
            printf("%-7s %-9s %d passed, %d failed\n", name, checks[i].name, c.passed - passed,
                   c.failed - failed);
            fflush(stdout);
        }
    }
    if (!known) return usage();
    if (!bench) printf("%d passed, %d failed, %d skipped\n", c.passed, c.failed, c.skipped);
    return c.failed != 0;
}
