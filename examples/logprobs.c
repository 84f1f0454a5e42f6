// logprobs.c — what a model says, token by token, and what else it might have said.
//     cc logprobs.c $(pkg-config --cflags --libs forerun) -o logprobs
//     ./logprobs MODEL.gguf "The capital of France is"
#include <forerun.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS = 8, TOP = 3 };

static void show(const fr_text *text, int32_t token, float logprob) {
    size_t bytes;
    const char *written = fr_text_token(text, token, &bytes);
    printf("\t'");
    for (size_t i = 0; written && i < bytes; i++) // a line break would break the line
        putchar((unsigned char)written[i] < ' ' ? '?' : written[i]);
    printf("' %.3f", logprob);
}

int main(int argc, char **argv) {
    fr_engine *engine = NULL;
    fr_session *session = NULL;
    fr_encoded *prompt = NULL;
    const fr_result *result = NULL;
    fr_error err;
    if (argc != 3) return fprintf(stderr, "usage: logprobs MODEL.gguf TEXT\n"), 2;
    fr_status st = fr_engine_open(&engine, argv[1], NULL, &err);
    if (!st) st = fr_session_open(&session, engine, NULL, &err);
    if (!st)
        st = fr_text_tokenize(fr_engine_text(engine), argv[2], strlen(argv[2]), FR_TEXT_BOS,
                              &prompt, &err);
    if (!st) {
        fr_request request = {.size = sizeof request,
                              .prompt = prompt->ids,
                              .n_prompt = prompt->n_ids,
                              .n_predict = TOKENS,
                              .logprobs = true,
                              .top_logprobs = TOP};
        st = fr_session_generate(session, &request, &result, &err);
    }
    for (int i = 0; !st && i < result->n_tokens; i++) {
        const fr_logprobs *of = result->logprobs[i];
        show(fr_engine_text(engine), result->tokens[i], of->logprob);
        for (int k = 0; k < of->n_top; k++)
            show(fr_engine_text(engine), of->top[k].token, of->top[k].logprob);
        printf("\n");
    }
    if (st) fprintf(stderr, "logprobs: %s\n", err.text);
    fr_encoded_free(prompt);
    fr_session_close(session);
    fr_engine_close(engine);
    return st != FR_OK;
}
