#include "train/data/dataset.h"
#include "base/alloc.h"
#include "gguf/hash.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static uint64_t order_of(uint64_t key) {
    fr_hash h;
    fr_hash_open(&h, 0x48656c64);
    fr_hash_add(&h, &key, sizeof key);
    return fr_hash_value(&h);
}

static void cut(fr_sample *s, int max_rows) {
    if (s->n <= max_rows) return;
    s->whole = s->n;
    s->n = max_rows;
    if (s->dist_first > s->n) s->dist_first = s->n;
}

static int count_answers(const fr_sample *s) {
    int n = 0;
    for (int i = 0; i < s->n; i++)
        n += (s->flags[i] & FR_ROW_ANSWER) != 0;
    return n;
}

// Of the tokens in front of the first answer; if there are none, no other text has the same
// question.
static uint64_t hash_question(const fr_sample *s) {
    fr_hash h;
    int n = 0;
    while (n < s->n && !(s->flags[n] & FR_ROW_ANSWER))
        n++;
    if (!n) return order_of(s->key);
    fr_hash_open(&h, 0);
    fr_hash_add(&h, s->ids, sizeof *s->ids * ((size_t)n + 1)); // row n is followed by an answer
    return fr_hash_value(&h);
}

// Orders by hash; of equal keys the first folder's comes first.
static int compare_places(const void *a, const void *b) {
    const fr_dataset_place *x = a, *y = b;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    if (x->question != y->question) return x->question < y->question ? -1 : 1;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->folder - y->folder;
}

static int compare_questions(const void *a, const void *b) {
    const fr_dataset_place *x = a, *y = b;
    if (x->question != y->question) return x->question < y->question ? -1 : 1;
    return compare_places(a, b);
}

// Texts that ask the same come one after the other, where the first of them is. Returns how many
// are left when each key of them stands there once.
static int join_questions(fr_dataset_place *place, int n) {
    int kept = 0;
    qsort(place, (size_t)n, sizeof *place, compare_questions);
    for (int i = 0; i < n; i++) {
        const fr_dataset_place *last = kept ? &place[kept - 1] : NULL;
        const bool twin = last && last->question == place[i].question;
        if (twin && last->key == place[i].key) continue;
        const uint64_t order = twin ? last->order : place[i].order;
        place[kept] = place[i];
        place[kept++].order = order;
    }
    return kept;
}

static fr_status open_folders(fr_dataset *d, const char *const *folders, int n, const char *target,
                              fr_progress_fn *progress, void *user, fr_error *err) {
    if (n > FR_DATASET_FOLDERS)
        return fr_fail(err, FR_EARG, "--data: expected at most %d folders, found %d",
                       FR_DATASET_FOLDERS, n);
    for (int i = 0; i < n; i++) {
        const fr_status st = fr_shards_open(&d->shards[i], folders[i], target, progress, user, err);
        if (st) return st;
        d->n_shards++;
        if (!fr_shards_count(d->shards[i]))
            return fr_fail(err, FR_EDATA, "%s: expected shards, found none", folders[i]);
        const fr_shard_format *f = fr_shards_format(d->shards[i]);
        if (!i) d->format = *f;
        if (f->d != d->format.d || f->n_vocab != d->format.n_vocab || f->top != d->format.top ||
            f->n_taps != d->format.n_taps ||
            memcmp(f->taps, d->format.taps, sizeof *f->taps * (size_t)f->n_taps))
            return fr_fail(err, FR_EDATA, "%s: its shards have another form than those of %s",
                           folders[i], folders[0]);
    }
    return FR_OK;
}

// All samples with an answer, in order, each text once. Returns how many; -1: interrupted.
static int list_places(fr_dataset *d, fr_progress_fn *progress, void *user) {
    int n = 0;
    for (int f = 0; f < d->n_shards; f++)
        for (int i = 0; i < fr_shards_count(d->shards[f]); i++) {
            const uint64_t of = (uint64_t)fr_shards_count(d->shards[f]);
            fr_sample s;
            if (progress && !progress(user, "reading texts", (uint64_t)i, of)) return -1;
            fr_shards_sample(d->shards[f], i, &s);
            cut(&s, d->max_rows);
            const int answers = count_answers(&s);
            if (answers)
                d->place[n++] = (fr_dataset_place){
                    order_of(s.key), s.key, hash_question(&s), f, i, s.n, answers};
        }
    n = join_questions(d->place, n);
    qsort(d->place, (size_t)n, sizeof *d->place, compare_places);
    return n;
}

static int held_out_of(int n, int wanted) {
    const int share = n / 50;
    if (wanted) return wanted;
    return share < FR_HELD_OUT_LEAST  ? FR_HELD_OUT_LEAST
           : share > FR_HELD_OUT_MOST ? FR_HELD_OUT_MOST
                                      : share;
}

static void split(fr_dataset *d, int n, int held_out, uint64_t limit_rows) {
    fr_hash h;
    d->n_held = held_out;
    while (held_out < n && d->place[held_out].question == d->place[d->n_held - 1].question)
        held_out++; // they have the question of a held-out text
    d->n_train = n - held_out;
    memmove(d->place + d->n_held, d->place + held_out, (size_t)d->n_train * sizeof *d->place);
    for (int i = 0; i < d->n_held; i++)
        d->held_rows += (uint64_t)d->place[i].rows;
    for (int i = 0; i < d->n_train; i++) {
        const fr_dataset_place *p = &d->place[d->n_held + i];
        if (limit_rows && i && d->rows + (uint64_t)p->rows > limit_rows) {
            d->n_train = i;
            break;
        }
        d->rows += (uint64_t)p->rows;
        d->answers += (uint64_t)p->answers;
    }
    fr_hash_open(&h, (uint64_t)d->n_held);
    for (int i = 0; i < d->n_held + d->n_train; i++) {
        fr_hash_add(&h, &d->place[i].key, sizeof d->place[i].key);
        fr_hash_add(&h, &d->place[i].rows, sizeof d->place[i].rows);
    }
    d->hash = fr_hash_value(&h);
}

fr_status fr_dataset_open(fr_dataset *d, const char *const *folders, int n, const char *target,
                          const fr_dataset_limits *limits, fr_progress_fn *progress, void *user,
                          fr_error *err) {
    *d = (fr_dataset){.max_rows = limits->max_rows};
    size_t count = 0;
    fr_status st = open_folders(d, folders, n, target, progress, user, err);
    for (int i = 0; i < d->n_shards; i++)
        count += (size_t)fr_shards_count(d->shards[i]);
    if (!st && !(d->place = fr_alloc_array(count, sizeof *d->place)))
        st = fr_fail(err, FR_ENOMEM, "data: no memory for %zu samples", count);
    if (!st) {
        const int found = list_places(d, progress, user);
        const int held_out = held_out_of(found, limits->held_out);
        if (found < 0)
            st = fr_fail(err, FR_EINTR, "interrupted");
        else if (found <= held_out)
            st = fr_fail(err, FR_EDATA, "%s: expected more than %d samples with answers, found %d",
                         folders[0], held_out, found);
        else
            split(d, found, held_out, limits->rows);
        if (!st && !d->n_train)
            st = fr_fail(err, FR_EDATA,
                         "%s: expected texts that ask something else than the %d that are held out",
                         folders[0], held_out);
    }
    if (st) fr_dataset_close(d);
    return st;
}

void fr_dataset_close(fr_dataset *d) {
    for (int i = 0; i < d->n_shards; i++)
        fr_shards_close(d->shards[i]);
    fr_free(d->place);
    *d = (fr_dataset){0};
}

void fr_dataset_sample(const fr_dataset *d, int i, fr_sample *out) {
    assert(i >= 0 && i < d->n_held + d->n_train);
    fr_shards_sample(d->shards[d->place[i].folder], d->place[i].sample, out);
    cut(out, d->max_rows);
}
