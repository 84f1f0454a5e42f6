// run_request.c — the oracle of the server's requests: the same reading of a body, one choice of it
// answered by one session alone.
#include "cmd/run_request.h"
#include "api/logprobs.h"
#include "api/request.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "cmd/lib/warn.h"
#include "cmd/run_answer.h"
#include "draft/registry.h"
#include <string.h>

typedef struct job {
    const fr_cmd_args *args;
    const fr_parsed *parsed;
    fr_buffer body;
    fr_api_request request;
    const char *drafter;
    fr_engine *engine;
    fr_cmd_text text;
    fr_session *session;
    fr_buffer echo;        // the prompt's text, where the answer begins with it
    fr_logprobs *answered; // of the answer's tokens, where they are wanted
    fr_logprobs *read;     // and of the prompt's
    double load;           // seconds
} job;

static bool given(const job *j, const char *option) {
    return fr_option_given(&fr_cmd_run.table, j->parsed, option);
}

// ---------------------------------------------------------------- command line and body

// The settings of the body alone.
static int check_line(const fr_cmd_args *args) {
    const struct {
        const char *option;
        bool given;
    } owned[] = {{"-p", args->prompt != NULL},           {"-f", args->file != NULL},
                 {"--messages", args->messages != NULL}, {"--raw", args->raw},
                 {"--stop", args->stop.n > 0},           {"--ignore-eos", args->ignore_eos}};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        if (owned[i].given)
            return fr_cmd_usage("run", "%s: belongs into the --request itself", owned[i].option);
    return FR_EXIT_DONE;
}

// A server's defaults, overridden by the command line.
static fr_api_defaults defaults_of(const job *j) {
    const fr_cmd_args *a = j->args;
    fr_api_defaults d = fr_api_usual(fr_cmd_sampling(a, given(j, "seed")).seed);
    if (given(j, "temp")) d.sampling.temperature = (float)a->temp;
    if (given(j, "top-k")) d.sampling.top_k = a->top_k;
    if (given(j, "top-p")) d.sampling.top_p = (float)a->top_p;
    if (given(j, "min-p")) d.sampling.min_p = (float)a->min_p;
    if (given(j, "repeat-penalty")) d.sampling.repeat_penalty = (float)a->repeat_penalty;
    if (given(j, "repeat-last-n")) d.sampling.repeat_last_n = a->repeat_last_n;
    if (given(j, "n-predict")) d.n_predict = a->n_predict;
    return d;
}

// A body that is silent has taken the command line's; so what differs now is a contradiction.
static int check_agreement(const job *j) {
    const fr_cmd_args *a = j->args;
    const fr_api_sampling *s = &j->request.sampling;
    const struct {
        const char *option;
        bool differs;
    } both[] = {{"temp", s->temperature != (float)a->temp},
                {"top-k", s->top_k != a->top_k},
                {"top-p", s->top_p != (float)a->top_p},
                {"min-p", s->min_p != (float)a->min_p},
                {"repeat-penalty", s->repeat_penalty != (float)a->repeat_penalty},
                {"repeat-last-n", s->repeat_last_n != a->repeat_last_n},
                {"seed", s->seed != a->seed},
                {"n-predict", j->request.n_predict != a->n_predict},
                {"drafter", j->request.drafter && strcmp(j->request.drafter, a->drafter)}};
    for (size_t i = 0; i < sizeof both / sizeof *both; i++)
        if (both[i].differs && given(j, both[i].option))
            return fr_cmd_usage("run", "--%s: the request says otherwise", both[i].option);
    return FR_EXIT_DONE;
}

// A request never opens a file.
static fr_status choose_drafter(job *j, fr_error *err) {
    const char *theirs = j->request.drafter;
    j->drafter = theirs && !given(j, "drafter") ? theirs : j->args->drafter;
    if (theirs && strchr(theirs, ':') && !given(j, "drafter"))
        return fr_fail(err, FR_EARG, "drafter: expected names alone, found a file: give --drafter");
    return fr_drafter_check(j->drafter, err);
}

// An error in a file is no mistake of the command line.
static fr_status of_body(const job *j, fr_status st, const fr_error *why, fr_error *err) {
    const char *name = strcmp(j->args->request, "-") ? j->args->request : "standard input";
    return st ? fr_fail(err, st == FR_EARG ? FR_EDATA : st, "%.200s: %s", name, why->text) : FR_OK;
}

static fr_status read_body(job *j, fr_error *err) {
    const fr_api_defaults defaults = defaults_of(j);
    fr_error why = {0};
    fr_status st = fr_cmd_read_file(&j->body, j->args->request, err);
    if (st) return st;
    st = fr_api_parse(&j->request, FR_API_ANY, j->body.data ? j->body.data : "", j->body.n,
                      &defaults, &why);
    if (!st && (j->request.indent || j->request.line_ms > 0))
        st = fr_fail(&why, FR_EARG, "%s: for a server alone: leave it out",
                     j->request.indent ? "n_indent" : "t_max_predict_ms");
    if (!st) st = choose_drafter(j, &why);
    return of_body(j, st, &why, err);
}

// ---------------------------------------------------------------- the prompt

static fr_api_model model_of(const job *j) {
    return (fr_api_model){.tokenizer = j->engine->tokenizer,
                          .chat = &j->text.text->chat,
                          .n_vocab = j->engine->model.config.n_vocab};
}

static fr_status encode(job *j, fr_error *err) {
    fr_error why = {0};
    fr_cmd_text_lend(&j->text, j->engine);
    fr_status st =
        j->request.kind == FR_API_CHAT ? fr_cmd_text_template(&j->text, j->args, err) : FR_OK;
    if (st) return st;
    const fr_api_model model = model_of(j);
    if ((st = fr_api_encode(&j->request, &model, &why))) return of_body(j, st, &why, err);
    if (j->args->choice >= fr_api_choices(&j->request))
        return fr_fail(err, FR_EARG, "--choice %d: the request has %d", j->args->choice,
                       fr_api_choices(&j->request));
    if (j->request.kind == FR_API_COMPLETION)
        fr_cmd_warn_of_beginning(j->args, j->text.text,
                                 &j->request.prompt[j->args->choice / j->request.n]);
    if (!j->request.echo) return FR_OK;
    return fr_api_prompt_text(&j->request, &model, j->args->choice / j->request.n, &j->echo, err);
}

// ---------------------------------------------------------------- the answer

static json_t *usage_json(const fr_stats *s) {
    return json_pack("{s:i, s:i, s:i, s:{s:i}}", "prompt_tokens", s->prompt_tokens,
                     "completion_tokens", s->completion_tokens, "total_tokens",
                     s->prompt_tokens + s->completion_tokens, "prompt_tokens_details",
                     "cached_tokens", s->prompt_reused);
}

static json_t *logprobs_json(const job *j, const fr_request *q, const fr_result *r) {
    const fr_api_scored s = {.tokenizer = j->engine->tokenizer,
                             .token = r->tokens,
                             .score = j->answered,
                             .n = r->n_tokens,
                             .n_top = j->request.top_logprobs,
                             .drawn = j->request.post_sampling};
    if (!j->request.logprobs) return json_null();
    if (j->request.kind == FR_API_CHAT) return fr_api_chat_logprobs(&s);
    if (!j->read) return fr_api_text_logprobs(&s);
    return fr_api_echoed_logprobs(&(fr_api_scored){.tokenizer = s.tokenizer,
                                                   .token = q->prompt,
                                                   .score = j->read,
                                                   .n = q->n_prompt,
                                                   .n_top = s.n_top,
                                                   .echoed = &j->echo},
                                  &s);
}

// The members that the request wants, beyond those that `run` always prints.
static json_t *more_json(const job *j, const fr_request *q, const fr_result *r) {
    json_t *more = json_pack("{s:i, s:i, s:o, s:o}", "choice", j->args->choice, "choices",
                             fr_api_choices(&j->request), "usage", usage_json(r->stats), "logprobs",
                             logprobs_json(j, q, r));
    fr_buffer text = {0};
    if (more && j->request.n_probs)
        json_object_set_new(
            more, "completion_probabilities",
            fr_api_llama_logprobs(&(fr_api_scored){.tokenizer = j->engine->tokenizer,
                                                   .token = r->tokens,
                                                   .score = j->answered,
                                                   .n = r->n_tokens,
                                                   .n_top = j->request.n_probs,
                                                   .drawn = j->request.post_sampling}));
    if (more && j->request.echo && !fr_buffer_add(&text, j->echo.data, j->echo.n, NULL) &&
        !fr_buffer_add(&text, r->text ? r->text : "", r->text_bytes, NULL))
        json_object_set_new(more, "text", fr_json_text(text.data, text.n));
    fr_buffer_free(&text);
    return more;
}

// Scores that lie anywhere, in one piece; empty where there is none. NULL: no memory.
static fr_logprobs *gather(const fr_logprobs *const *scores, int n) {
    fr_logprobs *to = fr_alloc_array((size_t)n + 1, sizeof *to);
    for (int i = 0; i < n && to; i++)
        if (scores[i]) to[i] = *scores[i];
    return to;
}

// Those of the prompt's and the answer's tokens, where they are wanted.
static fr_status keep_scores(job *j, const fr_request *q, const fr_result *r, fr_error *err) {
    if (r->logprobs && !(j->answered = gather(r->logprobs, r->n_tokens)))
        return fr_fail(err, FR_ENOMEM, "logprobs: no memory for the answer's");
    const int n = q->n_prompt;
    const bool read = r->prompt_logprobs && (n == 1 || r->prompt_logprobs[n - 1]);
    if (read && !(j->read = gather(r->prompt_logprobs, n)))
        return fr_fail(err, FR_ENOMEM, "logprobs: no memory for the prompt's");
    return FR_OK;
}

static fr_status open_session(job *j, const fr_request *q, fr_error *err) {
    const int64_t n = q->n_predict;
    const int64_t need = n < 0 ? 0 : q->n_prompt + (n ? n : 1);
    return fr_cmd_session_open(&j->session, j->engine, j->args, j->drafter, need,
                               (size_t)q->n_prompt, err);
}

static int answer(job *j, double start) {
    fr_printer p = {.colored = !j->args->json && fr_cmd_colored(j->args->color, stdout),
                    .silent = j->args->json};
    fr_error err = {0};
    const fr_result *result = NULL;
    fr_request q;
    fr_sampling sampling;
    fr_api_ask(&j->request, j->args->choice, &q, &sampling);
    q.stream = fr_cmd_print_piece;
    q.user = &p;
    fr_status st = open_session(j, &q, &err);
    j->load = fr_seconds() - start;
    if (!st && j->echo.n && !p.silent) fr_cmd_write(j->echo.data, j->echo.n);
    if (!st) st = fr_session_generate(j->session, &q, &result, &err);
    if (!st) st = keep_scores(j, &q, result, &err);
    if (st) return fr_cmd_fail(&err);
    fr_run_answer a = {.engine = j->engine,
                       .result = result,
                       .printer = &p,
                       .load = j->load,
                       .seed = sampling.seed,
                       .sampled = sampling.temperature > 0,
                       .drafter = j->drafter,
                       .more = j->args->json ? more_json(j, &q, result) : NULL};
    const int code = fr_run_report(j->args, &a);
    json_decref(a.more);
    return code;
}

static void job_close(job *j) {
    fr_session_close(j->session);
    fr_cmd_text_close(&j->text);
    fr_engine_close(j->engine);
    fr_api_close(&j->request);
    fr_buffer_free(&j->body);
    fr_buffer_free(&j->echo);
    fr_free(j->answered);
    fr_free(j->read);
}

int fr_run_request(const fr_cmd_args *args, const fr_parsed *parsed) {
    job j = {.args = args, .parsed = parsed};
    fr_error err = {0};
    int code = check_line(args);
    if (code) return code;
    fr_status st = read_body(&j, &err);
    if (!st) code = check_agreement(&j);
    if (!st && !code) {
        const double start = fr_seconds();
        st = fr_cmd_engine_open(&j.engine, args, &err);
        if (!st) st = encode(&j, &err);
        if (!st) code = answer(&j, start);
    }
    if (st) code = fr_cmd_fail(&err);
    job_close(&j);
    return code;
}
