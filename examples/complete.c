// complete.c — goes on with a text.
//     cc complete.c $(pkg-config --cflags --libs forerun) -o complete
//     ./complete MODEL.gguf "Once upon a time"
#include <forerun.h>
#include <stdio.h>
#include <string.h>

static bool print(void *user, const fr_piece *piece) {
    (void)user;
    fwrite(piece->text, 1, piece->bytes, stdout);
    return fflush(stdout) == 0;
}

int main(int argc, char **argv) {
    fr_engine *engine = NULL;
    fr_session *session = NULL;
    fr_encoded *prompt = NULL;
    fr_error err;
    if (argc != 3) return fprintf(stderr, "usage: complete MODEL.gguf TEXT\n"), 2;
    const char *text = argv[2];
    fr_status st = fr_engine_open(&engine, argv[1], NULL, &err);
    if (!st) st = fr_session_open(&session, engine, NULL, &err);
    if (!st)
        st = fr_text_tokenize(fr_engine_text(engine), text, strlen(text), FR_TEXT_BOS, &prompt,
                              &err);
    if (!st) {
        fr_request request = {.size = sizeof request,
                              .prompt = prompt->ids,
                              .n_prompt = prompt->n_ids,
                              .n_predict = 64,
                              .stream = print};
        st = fr_session_generate(session, &request, NULL, &err);
    }
    if (st) fprintf(stderr, "complete: %s\n", err.text);
    printf("\n");
    fr_encoded_free(prompt);
    fr_session_close(session);
    fr_engine_close(engine);
    return st != FR_OK;
}
