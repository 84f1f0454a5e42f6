// many_users.c — answers several questions at once: sessions of a group share every pass, and each
// gets the bytes that it would get alone.
//     cc many_users.c $(pkg-config --cflags --libs forerun) -o many_users
//     ./many_users MODEL.gguf "Name three rivers." "Why is the sky blue?"
#include <forerun.h>
#include <stdio.h>

enum { USERS = 16, CONTEXT = 1024, TOKENS = 64 };

static fr_status ask(fr_engine *engine, fr_group *group, const char *question, fr_session **session,
                     fr_encoded **prompt, fr_error *err) {
    fr_session_options options = {.size = sizeof options, .n_ctx = CONTEXT, .group = group};
    fr_chat_message message = {"user", question};
    fr_status st = fr_session_open(session, engine, &options, err);
    if (!st) st = fr_text_chat(fr_engine_text(engine), &message, 1, FR_TEXT_BOS, prompt, err);
    if (st) return st;
    fr_request request = {.size = sizeof request,
                          .prompt = (*prompt)->ids,
                          .n_prompt = (*prompt)->n_ids,
                          .n_predict = TOKENS};
    return fr_session_begin(*session, &request, err);
}

int main(int argc, char **argv) {
    const fr_group_options options = {.size = sizeof options, .n_ctx = CONTEXT};
    fr_engine *engine = NULL;
    fr_group *group = NULL;
    fr_session *sessions[USERS] = {NULL};
    fr_encoded *prompts[USERS] = {NULL};
    int n = 0;
    fr_error err;
    if (argc < 3 || argc > 2 + USERS)
        return fprintf(stderr, "usage: many_users MODEL.gguf QUESTION...\n"), 2;
    fr_status st = fr_engine_open(&engine, argv[1], NULL, &err);
    if (!st) st = fr_group_open(&group, engine, &options, &err);
    for (; !st && n < argc - 2; n++)
        st = ask(engine, group, argv[2 + n], &sessions[n], &prompts[n], &err);
    while (!st && fr_group_step(group)) {
    }
    for (int i = 0; i < n && !st; i++) {
        if ((st = fr_session_end(sessions[i], &err))) break;
        printf("%s\n%s\n", argv[2 + i], fr_session_result(sessions[i])->text);
    }
    if (st) fprintf(stderr, "many_users: %s\n", err.text);
    for (int i = 0; i < n; i++) {
        fr_session_close(sessions[i]);
        fr_encoded_free(prompts[i]);
    }
    fr_group_close(group);
    fr_engine_close(engine);
    return st != FR_OK;
}
