// Files of n-gram stores that are damaged in every way: opening them crashes nobody, and every
// vector that they still give is the right one.
#define _GNU_SOURCE // memmem
#include "draft/chimera/ngrams.h"
#include "support/quick.h"
#include <signal.h>
#include <sqlite3.h>

enum { D = 24, PAGE = 8192 };

// Opens what was damaged: all that it gives must be right, before and after more is added, and the
// result must be sound.
static int survive(const fr_ngram_store_options *o, int n, int *rebuilt) {
    const int d = o->kind.d;
    fr_ngram_store *s = open_store(o);
    const fr_ngram_store_counts c = fr_ngram_store_count(s);
    const int left = there(s, 0, n, d);
    assert_true(left >= 0);
    if (c.rebuilt) {
        assert_int_equal(left, 0);
        assert_string_not_equal(c.trouble, "");
    }
    *rebuilt += c.rebuilt;
    add(s, n - 40, n + 40, d);
    assert_int_equal(there(s, n - 40, n + 40, d), 80);
    assert_true(there(s, 0, n, d) >= left);
    assert_int_equal(fr_ngram_store_count(s).damaged, 0);
    fr_ngram_store_close(s);
    s = open_store(o);
    assert_false(fr_ngram_store_count(s).rebuilt);
    assert_int_equal(there(s, n - 40, n + 40, d), 80);
    fr_ngram_store_close(s);
    return left;
}

static void do_damage(bytes *b, int how) {
    const size_t at = (size_t)dice_bits() % b->n, page = at & ~(size_t)(PAGE - 1);
    const size_t run = b->n - page < PAGE ? b->n - page : PAGE;
    switch (how) {
    case 0: // a bit
        b->data[at] ^= (uint8_t)(1 << dice_below(8));
        break;
    case 1: // a byte where pages say what they are and where their nodes lie
        b->data[page + (size_t)dice_below((int)(run < 200 ? run : 200))] = (uint8_t)dice_bits();
        break;
    case 2: // a page of noise
        for (size_t i = 0; i < run; i++)
            b->data[page + i] = (uint8_t)dice_bits();
        break;
    case 3: // a page of nothing
        memset(b->data + page, 0, run);
        break;
    case 4: // a page in the place of another
        memcpy(b->data + page, b->data + ((size_t)dice_bits() % (b->n / PAGE)) * PAGE, run);
        break;
    case 5: // cut
        b->n = at;
        break;
    case 6: // a byte of the first pages
        b->data[at % (2 * PAGE) % b->n] ^= (uint8_t)(1 + dice_below(255));
        break;
    }
}

static void no_damage_is_believed(void **state) {
    (void)state;
    enum { KINDS = 7 };
    const int rounds = fr_test_is_quick() ? 6 : 40;
    dice_begin(73);
    for (int wide = 0; wide < 2; wide++) {
        const int d = wide ? 600 : D, n = wide ? 200 : 2000;
        place p;
        place_begin(&p);
        const fr_ngram_store_options o = ngram_options(&p, d);
        fr_ngram_store *s = open_store(&o);
        for (int i = 0; i < n; i += 50) // many commits
            add(s, i, i + 50, d);
        fr_ngram_store_close(s);
        const bytes whole = bytes_read(p.file);
        int rebuilt[KINDS] = {0};
        for (int i = 0; i < KINDS * rounds; i++) {
            bytes b = {malloc(whole.n), whole.n};
            memcpy(b.data, whole.data, whole.n);
            do_damage(&b, i % KINDS);
            bytes_write(p.file, b.data, b.n);
            const int before = rebuilt[i % KINDS], left = survive(&o, n, &rebuilt[i % KINDS]);
            if (rebuilt[i % KINDS] == before) assert_int_equal(left, n); // not put aside: whole
            free(b.data);
        }
        for (int i = 0; i < KINDS; i++)
            print_message("d %d, damage %d: %d of %d begun anew\n", d, i, rebuilt[i], rounds);
        assert_true(rebuilt[2] >= rounds / 4 && rebuilt[5] >= rounds / 2);
        free(whole.data);
        place_end(&p);
    }
}

static void poke(const char *path, size_t at, uint8_t value) {
    const int fd = open(path, O_WRONLY);
    assert_true(fd >= 0 && pwrite(fd, &value, 1, (off_t)at) == 1);
    close(fd);
}

// Whether a byte and its neighbours say nothing.
static bool in_a_hole(const bytes *b, size_t at) {
    for (size_t i = at < 32 ? 0 : at - 32; i < b->n && i < at + 32; i++)
        if (b->data[i]) return false;
    return true;
}

// Each byte of the file wrong in turn (each fifth of holes): the store is begun anew, or gives all
// that was in it.
static void every_byte_is_noticed_or_of_no_use(void **state) {
    (void)state;
    enum { N = 12, ENTRY = (NGRAM_N + D) * 4 + 8 }; // tokens, floats and their sum
    const size_t step = fr_test_is_quick() ? 7 : 1;
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    fr_ngram_store *s = open_store(&o);
    add(s, 0, N, D);
    fr_ngram_store_close(s);
    const bytes whole = bytes_read(p.file);
    int rebuilt = 0;
    for (size_t at = 0; at < whole.n; at += step) {
        if (at % 5 && in_a_hole(&whole, at)) continue;
        poke(p.file, at, whole.data[at] ^ 0x41);
        s = open_store(&o);
        const bool anew = fr_ngram_store_count(s).rebuilt;
        const int left = there(s, 0, N, D);
        fr_ngram_store_close(s);
        if (left != (anew ? 0 : N)) fail_msg("byte %zu: %d of %d are there", at, left, N);
        rebuilt += anew;
        if (anew)
            bytes_write(p.file, whole.data, whole.n);
        else
            poke(p.file, at, whole.data[at]);
    }
    print_message("%zu bytes, %d times begun anew\n", whole.n, rebuilt);
    assert_true((size_t)rebuilt >= N * ENTRY / step);
    free(whole.data);
    place_end(&p);
}

// Numbers that a reader would follow: each one wrong on its own, in every page of a tree.
static void every_number_of_a_page_is_checked(void **state) {
    (void)state;
    enum { LEAF = 8, INNER = 12, INDEX = 10, TABLE = 13 }; // header bytes; kinds of pages
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    fr_ngram_store *s = open_store(&o);
    for (int i = 0; i < 800; i += 20)
        add(s, i, i + 20, D);
    fr_ngram_store_close(s);
    const bytes whole = bytes_read(p.file);
    int pages = 0, leaves = 0;
    for (size_t page = 0; page < whole.n; page += PAGE, pages++) {
        const size_t head = page ? page : 100;
        const bool leaf = whole.data[head] == INDEX || whole.data[head] == TABLE;
        assert_true(leaf || whole.data[head] == INDEX - 8 || whole.data[head] == TABLE - 8);
        leaves += leaf;
        // Kind, first hole, nodes, where they begin, bytes between them, the last child; the offset
        // of the first node.
        for (size_t at = 0; at < (leaf ? LEAF : INNER) + 2; at++) {
            int rebuilt = 0;
            whole.data[head + at] ^= 0x11;
            bytes_write(p.file, whole.data, whole.n);
            whole.data[head + at] ^= 0x11;
            survive(&o, 800, &rebuilt);
            if (!rebuilt) fail_msg("page %d, byte %zu", pages, at);
        }
    }
    print_message("%d pages, %d of them leaves\n", pages, leaves);
    assert_true(leaves > 10 && leaves < pages);
    free(whole.data);
    place_end(&p);
}

static void put_number(uint8_t *at, uint32_t number) {
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(number >> (24 - 8 * i));
}

// The list of free pages is well formed and every value can be read; the next writer would take the
// root of all values for a page to write to.
static void a_page_both_free_and_in_use_is_seen(void **state) {
    (void)state;
    enum { ALL = 28, FIRST_FREE = 32, N_FREE = 36, VALUE_ROOT = 2 }; // of the file's head
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    fr_ngram_store *s = open_store(&o);
    for (int i = 0; i < 400; i += 20)
        add(s, i, i + 20, D);
    fr_ngram_store_close(s);
    for (int round = 0; round < 2; round++) { // first only that it is found: a list of no pages
        bytes b = bytes_read(p.file);
        const uint32_t n = (uint32_t)(b.n / PAGE);
        uint8_t *data = calloc(b.n + PAGE, 1), *list = data + b.n;
        memcpy(data, b.data, b.n);
        put_number(data + ALL, n + 1);
        put_number(data + FIRST_FREE, n + 1);
        put_number(data + N_FREE, round ? 2 : 1);
        if (round) {
            put_number(list + 4, 1); // behind the number of the next list
            put_number(list + 8, VALUE_ROOT);
        }
        bytes_write(p.file, data, b.n + PAGE);
        s = open_store(&o);
        assert_int_equal(fr_ngram_store_count(s).rebuilt, round);
        assert_int_equal(there(s, 0, 400, D), round ? 0 : 400);
        fr_ngram_store_close(s);
        bytes_write(p.file, b.data, b.n);
        free(data);
        free(b.data);
    }
    place_end(&p);
}

// What a killed process leaves: the values of its commits lie in the log.
static void no_damage_of_a_log_is_believed(void **state) {
    (void)state;
    enum { N = 300 };
    const int rounds = fr_test_is_quick() ? 20 : 150;
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    const pid_t child = fork_child();
    if (!child) {
        fr_ngram_store *s = open_store(&o);
        for (int i = 0; i < N; i += 20)
            add(s, i, i + 20, D);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    const bytes file = bytes_read(p.file), log = bytes_read(p.log), index = bytes_read(p.index);
    assert_true(log.n > 20 * PAGE);
    int all = 0, none = 0, rebuilt = 0;
    dice_begin(107);
    for (int i = 0; i < rounds; i++) {
        bytes b = {malloc(log.n), log.n};
        memcpy(b.data, log.data, log.n);
        if (i) do_damage(&b, i % 7);
        bytes_write(p.file, file.data, file.n);
        bytes_write(p.log, b.data, b.n);
        bytes_write(p.index, index.data, index.n);
        const int left = survive(&o, N, &rebuilt);
        if (!i) assert_int_equal(left, N);
        assert_int_equal(left % 20, 0); // whole commits
        all += left == N;
        none += !left;
        free(b.data);
    }
    print_message("%d logs: all in %d, none in %d, %d begun anew\n", rounds, all, none, rebuilt);
    assert_true(all + none < rounds);
    free(file.data);
    free(log.data);
    free(index.data);
    place_end(&p);
}

// Of a kind that is not ours, and whole: nothing in it is run, and it is still there afterwards.
static void a_foreign_database_is_put_aside(void **state) {
    (void)state;
    static const char *const foreign[] = {
        "CREATE TABLE notes(text); INSERT INTO notes VALUES('mine')",
        "CREATE TABLE vectors(key BLOB PRIMARY KEY, vector BLOB, sum INTEGER)",
        "CREATE VIEW vectors AS SELECT 1 AS key, 2 AS vector, 3 AS sum",
        "PRAGMA journal_mode=WAL; CREATE TABLE t(x CHECK(load_extension('x')))",
        "PRAGMA encoding='UTF-16'; CREATE TABLE vectors(key, vector, sum)",
    };
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        sqlite3 *db;
        int rebuilt = 0;
        unlink(p.file);
        assert_int_equal(sqlite3_open(p.file, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, foreign[i], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        bytes before = bytes_read(p.file);
        before.data[18] = before.data[19] = 2; // it has a log now
        survive(&o, 100, &rebuilt);
        assert_int_equal(rebuilt, 1);
        const bytes after = bytes_read(p.aside); // the last one alone
        assert_int_equal(after.n, before.n);
        // All but the head's counts of changes.
        assert_memory_equal(after.data + 100, before.data + 100, before.n - 100);
        free(before.data);
        free(after.data);
    }
    // One that uses the very schema has to have right sums besides.
    sqlite3 *db;
    int rebuilt = 0;
    assert_int_equal(sqlite3_open(p.file, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "UPDATE vectors SET sum = sum + 1 WHERE rowid = 3", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    survive(&o, 100, &rebuilt);
    assert_int_equal(rebuilt, 1);
    place_end(&p);
}

static void garbage_is_a_new_store(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    dice_begin(79);
    for (int i = 0; i < 40; i++) {
        static uint8_t noise[65536];
        const size_t n = i < 3 ? (size_t)i : (size_t)dice_below(sizeof noise);
        int rebuilt = 0;
        for (size_t k = 0; k < n; k++)
            noise[k] = i % 2 ? (uint8_t)dice_bits() : 0;
        bytes_write(p.file, noise, n);
        bytes_write(p.log, noise, (size_t)dice_below(sizeof noise)); // SQLite's other files too
        bytes_write(p.index, noise, (size_t)dice_below(sizeof noise));
        survive(&o, 100, &rebuilt);
        assert_int_equal(rebuilt, n > 1); // to SQLite one byte is no file yet
    }
    place_end(&p);
}

static void a_value_that_rots_while_open_is_not_returned(void **state) {
    (void)state;
    place p;
    float v[D];
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    fr_ngram_store *s = open_store(&o);
    add(s, 0, 10, D);
    fr_ngram_store_close(s); // from the log into the file
    s = open_store(&o);
    const bytes b = bytes_read(p.file);
    const fr_ngram key = ngram_key(4);
    ngram_vector(&key, v, D);
    const uint8_t *at = memmem(b.data, b.n, v, sizeof v);
    assert_non_null(at);
    const int fd = open(p.file, O_WRONLY);
    for (; at; at = memmem(at + 1, b.n - (size_t)(at + 1 - b.data), v, sizeof v)) {
        const uint8_t wrong = at[9] ^ 4;
        assert_int_equal(pwrite(fd, &wrong, 1, at + 9 - b.data), 1);
    }
    close(fd);
    assert_int_equal(there(s, 0, 4, D), 4);
    assert_false(fr_ngram_store_get(s, &key, v));
    assert_int_equal(there(s, 0, 10, D), 0); // nor are its neighbours trusted
    add(s, 10, 20, D);
    const fr_ngram_store_counts c = fr_ngram_store_count(s);
    assert_int_equal(c.damaged, 1);
    assert_int_equal(c.dropped, 10);
    assert_non_null(strstr(c.trouble, "damaged"));
    fr_ngram_store_close(s);
    int rebuilt = 0;
    survive(&o, 100, &rebuilt);
    assert_int_equal(rebuilt, 1);
    free(b.data);
    place_end(&p);
}

static void a_file_that_is_cut_while_open_gives_nothing_wrong(void **state) {
    (void)state;
    enum { WIDE = 512, N = 200 };
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, WIDE);
    fr_ngram_store *s = open_store(&o);
    add(s, 0, N, WIDE);
    fr_ngram_store_close(s);
    for (int pages = 20; pages >= 0; pages -= 5) {
        s = open_store(&o);
        add(s, 0, N, WIDE);
        fr_ngram_store_close(s);
        s = open_store(&o);
        assert_int_equal(truncate(p.file, (off_t)pages * PAGE), 0);
        assert_in_range(there(s, 0, N, WIDE), 0, N - 1);
        add(s, N, N + 20, WIDE);
        assert_true(there(s, 0, N + 20, WIDE) >= 0);
        assert_string_not_equal(fr_ngram_store_count(s).trouble, "");
        fr_ngram_store_close(s);
    }
    int rebuilt = 0;
    survive(&o, N, &rebuilt);
    place_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_damage_is_believed),
        cmocka_unit_test(every_byte_is_noticed_or_of_no_use),
        cmocka_unit_test(every_number_of_a_page_is_checked),
        cmocka_unit_test(a_page_both_free_and_in_use_is_seen),
        cmocka_unit_test(no_damage_of_a_log_is_believed),
        cmocka_unit_test(a_foreign_database_is_put_aside),
        cmocka_unit_test(garbage_is_a_new_store),
        cmocka_unit_test(a_value_that_rots_while_open_is_not_returned),
        cmocka_unit_test(a_file_that_is_cut_while_open_gives_nothing_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
