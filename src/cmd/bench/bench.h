// bench.h — what `bench` ran and counted, between choosing (bench.c), measuring (run.c) and
// showing (show.c, page.c).
#ifndef FR_CMD_BENCH_BENCH_H
#define FR_CMD_BENCH_BENCH_H
#include "cmd/bench/tally.h"
#include "cmd/lib/cmd.h"
#include "cmd/lib/cpu_use.h"
#include "cmd/lib/prompt_sets.h"

enum { FR_BENCH_DRAFTERS = 32, FR_BENCH_SETS = FR_PROMPT_SETS, FR_BENCH_SIZES = 16 };

typedef struct fr_bench_run { // one way to draft
    const char *spec;         // drafter
    char used[64];            // the drafter that `auto` chose; "several" if that changed
    int tree;                 // nodes, by --tree-sizes; 0: as --tree says
    fr_session *session;      // of the current conversation
    bool lossless, exact_law; // what its rule of acceptance promises
    fr_bench_counts by_set[FR_BENCH_SETS], all;
} fr_bench_run;

typedef struct fr_bench {
    const fr_cmd_args *args;
    fr_engine_info info;
    fr_sampling sampling;
    char *specs, *paths; // the lists of the command line, cut: memory after the names
    fr_prompt_set sets[FR_BENCH_SETS];
    int n_sets, n_prompts, repeated;
    fr_bench_run *runs; // runs[0] is `none`; those from n_drafters on have trees of fixed sizes
    int n_drafters, n_runs;
    fr_cpu_others others; // meanwhile
    bool interrupted;     // what was measured until then is there
} fr_bench;

// "lookup", or "auto (lookup)" where the SPEC stood for another.
void fr_bench_name(const fr_bench_run *run, char *name, size_t room);
// Tokens a second over those of plain decoding, on one set or (set < 0) over all.
const fr_bench_counts *fr_bench_tally(const fr_bench_run *run, int set);
double fr_bench_speedup(const fr_bench *b, const fr_bench_run *run, int set);
// Whether an output differs that had to be the same.
bool fr_bench_broken(const fr_bench *b);

// ---------------------------------------------------------------- run.c
// Runs everything and fills the tallies by set. FR_EINTR, and what sessions may say.
fr_status fr_bench_run_all(fr_bench *b, fr_engine *engine, fr_error *err);

// ---------------------------------------------------------------- show.c
json_t *fr_bench_json(const fr_bench *b); // NULL: no memory
void fr_bench_print(const fr_bench *b);   // tables, on stdout
// On stderr, a line each: prompts that repeat, a machine that was shared, outputs that differ.
void fr_bench_warn(const fr_bench *b);

// ---------------------------------------------------------------- plots.c
enum { FR_BENCH_PICTURES = 6 };
typedef struct fr_bench_picture {
    const char *file, *caption; // "speed.svg"; a sentence or two
    fr_buffer svg;              // empty: there is nothing to draw
} fr_bench_picture;

const char *fr_bench_picture_file(int i); // 0..FR_BENCH_PICTURES - 1

// Draws all of them; whatever the result, the caller frees every svg. FR_ENOMEM.
fr_status fr_bench_draw(const fr_bench *b, fr_bench_picture pictures[FR_BENCH_PICTURES],
                        fr_error *err);

// ---------------------------------------------------------------- page.c
// Makes the folder and sees whether files can be written there, before the work. FR_EIO.
fr_status fr_bench_page_check(const char *folder, fr_error *err);
// Writes the pictures, bench.json and, last, index.html, each whole or not at all. FR_ENOMEM,
// FR_EIO.
fr_status fr_bench_page(const fr_bench *b, const char *folder, fr_error *err);

#endif
