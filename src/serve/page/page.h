// page.h — the files of the page at "/", which the build puts into the program (tools/embed.cmake).
#ifndef FR_SERVE_PAGE_H
#define FR_SERVE_PAGE_H
#include <stddef.h>

typedef struct fr_page_file {
    const char *name; // "page.html", "base.css", ...
    const char *tag;  // changes with its bytes; as ETag has it, in quotes
    const unsigned char *data;
    size_t bytes;
} fr_page_file;

extern const fr_page_file fr_page_files[]; // up to one without a name

#endif
