#include "decode/accept_option.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Reads a number that is followed by `end` and moves *text after it.
static bool read_number(const char **text, char end, double most, double *value) {
    char *stop;
    *value = strtod(*text, &stop);
    if (stop == *text || *stop != end || !(*value >= 0 && *value <= most)) return false;
    *text = stop + (end != 0);
    return true;
}

fr_status fr_acceptance_read(fr_acceptance *out, const char *words, fr_error *err) {
    *out = (fr_acceptance){.rule = FR_RULE_EXACT, .typical = fr_typical_default};
    if (!words || !strcmp(words, "exact")) return FR_OK;
    if (!strcmp(words, "rejection")) {
        out->rule = FR_RULE_REJECTION;
        return FR_OK;
    }
    if (!strcmp(words, "typical") || !strncmp(words, "typical:", 8)) {
        const char *at = words + 8;
        out->rule = FR_RULE_TYPICAL;
        if (!words[7] || (read_number(&at, ',', 1, &out->typical.epsilon) &&
                          read_number(&at, 0, HUGE_VAL, &out->typical.delta)))
            return FR_OK;
        return fr_fail(err, FR_EARG,
                       "accept %.64s: expected EPSILON from 0 to 1 and DELTA of 0 or more", words);
    }
    return fr_fail(err, FR_EARG,
                   "accept %.64s: expected exact, rejection or typical[:EPSILON,DELTA]", words);
}
