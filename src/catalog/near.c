// near.c — a name that is not found: where it was looked for, what could be meant.
#define _GNU_SOURCE
#include "base/distance.h"
#include "base/path.h"
#include "catalog/find.h"
#include "catalog/names.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 3, WORD = FR_WORD_MOST };

typedef struct sentence {
    char text[400];
    size_t n;
} sentence;

static void say(sentence *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(s->text + s->n, sizeof s->text - s->n, format, args);
    va_end(args);
    if (n > 0) s->n += (size_t)n < sizeof s->text - s->n ? (size_t)n : sizeof s->text - s->n - 1;
}

// How far an item is from a name (without its tag): 0 where one holds the other, else the distance;
// WORD: they have nothing in common.
static int far(const fr_catalog_item *item, const char *repo) {
    const char *theirs = *item->repo ? item->repo : item->file;
    const char *own = fr_path_name(repo), *last = fr_path_name(theirs);
    if (strlen(own) > 2 && strcasestr(theirs, own)) return 0;
    if (strlen(last) > 2 && strcasestr(own, last)) return 0;
    const int d = fr_word_distance(own, last, WORD, true);
    return d <= 3 && (size_t)d < strlen(own) / 2 + 1 ? d : WORD;
}

// Appends the names of up to MOST items, the nearest first.
static void say_near(sentence *s, const fr_catalog *c, const char *repo) {
    char name[FR_CATALOG_NAME];
    int said = 0;
    for (int d = 0; d <= 3; d++)
        for (size_t i = 0; i < c->n && said < MOST; i++) {
            if (far(&c->item[i], repo) != d) continue;
            fr_catalog_name(c, &c->item[i], name);
            say(s, "%s%.80s", said++ ? ", " : "; near: ", name);
        }
}

fr_status fr_name_has_no(const fr_catalog *c, const char *name, const char *repo, fr_error *err) {
    char other[FR_CATALOG_NAME];
    sentence s = {0};
    int said = 0;
    for (size_t i = 0; i < c->n && said < 2 * MOST; i++) {
        if (!fr_name_same(c->item[i].repo, repo)) continue;
        fr_catalog_name(c, &c->item[i], other);
        say(&s, "%s%.80s", said++ ? ", " : "", other);
    }
    return fr_fail(err, FR_EIO, "%.100s: not among the files of that model here: %s", name, s.text);
}

// A path as short as users write it.
static void say_path(sentence *s, const char *path) {
    const char *home = getenv("HOME");
    const size_t n = home ? strlen(home) : 0;
    if (n > 1 && !strncmp(path, home, n) && path[n] == '/')
        say(s, "~%.90s", path + n);
    else
        say(s, "%.90s", path);
}

fr_status fr_name_unknown(const fr_catalog *c, const char *name, fr_error *err) {
    char repo[PATH_MAX];
    sentence s = {0};
    int there = 0;
    snprintf(repo, sizeof repo, "%.*s", (int)strcspn(name, ":"), name);
    for (int i = 0; i < c->n_folders; i++)
        there += c->folder[i].found;
    // Those that are there; where there is none, all that were looked for.
    for (int i = 0, said = 0; i < c->n_folders; i++) {
        if (there && !c->folder[i].found) continue;
        say(&s, "%s", said++ ? ", " : "");
        say_path(&s, c->folder[i].path);
        if (*c->folder[i].unread) say(&s, " (%s)", strerror(c->folder[i].unread_errno));
    }
    if (!there) say(&s, " (none is there)");
    say_near(&s, c, repo);
    return fr_fail(err, FR_EIO, "%.100s: no such file, and no model of that name in %s", name,
                   s.text);
}
