#include "catalog/facts.h"
#include "model/model.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// general.file_type: the number by which files name their mixture of types.
static const char *mixture(uint32_t number) {
    static const char *const names[] = {
        [0] = "F32",      [1] = "F16",      [2] = "Q4_0",    [3] = "Q4_1",    [7] = "Q8_0",
        [8] = "Q5_0",     [9] = "Q5_1",     [10] = "Q2_K",   [11] = "Q3_K_S", [12] = "Q3_K_M",
        [13] = "Q3_K_L",  [14] = "Q4_K_S",  [15] = "Q4_K_M", [16] = "Q5_K_S", [17] = "Q5_K_M",
        [18] = "Q6_K",    [19] = "IQ2_XXS", [20] = "IQ2_XS", [21] = "Q2_K_S", [22] = "IQ3_XS",
        [23] = "IQ3_XXS", [24] = "IQ1_S",   [25] = "IQ4_NL", [26] = "IQ3_S",  [27] = "IQ3_M",
        [28] = "IQ2_S",   [29] = "IQ2_M",   [30] = "IQ4_XS", [31] = "IQ1_M",  [32] = "BF16",
        [36] = "TQ1_0",   [37] = "TQ2_0",   [38] = "MXFP4"};
    return number < sizeof names / sizeof *names ? names[number] : NULL;
}

static void read_text(char *to, size_t room, const fr_gguf *g, const char *key) {
    fr_gguf_str text = {"", 0};
    if (fr_gguf_opt_str(g, key, &text, NULL)) return;
    snprintf(to, room, "%.*s", (int)(text.bytes < room ? text.bytes : room - 1), text.data);
}

uint64_t fr_model_parameters(const fr_gguf *g) {
    uint64_t parameters = 0;
    for (size_t i = 0; i < fr_gguf_n_tensors(g); i++) {
        const fr_gguf_tensor *t = fr_gguf_tensor_at(g, i);
        parameters += (uint64_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
    }
    return parameters;
}

uint64_t fr_model_tensor_bytes(const fr_gguf *g) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < fr_gguf_n_tensors(g); i++)
        bytes += fr_gguf_tensor_at(g, i)->bytes;
    return bytes;
}

// The type that most bytes of its tensors have, or NULL: it has none.
static const char *type_of_most(const fr_gguf *g) {
    uint64_t of_type[FR_TYPE_LIMIT] = {0}, most = 0;
    const char *name = NULL;
    for (size_t i = 0; i < fr_gguf_n_tensors(g); i++)
        of_type[fr_gguf_tensor_at(g, i)->type] += fr_gguf_tensor_at(g, i)->bytes;
    for (uint32_t type = 0; type < FR_TYPE_LIMIT; type++) {
        if (of_type[type] <= most) continue;
        most = of_type[type];
        name = fr_qtype_name(type);
    }
    return name;
}

void fr_model_quantization(const fr_gguf *g, char to[FR_QUANTIZATION]) {
    uint32_t type = UINT32_MAX;
    const char *name = fr_gguf_opt_u32(g, "general.file_type", &type, NULL) ? NULL : mixture(type);
    if (!name) name = type_of_most(g);
    snprintf(to, FR_QUANTIZATION, "%s", name ? name : "");
    for (char *s = to; *s; s++)
        *s = (char)toupper((unsigned char)*s);
}

static fr_status check_vocabulary(const fr_config *c, const fr_tokenizer *t, fr_error *err) {
    const int tokens = fr_tokenizer_size(t);
    if (tokens <= c->n_vocab) return FR_OK;
    return fr_fail(
        err, FR_EDATA,
        "tokenizer.ggml.tokens: expected at most %d tokens, as token_embd.weight has, found %d",
        c->n_vocab, tokens);
}

fr_status fr_model_judge(fr_tokenizer **out, const fr_gguf *g, fr_error *err) {
    fr_config config;
    *out = NULL;
    fr_status st = fr_model_check(&config, NULL, g, err);
    if (!st) st = fr_tokenizer_open(out, g, err);
    if (!st) st = check_vocabulary(&config, *out, err);
    if (!st) return FR_OK;
    fr_tokenizer_close(*out);
    *out = NULL;
    return st;
}

void fr_model_facts_read(fr_model_facts *f, const char *path) {
    fr_gguf *g;
    fr_tokenizer *tokenizer;
    struct stat s;
    *f = (fr_model_facts){0};
    if (!stat(path, &s) && S_ISREG(s.st_mode)) f->bytes = (uint64_t)s.st_size;
    if (fr_gguf_open(&g, path, &f->why)) return;
    f->bytes = fr_gguf_file_bytes(g);
    read_text(f->architecture, sizeof f->architecture, g, "general.architecture");
    read_text(f->name, sizeof f->name, g, "general.name");
    f->parameters = fr_model_parameters(g);
    fr_model_quantization(g, f->quantization);
    f->runs = !fr_model_judge(&tokenizer, g, &f->why);
    fr_tokenizer_close(tokenizer);
    fr_gguf_close(g);
}
