// Datastores: what is found is all that stands there, nothing is found across texts, and no damage
// is believed.
#include "draft/chimera/stores.h"
#include "support/damage.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { STORES = 60, QUERIES = 60 };

// Whether the last `span` of ids[0..n) stand before place p of the store, in one text, and a token
// behind them.
static bool stands_before(const fr_datastore *s, uint32_t p, const int32_t *ids, int n, int span) {
    if (s->ids[p] < 0) return false;
    for (int k = 1; k <= span; k++)
        if ((int64_t)p - k < 0 || s->ids[p - (uint32_t)k] != ids[n - k]) return false;
    return true;
}

// Every place of the match is one that a search through all of them finds, none twice, none
// missing.
static void expect_all(const fr_datastore *s, const fr_datastore_match *m, const int32_t *ids,
                       int n, int span) {
    uint32_t count = 0;
    for (uint32_t p = 0; p < s->n_ids; p++)
        count += stands_before(s, p, ids, n, span);
    assert_int_equal(m->end - m->begin, count);
    uint8_t *seen = calloc(s->n_ids, 1);
    for (uint32_t i = m->begin; i < m->end; i++) {
        assert_true(stands_before(s, s->places[i], ids, n, span));
        assert_false(seen[s->places[i]]++);
    }
    free(seen);
}

static int longest_that_stands(const fr_datastore *s, const int32_t *ids, int n, int most) {
    for (int span = most < n ? most : n; span > 0; span--)
        for (uint32_t p = 0; p < s->n_ids; p++)
            if (stands_before(s, p, ids, n, span)) return span;
    return 0;
}

// A context: out of the store, or random.
static int context(const fr_datastore *s, int32_t *ids, int n_ids) {
    const int n = 1 + dice_below(24);
    const uint32_t from = (uint32_t)dice_below((int)s->n_ids);
    for (int i = 0; i < n; i++) {
        const uint32_t at = from + (uint32_t)i;
        ids[i] =
            at < s->n_ids && s->ids[at] >= 0 && dice_below(20) ? s->ids[at] : dice_below(n_ids);
    }
    return n;
}

static void every_span_finds_all_that_a_naive_search_finds(void **state) {
    fr_tokenizer *vocabulary = *state;
    dice_begin(71);
    for (int i = 0; i < STORES; i++) {
        const int n_ids = 2 + dice_below(i % 3 ? 4 : 40);
        char path[] = "store-XXXXXX";
        fr_datastore s;
        texts t = texts_random(1 + dice_below(12), 2 + dice_below(80), n_ids);
        store_write(path, vocabulary, &t);
        store_open(&s, path);
        for (int q = 0; q < QUERIES; q++) {
            fr_datastore_match match[FR_DATASTORE_ORDER];
            int32_t ids[24];
            const int n = context(&s, ids, n_ids), most = 1 + dice_below(FR_DATASTORE_ORDER);
            const int span = fr_datastore_find(&s, ids, n, most, match);
            assert_int_equal(span, longest_that_stands(&s, ids, n, most));
            for (int k = 1; k <= span; k++)
                expect_all(&s, &match[k - 1], ids, n, k);
        }
        fr_datastore_close(&s);
        unlink(path);
        texts_free(&t);
    }
}

// The texts, one behind the other with marks around them, are what was given.
static void texts_are_kept_and_told_apart(void **state) {
    fr_tokenizer *vocabulary = *state;
    char path[] = "store-XXXXXX";
    fr_datastore s;
    dice_begin(72);
    texts t = texts_random(30, 9, 5);
    store_write(path, vocabulary, &t);
    store_open(&s, path);
    const int32_t *given = t.ids;
    uint32_t at = 0;
    uint64_t n = 0;
    for (int i = 0; i < t.n; given += t.length[i++]) {
        if (!t.length[i]) continue;
        assert_int_equal(s.ids[at++], FR_DATASTORE_MARK);
        assert_memory_equal(&s.ids[at], given, t.length[i] * sizeof *given);
        at += (uint32_t)t.length[i];
        n++;
    }
    assert_int_equal(s.ids[at++], FR_DATASTORE_MARK);
    assert_int_equal(at, s.n_ids);
    assert_int_equal(n, s.n_texts);
    assert_int_equal(s.n_vocab, fr_tokenizer_size(vocabulary));
    fr_datastore_close(&s);
    unlink(path);
    texts_free(&t);
}

// One text ends with what the next one begins with.
static void nothing_is_found_across_texts(void **state) {
    fr_tokenizer *vocabulary = *state;
    char path[] = "store-XXXXXX";
    int32_t ids[] = {1, 2, 3, /**/ 4, 5, 6};
    size_t length[] = {3, 3};
    const texts t = {ids, length, 2};
    fr_datastore s;
    fr_datastore_match match[FR_DATASTORE_ORDER];
    store_write(path, vocabulary, &t);
    store_open(&s, path);
    assert_int_equal(s.n_places, 4);
    assert_int_equal(fr_datastore_find(&s, (int32_t[]){2, 3}, 2, 16, match), 0); // ends there
    assert_int_equal(fr_datastore_find(&s, (int32_t[]){3, 4}, 2, 16, match), 1); // 4 alone
    assert_int_equal(fr_datastore_find(&s, (int32_t[]){1, 2}, 2, 16, match), 2);
    assert_int_equal(match[1].end - match[1].begin, 1);
    const uint32_t place = s.places[match[1].begin];
    assert_int_equal(fr_datastore_id(&s, place, 0), 3);
    assert_int_equal(fr_datastore_id(&s, place, 1), FR_DATASTORE_MARK);
    assert_int_equal(fr_datastore_id(&s, UINT32_MAX, UINT32_MAX), FR_DATASTORE_MARK);
    fr_datastore_close(&s);
    unlink(path);
}

// ---------------------------------------------------------------- files

typedef struct file {
    uint8_t *data;
    size_t n;
} file;

static file file_read(const char *path) {
    FILE *f = fopen(path, "rb");
    file b = {malloc(1 << 16), 0};
    assert_non_null(f);
    b.n = fread(b.data, 1, 1 << 16, f);
    fclose(f);
    return b;
}

static void put_checksum(file *b) {
    const uint64_t sum = fr_datastore_checksum(b->data, b->n);
    memcpy(b->data + offsetof(fr_datastore_header, checksum), &sum, sizeof sum);
}

// Asks for all that a damaged store might be asked for.
static void use(const fr_datastore *s) {
    for (int q = 0; q < 40; q++) {
        fr_datastore_match match[FR_DATASTORE_ORDER];
        int32_t ids[24];
        for (int i = 0; i < 24; i++)
            ids[i] = dice_below(4);
        const int span = fr_datastore_find(s, ids, 24, 16, match);
        for (int k = 0; k < span; k++) {
            assert_true(match[k].begin < match[k].end && match[k].end <= s->n_places);
            for (uint32_t i = match[k].begin; i < match[k].end; i++)
                for (uint32_t ahead = 0; ahead < 10; ahead++) {
                    const int32_t id = fr_datastore_id(s, s->places[i], ahead);
                    assert_true(id >= FR_DATASTORE_MARK && id < s->n_vocab);
                }
        }
    }
}

static void damage_is_refused_and_harmless_where_it_is_not(void **state) {
    fr_tokenizer *vocabulary = *state;
    char path[] = "store-XXXXXX";
    int taken = 0;
    dice_begin(73);
    texts t = texts_random(6, 30, 4);
    store_write(path, vocabulary, &t);
    file b = file_read(path);
    for (size_t i = 0; i < b.n; i++) {
        fr_datastore s;
        fr_error err = {0};
        const uint8_t was = b.data[i];
        b.data[i] ^= (uint8_t)(1 + dice_below(255));
        assert_int_equal(fr_datastore_take(&s, b.data, b.n, "damaged", &err), FR_EDATA);
        assert_non_null(strstr(err.text, "damaged: "));
        file whole = {malloc(b.n), b.n}; // where a sanitizer watches its end
        memcpy(whole.data, b.data, b.n);
        put_checksum(&whole);
        if (!fr_datastore_take(&s, whole.data, whole.n, "damaged", &err)) {
            taken++;
            use(&s);
        }
        free(whole.data);
        b.data[i] = was;
    }
    assert_true(taken > 100);
    for (size_t n = 0; n < b.n; n++) { // cut
        fr_datastore s;
        fr_error err = {0};
        uint8_t *cut = malloc(n + 1);
        memcpy(cut, b.data, n);
        assert_int_equal(fr_datastore_take(&s, cut, n, "cut", &err), FR_EDATA);
        assert_non_null(strstr(err.text, "cut: "));
        free(cut);
    }
    free(b.data);
    unlink(path);
    texts_free(&t);
}

static void what_is_no_store_says_so(void **state) {
    (void)state;
    fr_datastore s;
    fr_error err;
    _Alignas(8) char later[200] = "FRSTORE9", other[200] = "GGUF";
    assert_int_equal(fr_datastore_take(&s, later, sizeof later, "x", &err), FR_EDATA);
    assert_non_null(strstr(err.text, "version 1, found '9'"));
    assert_int_equal(fr_datastore_take(&s, other, sizeof other, "x", &err), FR_EDATA);
    assert_non_null(strstr(err.text, "not a datastore"));
    assert_int_equal(fr_datastore_open(&s, "nowhere.frd", &err), FR_EIO);
    assert_non_null(strstr(err.text, "nowhere.frd"));
    assert_int_equal(fr_datastore_open(&s, ".", &err), FR_EIO);
    fr_datastore_close(&s);
}

// ---------------------------------------------------------------- writing

static void the_writer_refuses_what_it_cannot_keep(void **state) {
    fr_tokenizer *vocabulary = *state;
    const int32_t bad[] = {1, fr_tokenizer_size(vocabulary)}, negative[] = {-1}, one[] = {1};
    fr_datastore_writer w;
    fr_error err;
    assert_int_equal(fr_datastore_writer_open(&w, vocabulary, &err), FR_OK);
    assert_int_equal(fr_datastore_writer_add(&w, bad, 2, &err), FR_EDATA);
    assert_int_equal(fr_datastore_writer_add(&w, negative, 1, &err), FR_EDATA);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fr_datastore_writer_add(&w, one, 1, &err), FR_OK);
    assert_int_equal(fr_datastore_writer_finish(&w, "none.frd", NULL, NULL, &err), FR_EDATA);
    assert_non_null(strstr(err.text, "none.frd"));
    assert_int_not_equal(access("none.frd", F_OK), 0);
    fr_datastore_writer_close(&w);
    fr_datastore_writer_close(&w); // twice is fine
}

typedef struct listener {
    int calls, stop_at;
    uint64_t last;
} listener;

static bool listen(void *user, const char *what, uint64_t done, uint64_t total) {
    listener *l = user;
    assert_non_null(what);
    assert_true(done >= l->last && done <= total);
    l->last = done;
    return ++l->calls != l->stop_at;
}

static void an_interrupt_leaves_the_old_file(void **state) {
    fr_tokenizer *vocabulary = *state;
    char path[] = "store-XXXXXX";
    fr_error err;
    dice_begin(74);
    texts t = texts_random(8, 20, 4);
    store_write(path, vocabulary, &t);
    const file before = file_read(path);
    for (int stop_at = 1;; stop_at++) {
        listener l = {.stop_at = stop_at};
        fr_datastore_writer w;
        assert_int_equal(fr_datastore_writer_open(&w, vocabulary, &err), FR_OK);
        assert_int_equal(fr_datastore_writer_add(&w, (int32_t[]){1, 2, 1, 2}, 4, &err), FR_OK);
        const fr_status st = fr_datastore_writer_finish(&w, path, listen, &l, &err);
        fr_datastore_writer_close(&w);
        if (!st) {
            assert_true(stop_at > 3);
            break;
        }
        assert_int_equal(st, FR_EINTR);
        const file now = file_read(path);
        assert_int_equal(now.n, before.n);
        assert_memory_equal(now.data, before.data, now.n);
        free(now.data);
    }
    free(before.data);
    unlink(path);
    texts_free(&t);
}

// In a child, as the bound on file sizes stands for a disk that is full: a status to exit with.
static int fill_disk(const fr_tokenizer *vocabulary, const char *path, rlim_t room) {
    const struct rlimit bound = {room, RLIM_INFINITY};
    fr_datastore_writer w;
    fr_error err = {0};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &bound)) return 1;
    if (fr_datastore_writer_open(&w, vocabulary, &err)) return 2;
    for (int i = 0; i < 100; i++)
        if (fr_datastore_writer_add(&w, (int32_t[]){i, 2, 3, 4}, 4, &err)) return 3;
    const fr_status st = fr_datastore_writer_finish(&w, path, NULL, NULL, &err);
    fr_datastore_writer_close(&w);
    return st == FR_EIO && strstr(err.text, path) ? 0 : 4;
}

static void a_full_disk_leaves_nothing(void **state) {
    fr_tokenizer *vocabulary = *state;
    char folder[] = "stores-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/full.frd", folder);
    for (rlim_t room = 0; room < 3000; room += 700) {
        int status;
        const pid_t child = fork();
        if (!child) _exit(fill_disk(vocabulary, path, room));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_int_equal(rmdir(folder), 0); // it is empty
}

static void the_check_of_a_datastore_finds_damage(void **state) {
    char path[] = "store-XXXXXX";
    texts t = texts_random(5, 20, 30);
    fr_datastore s;
    fr_error err;
    store_write(path, *state, &t);
    assert_int_equal(fr_datastore_open(&s, path, &err), FR_OK);
    assert_noticed(s.ids, NULL, fr_datastore_is_sound(&s));
    assert_noticed(s.n_ids, s.n_ids + 1, fr_datastore_is_sound(&s));
    assert_noticed(s.n_places, s.n_ids + 1, fr_datastore_is_sound(&s));
    assert_noticed(s.places, s.places + 1, fr_datastore_is_sound(&s));
    assert_noticed(s.bytes, s.bytes - 1, fr_datastore_is_sound(&s));
    assert_noticed(s.n_vocab, -1, fr_datastore_is_sound(&s));
    memset(s.vocab, 'x', sizeof s.vocab); // a name without an end
    assert_false(fr_datastore_is_sound(&s));
    fr_datastore_close(&s);
    texts_free(&t);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_span_finds_all_that_a_naive_search_finds),
        cmocka_unit_test(texts_are_kept_and_told_apart),
        cmocka_unit_test(nothing_is_found_across_texts),
        cmocka_unit_test(damage_is_refused_and_harmless_where_it_is_not),
        cmocka_unit_test(what_is_no_store_says_so),
        cmocka_unit_test(the_writer_refuses_what_it_cannot_keep),
        cmocka_unit_test(an_interrupt_leaves_the_old_file),
        cmocka_unit_test(a_full_disk_leaves_nothing),
        cmocka_unit_test(the_check_of_a_datastore_finds_damage),
    };
    return cmocka_run_group_tests(tests, open_tokenizer, close_tokenizer);
}
