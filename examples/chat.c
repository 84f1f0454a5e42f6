// chat.c — a conversation: a line in, an answer out. The context is kept from answer to answer.
//     cc chat.c $(pkg-config --cflags --libs forerun) -o chat
//     ./chat MODEL.gguf
#include <forerun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 64, LINE = 4096, TOKENS = 256 };

static bool print(void *user, const fr_piece *piece) {
    (void)user;
    fwrite(piece->text, 1, piece->bytes, stdout);
    return fflush(stdout) == 0;
}

static fr_status answer(fr_engine *engine, fr_session *session, const fr_chat_message *messages,
                        int n, char **said, fr_error *err) {
    fr_encoded *prompt;
    const fr_result *result;
    fr_status st = fr_text_chat(fr_engine_text(engine), messages, n, FR_TEXT_BOS, &prompt, err);
    if (st) return st;
    fr_request request = {.size = sizeof request,
                          .prompt = prompt->ids,
                          .n_prompt = prompt->n_ids,
                          .n_predict = TOKENS,
                          .stream = print};
    st = fr_session_generate(session, &request, &result, err);
    printf("\n");
    if (!st) *said = strdup(result->text);
    fr_encoded_free(prompt);
    return st;
}

int main(int argc, char **argv) {
    fr_engine *engine = NULL;
    fr_session *session = NULL;
    fr_chat_message messages[MESSAGES];
    char line[LINE], *texts[MESSAGES] = {NULL};
    int n = 0;
    fr_error err;
    if (argc != 2) return fprintf(stderr, "usage: chat MODEL.gguf\n"), 2;
    fr_status st = fr_engine_open(&engine, argv[1], NULL, &err);
    if (!st) st = fr_session_open(&session, engine, NULL, &err);
    while (!st && n + 2 <= MESSAGES && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        texts[n] = strdup(line);
        messages[n] = (fr_chat_message){"user", texts[n]};
        st = answer(engine, session, messages, n + 1, &texts[n + 1], &err);
        messages[n + 1] = (fr_chat_message){"assistant", texts[n + 1]};
        n += 2;
    }
    if (st) fprintf(stderr, "chat: %s\n", err.text);
    for (int i = 0; i < n; i++)
        free(texts[i]);
    fr_session_close(session);
    fr_engine_close(engine);
    return st != FR_OK;
}
