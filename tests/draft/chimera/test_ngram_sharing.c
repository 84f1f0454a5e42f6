// N-gram stores in a world that is not theirs alone: disks that are full, processes that write to
// the same file, and processes that are killed.
#define _GNU_SOURCE // unshare
#include "draft/chimera/ngrams.h"
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>

enum { D = 24, N = 3000 };

// ---------------------------------------------------------------- a full disk

// In a child, as the bound on file sizes stands for a disk that is full: a status to exit with.
static int fill_disk(const fr_ngram_store_options *o, const place *p) {
    const struct rlimit none = {0, RLIM_INFINITY};
    fr_ngram_store *s = open_store(o);
    struct stat file, log;
    add(s, 0, 500, D);
    if (fr_ngram_store_count(s).written != 500) return 1;
    if (stat(p->file, &file) || stat(p->log, &log)) return 1;
    const off_t larger = file.st_size > log.st_size ? file.st_size : log.st_size;
    const struct rlimit bound = {(rlim_t)larger + 20000, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &bound)) return 2;
    for (int i = 500; i < N; i += 100)
        add(s, i, i + 100, D);
    const fr_ngram_store_counts c = fr_ngram_store_count(s);
    if (!c.dropped || c.written + c.dropped != N || !strstr(c.trouble, "written")) return 3;
    if (!strstr(c.trouble, "File too large")) return 7;
    if (there(s, 0, 500, D) != 500 || there(s, 0, N, D) != c.written) return 4;
    fr_ngram_store_close(s);
    if (setrlimit(RLIMIT_FSIZE, &none)) return 5;
    fr_error err = {0};
    fr_ngram_store_options fresh = *o; // begins anew, which a disk without room does not let
    fresh.kind.identity[0] ^= 1;
    fresh.folder = "ngrams-none";
    const bool refused =
        fr_ngram_store_open(&s, &fresh, &err) == FR_EIO && strstr(err.text, "ngrams-none");
    unlink("ngrams-none/ngrams.db");
    rmdir("ngrams-none");
    return refused ? 0 : 6;
}

static void a_full_disk_costs_entries_alone(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    const pid_t child = fork_child();
    if (!child) _exit(fill_disk(&o, &p));
    assert_int_equal(exit_of(child), 0);
    fr_ngram_store *s = open_store(&o);
    assert_false(fr_ngram_store_count(s).rebuilt);
    assert_int_equal(there(s, 0, 500, D), 500);
    add(s, 0, N, D); // there is room again
    assert_int_equal(there(s, 0, N, D), N);
    fr_ngram_store_close(s);
    place_end(&p);
}

enum { NOT_PERMITTED = 77 };

static bool write_line(const char *path, const char *text) {
    const int fd = open(path, O_WRONLY);
    const ssize_t n = (ssize_t)strlen(text);
    const bool done = fd >= 0 && write(fd, text, (size_t)n) == n;
    if (fd >= 0) close(fd);
    return done;
}

// Whether this child may mount: where users may not, it becomes root in a name space of its own.
static bool may_mount(void) {
    char user[32], group[32];
    snprintf(user, sizeof user, "0 %d 1", (int)getuid());
    snprintf(group, sizeof group, "0 %d 1", (int)getgid());
    if (!unshare(CLONE_NEWNS)) return true;
    return !unshare(CLONE_NEWUSER | CLONE_NEWNS) && write_line("/proc/self/setgroups", "deny") &&
           write_line("/proc/self/uid_map", user) && write_line("/proc/self/gid_map", group);
}

// The same on a file system of 1 MB that is mounted for the child alone.
static int fill_small_disk(const fr_ngram_store_options *o) {
    static const char filler[] = "filler";
    static const uint8_t nothing[4096];
    fr_ngram_store *s;
    fr_error err = {0};
    if (!may_mount() || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", o->folder, "tmpfs", 0, "size=1m") || chdir(o->folder))
        return NOT_PERMITTED;
    fr_ngram_store_options here = *o;
    here.folder = ".";
    const int fd = open(filler, O_WRONLY | O_CREAT, 0666);
    while (write(fd, nothing, sizeof nothing) == sizeof nothing)
        ;
    close(fd);
    // Full: an error, and no signal from the index of the log, which is mapped.
    if (fr_ngram_store_open(&s, &here, &err) != FR_EIO || !strstr(err.text, "ngrams.db")) return 1;
    if (!strstr(err.text, "No space left on device")) return 6;
    if (truncate(filler, 200000)) return 2;
    s = open_store(&here);
    for (int i = 0; i < 3 * N; i += 100)
        add(s, i, i + 100, D);
    const fr_ngram_store_counts c = fr_ngram_store_count(s);
    if (!c.written || c.written + c.dropped != 3 * N || !strstr(c.trouble, "written")) return 3;
    if (there(s, 0, 3 * N, D) != c.written) return 4;
    fr_ngram_store_close(s);
    s = open_store(&here); // still full
    if (fr_ngram_store_count(s).rebuilt || there(s, 0, 3 * N, D) != c.written) return 5;
    fr_ngram_store_close(s);
    return 0;
}

static void a_small_disk_costs_entries_alone(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    const pid_t child = fork_child();
    if (!child) _exit(fill_small_disk(&o));
    const int status = exit_of(child);
    place_end(&p);
    if (status == NOT_PERMITTED) {
        print_message("mounting is not permitted here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

// ---------------------------------------------------------------- other processes

// Adds and commits twenty keys after the other and says after each commit how far it is.
static void write_for_ever(const fr_ngram_store_options *o, int from, int out) {
    fr_ngram_store *s = open_store(o);
    for (int i = from;; i += 20) {
        add(s, i, i + 20, D);
        const fr_ngram_store_counts c = fr_ngram_store_count(s);
        const int sure = i + 20;
        if (c.dropped || c.rebuilt || *c.trouble) _exit(1);
        if (write(out, &sure, sizeof sure) != sizeof sure) _exit(0);
    }
}

typedef struct writer {
    pid_t id;
    int in, sure; // what it said last
} writer;

static writer start_writer(const fr_ngram_store_options *o, int from) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    writer w = {.id = fork_child(), .in = ends[0], .sure = from};
    if (!w.id) {
        close(ends[0]);
        write_for_ever(o, from, ends[1]);
    }
    close(ends[1]);
    return w;
}

static bool listen_once(writer *w) {
    return read(w->in, &w->sure, sizeof w->sure) == sizeof w->sure;
}

static void kill_writer(writer *w) {
    int status;
    kill(w->id, SIGKILL);
    while (listen_once(w)) // what it had said before
        ;
    close(w->in);
    assert_int_equal(waitpid(w->id, &status, 0), w->id);
    assert_true(WIFSIGNALED(status)); // and did not end by itself
}

static void what_was_committed_survives_a_kill(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    int sure = 0;
    dice_begin(83);
    for (int round = 0; round < 25; round++) {
        writer w = start_writer(&o, sure);
        for (int n = dice_below(8); n > 0; n--) // some are killed before they have said a word
            assert_true(listen_once(&w));
        usleep((useconds_t)dice_below(8000));
        kill_writer(&w);
        sure = w.sure;
        fr_ngram_store *s = open_store(&o);
        assert_false(fr_ngram_store_count(s).rebuilt);
        assert_int_equal(there(s, 0, sure, D), sure);
        assert_true(there(s, sure, sure + 100, D) >= 0);
        fr_ngram_store_close(s);
    }
    print_message("%d entries after 25 kills\n", sure);
    assert_true(sure > 0);
    place_end(&p);
}

static void two_processes_write_and_one_is_killed(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    int sure = 0;
    dice_begin(89);
    for (int round = 0; round < 8; round++) {
        writer w = start_writer(&o, sure);
        assert_true(listen_once(&w));
        fr_ngram_store *s = open_store(&o); // while it writes
        assert_false(fr_ngram_store_count(s).rebuilt);
        for (int i = 0; i < 10; i++) { // the very keys that it writes too
            add(s, w.sure, w.sure + 30, D);
            assert_int_equal(there(s, sure, w.sure + 30, D), w.sure + 30 - sure);
            if (i == 5) {
                usleep((useconds_t)dice_below(3000));
                kill_writer(&w);
            } else if (i < 5) {
                assert_true(listen_once(&w));
            }
        }
        const fr_ngram_store_counts c = fr_ngram_store_count(s);
        assert_int_equal(c.dropped + c.damaged, 0);
        assert_string_equal(c.trouble, "");
        sure = w.sure;
        assert_int_equal(there(s, 0, sure, D), sure);
        fr_ngram_store_close(s);
    }
    place_end(&p);
}

// A child that does with SQLite itself what no handle does for long: once told to, it holds the
// writer's lock or a reader's place, says so, and waits to be killed.
typedef struct holder {
    pid_t id;
    int go, said;
} holder;

static void hold(const place *p, bool reads, int go, int said) {
    sqlite3 *db;
    char word;
    if (read(go, &word, 1) != 1) _exit(1);
    if (sqlite3_open(p->file, &db)) _exit(2);
    if (sqlite3_exec(db,
                     reads ? "BEGIN; SELECT count(*) FROM vectors"
                           : "BEGIN IMMEDIATE; INSERT INTO vectors VALUES('dead', 'end', 0)",
                     NULL, NULL, NULL))
        _exit(3);
    if (write(said, "x", 1) != 1) _exit(4);
    for (;;)
        pause();
}

static holder start_holder(const place *p, bool reads) {
    int go[2], said[2];
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(said), 0);
    const holder h = {.id = fork_child(), .go = go[1], .said = said[0]};
    if (!h.id) hold(p, reads, go[0], said[1]);
    close(go[0]);
    close(said[1]);
    return h;
}

static void let_hold(const holder *h) {
    char word;
    assert_int_equal(write(h->go, "x", 1), 1);
    assert_int_equal(read(h->said, &word, 1), 1);
}

static void end_holder(const holder *h) {
    kill(h->id, SIGKILL);
    assert_int_equal(waitpid(h->id, NULL, 0), h->id);
    close(h->go);
    close(h->said);
}

static void queue(fr_ngram_store *s, int from, int to) {
    float v[D];
    for (int i = from; i < to; i++) {
        const fr_ngram key = ngram_key(i);
        ngram_vector(&key, v, D);
        fr_ngram_store_add(s, &key, v);
    }
}

static void a_dead_process_holds_nobody_up(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    for (int i = 0; i < 6; i++) {
        const bool reads = i % 2;
        const int from = 60 * i;
        const holder h = start_holder(&p, reads);
        fr_ngram_store *s = open_store(&o);
        assert_false(fr_ngram_store_count(s).rebuilt);
        let_hold(&h);
        queue(s, from, from + 30);
        assert_int_equal(there(s, 0, from, D), from); // a reader never waits for a writer
        if (reads) fr_ngram_store_sync(s);            // nor the other way round
        end_holder(&h);
        fr_ngram_store_sync(s);
        add(s, from + 30, from + 60, D);
        assert_int_equal(there(s, 0, from + 60, D), from + 60);
        assert_string_equal(fr_ngram_store_count(s).trouble, "");
        fr_ngram_store_close(s);
    }
    place_end(&p);
}

static void a_store_in_use_is_not_begun_anew(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    fr_ngram_store_options o = ngram_options(&p, D);
    writer w = start_writer(&o, 0);
    assert_true(listen_once(&w));
    o.kind.identity[5] ^= 1;
    expect_error(&o, FR_EIO, "another process");
    assert_true(listen_once(&w));
    kill_writer(&w);
    fr_ngram_store *s = open_store(&o);
    assert_true(fr_ngram_store_count(s).rebuilt);
    fr_ngram_store_close(s);
    place_end(&p);
}

// Its limit is the higher one.
static void another_process_may_go_beyond_the_limit(void **state) {
    (void)state;
    enum { WIDE = 256 };
    place p;
    place_begin(&p);
    fr_ngram_store_options o = ngram_options(&p, WIDE);
    int go[2];
    char word;
    assert_int_equal(pipe(go), 0);
    const pid_t child = fork_child();
    if (!child) {
        if (read(go[0], &word, 1) != 1) _exit(1);
        fr_ngram_store *s = open_store(&o);
        add(s, 0, N, WIDE);
        const bool all = there(s, 0, N, WIDE) == N;
        fr_ngram_store_close(s);
        _exit(!all);
    }
    o.limit = FR_NGRAM_STORE_LEAST;
    fr_ngram_store *s = open_store(&o);
    add(s, N, N + 5, WIDE);
    assert_int_equal(write(go[1], "x", 1), 1);
    assert_int_equal(exit_of(child), 0);
    assert_int_equal(there(s, 0, N, WIDE), N);
    add(s, N + 5, N + 10, WIDE); // refused
    assert_int_equal(fr_ngram_store_count(s).dropped, 5);
    assert_int_equal(there(s, 0, N + 10, WIDE), N + 5);
    fr_ngram_store_close(s);
    close(go[0]);
    close(go[1]);
    place_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_costs_entries_alone),
        cmocka_unit_test(a_small_disk_costs_entries_alone),
        cmocka_unit_test(what_was_committed_survives_a_kill),
        cmocka_unit_test(two_processes_write_and_one_is_killed),
        cmocka_unit_test(a_dead_process_holds_nobody_up),
        cmocka_unit_test(a_store_in_use_is_not_begun_anew),
        cmocka_unit_test(another_process_may_go_beyond_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
