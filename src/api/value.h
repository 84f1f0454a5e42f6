// value.h — one field of a body, and the sentence that names it. For src/api and src/serve.
#ifndef FR_API_VALUE_H
#define FR_API_VALUE_H
#include "text/tokenizer.h"
#include "json/value.h"

// A member of an object. NULL: it is absent or null.
const json_t *fr_api_member(const json_t *object, const char *name);

// FR_EARG: "PATH: expected EXPECTED, found VALUE". path: a format.
fr_status fr_api_wrong(fr_error *err, const json_t *value, const char *expected, const char *path,
                       ...) __attribute__((format(printf, 4, 5)));

// Reads a number, integer or real; only a whole one if `whole`. False: it is none.
bool fr_api_number(const json_t *value, bool whole, double *out);
// A token id: a whole number from 0, below n_vocab. FR_EARG names it LIST[i], where `list` is the
// path of its list.
fr_status fr_api_token_id(const json_t *value, int n_vocab, const char *list, size_t i, int32_t *id,
                          fr_error *err);
// Appends all ids of a list. FR_EARG: it contains something else; FR_ENOMEM.
fr_status fr_api_token_ids(const json_t *list, int n_vocab, const char *path, fr_ids *ids,
                           fr_error *err);
// The text of a string as a C string. NULL: it is no string, or contains a NUL.
const char *fr_api_text(const json_t *value);
// Whether the value is this string.
bool fr_api_is(const json_t *value, const char *text);

#endif
