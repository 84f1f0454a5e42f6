// results.c — each drafter over all conversations of which the file has no result yet. Every turn
// is compared with its answer; conversations drawn by a hash are decoded for real too.
#include "base/alloc.h"
#include "base/clock.h"
#include "cmd/lib/text.h"
#include "decode/draw/sampler.h"
#include "gguf/hash.h"
#include "lab/cmd/replay/lines.h"
#include "lab/cmd/replay/play.h"
#include <string.h>
#include <time.h>

typedef struct running {
    lab_replay *r;
    lab_lines lines;
    lab_drafter *drafter; // at work
    lab_score real;       // of the conversation that is checked
} running;

// ---------------------------------------------------------------- the file

static void take_depths(int64_t to[FR_MAX_DEPTH], const json_t *list) {
    for (size_t k = 0; k < json_array_size(list) && k < FR_MAX_DEPTH; k++)
        to[k] = json_integer_value(json_array_get(list, k));
}

static fr_status take_line(void *user, int number, const json_t *line, fr_error *err) {
    const running *run = user;
    const lab_replay *r = run->r;
    const char *key = json_string_value(json_object_get(line, "key"));
    const json_t *setup = json_object_get(line, "setup");
    (void)number;
    if (!key || !setup) return fr_fail(err, FR_EDATA, "expected {\"key\",\"setup\",\"tokens\"...}");
    for (int d = 0; d < r->n_drafters; d++) {
        if (!json_equal(setup, r->drafter[d].setup)) continue;
        for (int i = 0; i < r->n; i++) {
            if (strcmp(r->item[i].key, key)) continue;
            lab_score *s = &r->drafter[d].score[i];
            *s = (lab_score){.there = true,
                             .checked = json_is_true(json_object_get(line, "checked")),
                             .tokens = json_integer_value(json_object_get(line, "tokens")),
                             .passes = json_integer_value(json_object_get(line, "passes")),
                             .rows = json_integer_value(json_object_get(line, "rows"))};
            s->copied.tokens = json_integer_value(json_object_get(line, "copied_tokens"));
            s->copied.passes = json_integer_value(json_object_get(line, "copied_passes"));
            const char *date = json_string_value(json_object_get(line, "date"));
            snprintf(s->date, sizeof s->date, "%s", date ? date : "");
            take_depths(s->accepted, json_object_get(line, "accepted"));
            take_depths(s->offered, json_object_get(line, "offered"));
        }
    }
    return FR_OK;
}

static json_t *depths_json(const int64_t *of, const int64_t *offered) {
    json_t *list = json_array();
    for (int k = 0; k < FR_MAX_DEPTH && offered[k]; k++)
        json_array_append_new(list, json_integer((json_int_t)of[k]));
    return list;
}

json_t *lab_score_json(const lab_replay *r, const lab_drafter *d, int conversation) {
    const lab_conversation *c = &r->item[conversation];
    const lab_score *s = &d->score[conversation];
    return json_pack(
        "{s:s, s:o, s:s, s:s*, s:i, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:b, s:s}", "key", c->key,
        "id", fr_json_string(c->prompt->id), "set", r->set[c->set].name, "task", c->task, "turns",
        c->prompt->n_turns, "tokens", (json_int_t)s->tokens, "passes", (json_int_t)s->passes,
        "rows", (json_int_t)s->rows, "copied_tokens", (json_int_t)s->copied.tokens, "copied_passes",
        (json_int_t)s->copied.passes, "accepted", depths_json(s->accepted, s->offered), "offered",
        depths_json(s->offered, s->offered), "checked", (int)s->checked, "date", s->date);
}

static json_t *line_of(const running *run, int conversation) {
    json_t *line = lab_score_json(run->r, run->drafter, conversation);
    if (line) json_object_set(line, "setup", run->drafter->setup);
    return line;
}

// ---------------------------------------------------------------- one conversation

static void say_difference(const running *run, int conversation, const char *what) {
    const lab_conversation *c = &run->r->item[conversation];
    fprintf(stderr, "forerun-lab: replay: %s, %s, prompt ", run->drafter->spec,
            run->r->set[c->set].name);
    fr_cmd_print_clean(stderr, c->prompt->id, strlen(c->prompt->id));
    fprintf(stderr, ": %s\n", what);
}

static bool is_answer(const lab_turn *t, const fr_result *result) {
    return result->n_tokens == t->n &&
           !memcmp(result->tokens, t->ids, sizeof *t->ids * (size_t)t->n);
}

static void add_turn(lab_score *s, const lab_played *played) {
    const fr_stats *stats = played->result->stats;
    s->tokens += stats->completion_tokens;
    s->passes += stats->passes;
    s->rows += stats->rows;
    s->copied.tokens += played->copied.tokens;
    s->copied.passes += played->copied.passes;
    for (int k = 0; k < FR_MAX_DEPTH; k++) {
        s->accepted[k] += stats->accepted[k];
        s->offered[k] += stats->offered[k];
    }
}

// Adds a turn and compares its bytes with the answer's.
static void take_turn(running *run, lab_score *s, const char *who, const lab_played *played) {
    char what[80];
    lab_conversation *c = &run->r->item[played->conversation];
    add_turn(s, played);
    if (is_answer(&c->turn[played->turn], played->result)) return;
    s->broken = c->wrong = true;
    snprintf(what, sizeof what, "the %s gives other bytes than plain decoding in turn %d", who,
             played->turn + 1);
    say_difference(run, played->conversation, what);
}

static fr_status real_turn(void *user, const lab_played *played, fr_error *err) {
    running *run = user;
    (void)err;
    take_turn(run, &run->real, "real run", played);
    return FR_OK;
}

// Below --check: it is drawn.
static double draw_of(const lab_replay *r, const lab_drafter *d, int conversation) {
    fr_hash h;
    fr_hash_open(&h, 0);
    fr_hash_add(&h, r->item[conversation].key, sizeof r->item[conversation].key);
    fr_hash_add(&h, d->spec, strlen(d->spec));
    for (int i = 0; i < r->args->draft_opts.n; i++)
        fr_hash_add(&h, r->args->draft_opts.item[i], strlen(r->args->draft_opts.item[i]));
    return fr_uniform(0, fr_hash_value(&h));
}

// However few there are, one of every drafter is checked.
static int least_drawn(const lab_replay *r, const lab_drafter *d) {
    int at = 0;
    double least = 1;
    for (int i = 0; i < r->n; i++) {
        const double draw = draw_of(r, d, i);
        if (draw >= least) continue;
        least = draw;
        at = i;
    }
    return at;
}

static bool is_drawn(const running *run, int conversation) {
    const double share = run->r->args->check;
    if (share > 0 && conversation == run->drafter->surely) return true;
    return draw_of(run->r, run->drafter, conversation) < share;
}

static void compare(running *run, lab_score *s, int conversation) {
    const lab_score *real = &run->real;
    char what[160];
    s->broken |= real->broken;
    if (s->broken) return;
    if (s->passes == real->passes && s->rows == real->rows &&
        !memcmp(s->accepted, real->accepted, sizeof s->accepted) &&
        !memcmp(s->offered, real->offered, sizeof s->offered)) {
        s->checked = true;
        return;
    }
    s->broken = true;
    snprintf(what, sizeof what,
             "replay has %lld passes of %lld rows, the real run %lld of %lld, or other depths",
             (long long)s->passes, (long long)s->rows, (long long)real->passes,
             (long long)real->rows);
    say_difference(run, conversation, what);
}

static fr_status check(running *run, int conversation, fr_error *err) {
    const double start = fr_seconds();
    run->real = (lab_score){0};
    const fr_status st =
        lab_play_alone(run->r, run->drafter->spec, conversation, real_turn, run, err);
    if (!st) compare(run, &run->drafter->score[conversation], conversation);
    run->r->seconds.check += fr_seconds() - start;
    run->r->seconds.checked += (double)run->real.tokens;
    return st;
}

static void set_date(lab_score *s) {
    const time_t now = time(NULL);
    struct tm day;
    if (gmtime_r(&now, &day)) strftime(s->date, sizeof s->date, "%Y-%m-%d", &day);
}

static fr_status replayed_turn(void *user, const lab_played *played, fr_error *err) {
    running *run = user;
    lab_replay *r = run->r;
    const int conversation = played->conversation;
    lab_score *s = &run->drafter->score[conversation];
    set_date(s);
    take_turn(run, s, "replay", played);
    if (!s->broken && played->turn + 1 < r->item[conversation].prompt->n_turns) return FR_OK;
    r->seconds.replayed += (double)s->tokens;
    const fr_status st = is_drawn(run, conversation) ? check(run, conversation, err) : FR_OK;
    if (st) return st;
    r->differences += s->broken;
    s->there = !s->broken;
    return s->there ? lab_lines_add(&run->lines, line_of(run, conversation), err) : FR_OK;
}

// ---------------------------------------------------------------- all of them

// The conversations from `first` to `end` of which the drafter at work has no result.
static fr_status replay_drafter(running *run, int first, int end, int *todo, fr_error *err) {
    lab_replay *r = run->r;
    int n = 0;
    for (int i = first; i < end; i++)
        if (!run->drafter->score[i].there) todo[n++] = i;
    const double start = fr_seconds(), checked = r->seconds.check;
    const fr_status st =
        lab_play_shared(r, run->drafter->spec, todo, n, true, replayed_turn, run, err);
    r->seconds.replay += fr_seconds() - start - (r->seconds.check - checked);
    return st;
}

// Some conversations by all drafters, so that few texts are held.
static fr_status replay_some(running *run, int first, int end, int *todo, fr_error *err) {
    lab_replay *r = run->r;
    fr_status st = FR_OK;
    for (int i = 0; i < r->n_drafters && !st; i++) {
        run->drafter = &r->drafter[i];
        st = replay_drafter(run, first, end, todo, err);
    }
    for (int i = first; i < end; i++)
        fr_known_text_close(&r->item[i].text);
    return st;
}

static fr_status replay_all(running *run, fr_error *err) {
    lab_replay *r = run->r;
    const int step = 2 * r->args->width; // some texts are long
    fr_status st = FR_OK;
    int *todo = fr_alloc_array((size_t)r->n, sizeof *todo);
    if (!todo) return fr_fail(err, FR_ENOMEM, "replay: no memory for %d prompts", r->n);
    int left = 0;
    for (int d = 0; d < r->n_drafters; d++)
        for (int i = 0; i < r->n; i++)
            left += !r->drafter[d].score[i].there;
    lab_replay_begin(r, left);
    for (int i = 0; i < r->n && !st; i += step)
        st = replay_some(run, i, i + step < r->n ? i + step : r->n, todo, err);
    fr_progress_clear(&r->bar);
    fr_free(todo);
    return st;
}

fr_status lab_replay_run(lab_replay *r, fr_error *err) {
    running run = {.r = r};
    fr_status st = FR_OK;
    for (int i = 0; i < r->n_drafters && !st; i++) {
        lab_drafter *d = &r->drafter[i];
        if (!(d->score = fr_alloc_array((size_t)r->n, sizeof *d->score)))
            st = fr_fail(err, FR_ENOMEM, "replay: no memory for %d prompts", r->n);
        d->surely = least_drawn(r, d);
        if (!st) st = lab_replay_setup(r, d->spec, &d->setup, err);
    }
    if (!st) st = lab_lines_open(&run.lines, r->args->results, take_line, &run, err);
    if (!st) st = replay_all(&run, err);
    lab_lines_close(&run.lines);
    return st;
}
