// page.c — GET / and the files that it loads. A policy header forbids that anything else runs,
// loads or frames the page. The browser caches the files and checks each time whether they have
// changed.
#include "serve/page/page.h"
#include "serve/server.h"
#include <string.h>

// No script or style but these files, no source of markup but the page's own; data: is its icon.
static const char POLICY[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

static const char *type_of(const char *name) {
    const char *end = strrchr(name, '.');
    if (!strcmp(end, ".html")) return "text/html; charset=utf-8";
    return !strcmp(end, ".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8";
}

static const fr_page_file *find(const char *path) {
    static const char folder[] = "/page/";
    const bool whole = !path[1];
    const char *name = whole ? "page.html" : path + sizeof folder - 1;
    for (const fr_page_file *f = fr_page_files; f->name; f++)
        if (!strcmp(f->name, name) && whole == !strcmp(name, "page.html")) return f;
    return NULL;
}

// Whether the browser has these bytes; a weak tag (W/"...") holds them too.
static bool is_known(fr_exchange *x, const fr_page_file *f) {
    const char *has = fr_exchange_header(x, "If-None-Match");
    return has && strstr(has, f->tag);
}

void fr_handle_page(fr_exchange *x, void *server) {
    const fr_server *s = server;
    const fr_page_file *f = s->page ? find(fr_exchange_path(x)) : NULL;
    if (!f) {
        fr_exchange_fail(x, 404, "not_found_error", "File Not Found");
        return;
    }
    fr_exchange_set(x, "ETag", f->tag);
    fr_exchange_set(x, "Cache-Control", "no-cache");
    fr_exchange_set(x, "Content-Security-Policy", POLICY);
    fr_exchange_set(x, "X-Content-Type-Options", "nosniff");
    fr_exchange_set(x, "Referrer-Policy", "no-referrer");
    fr_exchange_set(x, "Cross-Origin-Opener-Policy", "same-origin");
    fr_exchange_set(x, "Cross-Origin-Resource-Policy", "same-origin");
    if (is_known(x, f))
        fr_exchange_reply(x, 304, NULL, "", 0);
    else
        fr_exchange_reply(x, 200, type_of(f->name), f->data, f->bytes);
}
