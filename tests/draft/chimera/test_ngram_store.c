// What a store of n-gram vectors promises to one process: bits survive, and what does not fit, or
// is of another kind, is worth no more than entries that are missing.
#include "draft/chimera/ngram_writer.h"
#include "draft/chimera/ngrams.h"
#include "support/damage.h"
#include <pthread.h>

enum { D = 24, N = 3000 };

static void bits_survive_reopening(void **state) {
    (void)state;
    static const int widths[] = {1, 7, D, 511, 1024, NGRAM_D_MOST}; // in pages, and beyond them
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        const int d = widths[i], n = d > 500 ? 600 : N;
        place p;
        place_begin(&p);
        const fr_ngram_store_options o = ngram_options(&p, d);
        fr_ngram_store *s = open_store(&o);
        assert_int_equal(there(s, 0, n, d), 0);
        add(s, 0, n, d);
        assert_int_equal(there(s, 0, n, d), n);
        fr_ngram_store_counts c = fr_ngram_store_count(s);
        assert_int_equal(c.written, n);
        assert_int_equal(c.found, n);
        assert_int_equal(c.missed, n);
        assert_int_equal(c.known + c.dropped + c.damaged + c.rebuilt, 0);
        assert_string_equal(c.trouble, "");
        fr_ngram_store_close(s);

        for (int round = 1; round < 4; round++) { // old and new pages, free ones between them
            s = open_store(&o);
            assert_false(fr_ngram_store_count(s).rebuilt);
            assert_int_equal(there(s, 0, round * n, d), round * n);
            add(s, (round - 1) * n, (round + 1) * n, d);
            c = fr_ngram_store_count(s);
            assert_int_equal(c.known, n);
            assert_int_equal(c.written, n);
            fr_ngram_store_close(s);
        }
        place_end(&p);
    }
}

static void expect_mode(const char *path, mode_t mode) {
    struct stat is;
    assert_int_equal(stat(path, &is), 0);
    assert_int_equal(is.st_mode & 0777, mode);
}

// The same holds for its folder, and for the files that SQLite puts beside it. A folder that exists
// keeps its rights.
static void only_its_owner_reads_a_new_store(void **state) {
    (void)state;
    static const mode_t there[] = {0, 0755};
    const mode_t usual = umask(022);
    for (size_t i = 0; i < 2; i++) {
        place p;
        place_begin(&p);
        rmdir(p.folder);
        if (there[i]) assert_int_equal(mkdir(p.folder, there[i]), 0);
        const fr_ngram_store_options o = ngram_options(&p, D);
        fr_ngram_store *s = open_store(&o);
        add(s, 0, 8, D);
        expect_mode(p.folder, there[i] ? there[i] : 0700);
        expect_mode(p.file, 0600);
        expect_mode(p.log, 0600);
        expect_mode(p.index, 0600);
        fr_ngram_store_close(s);
        place_end(&p);
    }
    umask(usual);
}

static void what_is_queued_is_committed_by_close(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    fr_ngram_store *s = open_store(&o);
    float v[D];
    for (int i = 0; i < 16; i++) {
        const fr_ngram key = ngram_key(i);
        ngram_vector(&key, v, D);
        fr_ngram_store_add(s, &key, v);
    }
    fr_ngram_store_close(s);
    s = open_store(&o);
    assert_int_equal(there(s, 0, 16, D), 16);
    fr_ngram_store_close(s);
    place_end(&p);
}

static void a_full_queue_drops_and_counts(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    fr_ngram_store *s = open_store(&o);
    float v[D];
    for (int i = 0; i < 20 * N; i++) { // faster than any disk, so some of them find no room
        const fr_ngram key = ngram_key(i);
        ngram_vector(&key, v, D);
        fr_ngram_store_add(s, &key, v);
    }
    fr_ngram_store_sync(s);
    const fr_ngram_store_counts c = fr_ngram_store_count(s);
    assert_int_equal(c.written + c.dropped, 20 * N);
    assert_true(c.written > 0 && c.dropped > 0);
    assert_int_equal(there(s, 0, 20 * N, D), (int)c.written);
    fr_ngram_store_close(s);
    place_end(&p);
}

static void another_kind_begins_anew(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    fr_ngram_store_options o = ngram_options(&p, D);
    fr_ngram_store *s = open_store(&o);
    add(s, 0, 100, D);
    fr_ngram_store_close(s);
    for (int change = 0; change < 3; change++) {
        if (change == 0) o.kind.identity[31] ^= 1;
        if (change == 1) o.kind.d++;
        if (change == 2) o.kind.n++;
        s = open_store(&o);
        assert_true(fr_ngram_store_count(s).rebuilt);
        assert_string_not_equal(fr_ngram_store_count(s).trouble, "");
        assert_int_equal(there(s, 0, 100, o.kind.d), 0);
        add(s, 0, 100, o.kind.d);
        fr_ngram_store_close(s);
        s = open_store(&o);
        assert_false(fr_ngram_store_count(s).rebuilt);
        assert_int_equal(there(s, 0, 100, o.kind.d), 100);
        fr_ngram_store_close(s);
    }
    place_end(&p);
}

static void handles_of_one_process_share_a_store(void **state) {
    (void)state;
    char cwd[1024], other[1100];
    place p;
    place_begin(&p);
    fr_ngram_store_options o = ngram_options(&p, D), same = o, wrong = o;
    snprintf(other, sizeof other, "%s/%s/../%s/.", getcwd(cwd, sizeof cwd), p.folder, p.folder);
    same.folder = other;
    wrong.kind.identity[0] ^= 1;
    fr_ngram_store *a = open_store(&o), *b = open_store(&same);
    expect_error(&wrong, FR_EIO, "a folder of its own for each pack");
    add(a, 0, 50, D);
    assert_int_equal(there(b, 0, 50, D), 50);
    add(b, 50, 100, D);
    assert_int_equal(there(a, 0, 100, D), 100);
    assert_int_equal(fr_ngram_store_count(a).written, 50);
    fr_ngram_store_close(a);
    expect_error(&wrong, FR_EIO, "a folder of its own for each pack"); // b has it still
    assert_int_equal(there(b, 0, 100, D), 100);
    assert_int_equal(fr_ngram_store_count(b).found, 150);
    assert_int_equal(fr_ngram_store_count(b).written, 50);
    add(b, 0, 100, D);
    assert_int_equal(fr_ngram_store_count(b).written, 50);
    assert_int_equal(fr_ngram_store_count(b).known, 100);
    fr_ngram_store_close(b);
    fr_ngram_store_close(NULL);
    a = open_store(&wrong); // now that nobody has it open
    assert_true(fr_ngram_store_count(a).rebuilt);
    fr_ngram_store_close(a);
    place_end(&p);
}

typedef struct session {
    const fr_ngram_store_options *options;
    pthread_t thread;
    int from, wrong;
} session;

// No assertions here: they are for the main thread alone.
static void *be_session(void *arg) {
    session *me = arg;
    float v[D];
    for (int round = 0; round < 5; round++) { // opens and closes while others are at work
        fr_ngram_store *s = NULL;
        if (fr_ngram_store_open(&s, me->options, NULL)) {
            me->wrong++;
            return NULL;
        }
        for (int i = 0; i < 200; i++) {
            const fr_ngram key = ngram_key((me->from + i * 7) % 500);
            if (fr_ngram_store_get(s, &key, v)) {
                me->wrong += !ngram_is_right(&key, v, D);
            } else {
                ngram_vector(&key, v, D);
                fr_ngram_store_wait_add(s, &key, v);
            }
        }
        fr_ngram_store_sync(s);
        const fr_ngram key = ngram_key(me->from % 500);
        me->wrong += !fr_ngram_store_get(s, &key, v);
        me->wrong += *fr_ngram_store_count(s).trouble != 0;
        fr_ngram_store_close(s);
    }
    return NULL;
}

static void threads_share_a_store(void **state) {
    (void)state;
    enum { SESSIONS = 4 };
    session all[SESSIONS];
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    for (int i = 0; i < SESSIONS; i++) {
        all[i] = (session){.options = &o, .from = 60 * i};
        assert_int_equal(pthread_create(&all[i].thread, NULL, be_session, &all[i]), 0);
    }
    for (int i = 0; i < SESSIONS; i++) {
        pthread_join(all[i].thread, NULL);
        assert_int_equal(all[i].wrong, 0);
    }
    place_end(&p);
}

static void a_limit_stops_the_adding_alone(void **state) {
    (void)state;
    enum { WIDE = 256 };
    place p;
    place_begin(&p);
    fr_ngram_store_options o = ngram_options(&p, WIDE);
    o.limit = FR_NGRAM_STORE_LEAST;
    fr_ngram_store *s = open_store(&o);
    add(s, 0, N, WIDE);
    fr_ngram_store_counts c = fr_ngram_store_count(s);
    assert_int_equal(c.written + c.dropped, N);
    assert_true(c.dropped > N / 2); // 3000 of 1 KB do not fit into 1 MB,
    assert_true(c.written > 400);   // but a good part of a thousand does
    assert_non_null(strstr(c.trouble, "full"));
    assert_int_equal(there(s, 0, N, WIDE), (int)c.written);
    fr_ngram_store_close(s);
    struct stat file;
    assert_int_equal(stat(p.file, &file), 0);
    assert_in_range(file.st_size, FR_NGRAM_STORE_LEAST - 65536, FR_NGRAM_STORE_LEAST);

    s = open_store(&o);
    assert_false(fr_ngram_store_count(s).rebuilt);
    assert_int_equal(there(s, 0, N, WIDE), (int)c.written);
    fr_ngram_store_close(s);
    o.limit *= 8; // a higher limit makes room
    s = open_store(&o);
    add(s, 0, N, WIDE);
    assert_int_equal(there(s, 0, N, WIDE), N);
    fr_ngram_store_close(s);
    o.limit = FR_NGRAM_STORE_LEAST; // a lower one than what is there: it stays, nothing is added
    s = open_store(&o);
    add(s, N, N + 10, WIDE);
    assert_int_equal(there(s, 0, N + 10, WIDE), N);
    assert_int_equal(fr_ngram_store_count(s).dropped, 10);
    fr_ngram_store_close(s);
    place_end(&p);
}

static void what_cannot_be_written_is_an_error(void **state) {
    (void)state;
    place p;
    char path[128];
    place_begin(&p);
    fr_ngram_store_options o = ngram_options(&p, D);
    bytes_write(p.file, (const uint8_t *)"x", 1);
    o.folder = p.file;
    expect_error(&o, FR_EIO, p.file); // a file in the place of the folder
    snprintf(path, sizeof path, "%s/below/it", p.file);
    o.folder = path;
    expect_error(&o, FR_EIO, p.file);
    unlink(p.file);
    o.folder = "/proc/forerun/ngrams";
    expect_error(&o, FR_EIO, "/proc/forerun");
    assert_int_equal(mkdir(p.file, 0777), 0); // a folder in the place of the file
    o.folder = p.folder;
    expect_error(&o, FR_EIO, p.file);
    rmdir(p.file);
    o.limit = 1000;
    expect_error(&o, FR_EARG, "1000");
    o.limit = (size_t)1 << 62; // more addresses than there are, of which it asks for none
    fr_ngram_store_close(open_store(&o));
    assert_int_equal(unlink(p.file), 0);
    assert_int_equal(symlink("elsewhere", p.file), 0);
    expect_error(&o, FR_EIO, p.file);
    assert_int_equal(unlink(p.file), 0);
    o.limit = 64 << 20;
    snprintf(path, sizeof path, "%s/some/more", p.folder);
    o.folder = path;
    fr_ngram_store_close(open_store(&o)); // folders that are missing are made
    snprintf(path, sizeof path, "%s/some/more/ngrams.db", p.folder);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/some/more", p.folder);
    assert_int_equal(rmdir(path), 0);
    *strrchr(path, '/') = 0;
    assert_int_equal(rmdir(path), 0);
    place_end(&p);
}

static void take(void *arg, const fr_ngram *keys, const float *vectors, int n) {
    (void)keys, (void)vectors;
    *(int *)arg += n;
}

static void the_check_of_a_writer_finds_damage(void **state) {
    (void)state;
    fr_ngram_writer w;
    fr_error err;
    int taken = 0;
    const float vector[4] = {0};
    const fr_ngram key = ngram_key(1);
    assert_int_equal(fr_ngram_writer_open(&w, 4, take, &taken, &err), FR_OK);
    pthread_mutex_lock(&w.lock);
    assert_noticed(w.n, -1, fr_ngram_writer_is_sound(&w));
    assert_noticed(w.n, w.room + 1, fr_ngram_writer_is_sound(&w));
    assert_noticed(w.n, 1, fr_ngram_writer_is_sound(&w)); // nothing was added
    assert_noticed(w.first, w.room, fr_ngram_writer_is_sound(&w));
    assert_noticed(w.done, 1, fr_ngram_writer_is_sound(&w));
    assert_noticed(w.wanted, 1, fr_ngram_writer_is_sound(&w));
    pthread_mutex_unlock(&w.lock);
    assert_true(fr_ngram_writer_add(&w, &key, vector));
    fr_ngram_writer_close(&w);
    assert_int_equal(taken, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_survive_reopening),
        cmocka_unit_test(only_its_owner_reads_a_new_store),
        cmocka_unit_test(what_is_queued_is_committed_by_close),
        cmocka_unit_test(a_full_queue_drops_and_counts),
        cmocka_unit_test(another_kind_begins_anew),
        cmocka_unit_test(handles_of_one_process_share_a_store),
        cmocka_unit_test(threads_share_a_store),
        cmocka_unit_test(a_limit_stops_the_adding_alone),
        cmocka_unit_test(what_cannot_be_written_is_an_error),
        cmocka_unit_test(the_check_of_a_writer_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
