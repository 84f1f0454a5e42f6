// answers.c — a drafter over a file of prompts.
#include "cmd/lib/answers.h"

static bool go_on(void *user, const fr_piece *piece) {
    fr_answers *a = user;
    (void)piece;
    fr_progress_show(&a->bar, a->what, a->done, a->total);
    return !fr_cmd_interrupted();
}

static fr_status encode(fr_answers *a, int i, fr_error *err) {
    const fr_prompt *p = &a->prompts->item[i];
    fr_error why = {0};
    fr_status st = FR_OK;
    fr_talk_drop(&a->talk, 0);
    if (p->system) st = fr_talk_add(&a->talk, "system", p->system, p->system_bytes, &why);
    if (!st) st = fr_talk_add(&a->talk, "user", p->turns[0], p->turn_bytes[0], &why);
    if (!st) st = fr_talk_encode(&a->talk, &a->text, true, &a->ids, &why);
    return st ? fr_fail(err, st, "prompt %d (%.40s): %s", i + 1, p->id, why.text) : FR_OK;
}

fr_status fr_answers_open(fr_answers *a, const fr_cmd_args *args, fr_engine *engine,
                          const fr_prompts *prompts, fr_error *err) {
    *a = (fr_answers){.args = args, .engine = engine, .prompts = prompts, .what = "answers"};
    fr_cmd_text_lend(&a->text, engine);
    fr_status st = fr_cmd_text_template(&a->text, args, err);
    for (int i = 0; i < prompts->n && !st; i++) {
        st = encode(a, i, err);
        const int64_t need = (int64_t)a->ids.n + args->n_predict;
        if (need > a->most) a->most = need;
    }
    return st;
}

void fr_answers_close(fr_answers *a) {
    fr_cmd_text_close(&a->text);
    fr_talk_free(&a->talk);
    fr_ids_free(&a->ids);
}

static fr_status answer(fr_answers *a, fr_session *s, int i, fr_answer_fn *answered, void *user,
                        fr_error *err) {
    const fr_result *r;
    fr_status st = encode(a, i, err);
    if (st) return st;
    const fr_request request = {.size = sizeof request,
                                .prompt = a->ids.data,
                                .n_prompt = (int)a->ids.n,
                                .n_predict = a->args->n_predict,
                                .stream = go_on,
                                .user = a};
    if ((st = fr_session_generate(s, &request, &r, err))) return st;
    if (fr_cmd_interrupted()) return fr_fail(err, FR_EINTR, "interrupted");
    answered(user, &a->ids, r);
    a->done++;
    return FR_OK;
}

fr_status fr_answers_run(fr_answers *a, const char *spec, void (*opened)(void *user, fr_session *s),
                         fr_answer_fn *answered, void *user, fr_error *err) {
    fr_session *s;
    fr_status st = fr_cmd_session_open(&s, a->engine, a->args, spec, a->most, 0, err);
    if (st) return st;
    if (opened) opened(user, s);
    if (!a->bar.out) fr_progress_open(&a->bar, a->args->quiet ? NULL : stderr, "answers", 1);
    for (int i = 0; i < a->prompts->n && !st; i++)
        st = answer(a, s, i, answered, user, err);
    fr_progress_clear(&a->bar);
    fr_session_close(s);
    return st;
}
