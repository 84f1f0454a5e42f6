// plain_locale.h — how numbers and dates are read and written: what a host program has set must not
// change a prompt. Needs _GNU_SOURCE.
#ifndef FR_BASE_PLAIN_LOCALE_H
#define FR_BASE_PLAIN_LOCALE_H
#include <locale.h>

typedef struct fr_plain_locale { // of this thread
    locale_t plain, before;
} fr_plain_locale;

// The C locale, until it is restored. Where there is no memory for it nothing changes.
static inline fr_plain_locale fr_plain_locale_set(void) {
    fr_plain_locale l = {.plain = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    l.before = uselocale(l.plain);
    return l;
}

static inline void fr_plain_locale_restore(fr_plain_locale l) {
    uselocale(l.before);
    if (l.plain) freelocale(l.plain);
}

#endif
