// spec.h — reads a drafter SPEC: NAME, NAME:FILE, or several joined with '+'; NAME:FILE@NAME where
// the draft model of FILE is itself driven by a drafter (NAME or NAME:FILE); or "auto", alone.
//
// A '+' or '@' inside a FILE belongs to its name unless a drafter's name follows.
#ifndef FR_DRAFT_SPEC_H
#define FR_DRAFT_SPEC_H
#include "base/status.h"

enum { FR_SPEC_PARTS = 4, FR_SPEC_FILE = 4096 };

typedef struct fr_spec_part {
    int drafter;               // its number in the list of drafters (registry.h)
    char file[FR_SPEC_FILE];   // "": none
    char driver[FR_SPEC_FILE]; // NAME or NAME:FILE of what drives it; "": nothing
} fr_spec_part;

typedef struct fr_spec {
    int n;
    fr_spec_part
        part[FR_SPEC_PARTS]; // in the order given; numbers of nodes' drafters mean this one
} fr_spec;

// NULL is "auto". FR_EARG: an unknown name, a FILE that is missing or not wanted, a part given
// twice, too many parts, a driver of what takes none.
fr_status fr_spec_parse(fr_spec *spec, const char *text, fr_error *err);

#endif
