// spec.c — splits a SPEC at '+' into parts, each a NAME, NAME:FILE or NAME:FILE@DRIVER. Then it
// checks which parts may stand together.
#include "draft/spec.h"
#include "base/file_id.h"
#include "draft/registry.h"
#include <stdio.h>
#include <string.h>

static bool is_auto(const char *name, size_t bytes) {
    return bytes == 4 && !memcmp(name, "auto", 4);
}

// Whether a part can begin here: a drafter's name stands at s.
static bool name_follows(const char *s) {
    const size_t n = strcspn(s, ":+@");
    return fr_drafter_find(s, n) >= 0 || is_auto(s, n);
}

// Where the FILE that begins at s ends.
static size_t file_bytes(const char *s) {
    size_t n = 0;
    while (s[n] && !((s[n] == '+' || s[n] == '@') && name_follows(s + n + 1)))
        n++;
    return n;
}

static fr_status parse_file(fr_spec_part *p, const char **at, fr_error *err) {
    const fr_drafter_method *info = fr_drafter_method_at(p->drafter);
    const bool given = **at == ':';
    const size_t n = given ? file_bytes(++*at) : 0;
    if (given && !*info->file)
        return fr_fail(err, FR_EARG, "drafter %s takes no FILE, found '%.*s'", info->name,
                       n < 80 ? (int)n : 80, *at);
    if (*info->file && !n && (given || !info->pack))
        return fr_fail(err, FR_EARG, "drafter %s: expected %s:FILE, FILE being %s", info->name,
                       info->name, info->file);
    if (n >= sizeof p->file)
        return fr_fail(err, FR_EARG, "drafter %s: a file name of more than %d bytes", info->name,
                       FR_SPEC_FILE - 1);
    memcpy(p->file, *at, n);
    p->file[n] = 0;
    *at += n;
    return FR_OK;
}

static fr_status fail_unknown(const char *name, size_t bytes, fr_error *err) {
    char known[512] = "auto";
    size_t n = strlen(known);
    const fr_drafter_method *info;
    for (int i = 0; (info = fr_drafter_method_at(i)) && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, ", %s%s", info->name,
                              *info->file && !info->pack ? ":FILE" : "");
    return fr_fail(err, FR_EARG, "drafter '%.*s': expected %s or several joined with '+'",
                   bytes < 80 ? (int)bytes : 80, name, known);
}

static fr_status parse_named(fr_spec_part *p, const char **at, fr_error *err) {
    const size_t n = strcspn(*at, ":+@");
    p->drafter = fr_drafter_find(*at, n);
    p->driver[0] = 0;
    if (is_auto(*at, n))
        return fr_fail(
            err, FR_EARG,
            "drafter auto: chooses by itself and stands alone, without a FILE and joined "
            "with nothing; to join drafters, name each of them");
    if (p->drafter < 0) return fail_unknown(*at, n, err);
    *at += n;
    return parse_file(p, at, err);
}

// The text after an '@'.
static fr_status parse_driver(fr_spec_part *p, const char **at, fr_error *err) {
    const char *name = fr_drafter_method_at(p->drafter)->name, *begin = ++*at;
    fr_spec_part driver;
    if (strcmp(name, "draft-model") != 0)
        return fr_fail(err, FR_EARG,
                       "drafter %s: has no model of its own that another could drive; '+' joins "
                       "drafters of the same target",
                       name);
    const fr_status st = parse_named(&driver, at, err);
    const size_t n = (size_t)(*at - begin);
    if (st) return st;
    if (**at == '@' || !strncmp(begin, "none", n) || n >= sizeof p->driver)
        return fr_fail(err, FR_EARG, "drafter %s:FILE@SPEC: expected one drafter, found '%.80s'",
                       name, begin);
    memcpy(p->driver, begin, n);
    p->driver[n] = 0;
    return FR_OK;
}

static fr_status parse_part(fr_spec_part *p, const char **at, fr_error *err) {
    const fr_status st = parse_named(p, at, err);
    return st || **at != '@' ? st : parse_driver(p, at, err);
}

static bool stands_alone(const fr_spec_part *p) {
    return !strcmp(fr_drafter_method_at(p->drafter)->name, "none");
}

// Compares files by what they are: one pack may be given by two paths.
static bool same_driver(const char *a, const char *b) {
    fr_spec_part x, y;
    fr_error unsaid;
    if (!strcmp(a, b)) return true;
    return *a && *b && !parse_named(&x, &a, &unsaid) && !parse_named(&y, &b, &unsaid) &&
           x.drafter == y.drafter && fr_same_file(x.file, y.file);
}

static fr_status check_together(const fr_spec *s, fr_error *err) {
    for (int i = 0; i < s->n && s->n > 1; i++) {
        const char *name = fr_drafter_method_at(s->part[i].drafter)->name;
        if (stands_alone(&s->part[i]))
            return fr_fail(err, FR_EARG, "drafter none: stands alone, nothing can be joined to it");
        for (int k = 0; k < i; k++)
            if (s->part[k].drafter == s->part[i].drafter &&
                fr_same_file(s->part[k].file, s->part[i].file) &&
                same_driver(s->part[k].driver, s->part[i].driver))
                return fr_fail(err, FR_EARG, "drafter %s: given twice", name);
    }
    return FR_OK;
}

fr_status fr_spec_parse(fr_spec *spec, const char *text, fr_error *err) {
    const char *at = text && strcmp(text, "auto") != 0 ? text : FR_DRAFTER_AUTO;
    spec->n = 0;
    for (;; at++) {
        if (spec->n == FR_SPEC_PARTS)
            return fr_fail(err, FR_EARG, "drafter: at most %d parts joined with '+'",
                           FR_SPEC_PARTS);
        const fr_status st = parse_part(&spec->part[spec->n++], &at, err);
        if (st) return st;
        if (*at != '+') return check_together(spec, err);
    }
}
