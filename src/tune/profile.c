// profile.c — first the key and the path of a profile, then its entries for drafters. Then writing
// the file, and reading it with every value checked.
#include "tune/profile.h"
#include "base/cpus.h"
#include "base/save.h"
#include "draft/registry.h"
#include "gguf/hash.h"
#include "gguf/writer.h"
#include <stdio.h>
#include <string.h>

enum { THREADS_MOST = 1 << 20 };
static const char CHECKSUM[] = "profile.checksum";

// ---------------------------------------------------------------- whose it is

void fr_profile_key_of(fr_profile_key *key, const fr_gguf *g, const char *isa, int threads) {
    memset(key, 0, sizeof *key);
    fr_gguf_fingerprint(g, key->model);
    fr_cpu_name(key->cpu, sizeof key->cpu);
    snprintf(key->isa, sizeof key->isa, "%s", isa);
    key->threads = threads;
}

static unsigned hash_of(const char *text) {
    fr_hash h;
    fr_hash_open(&h, 0);
    fr_hash_add(&h, text, strlen(text));
    return (unsigned)(fr_hash_value(&h) & UINT32_MAX);
}

fr_status fr_profile_path(const fr_profile_key *key, const char *dir, char *path, size_t room,
                          fr_error *err) {
    const int n = snprintf(path, room, "%s/%.16s-%08x-%s-%dt.profile", dir, key->model,
                           hash_of(key->cpu), key->isa, key->threads);
    if (n > 0 && (size_t)n < room) return FR_OK;
    return fr_fail(err, FR_EARG, "%.80s...: too long a path for profiles", dir);
}

// ---------------------------------------------------------------- entries

const fr_profile_drafter *fr_profile_find(const fr_profile *p, const char *spec) {
    for (int i = 0; i < p->n_drafters; i++)
        if (!strcmp(p->drafter[i].spec, spec)) return &p->drafter[i];
    return NULL;
}

double fr_profile_speedup(const fr_profile_drafter *d) {
    return d->plain_tok_s > 0 ? d->tok_s / d->plain_tok_s : 0;
}

// The speedup; -1, below any speedup, for a drafter that is gone.
static double worth_of(const fr_profile_drafter *d) {
    return d->gone ? -1 : fr_profile_speedup(d);
}

void fr_profile_put(fr_profile *p, const fr_profile_drafter *entry) {
    int at = p->n_drafters;
    const fr_profile_drafter *same = fr_profile_find(p, entry->spec);
    if (same) {
        at = (int)(same - p->drafter);
    } else if (at == FR_PROFILE_DRAFTERS) {
        for (int i = at = 0; i < p->n_drafters; i++)
            if (worth_of(&p->drafter[i]) < worth_of(&p->drafter[at])) at = i;
    } else {
        p->n_drafters++;
    }
    p->drafter[at] = *entry;
}

const fr_profile_drafter *fr_profile_best(const fr_profile *p) {
    const fr_profile_drafter *best = NULL;
    for (int i = 0; i < p->n_drafters; i++)
        if (worth_of(&p->drafter[i]) > (best ? fr_profile_speedup(best) : 1)) best = &p->drafter[i];
    return best;
}

bool fr_profile_holds(const fr_profile *p) {
    for (int i = 0; i < p->n_drafters; i++)
        if (!p->drafter[i].gone) return true;
    return false;
}

void fr_profile_merge(fr_profile *p, const char *path) {
    fr_profile there;
    fr_error unread;
    if (fr_profile_read(&there, &p->key, path, &unread)) return;
    for (int i = 0; i < p->n_drafters; i++)
        if (p->drafter[i].tuned_here) fr_profile_put(&there, &p->drafter[i]);
    memcpy(p->drafter, there.drafter, sizeof p->drafter);
    p->n_drafters = there.n_drafters;
}

// ---------------------------------------------------------------- writing

static void write_cost(fr_gguf_writer *w, const fr_cost *c) {
    fr_gguf_writer_i32_array(w, "profile.cost.rows", c->rows, (size_t)c->n);
    fr_gguf_writer_raw_array(w, "profile.cost.trunk", FR_GGUF_F64, c->trunk, (size_t)c->n);
    fr_gguf_writer_raw_array(w, "profile.cost.head", FR_GGUF_F64, c->head, (size_t)c->n);
    fr_gguf_writer_f64(w, "profile.cost.expert", c->expert);
    fr_gguf_writer_raw_array(w, "profile.cost.experts", FR_GGUF_F64, c->experts, (size_t)c->n);
    fr_gguf_writer_f64(w, "profile.cost.key", c->key);
    fr_gguf_writer_f64(w, "profile.cost.key_row", c->key_row);
    fr_gguf_writer_f64(w, "profile.cost.held", c->n ? c->held : 1);
}

static void write_drafter(fr_gguf_writer *w, int i, const fr_profile_drafter *d) {
    char key[64];
    snprintf(key, sizeof key, "profile.drafter.%d.spec", i);
    fr_gguf_writer_str(w, key, d->spec);
    snprintf(key, sizeof key, "profile.drafter.%d.predicted", i);
    fr_gguf_writer_raw_array(w, key, FR_GGUF_F64,
                             (double[]){d->tok_s, d->plain_tok_s, d->tokens_per_pass}, 3);
}

fr_status fr_profile_write(const fr_profile *p, const char *path, fr_error *err) {
    fr_gguf_writer *w;
    fr_status st;
    if ((st = fr_make_folders(path, 0777, err))) return st;
    if ((st = fr_gguf_writer_open(&w, err))) return st;
    fr_gguf_writer_str(w, "general.architecture", "forerun-profile");
    fr_gguf_writer_u32(w, "profile.version", FR_PROFILE_VERSION);
    fr_gguf_writer_str(w, "profile.model", p->key.model);
    fr_gguf_writer_str(w, "profile.cpu", p->key.cpu);
    fr_gguf_writer_str(w, "profile.isa", p->key.isa);
    fr_gguf_writer_i32(w, "profile.threads", p->key.threads);
    write_cost(w, &p->cost);
    fr_gguf_writer_i32(w, "profile.drafters", p->n_drafters);
    for (int i = 0; i < p->n_drafters; i++)
        write_drafter(w, i, &p->drafter[i]);
    st = fr_gguf_writer_finish_summed(w, CHECKSUM, path, err);
    fr_gguf_writer_close(w);
    return st;
}

// ---------------------------------------------------------------- reading

static bool has_controls(fr_gguf_str text) {
    for (size_t i = 0; i < text.bytes; i++)
        if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f) return true;
    return false;
}

static fr_status read_text(const fr_gguf *g, const char *key, char *to, size_t room,
                           fr_error *err) {
    fr_gguf_str text;
    const fr_status st = fr_gguf_get_str(g, key, &text, err);
    if (st) return st;
    if (!text.bytes || text.bytes >= room || has_controls(text))
        return fr_fail(err, FR_EDATA, "%s: expected a line of text below %zu bytes", key, room);
    memcpy(to, text.data, text.bytes);
    to[text.bytes] = 0;
    return FR_OK;
}

// All n items finite and in [low, high].
static fr_status read_f64s(const fr_gguf *g, const char *key, double low, double high, int n,
                           double *out, fr_error *err) {
    const fr_gguf_kv *kv;
    const fr_status st = fr_gguf_get_array(g, key, FR_GGUF_FLOATS, &kv, err);
    if (st) return st;
    if (kv->count != (uint64_t)n)
        return fr_fail(err, FR_EDATA, "%s: expected %d numbers, found %llu", key, n,
                       (unsigned long long)kv->count);
    for (int i = 0; i < n; i++) {
        out[i] = fr_gguf_item_f64(kv, (uint64_t)i);
        if (!(out[i] >= low && out[i] <= high))
            return fr_fail(err, FR_EDATA, "%s: expected %g to %g, found %g at %d", key, low, high,
                           out[i], i);
    }
    return FR_OK;
}

static fr_status read_f64(const fr_gguf *g, const char *key, double low, double high, double *out,
                          fr_error *err) {
    const fr_status st = fr_gguf_get_f64(g, key, out, err);
    if (!st && !(*out >= low && *out <= high))
        return fr_fail(err, FR_EDATA, "%s: expected %g to %g, found %g", key, low, high, *out);
    return st;
}

static fr_status read_cost(fr_cost *c, const fr_gguf *g, fr_error *err) {
    const fr_gguf_kv *rows;
    double held = 1;
    const double hour = 3600;
    fr_status st = fr_gguf_get_array(g, "profile.cost.rows", FR_GGUF_INTS, &rows, err);
    if (st) return st;
    if (rows->count > FR_COST_POINTS)
        return fr_fail(err, FR_EDATA, "profile.cost.rows: expected at most %d, found %llu",
                       FR_COST_POINTS, (unsigned long long)rows->count);
    const int n = (int)rows->count;
    for (int i = 0; i < n; i++) {
        const int64_t r = fr_gguf_item_i64(rows, (uint64_t)i);
        if (r <= (i ? c->rows[i - 1] : 0) || r > 1 << 20 || (!i && r != 1))
            return fr_fail(err, FR_EDATA,
                           "profile.cost.rows: expected ascending from 1, found %lld",
                           (long long)r);
        c->rows[i] = (int)r;
    }
    if ((st = read_f64s(g, "profile.cost.trunk", 1e-9, hour, n, c->trunk, err))) return st;
    if ((st = read_f64s(g, "profile.cost.head", 0, hour, n, c->head, err))) return st;
    if ((st = read_f64s(g, "profile.cost.experts", 0, 1e6, n, c->experts, err))) return st;
    if ((st = read_f64(g, "profile.cost.expert", 0, hour, &c->expert, err))) return st;
    if ((st = read_f64(g, "profile.cost.key", 0, hour, &c->key, err))) return st;
    if ((st = read_f64(g, "profile.cost.key_row", 0, hour, &c->key_row, err))) return st;
    if (fr_gguf_find(g, "profile.cost.held") &&
        (st = read_f64(g, "profile.cost.held", 1, 1e6, &held, err)))
        return st;
    c->held = held;
    c->n = n;
    return FR_OK;
}

static fr_status read_drafter(fr_profile_drafter *d, const fr_gguf *g, int i, fr_error *err) {
    char key[64];
    double predicted[3];
    fr_error unknown;
    fr_status st;
    snprintf(key, sizeof key, "profile.drafter.%d.spec", i);
    if ((st = read_text(g, key, d->spec, sizeof d->spec, err))) return st;
    if (fr_drafter_check(d->spec, &unknown))
        return fr_fail(err, FR_EDATA, "%s: %s", key, unknown.text);
    snprintf(key, sizeof key, "profile.drafter.%d.predicted", i);
    if ((st = read_f64s(g, key, 0, 1e9, 3, predicted, err))) return st;
    d->tok_s = predicted[0];
    d->plain_tok_s = predicted[1];
    d->tokens_per_pass = predicted[2];
    return FR_OK;
}

bool fr_profile_is(const fr_gguf *g) {
    const fr_gguf_kv *arch = fr_gguf_find(g, "general.architecture");
    return arch && arch->type == FR_GGUF_STR &&
           fr_gguf_str_is(fr_gguf_item_str(arch, 0), "forerun-profile");
}

// FR_EUNSUP unless both texts are one.
static fr_status compare(const char *key, const char *wanted, const char *found, fr_error *err) {
    if (!strcmp(wanted, found)) return FR_OK;
    return fr_fail(err, FR_EUNSUP, "%s: expected %s, found %s", key, wanted, found);
}

static fr_status read_key(fr_profile_key *key, const fr_gguf *g, fr_error *err) {
    uint32_t version = 0, threads = 0;
    char arch[64];
    fr_status st;
    if ((st = read_text(g, "general.architecture", arch, sizeof arch, err))) return st;
    if ((st = compare("general.architecture", "forerun-profile", arch, err))) return st;
    if ((st = fr_gguf_get_u32(g, "profile.version", &version, err))) return st;
    if (version != FR_PROFILE_VERSION)
        return fr_fail(err, FR_EUNSUP, "profile.version: expected %d, found %u", FR_PROFILE_VERSION,
                       version);
    if ((st = fr_gguf_check_sum(g, CHECKSUM, err))) return st;
    if ((st = read_text(g, "profile.model", key->model, sizeof key->model, err))) return st;
    if ((st = read_text(g, "profile.cpu", key->cpu, sizeof key->cpu, err))) return st;
    if ((st = read_text(g, "profile.isa", key->isa, sizeof key->isa, err))) return st;
    if ((st = fr_gguf_get_u32(g, "profile.threads", &threads, err))) return st;
    if (threads < 1 || threads > THREADS_MOST)
        return fr_fail(err, FR_EDATA, "profile.threads: expected 1 to %d, found %u", THREADS_MOST,
                       threads);
    key->threads = (int)threads;
    return FR_OK;
}

// The value of the key.
static fr_status read_measured(fr_profile *p, const fr_gguf *g, fr_error *err) {
    uint32_t n = 0;
    fr_status st;
    if ((st = read_cost(&p->cost, g, err))) return st;
    if ((st = fr_gguf_get_u32(g, "profile.drafters", &n, err))) return st;
    if (n > FR_PROFILE_DRAFTERS)
        return fr_fail(err, FR_EDATA, "profile.drafters: expected at most %d, found %u",
                       FR_PROFILE_DRAFTERS, n);
    for (uint32_t i = 0; i < n; i++) {
        if ((st = read_drafter(&p->drafter[i], g, (int)i, err))) return st;
        p->n_drafters++;
    }
    return FR_OK;
}

fr_status fr_profile_load(fr_profile *p, const fr_gguf *g, fr_error *err) {
    memset(p, 0, sizeof *p);
    const fr_status st = read_key(&p->key, g, err);
    return st ? st : read_measured(p, g, err);
}

static fr_status compare_keys(const fr_profile_key *wanted, const fr_profile_key *found,
                              fr_error *err) {
    fr_status st;
    if ((st = compare("profile.model", wanted->model, found->model, err))) return st;
    if ((st = compare("profile.cpu", wanted->cpu, found->cpu, err))) return st;
    if ((st = compare("profile.isa", wanted->isa, found->isa, err))) return st;
    if (wanted->threads != found->threads)
        return fr_fail(err, FR_EUNSUP, "profile.threads: expected %d, found %d", wanted->threads,
                       found->threads);
    return FR_OK;
}

fr_status fr_profile_take(fr_profile *p, const fr_profile_key *key, const fr_gguf *g,
                          fr_error *err) {
    fr_status st;
    memset(p, 0, sizeof *p);
    if ((st = read_key(&p->key, g, err))) return st;
    if ((st = compare_keys(key, &p->key, err))) return st;
    return read_measured(p, g, err);
}

fr_status fr_profile_read(fr_profile *p, const fr_profile_key *key, const char *path,
                          fr_error *err) {
    fr_gguf *g;
    fr_error why = {0};
    memset(p, 0, sizeof *p);
    p->key = *key;
    fr_status st = fr_gguf_open(&g, path, err);
    if (st) return st;
    if ((st = fr_profile_take(p, key, g, &why))) {
        fr_fail(err, st, "%s: %s", path, why.text);
        memset(p, 0, sizeof *p);
        p->key = *key;
    }
    fr_gguf_close(g);
    return st;
}
