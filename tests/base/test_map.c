// A whole file in memory, also where the system cannot map it.
#include "base/map.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void a_file_is_mapped_whole(void **state) {
    (void)state;
    static const char text[] = "what is in it";
    char path[] = "map_XXXXXX";
    const int fd = mkstemp(path);
    fr_error err;
    fr_map m;
    assert_int_equal(write(fd, text, sizeof text), sizeof text);
    assert_int_equal(fr_map_open(&m, path, &err), FR_OK);
    assert_int_equal(m.bytes, sizeof text);
    assert_false(m.is_copy);
    assert_memory_equal(m.data, text, sizeof text);
    fr_map_release(&m, 0, m.bytes);
    assert_memory_equal(m.data, text, sizeof text);
    fr_map_close(&m);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(fr_map_open(&m, path, &err), FR_OK);
    assert_int_equal(m.bytes, 0);
    assert_non_null(m.data);
    fr_map_close(&m);
    close(fd), unlink(path);
}

// Files below /sys cannot be mapped, and are shorter than their size.
static void a_file_that_cannot_be_mapped_is_read(void **state) {
    (void)state;
    static const char path[] = "/sys/devices/system/cpu/online";
    char text[4096];
    fr_error err;
    fr_map m;
    FILE *f = fopen(path, "r");
    if (!f) skip();
    const size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    if (fr_map_open(&m, path, &err)) fail_msg("%s", err.text);
    assert_int_equal(m.bytes, n);
    assert_memory_equal(m.data, text, n);
    if (m.is_copy) {                    // a container may have a file there that can be mapped
        fr_map_release(&m, 0, m.bytes); // must not drop the pages of a copy
        fr_map_prefetch(&m, 0, m.bytes);
    }
    assert_memory_equal(m.data, text, n);
    fr_map_close(&m);
}

// How much comes out of a pipe or a device is not known.
static void what_has_no_size_is_refused(void **state) {
    (void)state;
    char path[] = "pipe_XXXXXX";
    fr_error err;
    fr_map m;
    assert_non_null(mkdtemp(path));
    assert_int_equal(fr_map_open(&m, path, &err), FR_EIO);
    rmdir(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(fr_map_open(&m, path, &err), FR_EIO);
    assert_non_null(strstr(err.text, "regular file"));
    unlink(path);
    assert_int_equal(fr_map_open(&m, "/dev/zero", &err), FR_EIO);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_file_is_mapped_whole),
                                       cmocka_unit_test(a_file_that_cannot_be_mapped_is_read),
                                       cmocka_unit_test(what_has_no_size_is_refused)};
    return cmocka_run_group_tests_name("base/map", tests, NULL, NULL);
}
