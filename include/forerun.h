// forerun.h — the only public header.
//
// An *engine* holds one model (weights, tokenizer, chat template) and is read-only once open. A
// *session* holds one conversation's context (KV cache, drafter, sampler) on an engine; one thread
// at a time may use a session, and one open or close sessions of an engine. Handles are opaque; every `open` has a
// `close` that accepts NULL. Functions that can fail return fr_status and fill *err (which may be
// NULL) with one sentence. The library never prints and never exits.
//
// Programs go on working with a newer library of the same soname, as structs only grow at their
// end:
// - What the caller fills begins with its `size`. Set that to sizeof, everything else to 0, and then
//   what is wanted otherwise: fr_request q = {.size = sizeof q, .prompt = ids, .n_prompt = n};
//   A member that an older caller does not have is its default. A member that an older library does
//   not know is FR_EARG, unless it is 0.
// - What the library fills it also owns, and hands out as a pointer to const.
// - Elements of arrays (fr_logit_bias, fr_logprob, fr_chat_message, fr_draft_count), fr_error and
//   the numbers that enums give stay as they are.
#ifndef FORERUN_H
#define FORERUN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FR_VERSION "0.1.0"
const char *fr_version(void); // that of the library, where a program runs with another one

typedef enum fr_status {
    FR_OK = 0,
    FR_EARG,     // the request is wrong (an option, a number, a name)
    FR_ENOMEM,   // memory
    FR_EIO,      // a file cannot be opened, read or written
    FR_EDATA,    // a file's content is broken
    FR_EUNSUP,   // well-formed, but not something this build or this CPU can do
    FR_ECONTEXT, // does not fit the context
    FR_EINTR,    // the caller's callback asked to stop
} fr_status;

typedef struct fr_error {
    fr_status code;
    char text[512]; // one sentence: what, where, expected, found
} fr_error;

typedef struct fr_engine fr_engine;
typedef struct fr_text fr_text;
typedef struct fr_session fr_session;
typedef struct fr_group fr_group;

// Called during long work: done of total, bytes while loading, passes while measuring. A false
// return stops it with FR_EINTR.
typedef bool fr_progress_fn(void *user, const char *what, uint64_t done, uint64_t total);

typedef struct fr_engine_options {
    size_t size;
    const char *isa; // NULL or "auto", "scalar", "avx2", "avx-vnni", "avx512", "amx"
    int threads;     // 0: the physical cores this process may use
    bool low_memory; // leave the weights in the mapped file: little memory of its own, slower, the
                     // same bytes
    fr_progress_fn *progress;
    void *progress_user;
} fr_engine_options;

// The path of the model that `name` stands for, as `forerun run -m` takes it: a file; a folder with
// one model in it; or the name of one that Hugging Face, llama.cpp, Ollama or LM Studio have put on
// this machine ("org/repo", "org/repo:QUANT", "name:tag"). Nothing is downloaded. `path` has room
// for `room` bytes; 4096 are enough. FR_EIO: there is none, or several; FR_EDATA: Ollama's record of
// it is faulty; FR_EARG: no room; FR_ENOMEM.
fr_status fr_model_find(char *path, size_t room, const char *name, fr_error *err);

// options NULL: the defaults, which are 0.
fr_status fr_engine_open(fr_engine **out, const char *model_path, const fr_engine_options *options,
                         fr_error *err);
void fr_engine_close(fr_engine *engine);

// Takes the engine's profile: what passes cost on this machine and how good its drafters were found
// to be. It is read from the folder `dir`, or measured now, which takes seconds, and kept there
// (dir NULL: kept nowhere). Passes of other threads' sessions wait while it is measured. Before
// groups, and sessions that draft, are opened; without it trees are sized by a guess that is
// corrected as passes are seen. *note tells what was wrong with an old profile, or why the new one
// could not be kept (else its code is FR_OK). FR_ENOMEM, FR_EARG, FR_EINTR.
fr_status fr_engine_profile(fr_engine *engine, const char *dir, fr_progress_fn *progress,
                            void *user, fr_error *note, fr_error *err);

// What an engine is, for programs that report it; it lives as long as the engine.
typedef struct fr_engine_info {
    const char *name, *architecture, *isa;
    const char
        *quantization; // as the file calls itself ("Q4_K_M"), or the type of most of its bytes
    int threads, n_layer, n_vocab, n_ctx_train, n_embd;
    uint64_t parameters;
    uint64_t file_bytes;    // of all files of a split model
    uint64_t weights_bytes; // read by one pass with logits on every row
    uint64_t macs_per_row;
    double load_seconds;
} fr_engine_info;
const fr_engine_info *fr_engine_describe(const fr_engine *engine);

// ---- text and tokens

// The text side of a model: its tokenizer and its chat template, read-only once open: any number of
// threads may use one at the same time. An engine has one, which lives as long as the engine; one
// of a model's file alone is open at once, as the weights are not read. FR_EIO, FR_EDATA,
// FR_EUNSUP, FR_ENOMEM.
const fr_text *fr_engine_text(const fr_engine *engine);
fr_status fr_text_open(fr_text **out, const char *model_path, fr_error *err);
// The same with another chat template in the place of the model's: Jinja, `bytes` long. `of` must
// outlive it. FR_EUNSUP: it is empty; FR_EDATA: what is wrong with it, and in which line.
fr_status fr_text_open_with(fr_text **out, const fr_text *of, const char *chat_template,
                            size_t bytes, fr_error *err);
void fr_text_close(fr_text *text); // NULL is fine
// Short templates for models that have none: their names (NULL past the last), and one by its name
// (NULL: there is none).
const char *fr_chat_name_at(int index);
const char *fr_chat_text_named(const char *name);

typedef struct fr_text_info { // lives as long as the text; ids are -1 where the model has no such
    int n_vocab;              // ids that stand for text are 0..n_vocab - 1
    int32_t bos, eos, eot, unknown, pad;
    bool adds_bos, adds_eos; // a text begins with bos, ends with eos
    const int32_t *ends;     // [n_ends] whoever generates one has finished, ascending
    int n_ends;
    // To fill in the middle: prefix PREFIX suffix SUFFIX middle. The name of a repository, and of
    // each file in it, stands behind the last two.
    int32_t fim_prefix, fim_suffix, fim_middle, fim_pad, fim_repository, fim_file;
    const char *chat_template; // Jinja; NULL: there is none
    size_t chat_template_bytes;
    const char *chat_fault; // why conversations cannot be put through it; NULL: they can
    bool chat_tools;        // it takes tools
    bool chat_thinking;     // it knows "enable_thinking", which turns thinking off
} fr_text_info;
const fr_text_info *fr_text_describe(const fr_text *text);

// A text and its ids; free it with fr_encoded_free.
typedef struct fr_encoded {
    const char *text; // ends in a NUL besides, may hold some
    size_t text_bytes;
    const int32_t *ids;
    int n_ids;
} fr_encoded;
void fr_encoded_free(fr_encoded *encoded); // NULL is fine

enum {
    FR_TEXT_BOS = 1,     // the token that the model wants in front of a text is put there
    FR_TEXT_CONTROL = 2, // control tokens that are written in the text ("<|im_end|>") become such;
                         // else they are text, which is what text from outside should be
};
// The ids of a text. Bytes that are not UTF-8 are no error (byte-level tokenizers read U+FFFD).
// FR_EARG: an unknown flag, more than 1 GiB; FR_ENOMEM.
fr_status fr_text_tokenize(const fr_text *text, const char *bytes, size_t n_bytes, unsigned flags,
                           fr_encoded **out, fr_error *err);
// The text of n ids, control tokens as they are written: the inverse of the former, so a space that
// it put in front is taken away. It need not be UTF-8. FR_EARG: an id that is none; FR_ENOMEM.
fr_status fr_text_detokenize(const fr_text *text, const int32_t *ids, int n, fr_encoded **out,
                             fr_error *err);
// The bytes of one token, as long as `text` lives; NULL where there is no such token. *n_bytes (or
// NULL) is their number, a NUL behind them.
const char *fr_text_token(const fr_text *text, int32_t id, size_t *n_bytes);
// The special token that is written so, or -1.
int32_t fr_text_find(const fr_text *text, const char *bytes, size_t n_bytes);
bool fr_text_is_control(const fr_text *text, int32_t id); // it is not a part of what a model says
bool fr_text_is_end(const fr_text *text, int32_t id);

// A conversation as the model was trained on it: put through the chat template, with the
// assistant's turn opened. Control tokens are the template's alone (FR_TEXT_CONTROL: those in
// messages count too, which lets whoever writes them speak in any role). FR_TEXT_BOS adds the token
// only where the template did not write it. FR_EUNSUP: there is no template, or it takes no tools;
// FR_EARG: what it refuses, or is wrong with the messages; FR_ENOMEM.
typedef struct fr_chat_message {
    const char *role, *content; // roles: "system", "user", "assistant", or what a template knows
} fr_chat_message;
fr_status fr_text_chat(const fr_text *text, const fr_chat_message *messages, int n, unsigned flags,
                       fr_encoded **out, fr_error *err);
// The same of JSON in the form of the OpenAI API: {"messages":[...],"tools":[...],
// "add_generation_prompt":true,"chat_template_kwargs":{...}} or the list of messages alone.
// Messages may have tool_calls, reasoning_content and lists of text parts.
fr_status fr_text_chat_json(const fr_text *text, const char *json, size_t n_bytes, unsigned flags,
                            fr_encoded **out, fr_error *err);

// ---- generating

typedef struct fr_logit_bias {
    int32_t token;
    float bias; // -100 to 100, added to its logit; -infinity: it never comes
} fr_logit_bias;

// A 0 is the default, which is to leave a rule out. What a 0 could mean besides is said otherwise:
// the best token alone by top_k 1, a penalty that looks back on nothing by repeat_penalty 1.
typedef struct fr_sampling { // but for its size 0: greedy
    size_t size;
    float temperature;       // 0: greedy; at most 100
    int top_k;               // 0: off; 1: the best token
    float top_p;             // 0 or 1: off
    float min_p;             // 0: off
    float repeat_penalty;    // 0 or 1: off; at most 100
    int repeat_last_n;       // 0: 64; tokens that the penalty looks back on; -1: the whole context
    float frequency_penalty; // 0: off; taken from a token's logit for each time it was generated
    float presence_penalty;  // 0: off; taken once from that of every generated token
    const fr_logit_bias *bias; // [n_bias]; stays in place until the generation's end
    int n_bias;
    uint64_t seed;
} fr_sampling;

typedef struct fr_session_options { // but for its size 0: the defaults
    size_t size;
    int n_ctx;           // 0: the model's own
    const char *kv_type; // of the KV cache: NULL or "f16", "q8_0" (half the memory),
                         // "f16+q8_0" (keys in f16, values in q8_0)
    const char *drafter; // SPEC of docs (NULL: "auto")
    const char *tree;    // NULL or "auto", a number of nodes, or the path of a shape
    const char *accept;  // when a candidate counts: NULL or "exact" (the bytes of plain decoding),
                         // "rejection" (its distribution), "typical" or "typical:EPSILON,DELTA"
                         // (neither)
    bool no_adapt;
    const char *const *draft_opts; // NULL-terminated KEY=VALUE list, or NULL
    fr_group *group;               // whose passes it shares; NULL: it has passes of its own
} fr_session_options;

#define FR_PROMPT_SHARE 3.5
typedef struct fr_group_options { // but for its size 0: the defaults
    size_t size;
    int n_ctx; // the largest context of any session; 0: the model's own
    // 0: FR_PROMPT_SHARE. Where some sessions read prompts while others write, a pass takes about
    // so many times what one that writes alone takes.
    float prompt_share;
} fr_group_options;

// A group of sessions shares each pass: what many ask at once takes little longer than what one
// asks, and every session's bytes are those that it would give alone. At most 64 sessions. options
// NULL: the defaults. FR_EARG, FR_ENOMEM.
fr_status fr_group_open(fr_group **out, fr_engine *engine, const fr_group_options *options,
                        fr_error *err);
void fr_group_close(fr_group *group); // after its sessions; NULL is fine
// One pass for all sessions of the group that have begun a generation and are not at its end; each
// is given its tokens through its request's `stream`. Sessions join, begin, end and leave between
// two steps, by one thread at a time and not within `stream`. False: no session has anything left
// to do.
bool fr_group_step(fr_group *group);
// What the last step's pass was; lives as long as the group.
typedef struct fr_group_pass {
    int sessions, rows; // that shared it; of all of them
    double seconds;     // without drafting and drawing
    double predicted;   // the same by what passes have cost so far; 0: not known yet
} fr_group_pass;
const fr_group_pass *fr_group_last(const fr_group *group);

// options NULL: the defaults.
fr_status fr_session_open(fr_session **out, fr_engine *engine, const fr_session_options *options,
                          fr_error *err);
void fr_session_close(fr_session *session);

typedef enum fr_finish { FR_FINISH_STOP, FR_FINISH_LENGTH, FR_FINISH_INTERRUPTED } fr_finish;

// One piece of output: whole UTF-8 sequences only. `token` ended the piece; `depth` is 0 for a
// token the target gave itself and d>0 for the d-th drafted token of a pass; `drafter` indexes the
// SPEC's parts (0 when depth is 0).
typedef struct fr_piece {
    const char *text;
    size_t bytes;
    int32_t token;
    int depth, drafter;
} fr_piece;
// false: stop behind this piece, which is part of the text like those before it; what a stop string
// or half a character held back is still handed out. While the
// prompt is read, and after a token without text, it is asked with an empty piece, token -1,
// whether to go on.
typedef bool fr_stream_fn(void *user, const fr_piece *piece);

typedef struct fr_request { // one generation
    size_t size;
    const int32_t *prompt;
    int n_prompt;
    int n_predict;               // -1: until the end token or the context's end
    const fr_sampling *sampling; // NULL: greedy
    const char *const *stop;     // NULL-terminated list of stop strings, or NULL
    bool ignore_eos;
    bool logprobs;        // fr_result.logprobs is wanted; not with accept "typical"
    bool prompt_logprobs; // fr_result.prompt_logprobs is wanted: the prompt is read whole
    bool drawn_logprobs;  // fr_result.logprobs are of what is drawn from: after all of `sampling`
    int top_logprobs; // ... and in both so many of the likeliest tokens, at most FR_TOP_LOGPROBS
    int n_prediction;
    // [n_prediction] What the answer is expected to be, in part or whole (OpenAI's Predicted
    // Outputs), as ids. It never changes the answer. It is checked and kept, but no drafter reads
    // it yet, so it does not make the answer faster either.
    const int32_t *prediction;
    fr_stream_fn *stream;
    void *user;
    // [n_shown] Control tokens that are part of the text as they are written, as others are not;
    // stays in place until the end.
    const int32_t *shown;
    size_t n_shown;
} fr_request;

// What a drafter counts of itself in a generation, beyond what is counted of all of them: a sum, or
// a mean of sum / of. Names live as long as the program.
enum { FR_DRAFT_COUNTS = 32 };
typedef struct fr_draft_count {
    const char *drafter, *name;
    bool mean;
    double sum, of;
} fr_draft_count;
typedef struct fr_draft_counts { // no two of the same drafter and name
    int n;
    fr_draft_count count[FR_DRAFT_COUNTS];
} fr_draft_counts;

enum { FR_MAX_DEPTH = 64, FR_COUNTED_ROWS = 64 };
typedef struct fr_stats {
    fr_finish finish;
    char used[64];  // the SPEC that drafted in the end
    char why[160];  // half a sentence: why that one, and how it went
    bool lossless;  // the rule promises the bytes of plain decoding
    bool exact_law; // ... or at least its distribution
    int prompt_tokens, prompt_reused, completion_tokens;
    int64_t passes, rows, plain_passes; // plain: of the root alone
    double seconds_prompt, seconds_decode, seconds_draft, seconds_verify;
    double predicted, predicted_plain; // seconds that the profile says these passes take, and plain
                                       // decoding of the same tokens; 0 without one
    int64_t offered[FR_MAX_DEPTH], accepted[FR_MAX_DEPTH]; // by depth 1.. at index 0..
    // Passes of n rows at index n, those of more than FR_COUNTED_ROWS at 0; and the seconds that
    // these passes alone took, without drafting and verifying.
    int64_t passes_by_rows[FR_COUNTED_ROWS + 1];
    double seconds_by_rows[FR_COUNTED_ROWS + 1];
    double expected; // tokens by the drafter's own estimate: 1 and its scores, of all passes
    fr_draft_counts draft;
} fr_stats;

// Natural logarithms of the model's own probabilities, before penalties, bias and sampling; or, as
// the request wants it, of those that remain after them, where only what can be drawn is listed.
enum { FR_TOP_LOGPROBS = 20 };
typedef struct fr_logprob {
    int32_t token;
    float logprob;
} fr_logprob;
typedef struct fr_logprobs {
    float logprob; // of the token given
    int n_top;
    fr_logprob top[FR_TOP_LOGPROBS]; // the likeliest, best first
} fr_logprobs;

// What a session's last generation gave, without the prompt. There is one for the session's life;
// what it says changes with the next begin.
typedef struct fr_result {
    const int32_t *tokens;
    int n_tokens;
    const fr_logprobs *const *logprobs; // [n_tokens], where the request wants them; else NULL
    const char *text;                   // valid UTF-8: a cut or invalid character is U+FFFD
    size_t text_bytes;
    const fr_stats *stats;
    // [the prompt's n_prompt], where the request wants them, else NULL: of its tokens, each behind
    // those before it; NULL for the first, and for those that were not read when it was broken off.
    const fr_logprobs *const *prompt_logprobs;
    int stopped_by; // which of the request's stop strings ended it, from 0; -1: none
} fr_result;
const fr_result *fr_session_result(const fr_session *session);

// The context kept from the last call is reused as far as it agrees with `prompt`. *out (or NULL)
// is fr_session_result in any case. FR_EARG, FR_ECONTEXT, FR_ENOMEM; FR_EDATA where the model's
// logits are not finite, for its file is damaged or its weights overflow: the result then holds,
// and the stream has had, what came before.
fr_status fr_session_generate(fr_session *session, const fr_request *request, const fr_result **out,
                              fr_error *err);

// The same in parts, so that generations of several sessions of an engine can take turns: begin
// reads the prompt (in a group the steps do, along with what the others do), step runs one pass of
// the session or of its group (false: nothing is left to do), end completes the result, of which
// n_tokens counts along before, and of its stats `used`, the passes, rows, accepted, predicted,
// seconds_by_rows. A session has one generation at a time (FR_EARG). What the request
// points at must stay in place until end, which may call `stream` a last time; the request itself
// and its sampling are copied. Times are those of the parts, without what happens between them.
// Every begin that gives FR_OK needs its end, also when the steps are broken off. Other errors are
// those of fr_session_generate.
fr_status fr_session_begin(fr_session *session, const fr_request *request, fr_error *err);
bool fr_session_step(fr_session *session);
bool fr_session_runs(const fr_session *session); // whether its generation has steps left
fr_status fr_session_end(fr_session *session, fr_error *err);

// Ends the generation at work between two passes, also while the prompt is read or a group steps:
// what was generated is a part of the whole answer, and FR_FINISH_INTERRUPTED its end. From any
// thread at any time until the session is closed, and from a signal handler. Where none is at work
// nothing happens: the next begin forgets it.
void fr_session_cancel(fr_session *session);

// Makes the context of `session` that of `from`, as far as it has room: what several sessions of an
// engine begin with is then read once. Drafters that have to see a prompt's hidden states read it
// all the same. `from` may be between two steps of a generation, `session` has none. FR_EARG: it
// has, or the two differ in engine or kv_type.
fr_status fr_session_adopt(fr_session *session, const fr_session *from, fr_error *err);
// The ids that it has read, in order: a prompt that begins with them need not be read again so far.
// Until the next call on the session, and between two steps of a generation too.
const int32_t *fr_session_context(const fr_session *session, int *n);
// Reads the next prompt from its beginning. FR_EARG: a generation is at work.
fr_status fr_session_forget(fr_session *session, fr_error *err);

#ifdef __cplusplus
}
#endif
#endif
