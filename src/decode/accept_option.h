// accept_option.h — the words of --accept: which rule, with which numbers.
#ifndef FR_DECODE_ACCEPT_OPTION_H
#define FR_DECODE_ACCEPT_OPTION_H
#include "decode/accept_rules.h"
#include "decode/drafter.h"

typedef struct fr_acceptance {
    fr_rule rule;
    fr_typical typical;
} fr_acceptance;

// "exact" (NULL too), "rejection", "typical" or "typical:EPSILON,DELTA". FR_EARG: none of these.
fr_status fr_acceptance_read(fr_acceptance *out, const char *words, fr_error *err);

#endif
