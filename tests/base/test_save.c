// Whole files: what killed writers leave, and who may write.
#define _GNU_SOURCE
#include "base/file_id.h"
#include "base/lock.h"
#include "base/save.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static int set_up(void **state) {
    (void)state;
    strcpy(folder, "save-XXXXXX");
    return mkdtemp(folder) && !chdir(folder) ? 0 : 1;
}

static int tear_down(void **state) {
    char line[96];
    (void)state;
    snprintf(line, sizeof line, "rm -rf %s", folder);
    return chdir("..") || system(line);
}

static void put(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static bool there(const char *path) {
    return !access(path, F_OK);
}

static const char *text_of(const char *path) {
    static char text[256];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

// A process that does `what` and then waits to be killed; returns when it has done it.
static pid_t other(void (*what)(void)) {
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    if (!pid) {
        if (what) what();
        if (write(ready[1], "x", 1) != 1) _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]); // else a child that ends would be waited for
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void end(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void begin_out(void) {
    static fr_saving s;
    fr_error err;
    if (fr_save_begin(&s, "out", &err) || !fr_write_all(s.fd, "half", 4)) _exit(1);
}

static void a_killed_writer_leaves_nothing_for_long(void **state) {
    char part[64];
    (void)state;
    assert_int_equal(fr_save("out", "old", 3, NULL), FR_OK);
    const pid_t pid = other(begin_out);
    snprintf(part, sizeof part, "out.%ld.part", (long)pid);
    assert_true(there(part));
    assert_int_equal(fr_save("out", "new", 3, NULL), FR_OK);
    assert_true(there(part)); // it is alive
    assert_string_equal(text_of(part), "half");
    end(pid);
    assert_true(there(part));
    assert_int_equal(fr_save("else", "x", 1, NULL), FR_OK);
    assert_true(there(part)); // of another output
    assert_int_equal(fr_save("out", "newer", 5, NULL), FR_OK);
    assert_false(there(part));
    assert_string_equal(text_of("out"), "newer");
}

static void a_link_stays_one(void **state) {
    struct stat s;
    (void)state;
    assert_int_equal(mkdir("far", 0777), 0);
    assert_int_equal(symlink("far/one", "link"), 0); // to nothing yet
    assert_int_equal(symlink("link", "second"), 0);
    assert_int_equal(symlink("round", "round"), 0);
    assert_int_equal(fr_save("second", "first", 5, NULL), FR_OK);
    assert_string_equal(text_of("far/one"), "first");
    assert_int_equal(fr_save("link", "again", 5, NULL), FR_OK);
    assert_string_equal(text_of("far/one"), "again");
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(lstat(i ? "link" : "second", &s), 0);
        assert_true(S_ISLNK(s.st_mode));
    }
    assert_int_equal(fr_save("round", "x", 1, NULL), FR_EIO);
}

static void what_is_replaced_gives_its_permissions(void **state) {
    struct stat s;
    (void)state;
    put("private", "old");
    assert_int_equal(chmod("private", 0640), 0);
    assert_int_equal(fr_save("private", "new", 3, NULL), FR_OK);
    assert_int_equal(stat("private", &s), 0);
    assert_int_equal(s.st_mode & 0777, 0640);
    assert_string_equal(text_of("private"), "new");
}

// As two threads of a process have it that keep the same profile.
static void two_may_write_the_same(void **state) {
    fr_saving one, two, three;
    fr_error err;
    (void)state;
    assert_int_equal(fr_save_begin(&one, "both", &err), FR_OK);
    assert_int_equal(fr_save_begin(&two, "both", &err), FR_OK);
    assert_int_equal(fr_save_begin(&three, "both", &err), FR_OK);
    assert_true(fr_write_all(one.fd, "one", 3) && fr_write_all(two.fd, "second", 6));
    assert_int_equal(fr_save_finish(&two, &err), FR_OK);
    assert_string_equal(text_of("both"), "second");
    assert_int_equal(fr_save_finish(&one, &err), FR_OK);
    assert_string_equal(text_of("both"), "one");
    fr_save_drop(&three);
    assert_false(there(one.part) || there(two.part) || there(three.part));
}

static void only_parts_of_dead_processes_are_removed(void **state) {
    char dead[64], second[64], own[64], alive[64], others[64], locked[64];
    (void)state;
    const pid_t gone = other(NULL), lives = other(NULL), late = other(NULL);
    end(gone);
    snprintf(dead, sizeof dead, "a.%ld.part", (long)gone);
    snprintf(second, sizeof second, "a.%ld-2.part", (long)gone);
    snprintf(own, sizeof own, "a.%ld.part", (long)getpid()); // by the last one of this number
    snprintf(alive, sizeof alive, "a.%ld.part", (long)lives);
    snprintf(others, sizeof others, "aa.%ld.part", (long)gone);
    snprintf(locked, sizeof locked, "a.%ld.part", (long)late);
    end(late);
    const char *kept[] = {alive, others, locked, "a.part", "a.x.part", "a.1x.part", "a..part"};
    put(dead, "");
    put(second, "");
    put(own, "");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        put(kept[i], "");
    const int fd = open(locked, O_RDWR);
    assert_int_equal(flock(fd, LOCK_EX), 0); // as a process of another container holds it
    fr_save_sweep("a");
    assert_false(there(dead) || there(second));
    assert_false(there(own));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (!there(kept[i])) fail_msg("%s was removed", kept[i]);
    close(fd);
    end(lives);
    fr_save_sweep("./a");
    assert_false(there(alive));
    assert_false(there(locked));
}

static void take_out(void) {
    static fr_lock l;
    fr_error err;
    if (fr_lock_take(&l, "out", &err)) _exit(1);
}

static void a_lock_names_its_process_and_ends_with_it(void **state) {
    fr_lock l = {0};
    fr_error err;
    char named[32];
    (void)state;
    put("out", "x");
    assert_int_equal(symlink("out", "name"), 0);
    const pid_t pid = other(take_out);
    snprintf(named, sizeof named, "process %ld ", (long)pid);
    assert_int_equal(fr_lock_take(&l, "out", &err), FR_EIO);
    assert_non_null(strstr(err.text, named));
    assert_int_equal(fr_lock_take(&l, "name", &err), FR_EIO); // another name of it
    assert_non_null(strstr(err.text, named));
    assert_int_equal(fr_lock_take(&l, "else", &err), FR_OK);
    fr_lock_drop(&l);
    assert_false(there("else.lock"));
    end(pid);
    assert_true(there("out.lock"));
    assert_int_equal(fr_lock_take(&l, "./out", &err), FR_OK);
    fr_lock_drop(&l);
    assert_false(there("out.lock"));
    fr_lock_drop(&l);
}

// Takes the lock as a program does that is stopped before it has written its number.
static void take_slowly(void) {
    const int fd = open("slow.lock", O_RDWR | O_CREAT, 0666);
    if (fd < 0 || flock(fd, LOCK_EX)) _exit(1);
    if (!fork()) { // it is the child's lock as well; what it says is the parent's
        usleep(5000);
        if (dprintf(fd, "forerun %ld\n", (long)getppid()) < 0) _exit(1);
        _exit(0);
    }
}

static void an_owner_that_has_just_come_is_named(void **state) {
    fr_lock l = {0};
    fr_error err;
    char named[32];
    (void)state;
    const pid_t pid = other(take_slowly);
    snprintf(named, sizeof named, "process %ld ", (long)pid);
    assert_int_equal(fr_lock_take(&l, "slow", &err), FR_EIO);
    assert_non_null(strstr(err.text, named));
    end(pid);
}

static void somebody_elses_lock_file_is_not_touched(void **state) {
    fr_lock l = {0};
    fr_error err;
    (void)state;
    put("mine.lock", "combination 12-34-56");
    assert_int_equal(fr_lock_take(&l, "mine", &err), FR_EIO);
    assert_non_null(strstr(err.text, "mine.lock"));
    assert_string_equal(text_of("mine.lock"), "combination 12-34-56");
    assert_int_equal(fr_lock_take(&l, "no/such/folder", &err), FR_EIO);
    assert_int_equal(mkdir("shards", 0777), 0);
    assert_int_equal(fr_lock_take(&l, "shards/", &err), FR_OK);
    assert_true(there("shards.lock"));
    fr_lock_drop(&l);
}

static void one_file_has_one_identity(void **state) {
    (void)state;
    put("file", "x");
    put("twin", "x");
    assert_int_equal(link("file", "hard"), 0);
    assert_int_equal(symlink("file", "soft"), 0);
    assert_int_equal(mkdir("dir", 0777), 0);
    static const char *const same[][2] = {
        {"file", "./file"}, {"file", "hard"},        {"soft", "hard"},  {"dir", "dir/"},
        {"none", "./none"}, {"none", "dir/../none"}, {"none/", "none"}, {"no/where", "no/where"}};
    static const char *const not [][2] = {
        {"file", "twin"}, {"file", "dir"}, {"none", "dir/none"}, {"none", "nine"}, {"dir", "."}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (!fr_same_file(same[i][0], same[i][1])) fail_msg("%s, %s", same[i][0], same[i][1]);
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
        if (fr_same_file(not [i][0], not [i][1])) fail_msg("%s, %s", not [i][0], not [i][1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_killed_writer_leaves_nothing_for_long),
                                       cmocka_unit_test(a_link_stays_one),
                                       cmocka_unit_test(what_is_replaced_gives_its_permissions),
                                       cmocka_unit_test(two_may_write_the_same),
                                       cmocka_unit_test(only_parts_of_dead_processes_are_removed),
                                       cmocka_unit_test(a_lock_names_its_process_and_ends_with_it),
                                       cmocka_unit_test(an_owner_that_has_just_come_is_named),
                                       cmocka_unit_test(somebody_elses_lock_file_is_not_touched),
                                       cmocka_unit_test(one_file_has_one_identity)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
