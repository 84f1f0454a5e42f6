// inspect.c — `inspect`: what a model, a pack, a profile or a datastore holds.
#include "catalog/catalog.h"
#include "cmd/inspect/pack.h"
#include "cmd/inspect/profile.h"
#include "cmd/inspect/store.h"
#include "cmd/lib/text.h"
#include "draft/pack/pack.h"
#include "model/kv.h"
#include "model/model.h"
#include "tune/profile.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_WHOLE = 64, LIST_START = 8, TEXT_SHOWN = 60 };

static json_t *item_json(const fr_gguf_kv *kv, uint64_t i) {
    switch (kv->item) {
    case FR_GGUF_F32:
    case FR_GGUF_F64:
        return fr_cmd_real(fr_gguf_item_f64(kv, i));
    case FR_GGUF_BOOL:
        return json_boolean(fr_gguf_item_bool(kv, i));
    case FR_GGUF_STR: {
        const fr_gguf_str s = fr_gguf_item_str(kv, i);
        return fr_json_text(s.data, s.bytes);
    }
    case FR_GGUF_U64:
        if (fr_gguf_item_u64(kv, i) > INT64_MAX) // more than the library's integers hold
            return json_sprintf("%" PRIu64, fr_gguf_item_u64(kv, i));
        return json_integer(fr_gguf_item_i64(kv, i));
    case FR_GGUF_U8:
    case FR_GGUF_I8:
    case FR_GGUF_U16:
    case FR_GGUF_I16:
    case FR_GGUF_U32:
    case FR_GGUF_I32:
    case FR_GGUF_I64:
    case FR_GGUF_ARRAY: // of arrays: the format has none
        break;
    }
    return json_integer(fr_gguf_item_i64(kv, i));
}

// Vocabularies have hundreds of thousands of items: of a long list only the beginning is given.
static json_t *value_json(const fr_gguf_kv *kv) {
    if (kv->type != FR_GGUF_ARRAY) return item_json(kv, 0);
    const bool whole = kv->count <= LIST_WHOLE;
    json_t *list = json_array();
    for (uint64_t i = 0; i < (whole ? kv->count : LIST_START); i++)
        if (!list || json_array_append_new(list, item_json(kv, i))) break;
    if (whole) return list;
    return json_pack("{s:s, s:I, s:o}", "items", fr_gguf_type_name(kv->item), "count",
                     (json_int_t)kv->count, "first", list);
}

static json_t *metadata_json(const fr_gguf *g) {
    json_t *all = json_object();
    for (size_t i = 0; all && i < fr_gguf_n_kv(g); i++) {
        const fr_gguf_kv *kv = fr_gguf_kv_at(g, i);
        json_t *key = fr_json_text(kv->key.data, kv->key.bytes);
        if (key) json_object_set_new(all, json_string_value(key), value_json(kv));
        json_decref(key);
    }
    return all;
}

static json_t *tensors_json(const fr_gguf *g) {
    json_t *all = json_array();
    for (size_t i = 0; all && i < fr_gguf_n_tensors(g); i++) {
        const fr_gguf_tensor *t = fr_gguf_tensor_at(g, i);
        json_t *shape = json_array();
        for (int d = 0; shape && d < t->n_dims; d++)
            json_array_append_new(shape, json_integer(t->ne[d]));
        json_array_append_new(all,
                              json_pack("{s:o, s:s, s:o, s:I}", "name", fr_json_string(t->name),
                                        "type", fr_qtype_name((uint32_t)t->type), "shape", shape,
                                        "bytes", (json_int_t)t->bytes));
    }
    return all;
}

typedef struct totals {
    uint64_t parameters, bytes;
    struct {
        size_t n;
        uint64_t bytes;
    } by_type[FR_TYPE_LIMIT];
} totals;

static totals sum_tensors(const fr_gguf *g) {
    totals sum = {0};
    for (size_t i = 0; i < fr_gguf_n_tensors(g); i++) {
        const fr_gguf_tensor *t = fr_gguf_tensor_at(g, i);
        sum.parameters += (uint64_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
        sum.bytes += t->bytes;
        sum.by_type[t->type].n++;
        sum.by_type[t->type].bytes += t->bytes;
    }
    return sum;
}

// What rows read where a model has experts; n 0: it has none.
typedef struct experts_read {
    int n, used, layers;
    double all, row; // bytes: of all experts, of those that one row reads
    double rest;     // of all other tensors
} experts_read;

static experts_read experts_of(const fr_gguf *g, const fr_config *c) {
    experts_read e = {.n = c->experts.n, .used = c->experts.used, .layers = fr_expert_layers(c)};
    for (size_t i = 0; i < fr_gguf_n_tensors(g); i++) {
        const fr_gguf_tensor *t = fr_gguf_tensor_at(g, i);
        *(strstr(t->name, "_exps.") ? &e.all : &e.rest) += (double)t->bytes;
    }
    if (e.n) e.row = e.all * e.used / e.n;
    return e;
}

// Bytes that rows of unrelated tokens read, in those of one.
static double rows_read(const experts_read *e, int rows) {
    const double each = 1 - pow(1 - (double)e->used / e->n, rows);
    return (e->rest + e->all * each) / (e->rest + e->row);
}

static json_t *experts_json(const experts_read *e) {
    return json_pack("{s:i, s:i, s:i, s:I, s:I, s:o, s:o}", "count", e->n, "used", e->used,
                     "layers", e->layers, "bytes", (json_int_t)e->all, "bytes_of_a_row",
                     (json_int_t)e->row, "two_rows", fr_cmd_real(rows_read(e, 2)), "eight_rows",
                     fr_cmd_real(rows_read(e, 8)));
}

static void print_experts(const experts_read *e) {
    printf("experts: %d in each of %d layers, of which a row reads %d: %.0f of %.0f MB, and %.0f "
           "MB of "
           "other weights. If rows choose independently, 2 rows read %.2f times as much as one, 8 "
           "rows "
           "%.2f times\n",
           e->n, e->layers, e->used, e->row / 1e6, e->all / 1e6, e->rest / 1e6, rows_read(e, 2),
           rows_read(e, 8));
}

// What a session needs: NULL where this is no model that the engine runs, with the reason in *err.
static json_t *memory_json(const fr_gguf *g, fr_error *err) {
    fr_config c;
    uint64_t weights;
    if (fr_model_check(&c, &weights, g, err)) return json_null();
    const uint64_t token = (uint64_t)c.n_layer * (uint64_t)c.n_kv * (uint64_t)c.head_dim * 4;
    json_t *by_type = json_object();
    for (int t = 0; t < FR_KV_TYPES; t++)
        if (fr_kv_holds((fr_kv_type)t, c.head_dim))
            json_object_set_new(
                by_type, fr_kv_type_name((fr_kv_type)t),
                json_integer((json_int_t)fr_kv_bytes(&c, c.n_ctx_train, (fr_kv_type)t)));
    const experts_read experts = experts_of(g, &c);
    return json_pack("{s:I, s:I, s:I, s:i, s:I, s:o, s:o*}", "weights_bytes",
                     (json_int_t)sum_tensors(g).bytes, "weights_memory_bytes", (json_int_t)weights,
                     "kv_bytes_per_token", (json_int_t)token, "ctx_train", c.n_ctx_train,
                     "kv_bytes_at_ctx_train", (json_int_t)fr_kv_bytes(&c, c.n_ctx_train, FR_KV_F16),
                     "kv_bytes_at_ctx_train_by_type", by_type, "experts",
                     experts.n ? experts_json(&experts) : NULL);
}

static void print_memory(const fr_gguf *g, fr_error *err) {
    fr_config c;
    uint64_t weights;
    if (fr_model_check(&c, &weights, g, err)) {
        printf("memory: the engine does not run this model: %s\n", err->text);
        return;
    }
    const double token = (double)c.n_layer * c.n_kv * c.head_dim * 4;
    printf("memory: %.1f MiB for the weights, and %.1f KiB per token of context; %.1f MiB for the "
           "whole context of %d tokens",
           (double)weights / 1048576, token / 1024,
           (double)fr_kv_bytes(&c, c.n_ctx_train, FR_KV_F16) / 1048576, c.n_ctx_train);
    for (int t = FR_KV_F16 + 1; t < FR_KV_TYPES; t++)
        if (fr_kv_holds((fr_kv_type)t, c.head_dim))
            printf("; %.1f MiB as %s",
                   (double)fr_kv_bytes(&c, c.n_ctx_train, (fr_kv_type)t) / 1048576,
                   fr_kv_type_name((fr_kv_type)t));
    printf("\n");
    const experts_read experts = experts_of(g, &c);
    if (experts.n) print_experts(&experts);
}

// The kinds of GGUF files. A file that is none of the first is of the last.
typedef struct file_kind {
    bool (*is)(const fr_gguf *g);
    const char *name, *at_fault;                      // keys of the JSON document
    json_t *(*json)(const fr_gguf *g, fr_error *err); // NULL, with the reason, where it is at fault
    void (*print)(const fr_gguf *g, fr_error *err);   // the same
} file_kind;
static const file_kind KINDS[] = {
    {fr_pack_is, "pack", "not_usable", fr_inspect_pack_json, fr_inspect_pack_print},
    {fr_profile_is, "profile", "not_usable", fr_inspect_profile_json, fr_inspect_profile_print},
    {NULL, "memory", "not_runnable", memory_json, print_memory},
};

static const file_kind *kind_of(const fr_gguf *g) {
    const file_kind *k = KINDS;
    while (k->is && !k->is(g))
        k++;
    return k;
}

static json_t *inspect_json(const fr_gguf *g, fr_error *err) {
    char fingerprint[FR_GGUF_FINGERPRINT];
    fr_gguf_fingerprint(g, fingerprint);
    const totals sum = sum_tensors(g);
    const file_kind *kind = kind_of(g);
    json_t *about = kind->json(g, err);
    json_t *root = json_pack(
        "{s:o, s:i, s:i, s:I, s:s, s:I, s:o, s:o, s:o}", "file", fr_json_string(fr_gguf_path(g)),
        "version", (int)fr_gguf_version(g), "files", fr_gguf_n_files(g), "bytes",
        (json_int_t)fr_gguf_file_bytes(g), "fingerprint", fingerprint, "parameters",
        (json_int_t)sum.parameters, kind->name, about ? about : json_null(), "metadata",
        metadata_json(g), "tensors", tensors_json(g));
    if (root && err->code) json_object_set_new(root, kind->at_fault, fr_json_string(err->text));
    return root;
}

// One value on a terminal's line: long text and lists are cut, control bytes shown as '?'.
static void print_item(const fr_gguf_kv *kv, uint64_t i) {
    if (kv->item == FR_GGUF_STR) {
        const fr_gguf_str s = fr_gguf_item_str(kv, i);
        json_t *text = fr_json_text(s.data, s.bytes);
        const char *from = text ? json_string_value(text) : "";
        const size_t all = text ? json_string_length(text) : 0;
        size_t n = all < TEXT_SHOWN ? all : TEXT_SHOWN;
        while (n < all && n && ((uint8_t)from[n] & 0xc0) == 0x80)
            n--; // not inside a character
        putchar('"');
        fr_cmd_print_clean(stdout, from, n);
        printf("\"%s", n < all ? "..." : "");
        json_decref(text);
    } else if (kv->item == FR_GGUF_BOOL) {
        fputs(fr_gguf_item_bool(kv, i) ? "true" : "false", stdout);
    } else if (kv->item == FR_GGUF_F32 || kv->item == FR_GGUF_F64) {
        printf("%.9g", fr_gguf_item_f64(kv, i));
    } else if (kv->item == FR_GGUF_U64) {
        printf("%" PRIu64, fr_gguf_item_u64(kv, i));
    } else {
        printf("%" PRId64, fr_gguf_item_i64(kv, i));
    }
}

static void print_metadata(const fr_gguf *g) {
    for (size_t i = 0; i < fr_gguf_n_kv(g); i++) {
        const fr_gguf_kv *kv = fr_gguf_kv_at(g, i);
        const bool list = kv->type == FR_GGUF_ARRAY;
        fputs("  ", stdout);
        fr_cmd_print_clean(stdout, kv->key.data, kv->key.bytes);
        fputs(" = ", stdout);
        if (list) printf("%" PRIu64 " %s [", kv->count, fr_gguf_type_name(kv->item));
        const uint64_t shown = kv->count < 4 ? kv->count : 4;
        for (uint64_t k = 0; k < shown; k++) {
            if (k) fputs(", ", stdout);
            print_item(kv, k);
        }
        puts(list ? shown < kv->count ? ", ...]" : "]" : "");
    }
}

static void inspect_print(const fr_gguf *g, fr_error *err) {
    char fingerprint[FR_GGUF_FINGERPRINT];
    fr_gguf_fingerprint(g, fingerprint);
    const totals sum = sum_tensors(g);
    fr_cmd_print(stdout, "file: %s, %" PRIu64 " bytes, GGUF version %u", fr_gguf_path(g),
                 fr_gguf_file_bytes(g), fr_gguf_version(g));
    if (fr_gguf_n_files(g) > 1) printf(", %d files", fr_gguf_n_files(g));
    puts("");
    if (fr_gguf_n_tensors(g)) // a profile has none
        printf("fingerprint: %s\nparameters: %.1f million in %zu tensors, %.1f MB\n", fingerprint,
               (double)sum.parameters / 1e6, fr_gguf_n_tensors(g), (double)sum.bytes / 1e6);
    kind_of(g)->print(g, err);
    for (uint32_t i = 0; i < FR_TYPE_LIMIT; i++)
        if (sum.by_type[i].n)
            printf("  %-7s %4zu tensors %12.1f MB\n", fr_qtype_name(i), sum.by_type[i].n,
                   (double)sum.by_type[i].bytes / 1e6);
    printf("metadata, %zu keys:\n", fr_gguf_n_kv(g));
    print_metadata(g);
    if (fr_gguf_n_tensors(g)) printf("tensors:\n");
    for (size_t i = 0; i < fr_gguf_n_tensors(g); i++) {
        const fr_gguf_tensor *t = fr_gguf_tensor_at(g, i);
        const int n = (int)strlen(t->name);
        fputs("  ", stdout);
        fr_cmd_print_clean(stdout, t->name, (size_t)n);
        printf("%*s %-7s", n < 40 ? 40 - n : 0, "", fr_qtype_name((uint32_t)t->type));
        for (int d = 0; d < t->n_dims; d++)
            printf("%s%" PRId64, d ? " x " : " ", t->ne[d]);
        putchar('\n');
    }
}

// A damaged pack or profile is shown, and then refused. One of another version is whole.
static int refuse_damaged(const fr_gguf *g, const fr_error *why, int code) {
    fr_error err;
    if (!kind_of(g)->is || why->code != FR_EDATA) return code;
    fflush(stdout);
    fr_fail(&err, FR_EDATA, "%s: %s", fr_gguf_path(g), why->text);
    return fr_cmd_fail(&err);
}

static int run_inspect(const fr_cmd_args *args, const fr_parsed *parsed) {
    const char *path = parsed->n_args ? parsed->args[0] : args->model;
    if (!path) return fr_cmd_usage("inspect", "a FILE is needed");
    if (parsed->n_args && args->model) return fr_cmd_usage("inspect", "FILE and -m: give one");
    fr_gguf *g;
    fr_error err = {0}, why = {0};
    char found[PATH_MAX];
    if (fr_model_path(found, path, &err)) return fr_cmd_fail(&err);
    path = found;
    if (fr_inspect_is_store(path)) return fr_inspect_store(args, path);
    if (fr_gguf_open(&g, path, &err)) return fr_cmd_fail(&err);
    int code = FR_EXIT_DONE;
    if (args->json)
        code = fr_cmd_print_json(inspect_json(g, &why));
    else
        inspect_print(g, &why);
    code = refuse_damaged(g, &why, code);
    fr_gguf_close(g);
    return code;
}

const fr_cmd fr_cmd_inspect = {
    {.name = "inspect",
     .summary = "show the contents of a model, a pack, a profile or a datastore",
     .about = "Prints the metadata, tensors and fingerprint of a GGUF file, and the memory that a "
              "session on it needs. For a pack it also prints the method, the target, the accuracy "
              "on held-out text and the training; for a profile the results of 'tune'; for a "
              "datastore its vocabulary and sizes. Of a GGUF file only the header and a little of "
              "every tensor are read.\n\nIn the JSON document, a list of more than 64 items is "
              "given as its length and its first items.",
     .args = "FILE",
     .max_args = 1,
     .example = "forerun inspect models/smollm2-135m.gguf",
     .groups = {&fr_cmd_file_options, &fr_cmd_output_options}},
    run_inspect};
