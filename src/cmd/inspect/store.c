#include "cmd/inspect/store.h"
#include "cmd/lib/text.h"
#include "draft/retrieval/datastore.h"
#include <string.h>

bool fr_inspect_is_store(const char *path) {
    fr_map map;
    if (fr_map_open(&map, path, NULL)) return false;
    const bool is = fr_datastore_is(map.data, map.bytes);
    fr_map_close(&map);
    return is;
}

int fr_inspect_store(const fr_cmd_args *args, const char *path) {
    fr_datastore s;
    fr_error err = {0};
    int code = FR_EXIT_DONE;
    if (fr_datastore_open(&s, path, &err)) return fr_cmd_fail(&err);
    const json_int_t tokens = (json_int_t)(s.n_ids - s.n_texts - 1); // without the marks
    if (args->json)
        code = fr_cmd_print_json(json_pack(
            "{s:o, s:I, s:{s:s, s:i, s:I, s:I, s:I}}", "file", fr_json_string(path), "bytes",
            (json_int_t)s.bytes, "datastore", "vocabulary", s.vocab, "vocabulary_size", s.n_vocab,
            "texts", (json_int_t)s.n_texts, "tokens", tokens, "places", (json_int_t)s.n_places));
    else
        fr_cmd_print(stdout,
                     "file: %s, %llu bytes, a datastore for the drafter 'rest'\nvocabulary: %s, %d "
                     "tokens\n%llu texts, %lld tokens, %u places\n",
                     path, (unsigned long long)s.bytes, s.vocab, s.n_vocab,
                     (unsigned long long)s.n_texts, (long long)tokens, s.n_places);
    fr_datastore_close(&s);
    return code;
}
