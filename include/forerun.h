// forerun.h — the only public header.
//
// An *engine* holds one model (weights, tokenizer, chat template) and is read-only once open. A
// *session* holds one conversation's context (KV cache, drafter, sampler) on an engine. Only one
// thread at a time may use a session, and only one at a time may open or close sessions of an
// engine. Handles are opaque; every `open` has a `close` that accepts NULL. Functions that can fail
// return fr_status and fill *err (which may be NULL) with one sentence. The library never prints
// and never exits.
//
// Close what was opened of an object before the object: sessions before their group; groups, sessions
// and texts of fr_text_open_with before their engine or text. An object that is closed too early
// stays until the last of these is closed.
//
// `stream`, the callback of a request, may ask and cancel the session whose text it gets, and the
// sessions of its group. Every other call on them gives FR_EARG there, and a step gives false. A close
// takes effect when the call that called `stream` returns: that call ends early, with FR_EARG.
//
// A program keeps working with a newer library of the same soname, because structs only grow at
// their end:
// - A struct that the caller fills begins with `size`. Set it to sizeof, set the members that you
//   need and leave all others 0: fr_request q = {.size = sizeof q, .prompt = ids, .n_prompt = n};
//   Members that an older caller does not have take their defaults. A member that an older library
//   does not know gives FR_EARG unless it is 0.
// - A struct that the library fills belongs to the library, which returns it as pointer to const.
// - fr_error, the values of enums and the structs that are elements of arrays (fr_logit_bias,
//   fr_logprob, fr_chat_message, fr_draft_count) never change.
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

// Called during long work with the progress so far: `done` of `total`, in bytes while loading, in
// passes while measuring. Return false to stop the work; it then ends with FR_EINTR.
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

// Opens the model in a GGUF file. options NULL: the defaults, which are 0. FR_EARG: an unknown isa,
// or `threads` out of range; FR_EIO, FR_EDATA: the file cannot be read or is damaged; FR_EUNSUP: it
// is no GGUF file, an architecture, tokenizer or tensor type that is not supported, or an isa that this CPU lacks;
// FR_ENOMEM; FR_EINTR: `progress` returned false.
// The file is mapped while it is read, with low_memory for as long as the engine is open; a datastore
// always is. If the file becomes shorter in that time, reading it raises SIGBUS. The library installs
// no handlers. So replace such a file by renaming another to its name.
fr_status fr_engine_open(fr_engine **out, const char *model_path, const fr_engine_options *options,
                         fr_error *err);
void fr_engine_close(fr_engine *engine);

// Loads the engine's profile: the measured cost of passes on this machine, and how good the tuned
// drafters are. It is read from the folder `dir`. If that has none that fits, the passes are timed
// now, which takes seconds, and the profile is written to `dir` (NULL: not written). Passes of
// other threads' sessions wait meanwhile. Call this before opening groups and sessions that draft;
// without a profile the sizes of trees follow from a guessed cost, which is corrected as passes are
// seen. A later call measures nothing anew; with another `dir` the profile is kept there as well.
// *note (not NULL) tells what was wrong with an old profile, or why the new one could not be
// written; else its code is FR_OK. FR_ENOMEM; FR_EARG: `dir` is too long; FR_EINTR.
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

// The tokenizer and the chat template of a model. Read-only once open: any number of threads may
// use one fr_text at the same time. fr_engine_text returns the engine's, which lives as long as the
// engine. fr_text_open needs a model file and no engine; it is fast, because the weights are not
// read. FR_EIO, FR_EDATA, FR_EUNSUP, FR_ENOMEM.
const fr_text *fr_engine_text(const fr_engine *engine);
fr_status fr_text_open(fr_text **out, const char *model_path, fr_error *err);
// The same tokenizer with another chat template: Jinja source of `bytes` bytes. `of` must outlive
// *out. FR_EUNSUP: the template is empty; FR_EDATA: it is faulty, and the sentence says how and in
// which line; FR_ENOMEM.
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
    const int32_t *ends;     // [n_ends] tokens that end a generation, ascending
    int n_ends;
    // Fill-in-the-middle: a prompt is fim_prefix PREFIX fim_suffix SUFFIX fim_middle. A
    // repository's name follows fim_repository, the name of each of its files follows fim_file.
    int32_t fim_prefix, fim_suffix, fim_middle, fim_pad, fim_repository, fim_file;
    const char *chat_template; // Jinja; NULL: there is none
    size_t chat_template_bytes;
    const char *chat_fault;    // why conversations cannot be put through it; NULL: they can
    bool chat_tools;           // it takes tools
    bool chat_thinking;        // it knows "enable_thinking", which turns thinking off
    const char *tool_template; // for conversations with tools; NULL: chat_template is
    size_t tool_template_bytes;
    const char
        *note; // a sentence: what the file says of its tokens and was left out; NULL: nothing
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
    FR_TEXT_BOS = 1,     // put the beginning-of-text token in front, if the model wants one
    FR_TEXT_CONTROL = 2, // parse control tokens that are written in the text ("<|im_end|>");
                         // without it they are plain text, as untrusted text should be
};
// The ids of a text. Bytes that are not UTF-8 are no error (byte-level tokenizers read U+FFFD).
// FR_EARG: an unknown flag, more than 1 GiB; FR_ENOMEM.
fr_status fr_text_tokenize(const fr_text *text, const char *bytes, size_t n_bytes, unsigned flags,
                           fr_encoded **out, fr_error *err);
// The text of n ids, control tokens spelled out. The inverse of fr_text_tokenize: a space that it
// added in front is removed. The text need not be UTF-8. FR_EARG: an id outside the vocabulary;
// FR_ENOMEM.
fr_status fr_text_detokenize(const fr_text *text, const int32_t *ids, int n, fr_encoded **out,
                             fr_error *err);
// The bytes of one token, NUL-terminated, valid as long as `text` lives; NULL: no such token.
// *n_bytes (n_bytes may be NULL) becomes their number, without the NUL.
const char *fr_text_token(const fr_text *text, int32_t id, size_t *n_bytes);
// The special token that is written so, or -1.
int32_t fr_text_find(const fr_text *text, const char *bytes, size_t n_bytes);
bool fr_text_is_control(const fr_text *text, int32_t id); // it is not a part of what a model says
bool fr_text_is_end(const fr_text *text, int32_t id);

// Renders a conversation with the chat template, up to the beginning of the assistant's turn, and
// tokenizes it. Control tokens are parsed only where the template wrote them; with FR_TEXT_CONTROL
// also in messages, which lets whoever writes a message speak in any role. FR_TEXT_BOS adds the
// token only if the template did not write it. A template may need 1 MiB of the thread's stack.
// FR_EUNSUP: there is no template, or it takes no tools; FR_EARG: the template refuses the
// messages, or they are malformed; FR_ENOMEM.
typedef struct fr_chat_message {
    const char *role, *content; // roles: "system", "user", "assistant", or what a template knows
} fr_chat_message;
fr_status fr_text_chat(const fr_text *text, const fr_chat_message *messages, int n, unsigned flags,
                       fr_encoded **out, fr_error *err);
// The same of JSON in the form of the OpenAI API: {"messages":[...],"tools":[...],"documents":[...],
// "add_generation_prompt":true,"chat_template_kwargs":{...}} or the list of messages alone.
// Messages may have tool_calls, reasoning_content and lists of text parts.
fr_status fr_text_chat_json(const fr_text *text, const char *json, size_t n_bytes, unsigned flags,
                            fr_encoded **out, fr_error *err);

// ---- generating

typedef struct fr_logit_bias {
    int32_t token;
    float bias; // -100 to 100, added to its logit; -infinity: it never comes
} fr_logit_bias;

// 0 means the default, which for every rule is off. Where another program would give 0 a meaning of
// its own, say it differently: top_k 1 keeps the best token alone (top_p 0 elsewhere),
// repeat_penalty 1 penalises nothing (repeat_last_n 0 elsewhere).
typedef struct fr_sampling { // all 0 but `size`: greedy
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
    const char *drafter; // SPEC, see docs/drafters.md; NULL: "auto"
    const char *tree;    // NULL or "auto", a number of nodes besides the root, or a shape's file
    const char *accept;  // acceptance rule: NULL or "exact" (the bytes of plain decoding),
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
    // While some sessions decode and others read prompts, a pass gets rows of prompts until it is
    // predicted to take this many times as long as a plain one (a row of each session that
    // decodes). 0: FR_PROMPT_SHARE.
    float prompt_share;
} fr_group_options;

// Sessions of a group share each pass: a pass for many sessions takes little longer than one for a
// single session, and every session gives the same bytes as it would alone. At most 64 sessions.
// options NULL: the defaults. FR_EARG, FR_ENOMEM.
fr_status fr_group_open(fr_group **out, fr_engine *engine, const fr_group_options *options,
                        fr_error *err);
void fr_group_close(fr_group *group); // after its sessions; NULL is fine
// One pass for all sessions of the group that have begun a generation and are not at its end; each
// is given its tokens through its request's `stream`. Sessions join, begin, end and leave between
// two steps, by one thread at a time and not within `stream`. False: no session has anything left
// to do.
bool fr_group_step(fr_group *group);
// The pass of the last step; lives as long as the group.
typedef struct fr_group_pass {
    int sessions, rows; // sessions that shared it; rows of all of them
    double seconds;     // of the pass alone, without drafting and sampling
    double predicted;   // the same as predicted from passes before it; 0: not known yet
} fr_group_pass;
const fr_group_pass *fr_group_last(const fr_group *group);

// options NULL: the defaults. FR_EARG: an option is wrong, or the group is another engine's or of a
// smaller context, or there is no file of the tree's name; FR_EIO, FR_EDATA: a drafter's or a tree's
// file cannot be read or is damaged; FR_EUNSUP: such a file is of another model, the group is full, or the model's heads do not fit
// kv_type; FR_ENOMEM.
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
// Return false to stop after this piece. The piece stays part of the text, and text that was held
// back (as the beginning of a stop string or of a character) is still delivered. While the prompt
// is read, and after a token without text, the callback gets an empty piece with token -1, to say
// whether to go on.
typedef bool fr_stream_fn(void *user, const fr_piece *piece);

typedef struct fr_request { // one generation
    size_t size;
    const int32_t *prompt;
    int n_prompt;
    int n_predict;               // -1: until the end token or the context's end
    const fr_sampling *sampling; // NULL: greedy
    // NULL-terminated list of stop strings, or NULL. Control tokens are no text. A string that names
    // one, as "<|im_start|>" or "\n<|im_start|>user", is compared with what the token is written as.
    const char *const *stop;
    bool ignore_eos;      // no end token is drawn
    bool logprobs;        // fr_result.logprobs is wanted; not with accept "typical"
    bool prompt_logprobs; // fr_result.prompt_logprobs is wanted: the prompt is read whole
    bool drawn_logprobs;  // fr_result.logprobs are those after `sampling`, not the model's own
    int top_logprobs;     // likeliest tokens to list with each; at most FR_TOP_LOGPROBS
    int n_prediction;
    // [n_prediction] What the answer is expected to be, in part or whole (OpenAI's Predicted
    // Outputs), as ids. It never changes the answer. It is checked and kept, but no drafter reads
    // it yet, so it does not make the answer faster either.
    const int32_t *prediction;
    fr_stream_fn *stream;
    void *user;
    // [n_shown] Control tokens that are written into the text; all others are left out of it. Must
    // stay valid until the end.
    const int32_t *shown;
    size_t n_shown;
    // [n_stop_tokens] Tokens that end the text. What such a token is written as belongs to the text,
    // but for control tokens and end tokens. Must stay valid until the end.
    const int32_t *stop_tokens;
    size_t n_stop_tokens;
} fr_request;

// A statistic that one drafter reports of a generation, besides those that fr_stats has for all: a
// sum, or (`mean`) the quotient sum / of. Names live as long as the program.
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
    // Passes with a candidate at depth k, and those that accepted one there, at index k - 1.
    int64_t offered[FR_MAX_DEPTH], accepted[FR_MAX_DEPTH];
    // Passes of n rows at index n, those of more than FR_COUNTED_ROWS at 0; and the seconds that
    // these passes alone took, without drafting and verifying.
    int64_t passes_by_rows[FR_COUNTED_ROWS + 1];
    double seconds_by_rows[FR_COUNTED_ROWS + 1];
    double expected; // tokens by the drafter's scores: the sum over passes of 1 + all scores
    fr_draft_counts draft;
} fr_stats;

// Natural logarithms of the model's own probabilities, before bias, penalties and sampling; with
// fr_request.drawn_logprobs, of those after them, where only tokens that can be drawn are listed.
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
    // [n_prompt of the request] if it wants them, else NULL: of each token of the prompt, given the
    // tokens before it. NULL for the first, and for those not yet read when a generation was
    // stopped.
    const fr_logprobs *const *prompt_logprobs;
    int stopped_by;     // which of the request's stop strings ended it, from 0; -1: none
    int32_t stop_token; // which of the request's stop tokens ended it; -1: none
} fr_result;
const fr_result *fr_session_result(const fr_session *session);

// One whole generation. The context of the last call is reused as far as `prompt` begins with it.
// *out (out may be NULL) becomes fr_session_result, after errors too. FR_EARG, FR_ECONTEXT,
// FR_ENOMEM; FR_EDATA: the model's logits are not finite, because its file is damaged or its
// weights overflow. What was generated before that is in the result and was streamed.
fr_status fr_session_generate(fr_session *session, const fr_request *request, const fr_result **out,
                              fr_error *err);

// The same in parts, so that generations of several sessions of an engine can take turns:
// - begin checks the request and reads the prompt (in a group the steps read it, in shared passes).
// - step runs one pass of the session, or of its group. False: this generation has no step left.
// - end completes the result. Before that, these are current: `tokens` and `n_tokens`, and of the
//   stats `used`, `passes`, `rows`, `plain_passes`, `accepted`, `predicted`, `predicted_plain` and
//   `seconds_by_rows`.
// A session has one generation at a time (FR_EARG). What the request points at must stay valid
// until end, which may call `stream` a last time; the request itself and its sampling are copied.
// Times are those of the parts, without what happens between them. Every begin that returns FR_OK
// needs an end, even if not all steps were run. Other errors are those of fr_session_generate.
fr_status fr_session_begin(fr_session *session, const fr_request *request, fr_error *err);
bool fr_session_step(fr_session *session);
bool fr_session_runs(const fr_session *session); // whether its generation has steps left
fr_status fr_session_end(fr_session *session, fr_error *err);

// Stops the current generation before its next pass, also while the prompt is read or its group
// steps. The result is then the beginning of the full answer, with FR_FINISH_INTERRUPTED. May be
// called from any thread and from a signal handler, as long as the session is open. Without a
// generation it has no effect: the next begin clears it.
void fr_session_cancel(fr_session *session);

// Replaces the context of `session` by a copy of that of `from`, as far as it has room, so that a
// prefix that several sessions share is evaluated once. A drafter that needs a prompt's hidden
// states takes them over from a drafter of the same methods and packs; any other has the prefix
// evaluated again. `from` may have a generation between two steps; `session` must have none.
// FR_EARG: it has one, or the two differ in engine or kv_type.
fr_status fr_session_adopt(fr_session *session, const fr_session *from, fr_error *err);
// The *n ids that are in the context, in order: the prefix that a prompt has in common with them is
// not evaluated again. Valid until the next call on the session. May be called between two steps.
const int32_t *fr_session_context(const fr_session *session, int *n);
// Empties the context: the next prompt is evaluated from its beginning. FR_EARG: a generation has
// begun and not ended.
fr_status fr_session_forget(fr_session *session, fr_error *err);

#ifdef __cplusplus
}
#endif
#endif
