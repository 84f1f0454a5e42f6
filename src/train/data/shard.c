#include "train/data/shard.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/map.h"
#include "base/save.h"
#include "gguf/hash.h"
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// A file is a header and samples, little-endian, every part 8-byte aligned. The checksum is XXH64
// of the whole file with that field zero.
static const char MAGIC[8] = {'F', 'R', 'S', 'H', 'A', 'R', 'D', '1'};
enum { PATH_ROOM = 4096, MAX_ROWS = 1 << 24 };

typedef struct file_header {
    char magic[8], target[40];
    uint32_t d, n_vocab, n_taps, taps[FR_SHARD_TAPS], top, n_samples;
    uint32_t zero;
    uint64_t bytes, checksum;
} file_header;

typedef struct sample_header {
    uint64_t key;
    uint32_t n, dist_first;
} sample_header;

// ---------------------------------------------------------------- layout

typedef struct layout { // where the parts of a sample lie, from its header on
    size_t ids, dist_id, final, tap, dist_lp, flags, end;
} layout;

static layout layout_of(const fr_shard_format *f, size_t n, size_t dist_first) {
    const size_t dists = n - dist_first, d = (size_t)f->d, top = (size_t)f->top;
    layout l = {.ids = sizeof(sample_header)};
    l.dist_id = l.ids + (n + 1) * 4;
    l.final = l.dist_id + dists * top * 4;
    l.tap = l.final + n * d * 2;
    l.dist_lp = l.tap + (size_t)f->n_taps * n * d * 2;
    l.flags = l.dist_lp + dists * top * 2;
    l.end = (l.flags + n + 7) / 8 * 8;
    return l;
}

uint64_t fr_shard_bytes(const fr_shard_format *f, uint64_t rows, uint64_t dists) {
    return rows * (4 + 1 + 2 * (uint64_t)f->d * (uint64_t)(1 + f->n_taps)) +
           dists * 6 * (uint64_t)f->top;
}

static fr_sample sample_at(const fr_shard_format *f, const uint8_t *at) {
    const sample_header *h = (const void *)at;
    const layout l = layout_of(f, h->n, h->dist_first);
    return (fr_sample){.key = h->key,
                       .n = (int)h->n,
                       .dist_first = (int)h->dist_first,
                       .ids = (const void *)(at + l.ids),
                       .flags = at + l.flags,
                       .final = (const void *)(at + l.final),
                       .tap = f->n_taps ? (const void *)(at + l.tap) : NULL,
                       .dist_id = (const void *)(at + l.dist_id),
                       .dist_lp = (const void *)(at + l.dist_lp)};
}

// ---------------------------------------------------------------- reading

typedef struct entry { // a sample
    uint64_t key;
    const uint8_t *at;
} entry;

struct fr_shards {
    fr_shard_format format;
    fr_map *maps;
    entry *samples; // by key
    int n_maps, n_samples;
    size_t cap_maps, cap_samples;
    uint64_t answers;
};

static uint64_t checksum_of(const void *data, size_t bytes) {
    return fr_hash_around(data, bytes, offsetof(file_header, checksum));
}

static fr_status read_header(fr_shard_format *f, const fr_map *m, const char *path, fr_error *err) {
    const file_header *h = (const void *)m->data;
    if (m->bytes < sizeof *h || memcmp(h->magic, MAGIC, sizeof MAGIC))
        return fr_fail(err, FR_EDATA, "%s: is not a shard of captured states", path);
    if (h->bytes != m->bytes)
        return fr_fail(err, FR_EDATA, "%s: expected %llu bytes, found %zu", path,
                       (unsigned long long)h->bytes, m->bytes);
    if (h->checksum != checksum_of(m->data, m->bytes))
        return fr_fail(err, FR_EDATA, "%s: is damaged (its checksum is another)", path);
    if (!h->d || h->d > 1 << 16 || !h->n_vocab || h->n_vocab > 1 << 24 ||
        h->n_taps > FR_SHARD_TAPS || !h->top || h->top > FR_SHARD_TOP || h->top > h->n_vocab ||
        !memchr(h->target, 0, sizeof f->target))
        return fr_fail(err, FR_EDATA, "%s: its header makes no sense", path);
    *f = (fr_shard_format){
        .d = (int)h->d, .n_vocab = (int)h->n_vocab, .n_taps = (int)h->n_taps, .top = (int)h->top};
    memcpy(f->target, h->target, sizeof f->target);
    for (uint32_t i = 0; i < h->n_taps; i++)
        f->taps[i] = (int)h->taps[i];
    return FR_OK;
}

static bool ids_fit(const int32_t *ids, size_t n, int least, int n_vocab) {
    for (size_t i = 0; i < n; i++)
        if (ids[i] < least || ids[i] >= n_vocab) return false;
    return true;
}

// Whether the sample at m->data + at lies within its file; *end: its bytes.
static bool sample_fits(const fr_shards *s, const fr_map *m, size_t at, size_t *end) {
    const sample_header *head = (const void *)(m->data + at);
    if (m->bytes - at < sizeof *head || !head->n || head->n > MAX_ROWS ||
        head->dist_first > head->n)
        return false;
    *end = layout_of(&s->format, head->n, head->dist_first).end;
    return *end <= m->bytes - at;
}

// Checks sample i of a file, and counts its tokens of answers.
static fr_status check_sample(fr_shards *s, const fr_sample *sample, const char *path, uint32_t i,
                              fr_error *err) {
    const size_t dists = (size_t)(sample->n - sample->dist_first) * (size_t)s->format.top;
    if (!ids_fit(sample->ids, (size_t)sample->n + 1, 0, s->format.n_vocab) ||
        !ids_fit(sample->dist_id, dists, -1, s->format.n_vocab))
        return fr_fail(err, FR_EDATA, "%s: sample %u has tokens outside the vocabulary", path, i);
    for (int r = 0; r < sample->n; r++) {
        if (sample->flags[r] & FR_ROW_DISTRIBUTION && r < sample->dist_first)
            return fr_fail(err, FR_EDATA,
                           "%s: sample %u has no room for the distribution of row %d", path, i, r);
        s->answers += sample->flags[r] & FR_ROW_ANSWER;
    }
    return FR_OK;
}

static fr_status add_samples(fr_shards *s, const fr_map *m, const char *path, fr_error *err) {
    const file_header *h = (const void *)m->data;
    size_t at = sizeof *h, end;
    if (h->n_samples > (m->bytes - at) / sizeof(sample_header))
        return fr_fail(err, FR_EDATA, "%s: %u samples do not fit its file", path, h->n_samples);
    if (!fr_list_reserve((void **)&s->samples, &s->cap_samples, (size_t)s->n_samples, h->n_samples,
                         sizeof *s->samples))
        return fr_fail(err, FR_ENOMEM, "%s: no memory for %u samples", path, h->n_samples);
    for (uint32_t i = 0; i < h->n_samples; i++) {
        if (!sample_fits(s, m, at, &end))
            return fr_fail(err, FR_EDATA, "%s: sample %u does not fit its file", path, i);
        const fr_sample sample = sample_at(&s->format, m->data + at);
        const fr_status st = check_sample(s, &sample, path, i, err);
        if (st) return st;
        s->samples[s->n_samples++] = (entry){sample.key, m->data + at};
        at += end;
    }
    return at == m->bytes ? FR_OK : fr_fail(err, FR_EDATA, "%s: bytes behind its samples", path);
}

static bool same_format(const fr_shard_format *a, const fr_shard_format *b) {
    return !strcmp(a->target, b->target) && a->d == b->d && a->n_vocab == b->n_vocab &&
           a->n_taps == b->n_taps && a->top == b->top && !memcmp(a->taps, b->taps, sizeof a->taps);
}

static fr_status add_file(fr_shards *s, const char *path, const char *target, fr_error *err) {
    fr_shard_format f;
    if (!fr_list_reserve((void **)&s->maps, &s->cap_maps, (size_t)s->n_maps, 1, sizeof *s->maps))
        return fr_fail(err, FR_ENOMEM, "%s: no memory", path);
    fr_map *m = &s->maps[s->n_maps];
    fr_status st = fr_map_open(m, path, err);
    if (st) return st;
    s->n_maps++;
    if ((st = read_header(&f, m, path, err))) return st;
    if (target && strcmp(f.target, target))
        return fr_fail(err, FR_EDATA, "%s: states of another model: expected %s, found %s", path,
                       target, f.target);
    if (s->n_maps > 1 && !same_format(&f, &s->format))
        return fr_fail(err, FR_EDATA,
                       "%s: another target, layers or distribution than the shards before it",
                       path);
    s->format = f;
    return add_samples(s, m, path, err);
}

static int by_key(const void *a, const void *b) {
    const uint64_t x = ((const entry *)a)->key, y = ((const entry *)b)->key;
    return x < y ? -1 : x > y;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_shard(const char *name) {
    const size_t n = strlen(name);
    return n > 10 && !strncmp(name, "shard-", 6) && !strcmp(name + n - 4, ".frs");
}

typedef struct names {
    char **item;
    size_t n, cap;
} names;

static void free_names(names *list) {
    for (size_t i = 0; i < list->n; i++)
        free(list->item[i]);
    fr_free(list->item);
}

// The shards' names in a folder, sorted. A folder that is not there has none.
static fr_status list_folder(names *list, const char *dir, fr_error *err) {
    DIR *d = opendir(dir);
    *list = (names){0};
    if (!d && errno == ENOENT) return FR_OK;
    if (!d) return fr_fail(err, FR_EIO, "%s: %s", dir, strerror(errno));
    fr_status st = FR_OK;
    for (struct dirent *e; !st && (e = readdir(d));) {
        if (!is_shard(e->d_name)) continue;
        char *name = strdup(e->d_name);
        if (!name ||
            !fr_list_reserve((void **)&list->item, &list->cap, list->n, 1, sizeof *list->item)) {
            free(name);
            st = fr_fail(err, FR_ENOMEM, "%s: no memory for its file names", dir);
        } else {
            list->item[list->n++] = name;
        }
    }
    closedir(d);
    if (list->n) qsort(list->item, list->n, sizeof *list->item, by_name);
    return st;
}

fr_status fr_shards_open(fr_shards **out, const char *dir, const char *target,
                         fr_progress_fn *progress, void *user, fr_error *err) {
    char path[PATH_ROOM];
    names list;
    *out = NULL;
    fr_shards *s = fr_alloc_zero(sizeof *s);
    if (!s) return fr_fail(err, FR_ENOMEM, "%s: no memory", dir);
    fr_status st = list_folder(&list, dir, err);
    for (size_t i = 0; i < list.n && !st; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, list.item[i]);
        if (progress && !progress(user, "reading shards", i, list.n))
            st = fr_fail(err, FR_EINTR, "interrupted");
        else
            st = add_file(s, path, target, err);
    }
    free_names(&list);
    if (!st && s->n_samples) qsort(s->samples, (size_t)s->n_samples, sizeof *s->samples, by_key);
    for (int i = 1; i < s->n_samples && !st; i++)
        if (s->samples[i].key == s->samples[i - 1].key)
            st = fr_fail(err, FR_EDATA, "%s: holds a text twice (key %016llx)", dir,
                         (unsigned long long)s->samples[i].key);
    if (st)
        fr_shards_close(s);
    else
        *out = s;
    return st;
}

void fr_shards_close(fr_shards *s) {
    if (!s) return;
    for (int i = 0; i < s->n_maps; i++)
        fr_map_close(&s->maps[i]);
    fr_free(s->maps);
    fr_free(s->samples);
    fr_free(s);
}

const fr_shard_format *fr_shards_format(const fr_shards *s) {
    return &s->format;
}
int fr_shards_count(const fr_shards *s) {
    return s->n_samples;
}
uint64_t fr_shards_answers(const fr_shards *s) {
    return s->answers;
}

void fr_shards_sample(const fr_shards *s, int i, fr_sample *out) {
    assert(i >= 0 && i < s->n_samples);
    *out = sample_at(&s->format, s->samples[i].at);
}

bool fr_shards_has(const fr_shards *s, uint64_t key) {
    const entry wanted = {.key = key};
    return s->n_samples &&
           bsearch(&wanted, s->samples, (size_t)s->n_samples, sizeof *s->samples, by_key);
}

// ---------------------------------------------------------------- writing

struct fr_shard_writer {
    fr_shard_format format;
    char dir[PATH_ROOM];
    int next;           // number of the next file
    fr_buffer bytes;    // of the current file: header and samples
    uint32_t n_samples; // in it
};

// The number in a name that a writer gave, shard-000012.frs; -1: another one.
static int number_of(const char *name) {
    const size_t digits = strspn(name + 6, "0123456789");
    if (digits < 6 || digits > 9 || strcmp(name + 6 + digits, ".frs") != 0) return -1;
    return atoi(name + 6);
}

static fr_status check_present(fr_shard_writer *w, const names *list, fr_error *err) {
    char path[PATH_ROOM + 512];
    fr_shard_format f;
    fr_map m;
    if (!list->n) return FR_OK;
    const char *last = list->item[list->n - 1];
    for (size_t i = 0; i < list->n; i++) {
        const int number = number_of(list->item[i]);
        if (number >= w->next) w->next = number + 1;
    }
    snprintf(path, sizeof path, "%s/%s", w->dir, last);
    fr_status st = fr_map_open(&m, path, err);
    if (st) return st;
    st = read_header(&f, &m, path, err);
    fr_map_close(&m);
    if (!st && !same_format(&f, &w->format))
        st =
            fr_fail(err, FR_EDATA,
                    "%s: of another target, layers or distribution than what is to be added", path);
    return st;
}

static fr_status begin_file(fr_shard_writer *w, fr_error *err) {
    const file_header none = {.magic = ""};
    w->bytes.n = 0;
    w->n_samples = 0;
    return fr_buffer_add(&w->bytes, &none, sizeof none, err);
}

fr_status fr_shard_writer_open(fr_shard_writer **out, const char *dir,
                               const fr_shard_format *format, fr_error *err) {
    names list = {0};
    *out = NULL;
    if (strlen(dir) + 32 > PATH_ROOM)
        return fr_fail(err, FR_EARG, "%.100s...: too long a path", dir);
    if (mkdir(dir, 0777) && errno != EEXIST)
        return fr_fail(err, FR_EIO, "%s: %s", dir, strerror(errno));
    fr_shard_writer *w = fr_alloc_zero(sizeof *w);
    if (!w) return fr_fail(err, FR_ENOMEM, "%s: no memory", dir);
    w->format = *format;
    snprintf(w->dir, sizeof w->dir, "%s", dir);
    fr_status st = list_folder(&list, dir, err);
    if (!st) st = check_present(w, &list, err);
    if (!st) st = begin_file(w, err);
    free_names(&list);
    if (st)
        fr_shard_writer_close(w);
    else
        *out = w;
    return st;
}

fr_status fr_shard_writer_add(fr_shard_writer *w, const fr_sample *s, fr_error *err) {
    const fr_shard_format *f = &w->format;
    const layout l = layout_of(f, (size_t)s->n, (size_t)s->dist_first);
    const size_t n = (size_t)s->n, dists = n - (size_t)s->dist_first, d = (size_t)f->d;
    const sample_header head = {s->key, (uint32_t)s->n, (uint32_t)s->dist_first};
    fr_status st = fr_buffer_reserve(&w->bytes, l.end, err);
    if (st) return st;
    uint8_t *at = (uint8_t *)w->bytes.data + w->bytes.n;
    memset(at, 0, l.end);
    memcpy(at, &head, sizeof head);
    memcpy(at + l.ids, s->ids, (n + 1) * 4);
    memcpy(at + l.final, s->final, n * d * 2);
    memcpy(at + l.flags, s->flags, n);
    if (dists) {
        memcpy(at + l.dist_id, s->dist_id, dists * (size_t)f->top * 4);
        memcpy(at + l.dist_lp, s->dist_lp, dists * (size_t)f->top * 2);
    }
    if (f->n_taps) memcpy(at + l.tap, s->tap, (size_t)f->n_taps * n * d * 2);
    w->bytes.n += l.end;
    w->n_samples++;
    return w->bytes.n >= FR_SHARD_BYTES ? fr_shard_writer_flush(w, err) : FR_OK;
}

fr_status fr_shard_writer_flush(fr_shard_writer *w, fr_error *err) {
    char path[PATH_ROOM + 32];
    const fr_shard_format *f = &w->format;
    if (!w->n_samples) return FR_OK;
    file_header h = {.d = (uint32_t)f->d,
                     .n_vocab = (uint32_t)f->n_vocab,
                     .n_taps = (uint32_t)f->n_taps,
                     .top = (uint32_t)f->top,
                     .n_samples = w->n_samples,
                     .bytes = w->bytes.n};
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    memcpy(h.target, f->target, sizeof f->target);
    for (int i = 0; i < f->n_taps; i++)
        h.taps[i] = (uint32_t)f->taps[i];
    memcpy(w->bytes.data, &h, sizeof h);
    h.checksum = checksum_of(w->bytes.data, w->bytes.n);
    memcpy(w->bytes.data, &h, sizeof h);
    snprintf(path, sizeof path, "%s/shard-%06d.frs", w->dir, w->next);
    const fr_status st = fr_save(path, w->bytes.data, w->bytes.n, err);
    if (st) return st;
    w->next++;
    return begin_file(w, err);
}

void fr_shard_writer_close(fr_shard_writer *w) {
    if (!w) return;
    fr_buffer_free(&w->bytes);
    fr_free(w);
}
