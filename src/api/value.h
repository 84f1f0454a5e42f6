// value.h — one field of a body, and the sentence that names it. For src/api and src/serve.
#ifndef FR_API_VALUE_H
#define FR_API_VALUE_H
#include "text/tokenizer.h"
#include "json/value.h"

// The member of an object that is there and not null; else NULL.
const json_t *fr_api_member(const json_t *object, const char *name);

// FR_EARG: "PATH: expected EXPECTED, found VALUE". path: a format.
fr_status fr_api_wrong(fr_error *err, const json_t *value, const char *expected, const char *path,
                       ...) __attribute__((format(printf, 4, 5)));

// A number that JSON writes in one way or the other; a whole one if `whole`. False: it is none.
bool fr_api_number(const json_t *value, bool whole, double *out);
// A token id: a whole number from 0, below n_vocab. FR_EARG names it LIST[i], `list` being the path of
// the list that it stands in.
fr_status fr_api_token_id(const json_t *value, int n_vocab, const char *list, size_t i, int32_t *id,
                          fr_error *err);
// Appends all ids of a list. FR_EARG: something else stands in it; FR_ENOMEM.
fr_status fr_api_token_ids(const json_t *list, int n_vocab, const char *path, fr_ids *ids,
                           fr_error *err);
// Bytes of a string that a C string can hold. NULL: it is no string, or has a NUL in it.
const char *fr_api_text(const json_t *value);
// Whether it is this string.
bool fr_api_is(const json_t *value, const char *text);

#endif
