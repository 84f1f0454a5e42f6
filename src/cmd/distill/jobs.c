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

// A key of id and question, which distinguishes conversations with equal ids.
static uint64_t text_of(const fr_prompt *p) {
    const uint64_t asked = hash_text(p->turns[0], p->turn_bytes[0], key_of(p));
    return p->system ? hash_text(p->system, p->system_bytes, asked) : asked;
}

static int by_order(const void *a, const void *b) {
    const fr_distill_job *x = a, *y = b;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return x->set - y->set;
}

static int by_text(const void *a, const void *b) {
    const fr_distill_job *x = a, *y = b;
    return x->text < y->text ? -1 : x->text > y->text;
}

// Files are read in turns, each in an order of its own that looks random and is always the same,
// so that wherever the work ends all of them have had their share.
static void order_set(fr_distill_job *first, int n, uint64_t seed) {
    for (int i = 0; i < n; i++)
        first[i].order = hash_text((const char *)&first[i].key, sizeof first[i].key, seed);
    qsort(first, (size_t)n, sizeof *first, by_order);
    for (int i = 0; i < n; i++)
        first[i].order = (uint64_t)i;
}

static fr_distill_job job_of(const fr_prompts *set, int number, int item, bool given) {
    const fr_prompt *p = &set[number].item[item];
    return (fr_distill_job){
        .key = key_of(p), .text = text_of(p), .set = number, .item = item, .given = given};
}

// Refuses answers of another model; files of older versions do not say which one wrote them.
static fr_status check_model(const json_t *line, int item, const fr_distill_plan *plan,
                             const char *target, fr_error *err) {
    const char *model = json_string_value(json_object_get(line, "model"));
    if (!model || !strcmp(model, target)) return FR_OK;
    return fr_fail(err, FR_EDATA,
                   "%s, answer %d: of another model: expected the fingerprint %s, found %.64s",
                   plan->output, item + 1, target, model);
}

// What the output holds already, by text; given: to be read, not written.
static fr_status read_known(fr_distill_jobs *d, const fr_distill_plan *plan, const char *target,
                            fr_distill_job **known, int *n, fr_error *err) {
    *known = NULL;
    *n = 0;
    struct stat s;
    if (!plan->output || stat(plan->output, &s) || !s.st_size) return FR_OK;
    fr_prompts *p = &d->set[d->n_sets];
    fr_status st = fr_prompts_read(p, plan->output, 0, err);
    if (!st && !(*known = malloc((size_t)p->n * sizeof **known)))
        st = fr_fail(err, FR_ENOMEM, "distill: no memory for %d answers", p->n);
    for (int i = 0; !st && i < p->n; i++) {
        (*known)[(*n)++] = job_of(d->set, d->n_sets, i, true);
        st = check_model(json_array_get(p->lines, (size_t)i), i, plan, target, err);
    }
    if (*n) qsort(*known, (size_t)*n, sizeof **known, by_text);
    return st;
}

static int by_key_and_place(const void *a, const void *b) {
    const fr_distill_job *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->set != y->set ? x->set - y->set : x->item - y->item;
}

static void sort_by_key(fr_distill_jobs *d) {
    if (d->n) qsort(d->job, (size_t)d->n, sizeof *d->job, by_key_and_place);
}

// Conversations with equal ids are identified by their texts, all of them, so their order does not
// matter. The first answer of an id that was captured under it keeps it.
static void tell_apart(fr_distill_jobs *d, const fr_shards *present) {
    sort_by_key(d);
    for (int first = 0, end; first < d->n; first = end) {
        const uint64_t key = d->job[first].key, text = d->job[first].text;
        bool same = true;
        for (end = first; end < d->n && d->job[end].key == key; end++)
            same = same && d->job[end].text == text;
        if (same) continue;
        const fr_distill_job *kept = NULL;
        for (int i = first; i < end; i++) {
            fr_distill_job *j = &d->job[i];
            const bool answer = j->set == d->n_sets;
            d->same_ids += !answer;
            if (answer && !kept && present && fr_shards_has(present, key)) kept = j;
            if (!answer || !kept || j->text != kept->text) j->key = j->text;
        }
    }
}

// Keys of conversations and of the output's answers, which are told apart together; those stay by
// text.
static void key_all(fr_distill_jobs *d, fr_distill_job *known, int n_known,
                    const fr_shards *present) {
    int n = 0, k = 0;
    if (n_known) memcpy(d->job + d->n, known, (size_t)n_known * sizeof *known);
    d->n += n_known;
    tell_apart(d, present);
    for (int i = 0; i < d->n; i++) {
        const bool answer = d->job[i].set == d->n_sets;
        *(answer ? &known[k++] : &d->job[n++]) = d->job[i];
    }
    d->n = n;
    if (k) qsort(known, (size_t)k, sizeof *known, by_text);
}

// A conversation that stands there twice is done once, as the first file has it.
static void drop_doubles(fr_distill_jobs *d) {
    int n = 0;
    sort_by_key(d);
    for (int i = 0; i < d->n; i++)
        if (!n || d->job[i].key != d->job[n - 1].key) d->job[n++] = d->job[i];
    d->doubles = d->n - n;
    d->n = n;
}

// Leaves out what the output holds; without one what was captured. Where answers are written, states
// that were captured are no answers.
static void drop_known(fr_distill_jobs *d, const fr_distill_plan *plan, const fr_distill_job *known,
                       int n_known, const fr_shards *present) {
    int n = 0;
    for (int i = 0; i < d->n; i++) {
        const fr_distill_job *job = &d->job[i];
        const bool there = n_known && bsearch(job, known, (size_t)n_known, sizeof *known, by_text);
        if (there || (!plan->output && present && fr_shards_has(present, job->key)))
            d->known++;
        else
            d->job[n++] = *job;
    }
    d->n = n;
}

static int by_set(const void *a, const void *b) {
    const fr_distill_job *x = a, *y = b;
    return x->set - y->set;
}

static void order_all(fr_distill_jobs *d, uint64_t seed) {
    int first = 0;
    qsort(d->job, (size_t)d->n, sizeof *d->job, by_set);
    for (int i = 1; i <= d->n; i++)
        if (i == d->n || d->job[i].set != d->job[first].set) {
            order_set(d->job + first, i - first, seed);
            first = i;
        }
}

static void add_uncaptured(fr_distill_jobs *d, const fr_distill_job *known, int n,
                           const fr_shards *present) {
    for (int i = 0; i < n; i++)
        if (present && (!i || known[i].text != known[i - 1].text) &&
            !fr_shards_has(present, known[i].key))
            d->job[d->n++] = known[i];
}

fr_status fr_distill_jobs_list(fr_distill_jobs *d, const fr_distill_plan *plan, const char *target,
                               const fr_shards *present, fr_error *err) {
    fr_distill_job *known;
    int n_known, total = 0;
    fr_status st = read_known(d, plan, target, &known, &n_known, err);
    for (int s = 0; s < d->n_sets; s++)
        total += d->set[s].n;
    if (!st && !(d->job = malloc(sizeof *d->job * ((size_t)total + (size_t)n_known + 1))))
        st = fr_fail(err, FR_ENOMEM, "distill: no memory for %d conversations", total);
    for (int s = 0; !st && s < d->n_sets; s++)
        for (int i = 0; i < d->set[s].n; i++)
            d->job[d->n++] = job_of(d->set, s, i, plan->answers == FR_ANSWERS_GIVEN);
    if (!st) {
        key_all(d, known, n_known, present);
        drop_doubles(d);
        drop_known(d, plan, known, n_known, present);
        order_all(d, plan->seed);
        add_uncaptured(d, known, n_known, present);
        if (d->n) qsort(d->job, (size_t)d->n, sizeof *d->job, by_order);
    }
    free(known);
    return st;
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

// Each answer's tokens and its end, where it was not cut off.
fr_status fr_distill_jobs_written(const fr_distill_jobs *d, const fr_tokenizer *t, uint64_t *tokens,
                                  fr_error *err) {
    const fr_prompts *there = &d->set[d->n_sets];
    fr_ids ids = {0};
    fr_status st = FR_OK;
    *tokens = 0;
    for (int i = 0; i < there->n && !st; i++) {
        const json_t *line = json_array_get(there->lines, (size_t)i);
        const json_t *messages = json_object_get(line, "messages");
        const bool cut = json_is_true(json_object_get(line, "cut"));
        for (size_t k = 0; k < json_array_size(messages) && !st; k++) {
            const json_t *m = json_array_get(messages, k), *text = json_object_get(m, "content");
            if (strcmp(json_string_value(json_object_get(m, "role")), "assistant") != 0) continue;
            ids.n = 0;
            st = fr_tokenizer_encode(t, json_string_value(text), json_string_length(text), 0, &ids,
                                     err);
            *tokens += ids.n + !(cut && k + 1 == json_array_size(messages));
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
