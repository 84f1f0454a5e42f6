#include "cmd/lib/warn.h"
#include "catalog/facts.h"
#include "model/model.h"
#include <stdio.h>

void fr_cmd_warn_of_beginning(const fr_cmd_args *args, const fr_text *text, const fr_ids *ids) {
    fr_error says;
    if (!args->quiet && fr_text_begins_twice(text, ids->data, ids->n, &says))
        fprintf(stderr, "forerun: %s\n", says.text);
}

static void say_growth(double memory, double file) {
    const bool large = file >= 1e9;
    const double unit = large ? 1e9 : 1e6;
    const char *name = large ? "GB" : "MB";
    fprintf(
        stderr,
        "forerun: the weights take %.1f %s of memory, %.2f times their %.1f %s in the file; with "
        "--low-memory they stay there, and passes are slower\n",
        memory / unit, name, memory / file, file / unit, name);
}

void fr_cmd_warn_of_memory(const fr_cmd_args *args) {
    fr_gguf *g;
    fr_config config;
    fr_error unsaid; // opening the engine says it
    uint64_t memory;
    if (args->quiet || args->low_memory || fr_gguf_open(&g, args->model, &unsaid)) return;
    const double file = (double)fr_model_tensor_bytes(g);
    if (!fr_model_check(&config, &memory, g, &unsaid) && (double)memory > 1.15 * file)
        say_growth((double)memory, file);
    fr_gguf_close(g);
}
