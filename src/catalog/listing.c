#define _GNU_SOURCE
#include "catalog/listing.h"
#include "base/alloc.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Adds type, name and NUL of every entry.
static fr_status read_entries(fr_listing *l, DIR *d, fr_error *err) {
    fr_status st = FR_OK;
    for (const struct dirent *e; !st && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        st = fr_buffer_add(&l->text, &e->d_type, 1, err);
        if (!st) st = fr_buffer_add(&l->text, e->d_name, strlen(e->d_name) + 1, err);
        l->n += !st;
    }
    return st;
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

fr_status fr_listing_read(fr_listing *l, const char *folder, int *unread, fr_error *err) {
    *l = (fr_listing){0};
    errno = 0;
    DIR *d = opendir(folder);
    *unread = d ? 0 : errno;
    if (!d) return FR_OK;
    fr_status st = read_entries(l, d, err);
    closedir(d);
    l->name = st ? NULL : fr_alloc_array(l->n + 1, sizeof *l->name);
    if (!st && !l->name) st = fr_fail(err, FR_ENOMEM, "%.200s: no memory for its names", folder);
    for (size_t i = 0, at = 0; i < l->n && !st; i++) {
        l->name[i] = l->text.data + at + 1;
        at += strlen(l->name[i]) + 2;
    }
    if (!st && l->n) qsort(l->name, l->n, sizeof *l->name, by_bytes);
    if (st) fr_listing_free(l);
    return st;
}

void fr_listing_free(fr_listing *l) {
    fr_free(l->name);
    fr_buffer_free(&l->text);
    *l = (fr_listing){0};
}
