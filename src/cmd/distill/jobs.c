// jobs.c — reads the files of conversations, leaves out those that the output or the shards hold,
// and sorts the rest: files in turns, each in a fixed shuffled order.
#include "cmd/distill/jobs.h"
#include "gguf/hash.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t hash_text(const char *a, size_t n, uint64_t seed) {
    fr_hash h;
    fr_hash_open(&h, seed);
    fr_hash_add(&h, a, n);
    return fr_hash_value(&h);
}

static uint64_t key_of(const fr_prompt *p) {
    const uint64_t seed = p->system ? hash_text(p->system, p->system_bytes, 3) : 2;
    return *p->id ? hash_text(p->id, strlen(p->id), 1)
                  : hash_text(p->turns[0], p->turn_bytes[0], seed);
}

static int by_order(const void *a, const void *b) {
    const fr_distill_job *x = a, *y = b;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return x->set - y->set;
}

static int by_key(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

// Files are read in turns, each in an order of its own that looks random and is always the same,
// so that wherever the work ends all of them have had their share.
static void order_set(fr_distill_job *first, int n, int set, uint64_t seed) {
    for (int i = 0; i < n; i++) {
        first[i].set = set;
        first[i].order = hash_text((const char *)&first[i].key, sizeof first[i].key, seed);
    }
    qsort(first, (size_t)n, sizeof *first, by_order);
    for (int i = 0; i < n; i++)
        first[i].order = (uint64_t)i;
}

// The keys that the output holds already, in its order.
static fr_status read_known(fr_distill_jobs *d, const char *output, uint64_t **keys, int *n,
                            fr_error *err) {
    *keys = NULL;
    *n = 0;
    struct stat s;
    if (!output || stat(output, &s) || !s.st_size) return FR_OK;
    fr_prompts *p = &d->set[d->n_sets];
    const fr_status st = fr_prompts_read(p, output, 0, err);
    if (st) return st;
    if (!(*keys = malloc((size_t)p->n * sizeof **keys)))
        return fr_fail(err, FR_ENOMEM, "distill: no memory for %d answers", p->n);
    for (int i = 0; i < p->n; i++)
        (*keys)[(*n)++] = key_of(&p->item[i]);
    return FR_OK;
}

// What was written, but not captured.
static void add_uncaptured(fr_distill_jobs *d, const uint64_t *known, int n,
                           const fr_shards *present) {
    for (int i = 0; i < n; i++)
        if (present && !fr_shards_has(present, known[i]))
            d->job[d->n++] =
                (fr_distill_job){.key = known[i], .set = d->n_sets, .item = i, .given = true};
}

// What is not there yet; known: sorted keys of the output. Where answers are written, states that
// were captured are no answers.
static void add_set(fr_distill_jobs *d, int set, const fr_distill_plan *plan, const uint64_t *known,
                    int n_known, const fr_shards *present) {
    const int first = d->n;
    for (int i = 0; i < d->set[set].n; i++) {
        const uint64_t key = key_of(&d->set[set].item[i]);
        const bool there =
            plan->output ? n_known && bsearch(&key, known, (size_t)n_known, sizeof key, by_key)
                         : present && fr_shards_has(present, key);
        d->known += there;
        if (!there)
            d->job[d->n++] =
                (fr_distill_job){.key = key, .item = i, .given = plan->answers == FR_ANSWERS_GIVEN};
    }
    order_set(d->job + first, d->n - first, set, plan->seed);
}

static int by_key_and_place(const void *a, const void *b) {
    const fr_distill_job *x = a, *y = b;
    if (x->key != y->key) return by_key(x, y);
    return x->set != y->set ? x->set - y->set : x->item - y->item;
}

// A conversation that stands there twice is done once, as the first file has it.
static void drop_doubles(fr_distill_jobs *d) {
    int n = 0;
    if (d->n) qsort(d->job, (size_t)d->n, sizeof *d->job, by_key_and_place);
    for (int i = 0; i < d->n; i++)
        if (!n || d->job[i].key != d->job[n - 1].key) d->job[n++] = d->job[i];
    d->doubles = d->n - n;
    d->n = n;
}

fr_status fr_distill_jobs_list(fr_distill_jobs *d, const fr_distill_plan *plan,
                               const fr_shards *present, fr_error *err) {
    uint64_t *known;
    int n_known, total = 0;
    const fr_status st = read_known(d, plan->output, &known, &n_known, err);
    if (st) return st;
    for (int s = 0; s < d->n_sets; s++)
        total += d->set[s].n;
    d->job = malloc(sizeof *d->job * ((size_t)total + (size_t)n_known + 1));
    if (!d->job) {
        free(known);
        return fr_fail(err, FR_ENOMEM, "distill: no memory for %d conversations", total);
    }
    add_uncaptured(d, known, n_known, present);
    if (n_known) qsort(known, (size_t)n_known, sizeof *known, by_key);
    for (int s = 0; s < d->n_sets; s++)
        add_set(d, s, plan, known, n_known, present);
    free(known);
    drop_doubles(d);
    if (d->n) qsort(d->job, (size_t)d->n, sizeof *d->job, by_order);
    return FR_OK;
}

fr_status fr_distill_jobs_read(fr_distill_jobs *d, const fr_distill_plan *plan, fr_error *err) {
    char *rest = NULL;
    d->paths = strdup(plan->files);
    fr_status st = d->paths ? FR_OK : fr_fail(err, FR_ENOMEM, "distill: no memory");
    for (char *f = d->paths ? strtok_r(d->paths, ",", &rest) : NULL; f && !st;
         f = strtok_r(NULL, ",", &rest)) {
        if (d->n_sets == FR_DISTILL_FILES) {
            st = fr_fail(err, FR_EARG, "more than %d files", FR_DISTILL_FILES);
        } else {
            d->path[d->n_sets] = f;
            st = fr_prompts_read(&d->set[d->n_sets++], f, plan->limit, err);
        }
    }
    d->path[d->n_sets] = plan->output;
    return st;
}

// Each answer's tokens and its end.
fr_status fr_distill_jobs_written(const fr_distill_jobs *d, const fr_tokenizer *t, uint64_t *tokens,
                                  fr_error *err) {
    const fr_prompts *there = &d->set[d->n_sets];
    fr_ids ids = {0};
    fr_status st = FR_OK;
    *tokens = 0;
    for (int i = 0; i < there->n && !st; i++) {
        const json_t *messages =
            json_object_get(json_array_get(there->lines, (size_t)i), "messages");
        for (size_t k = 0; k < json_array_size(messages) && !st; k++) {
            const json_t *m = json_array_get(messages, k), *text = json_object_get(m, "content");
            if (strcmp(json_string_value(json_object_get(m, "role")), "assistant") != 0) continue;
            ids.n = 0;
            st = fr_tokenizer_encode(t, json_string_value(text), json_string_length(text), 0, &ids,
                                     err);
            *tokens += ids.n + 1;
        }
    }
    fr_ids_free(&ids);
    return st;
}

void fr_distill_jobs_close(fr_distill_jobs *d) {
    for (int s = 0; s <= d->n_sets && s <= FR_DISTILL_FILES; s++)
        fr_prompts_free(&d->set[s]);
    free(d->paths);
    free(d->job);
}

const fr_prompt *fr_distill_prompt(const fr_distill_jobs *d, const fr_distill_job *job) {
    return &d->set[job->set].item[job->item];
}

const json_t *fr_distill_line(const fr_distill_jobs *d, const fr_distill_job *job) {
    return json_array_get(d->set[job->set].lines, (size_t)job->item);
}

void fr_distill_place(const fr_distill_jobs *d, const fr_distill_job *job, char *text,
                      size_t room) {
    snprintf(text, room, "%.200s, prompt %d (%.40s)", d->path[job->set], job->item + 1,
             fr_distill_prompt(d, job)->id);
}
