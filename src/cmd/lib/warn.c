#include "cmd/lib/warn.h"
#include <stdio.h>

void fr_cmd_warn_of_beginning(const fr_cmd_args *args, const fr_text *text, const fr_ids *ids) {
    fr_error says;
    if (!args->quiet && fr_text_begins_twice(text, ids->data, ids->n, &says))
        fprintf(stderr, "forerun: %s\n", says.text);
}
