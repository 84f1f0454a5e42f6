// perplexity.c — `perplexity`: how well a model foresees a text.
#include "cmd/lib/passes.h"
#include "engine/engine.h"
#include <math.h>

typedef struct score {
    const int32_t *chunk;
    int size, n_vocab;
    double nll; // nats, summed
    int64_t tokens;
    fr_progress bar;
    uint64_t done, total;
} score;

// Logits after chunk[pos] foretell chunk[pos + 1].
static bool take(void *user, int pos, float *logits) {
    score *s = user;
    if (pos + 1 >= s->size) return true;
    s->nll += fr_logsumexp(logits, s->n_vocab) - (double)logits[s->chunk[pos + 1]];
    s->tokens++;
    fr_progress_show(&s->bar, "perplexity", s->done + (uint64_t)pos, s->total);
    return true;
}

// The stream is cut into chunks, each read from an empty context with BOS in front if the model has
// one; of each the second half is scored, so that every scored token has half a chunk before it.
static fr_status measure(const fr_cmd_args *args, fr_engine *engine, fr_ids *ids, score *s,
                         fr_error *err) {
    const fr_special_ids *special = fr_tokenizer_special(engine->tokenizer);
    const size_t size = (size_t)args->ctx, n_chunks = ids->n / size;
    fr_passes passes;
    if (!n_chunks)
        return fr_fail(err, FR_EDATA, "%s: %zu tokens, fewer than one chunk of %zu", args->file,
                       ids->n, size);
    fr_status st =
        fr_passes_open(&passes, engine, (int)size, FR_PASSES_ROWS, fr_cmd_kv_type(args), err);
    fr_progress_open(&s->bar, args->quiet ? NULL : stderr, "tokens", 1);
    s->total = n_chunks * size;
    s->n_vocab = engine->model.config.n_vocab;
    s->size = (int)size;
    for (size_t i = 0; i < n_chunks && !st; i++) {
        int32_t *chunk = ids->data + i * size;
        if (special->add_bos && special->bos >= 0) chunk[0] = special->bos;
        s->chunk = chunk;
        s->done = i * size;
        st = fr_passes_read(&passes, chunk, (int)size, (int)size / 2, take, s, err);
    }
    fr_progress_clear(&s->bar);
    fr_passes_close(&passes);
    return st;
}

static int run_perplexity(const fr_cmd_args *args, const fr_parsed *parsed) {
    (void)parsed;
    const int code = fr_cmd_check("perplexity", args);
    if (code) return code;
    if (!args->file) return fr_cmd_usage("perplexity", "-f: a text FILE is needed");
    fr_engine *engine = NULL;
    fr_buffer text;
    fr_ids ids = {0};
    fr_error err = {0};
    score s = {0};
    fr_status st = fr_cmd_read_file(&text, args->file, &err);
    if (!st) st = fr_cmd_engine_open(&engine, args, &err);
    if (!st) st = fr_text_encode(engine->text, text.data, text.n, FR_TEXT_BOS, NULL, &ids, &err);
    if (!st) st = measure(args, engine, &ids, &s, &err);
    fr_buffer_free(&text);
    fr_ids_free(&ids);
    fr_engine_close(engine);
    if (st) return fr_cmd_fail(&err);
    const double nll = s.nll / (double)s.tokens;
    if (args->json)
        return fr_cmd_print_json(json_pack("{s:o, s:o, s:I}", "ppl", fr_cmd_real(exp(nll)), "nll",
                                           fr_cmd_real(nll), "tokens", (json_int_t)s.tokens));
    printf("perplexity %.4f, %.6f nats a token, %lld tokens scored\n", exp(nll), nll,
           (long long)s.tokens);
    return FR_EXIT_DONE;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    {"file",     'f', FR_OPT_FILE, AT(file), "FILE", NULL, NULL, "file with the text; '-': standard input", 0, 0, NULL},
    {"ctx-size", 'c', FR_OPT_INT,  AT(ctx),  "N", "512", NULL, "number of tokens of a chunk, of which the second half is scored", 4, 1 << 20, NULL},
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"Measurement", options};

const fr_cmd fr_cmd_perplexity = {
    {.name = "perplexity",
     .summary = "measure how well a model predicts a text",
     .about = "Cuts the text into chunks of tokens, evaluates each from an empty context, and "
              "scores the second half of each. A remainder shorter than a chunk is dropped. The "
              "nll is the mean in nats, the perplexity its exponential.",
     .example = "forerun perplexity -m models/smollm2-135m.gguf -f README.md -c 256",
     .groups = {&group, &fr_cmd_engine_options, &fr_cmd_output_options}},
    run_perplexity};
