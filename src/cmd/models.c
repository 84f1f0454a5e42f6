// models.c — `models`: the models that are here already, by the names that -m takes.
#include "catalog/catalog.h"
#include "catalog/facts.h"
#include "cmd/lib/text.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static json_t *text_or_null(const char *text) {
    return *text ? fr_json_string(text) : json_null();
}

// Facts about a model, without reading its weights.
static void read_facts(const fr_catalog_item *item, fr_model_facts *f) {
    if (!item->fault) {
        fr_model_facts_read(f, item->path);
        return;
    }
    *f = (fr_model_facts){0};
    fr_fail(&f->why, FR_EDATA, "%s", item->fault);
}

static json_t *item_json(const fr_catalog *c, const fr_catalog_item *item) {
    char name[FR_CATALOG_NAME];
    fr_model_facts f;
    read_facts(item, &f);
    fr_catalog_name(c, item, name);
    return json_pack("{s:o, s:o, s:s, s:I, s:I, s:o, s:o, s:o, s:b, s:o}", "name",
                     fr_json_string(name), "path", fr_json_string(item->path), "store",
                     fr_store_name(c->folder[item->folder].store), "bytes", (json_int_t)f.bytes,
                     "parameters", (json_int_t)f.parameters, "architecture",
                     text_or_null(f.architecture), "quantization", text_or_null(f.quantization),
                     "general_name", text_or_null(f.name), "runs", f.runs, "why_not",
                     f.runs ? json_null() : fr_json_string(f.why.text));
}

static json_t *folder_json(const fr_catalog_folder *f) {
    json_t *o = json_pack("{s:s, s:o, s:b}", "store", fr_store_name(f->store), "path",
                          fr_json_string(f->path), "found", f->found);
    if (o && *f->unread)
        json_object_set_new(o, "unread",
                            json_pack("{s:o, s:s}", "path", fr_json_string(f->unread), "why",
                                      strerror(f->unread_errno)));
    return o;
}

static json_t *catalog_json(const fr_catalog *c) {
    json_t *models = json_array(), *folders = json_array();
    for (size_t i = 0; i < c->n && !fr_cmd_interrupted(); i++)
        json_array_append_new(models, item_json(c, &c->item[i]));
    for (int i = 0; i < c->n_folders; i++)
        json_array_append_new(folders, folder_json(&c->folder[i]));
    return json_pack("{s:o, s:o, s:b}", "models", models, "folders", folders, "cut", c->cut);
}

static void print_padded(const char *text, int width) {
    const int n = (int)strlen(text);
    fr_cmd_print_clean(stdout, text, (size_t)n);
    printf("%*s", n < width ? width - n : 0, "");
}

static void print_item(const fr_catalog *c, const fr_catalog_item *item, int width) {
    char name[FR_CATALOG_NAME];
    fr_model_facts f;
    read_facts(item, &f);
    fr_catalog_name(c, item, name);
    print_padded(name, width);
    printf("  %9.1f MB  ", (double)f.bytes / 1e6);
    print_padded(*f.architecture ? f.architecture : "?", 8);
    printf(" %-8s ", *f.quantization ? f.quantization : "?");
    if (f.runs) {
        puts("runs");
        return;
    }
    fputs("no: ", stdout);
    fr_cmd_print_clean(stdout, f.why.text, strlen(f.why.text));
    putchar('\n');
}

static void print_items(const fr_catalog *c) {
    enum { WIDEST = 60 };
    char name[FR_CATALOG_NAME];
    int width = 0;
    for (size_t i = 0; i < c->n; i++) {
        fr_catalog_name(c, &c->item[i], name);
        const int n = (int)strlen(name);
        if (n > width) width = n < WIDEST ? n : WIDEST;
    }
    for (size_t i = 0; i < c->n && !fr_cmd_interrupted(); i++)
        print_item(c, &c->item[i], width);
}

static void print_names(const fr_catalog *c) {
    char name[FR_CATALOG_NAME];
    for (size_t i = 0; i < c->n; i++) {
        fr_catalog_name(c, &c->item[i], name);
        fr_cmd_print_clean(stdout, name, strlen(name));
        putchar('\n');
    }
}

static void tell_folders(const fr_catalog *c) {
    for (int i = 0; i < c->n_folders; i++) {
        const fr_catalog_folder *f = &c->folder[i];
        if (*f->unread)
            fr_cmd_print(stderr, "forerun: %s: cannot be read: %s\n", f->unread,
                         strerror(f->unread_errno));
    }
    if (c->cut) fprintf(stderr, "forerun: there are more files than were looked at\n");
    if (c->n) return;
    fprintf(stderr, "No models in");
    for (int i = 0; i < c->n_folders; i++)
        fr_cmd_print(stderr, "%s %s", i ? "," : "", c->folder[i].path);
    fprintf(stderr, "; -m takes the path of a GGUF file too.\n");
}

static int run_models(const fr_cmd_args *args, const fr_parsed *parsed) {
    fr_catalog c;
    fr_error err = {0};
    int code = FR_EXIT_DONE;
    (void)parsed;
    if (args->names && args->json) return fr_cmd_usage("models", "--names, --json: give one");
    if (fr_catalog_open(&c, &err)) return fr_cmd_fail(&err);
    if (args->json)
        code = fr_cmd_print_json(catalog_json(&c));
    else if (args->names)
        print_names(&c);
    else
        print_items(&c);
    if (!args->json && !args->names && !args->quiet) tell_folders(&c);
    fr_catalog_close(&c);
    return !code && fr_cmd_interrupted() ? FR_EXIT_INTERRUPTED : code;
}

// clang-format off
static const fr_option options[] = {
    {"names", 0, FR_OPT_FLAG, offsetof(fr_cmd_args, names), NULL, NULL, NULL, "print only the names; no file is opened", 0, 0, NULL},
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"Models", options};

const fr_cmd fr_cmd_models = {
    {.name = "models",
     .summary = "list the models that other programs stored on this machine",
     .about = "Searches the cache of Hugging Face and the folders of llama.cpp, Ollama and LM "
              "Studio. For each model it prints the name to pass to -m, the size, architecture and "
              "quantization, and whether the model can be run, or why not. Only headers are read. "
              "Nothing is downloaded.\n\nThe folders are those that these programs use: "
              "HF_HUB_CACHE, HF_HOME, LLAMA_CACHE, OLLAMA_MODELS and XDG_CACHE_HOME change them.",
     .example = "forerun models",
     .groups = {&group, &fr_cmd_output_options}},
    run_models};
