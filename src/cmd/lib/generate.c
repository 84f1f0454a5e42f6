// generate.c — options to engine, session and request; statistics to words and JSON.
#define _GNU_SOURCE
#include "cmd/lib/generate.h"
#include "base/random.h"
#include "cmd/lib/first_run.h"
#include "cmd/lib/warn.h"
#include "decode/accept_option.h"
#include "decode/counts.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

fr_status fr_cmd_engine_open(fr_engine **out, const fr_cmd_args *args, fr_error *err) {
    fr_progress bar;
    fr_status st = fr_cmd_model(args, err);
    if (st) return st;
    fr_cmd_warn_of_memory(args);
    fr_progress_open(&bar, args->quiet ? NULL : stderr, "MB", 1e6);
    const fr_engine_options options = {.size = sizeof options,
                                       .isa = fr_cmd_isa(args),
                                       .threads = args->threads,
                                       .low_memory = args->low_memory,
                                       .progress = fr_cmd_progress,
                                       .progress_user = &bar};
    st = fr_engine_open(out, args->model, &options, err);
    fr_progress_clear(&bar);
    const char *note = st ? NULL : fr_text_describe(fr_engine_text(*out))->note;
    if (note && !args->quiet) fprintf(stderr, "forerun: %s\n", note);
    return st;
}

int fr_cmd_check_drafting(const char *command, const fr_cmd_args *args) {
    fr_acceptance accept;
    fr_tree_size size;
    fr_error err;
    if (fr_acceptance_read(&accept, args->accept, &err))
        return fr_cmd_usage(command, "--%s", err.text);
    const fr_status st = fr_tree_size_read(&size, args->tree, &err);
    if (st == FR_EARG) return fr_cmd_usage(command, "--%s", err.text);
    return st ? fr_cmd_fail(&err) : FR_EXIT_DONE;
}

fr_sampling fr_cmd_sampling(const fr_cmd_args *args, bool seed_given) {
    const uint64_t seed = seed_given ? args->seed : (uint32_t)fr_random();
    // A 0 of fr_sampling is the default and not what these two say.
    const float top_p = (float)args->top_p;
    return (fr_sampling){.size = sizeof(fr_sampling),
                         .temperature = (float)args->temp,
                         .top_k = top_p > 0 ? args->top_k : 1,
                         .top_p = top_p,
                         .min_p = (float)args->min_p,
                         .repeat_penalty = args->repeat_last_n ? (float)args->repeat_penalty : 1,
                         .repeat_last_n = args->repeat_last_n,
                         .seed = seed};
}

typedef struct measuring {
    fr_progress *bar;
    const fr_engine *tell; // NULL: it was printed, or need not be
} measuring;

static bool show_measuring(void *user, const char *what, uint64_t done, uint64_t total) {
    measuring *m = user;
    if (m->tell) fr_cmd_say_measuring(m->tell);
    m->tell = NULL;
    return fr_cmd_progress(m->bar, what, done, total);
}

fr_status fr_cmd_profile(fr_engine *engine, const fr_cmd_args *args, int rounds, fr_error *err) {
    char dir[FR_CMD_PATH];
    fr_progress bar;
    fr_error note;
    const char *where = fr_cmd_cache_dir(dir, sizeof dir) ? dir : NULL;
    // Later calls may come while another bar stands on the terminal.
    const bool tell = !engine->profile && !rounds && !args->quiet && !args->json;
    measuring m = {.bar = &bar, .tell = tell ? engine : NULL};
    fr_progress_open(&bar, args->quiet ? NULL : stderr, "passes", 1);
    fr_status st = fr_engine_profile(engine, where, show_measuring, &m, &note, err);
    if (!st && rounds) st = fr_engine_measure(engine, rounds, show_measuring, &m, &note, err);
    fr_progress_clear(&bar);
    // A caller that sets rounds stores the profile itself, after adding to it.
    const bool unkept = note.code == FR_EIO || note.code == FR_ENOMEM;
    if (!st && note.code && !args->quiet && !(unkept && rounds))
        fprintf(stderr, "forerun: %s; %s\n", note.text,
                unkept ? "passes are measured again next time" : "measured anew");
    return st;
}

// Settings belong to the requested drafters; the drafters that a command compares them with have
// none.
static const char *const *settings_for(const fr_cmd_args *args, const char *spec) {
    const bool plain = spec && !strcmp(spec, "none");
    const bool beside = plain && (!args->drafter || strcmp(args->drafter, "none") != 0);
    return args->draft_opts.n && !beside ? args->draft_opts.item : NULL;
}

fr_status fr_cmd_session_open(fr_session **out, fr_engine *engine, const fr_cmd_args *args,
                              const char *spec, int64_t n_tokens, size_t n_prompt, fr_error *err) {
    const int most = fr_engine_describe(engine)->n_ctx_train;
    int64_t n_ctx = args->ctx;
    *out = NULL;
    if (!n_ctx) n_ctx = !n_tokens || n_tokens > most ? most : n_tokens;
    if (n_prompt >= (size_t)n_ctx)
        return fr_fail(err, FR_ECONTEXT,
                       "prompt: %zu tokens do not fit the context of %lld tokens%s", n_prompt,
                       (long long)n_ctx,
                       args->ctx && n_ctx < most ? "; give a larger --ctx-size" : "");
    if (!spec || strcmp(spec, "none")) {
        const fr_status st = fr_cmd_profile(engine, args, 0, err);
        if (st) return st;
    }
    const fr_session_options options = {.size = sizeof options,
                                        .n_ctx = (int)n_ctx,
                                        .kv_type = fr_cmd_kv_type(args),
                                        .drafter = spec,
                                        .tree = args->tree,
                                        .accept = args->accept,
                                        .no_adapt = args->no_adapt,
                                        .draft_opts = settings_for(args, spec)};
    return fr_session_open(out, engine, &options, err);
}

bool fr_cmd_cache_dir(char *dir, size_t room) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = 0;
    if (base && *base == '/') // the specification has relative ones ignored
        n = snprintf(dir, room, "%s/forerun", base);
    else if (home && *home)
        n = snprintf(dir, room, "%s/.cache/forerun", home);
    return n > 0 && (size_t)n < room;
}

bool fr_cmd_print_piece(void *user, const fr_piece *piece) {
    static const char *const colors[] = {"\033[32m", "\033[36m", "\033[35m", "\033[33m",
                                         "\033[34m"};
    const fr_printer *p = user;
    if (p->silent) return !fr_cmd_interrupted();
    const bool drafted = p->colored && piece->depth > 0 && piece->bytes;
    bool shown = !drafted || fr_cmd_write(colors[(unsigned)piece->drafter % 5], 5);
    shown = shown && fr_cmd_write(piece->text, piece->bytes);
    shown = shown && (!drafted || fr_cmd_write("\033[0m", 4));
    // A delivered piece belongs to the answer, so it is printed before an interrupt is checked.
    return shown && !fr_cmd_interrupted();
}

double fr_cmd_rate(double count, double seconds) {
    return seconds > 0 ? count / seconds : 0;
}

double fr_cmd_prompt_rate(const fr_stats *s) {
    const int read = s->prompt_tokens - s->prompt_reused - 1;
    return read > 0 ? fr_cmd_rate(read, s->seconds_prompt) : 0;
}

double fr_cmd_tokens_per_pass(const fr_stats *s) {
    return s->passes ? (double)s->completion_tokens / (double)s->passes : 0;
}

const char *fr_cmd_finish(fr_finish finish) {
    if (finish == FR_FINISH_INTERRUPTED) return "interrupted";
    return finish == FR_FINISH_STOP ? "stop" : "length";
}

json_t *fr_cmd_draft_counts(const fr_draft_counts *counts) {
    json_t *all = json_object();
    for (int i = 0; all && i < counts->n; i++) {
        const fr_draft_count *c = &counts->count[i];
        if (!json_object_get(all, c->drafter)) json_object_set_new(all, c->drafter, json_object());
        json_object_set_new(json_object_get(all, c->drafter), c->name,
                            fr_cmd_real(fr_count_value(c)));
    }
    return all;
}

json_t *fr_cmd_depths(const int64_t *accepted, const int64_t *offered) {
    json_t *list = json_array();
    int n = FR_MAX_DEPTH;
    while (n && !offered[n - 1])
        n--;
    for (int i = 0; list && i < n; i++)
        json_array_append_new(
            list, fr_cmd_real(offered[i] ? (double)accepted[i] / (double)offered[i] : 0));
    return list;
}

void fr_cmd_print_stats(const fr_stats *s, double load, uint64_t seed, bool sampled) {
    const double read = fr_cmd_prompt_rate(s);
    fprintf(stderr, "%d tokens at %.1f/s, %.2f a pass; prompt %d token%s", s->completion_tokens,
            fr_cmd_rate(s->completion_tokens, s->seconds_decode), fr_cmd_tokens_per_pass(s),
            s->prompt_tokens, s->prompt_tokens == 1 ? "" : "s");
    if (read > 0) fprintf(stderr, " at %.1f/s", read);
    if (load >= 0) fprintf(stderr, "; load %.2f s", load);
    fr_cmd_print(stderr, "; drafter %s, %s", s->used,
                 s->lossless    ? "lossless"
                 : s->exact_law ? "not lossless (exact law)"
                                : "not lossless");
    if (sampled) fprintf(stderr, "; seed %llu", (unsigned long long)seed);
    fprintf(stderr, "; %s\n", fr_cmd_finish(s->finish));
}
