// forerun.h — the public interface of the library, and its only public header.
//
// Objects. An *engine* holds one model (weights, tokenizer, chat template) and is read-only once
// open. A *session* holds the context of one conversation on an engine (KV cache, drafter,
// sampler). A *group* makes sessions share passes. Handles are opaque. Every `open` has a `close`,
// which accepts NULL.
//
// Errors. Functions that can fail return fr_status and write one sentence to *err, which may be
// NULL. The library never prints and never exits.
//
// Threads. Only one thread at a time may use a session. Only one thread at a time may open or close
// the sessions of an engine.
//
// Order of closing. Close an object after everything that was opened on it: a group after its
// sessions; an engine after its groups, its sessions and its fr_text_open_with texts; a text after
// the texts that fr_text_open_with made from it. An object that is closed too early stays in memory
// until the last of these is closed.
//
// Callbacks. `stream`, the callback of a request, may query and cancel the session that it belongs
// to and the sessions of that session's group. It may also close them; the close takes effect when
// the call that invoked `stream` returns, and that call ends early with FR_EARG. Any other call on
// them fails there with FR_EARG, and a step returns false.
//
// Compatibility. A program keeps working with a newer library of the same soname, because structs
// grow only at their end:
// - A struct that the caller fills begins with `size`. Set it to sizeof, set the members that you
//   need, and leave all others 0: fr_request q = {.size = sizeof q, .prompt = ids, .n_prompt = n};
//   Members that an older caller lacks take their defaults. A member that an older library lacks
//   gives FR_EARG unless it is 0.
// - A struct that the library fills belongs to the library. It is returned as a pointer to const.
// - fr_error, enum values, and structs that are array elements (fr_logit_bias, fr_logprob,
//   fr_chat_message, fr_draft_count) never change.
#ifndef FORERUN_H
#define FORERUN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FR_VERSION "0.1.0"
const char *fr_version(void); // of the library that the program runs with

typedef enum fr_status {
    FR_OK = 0,
    FR_EARG,     // an argument is wrong (an option, a number, a name)
    FR_ENOMEM,   // memory cannot be allocated
    FR_EIO,      // a file cannot be opened, read or written
    FR_EDATA,    // the content of a file is damaged
    FR_EUNSUP,   // well-formed, but this build or this CPU does not support it
    FR_ECONTEXT, // the text does not fit the context
    FR_EINTR,    // a callback of the caller returned false
} fr_status;

typedef struct fr_error {
    fr_status code;
    char text[512]; // one sentence: what, where, expected, found
} fr_error;

typedef struct fr_engine fr_engine;
typedef struct fr_text fr_text;
typedef struct fr_session fr_session;
typedef struct fr_group fr_group;

// Called during long work: `done` of `total` units are complete. The unit is a byte while a model
// loads and a pass while passes are measured. `what` names the work. Return false to stop it; the
// function that does it then returns FR_EINTR.
typedef bool fr_progress_fn(void *user, const char *what, uint64_t done, uint64_t total);

typedef struct fr_engine_options {
    size_t size;
    const char *isa; // NULL or "auto", "scalar", "avx2", "avx-vnni", "avx512", "amx"
    int threads;     // 0: the physical cores this process may use
    bool low_memory; // leave the weights in the mapped file: less memory, slower, same bytes
    fr_progress_fn *progress;
    void *progress_user;
} fr_engine_options;

// Writes the path of the model that `name` means to `path`, a buffer of `room` bytes; 4096 bytes
// are enough. Nothing is downloaded. `name` is what `forerun run -m` accepts:
// - a file;
// - a folder that holds one model;
// - the name of a model that Hugging Face, llama.cpp, Ollama or LM Studio stored on this machine
//   ("org/repo", "org/repo:QUANT", "name:tag").
// FR_EIO: there is no such model, or several. FR_EDATA: Ollama's manifest of it is damaged.
// FR_EARG: the buffer is too small. FR_ENOMEM.
fr_status fr_model_find(char *path, size_t room, const char *name, fr_error *err);

// Opens the model in a GGUF file. options NULL: all options have their defaults.
// FR_EARG: `isa` is unknown or `threads` is out of range. FR_EIO: the file cannot be read.
// FR_EDATA: it is damaged. FR_EUNSUP: it is not a GGUF file; its architecture, tokenizer or a
// tensor type is not supported; or this CPU lacks `isa`. FR_ENOMEM. FR_EINTR: `progress` returned
// false.
//
// The file is mapped while it is read, and with low_memory until the engine is closed. A datastore
// is mapped while a session uses it. If a mapped file is truncated, reading it raises SIGBUS; the
// library installs no signal handlers. Replace such a file by renaming a new file to its name.
fr_status fr_engine_open(fr_engine **out, const char *model_path, const fr_engine_options *options,
                         fr_error *err);
void fr_engine_close(fr_engine *engine);

// Loads the engine's profile: the measured cost of passes on this machine, and the predicted speed
// of the drafters that were tuned. It is read from the folder `dir`. If `dir` has no profile for
// this model and machine, passes are timed now, which takes seconds, and the new profile is written
// to `dir` (NULL: it is not written). Passes of sessions in other threads wait during that time.
//
// Call this before groups are opened and before sessions that draft are opened. Without a profile
// the sizes of trees come from an assumed cost, which is corrected as passes run. A later call does
// not measure again; with another `dir` it also writes the profile there.
//
// *note (not NULL) receives what was wrong with an old profile, or why the new one could not be
// written; otherwise its code is FR_OK. FR_EARG: `dir` is too long. FR_ENOMEM. FR_EINTR: `progress`
// returned false.
fr_status fr_engine_profile(fr_engine *engine, const char *dir, fr_progress_fn *progress,
                            void *user, fr_error *note, fr_error *err);

// Facts about an engine, for programs that report them. Valid until the engine is closed.
typedef struct fr_engine_info {
    const char *name, *architecture, *isa;
    const char *quantization; // from the file ("Q4_K_M"), else the type of most of its bytes
    int threads, n_layer, n_vocab, n_ctx_train, n_embd;
    uint64_t parameters;
    uint64_t file_bytes;    // total of all files of a split model
    uint64_t weights_bytes; // bytes that a pass of one row with logits reads
    uint64_t macs_per_row;  // multiply-accumulate operations
    double load_seconds;
    uint64_t memory_bytes; // of all weights as they lie in memory; above weights_bytes with experts
} fr_engine_info;
const fr_engine_info *fr_engine_describe(const fr_engine *engine);

// ---- text and tokens

// The tokenizer and the chat template of a model. Read-only once open: any number of threads may
// use one fr_text at the same time. fr_engine_text returns the text of the engine, valid until the
// engine is closed. fr_text_open needs a model file but no engine; it is fast, because it does not
// read the weights. Errors as fr_engine_open: FR_EIO, FR_EDATA, FR_EUNSUP, FR_ENOMEM.
const fr_text *fr_engine_text(const fr_engine *engine);
fr_status fr_text_open(fr_text **out, const char *model_path, fr_error *err);
// Opens a text with the tokenizer of `of` and another chat template, Jinja source of `bytes` bytes.
// FR_EUNSUP: the template is empty. FR_EDATA: it has a fault, which the sentence describes with its
// line. FR_ENOMEM.
fr_status fr_text_open_with(fr_text **out, const fr_text *of, const char *chat_template,
                            size_t bytes, fr_error *err);
void fr_text_close(fr_text *text); // accepts NULL
// Built-in short templates, for models without one. fr_chat_name_at returns their names (NULL after
// the last), fr_chat_text_named the template with a name (NULL: there is none).
const char *fr_chat_name_at(int index);
const char *fr_chat_text_named(const char *name);

typedef struct fr_text_info { // valid until the text is closed; an id that the model lacks is -1
    int n_vocab;              // text uses the ids 0..n_vocab - 1
    int32_t bos, eos, eot, unknown, pad;
    bool adds_bos, adds_eos; // a text begins with bos, ends with eos
    const int32_t *ends;     // [n_ends] tokens that end a generation, ascending
    int n_ends;
    // Fill-in-the-middle: a prompt is fim_prefix PREFIX fim_suffix SUFFIX fim_middle. The name of a
    // repository follows fim_repository, the name of each of its files follows fim_file.
    int32_t fim_prefix, fim_suffix, fim_middle, fim_pad, fim_repository, fim_file;
    const char *chat_template; // Jinja source; NULL: there is none
    size_t chat_template_bytes;
    const char *chat_fault;    // a sentence: why the template cannot be used; NULL: it can
    bool chat_tools;           // conversations may have tools
    bool chat_thinking;        // the template reads "enable_thinking", which switches thinking off
    const char *tool_template; // used for conversations with tools; NULL: chat_template is used
    size_t tool_template_bytes;
    const char *note; // a sentence: what the file says about tokens that is ignored; NULL: nothing
} fr_text_info;
const fr_text_info *fr_text_describe(const fr_text *text);

// A text and its ids; free it with fr_encoded_free.
typedef struct fr_encoded {
    const char *text; // [text_bytes], then a NUL; the text itself may contain NULs
    size_t text_bytes;
    const int32_t *ids;
    int n_ids;
} fr_encoded;
void fr_encoded_free(fr_encoded *encoded); // accepts NULL

enum {
    FR_TEXT_BOS = 1,     // begin with the beginning-of-text token if the model adds one
    FR_TEXT_CONTROL = 2, // parse spellings of control tokens ("<|im_end|>"); without this flag they
                         // are plain text, which is right for text from outside
};
// Tokenizes a text. Bytes that are not UTF-8 are no error; byte-level tokenizers read U+FFFD.
// FR_EARG: a flag is unknown, or the text is larger than 1 GiB. FR_ENOMEM.
fr_status fr_text_tokenize(const fr_text *text, const char *bytes, size_t n_bytes, unsigned flags,
                           fr_encoded **out, fr_error *err);
// Returns the text of n ids, with the spellings of control tokens. It inverts fr_text_tokenize: a
// space that the tokenizer added at the beginning is removed. The text need not be valid UTF-8.
// FR_EARG: an id is outside the vocabulary. FR_ENOMEM.
fr_status fr_text_detokenize(const fr_text *text, const int32_t *ids, int n, fr_encoded **out,
                             fr_error *err);
// The bytes of one token, then a NUL, valid until `text` is closed. NULL: there is no such token.
// *n_bytes receives their number, without the NUL; n_bytes may be NULL.
const char *fr_text_token(const fr_text *text, int32_t id, size_t *n_bytes);
// The special token with this spelling; -1: there is none.
int32_t fr_text_find(const fr_text *text, const char *bytes, size_t n_bytes);
bool fr_text_is_control(const fr_text *text, int32_t id); // structure, not text of an answer
bool fr_text_is_end(const fr_text *text, int32_t id);     // it ends a generation

// Renders a conversation with the chat template, up to the beginning of the assistant's turn, and
// tokenizes it. Control tokens, and marks of calls, results and thinking whatever their type, are
// parsed only where the template wrote them. FR_TEXT_CONTROL parses them in messages too, so the
// author of a message can write in any role. FR_TEXT_BOS adds the token only if the template did
// not write it. A template may need 1 MiB of the thread's stack. FR_EUNSUP: there is no template,
// or it does not take tools. FR_EARG: the template refuses the messages, or they are malformed.
// FR_ENOMEM.
typedef struct fr_chat_message {
    const char *role, *content; // role: "system", "user", "assistant", or another of the template
} fr_chat_message;
fr_status fr_text_chat(const fr_text *text, const fr_chat_message *messages, int n, unsigned flags,
                       fr_encoded **out, fr_error *err);
// The same for JSON in the form of the OpenAI API: {"messages":[...],"tools":[...],
// "documents":[...],"add_generation_prompt":true,"chat_template_kwargs":{...}}, or the list of
// messages alone. Messages may have tool_calls, reasoning_content and lists of text parts.
fr_status fr_text_chat_json(const fr_text *text, const char *json, size_t n_bytes, unsigned flags,
                            fr_encoded **out, fr_error *err);

// ---- generating

typedef struct fr_logit_bias {
    int32_t token;
    float bias; // -100 to 100, added to the token's logit; -infinity: the token is never drawn
} fr_logit_bias;

// The value 0 is the default of every rule, which is off. Where other programs give 0 a meaning,
// use another value here: top_k 1 for the best token only (top_p 0 elsewhere), repeat_penalty 1 for
// no penalty (repeat_last_n 0 elsewhere).
typedef struct fr_sampling { // all members but `size` 0: greedy
    size_t size;
    float temperature;       // 0: greedy; at most 100
    int top_k;               // 0: off; 1: the best token
    float top_p;             // 0 or 1: off; at most 1
    float min_p;             // 0: off; at most 1
    float repeat_penalty;    // 0 or 1: off; at most 100
    int repeat_last_n;       // tokens that repeat_penalty applies to; 0: 64; -1: the whole context
    float frequency_penalty; // 0: off; subtracted from a token's logit for each time it
                             // was generated
    float presence_penalty;  // 0: off; subtracted once from the logit of each generated token
    const fr_logit_bias *bias; // [n_bias]; must stay valid until the end of the generation
    int n_bias;
    uint64_t seed;
} fr_sampling;

typedef struct fr_session_options { // all members but `size` 0: the defaults
    size_t size;
    int n_ctx;           // context in tokens; 0: the model's own
    const char *kv_type; // type of the KV cache: NULL or "f16"; "q8_0" (half the memory);
                         // "f16+q8_0" (keys in f16, values in q8_0)
    const char *drafter; // SPEC, see docs/drafters.md; NULL: "auto"
    const char *tree;    // NULL or "auto", a number of nodes besides the root, or a shape file
    const char *accept;  // acceptance rule: NULL or "exact" (the bytes of plain decoding),
                         // "rejection" (its distribution), "typical" or "typical:EPSILON,DELTA"
                         // (neither)
    bool no_adapt;       // do not choose tree sizes by cost, never fall back to plain decoding
    const char *const *draft_opts; // NULL-terminated KEY=VALUE list, or NULL
    fr_group *group;               // shares the passes of this group; NULL: has passes of its own
} fr_session_options;

#define FR_PROMPT_SHARE 3.5
typedef struct fr_group_options { // all members but `size` 0: the defaults
    size_t size;
    int n_ctx; // largest context of a session, in tokens; 0: the model's own
    // Applies while some sessions decode and others read prompts. A pass takes rows of prompts
    // until its predicted time is this many times that of a plain pass (one row for each session
    // that decodes). 0 to 1000; 0: FR_PROMPT_SHARE.
    float prompt_share;
} fr_group_options;

// Sessions of a group share each pass. A pass for many sessions takes little longer than a pass for
// one, and every session gives the same bytes as alone. A group has at most 64 sessions.
// options NULL: the defaults. FR_EARG: an option is out of range. FR_ENOMEM.
fr_status fr_group_open(fr_group **out, fr_engine *engine, const fr_group_options *options,
                        fr_error *err);
void fr_group_close(fr_group *group); // after its sessions; accepts NULL
// Runs one pass for all sessions of the group whose generation has steps left. Each session gets
// its tokens through `stream` of its request. Between two steps sessions may join, begin, end and
// leave, by one thread at a time and not within `stream`. False: no session has a step left.
bool fr_group_step(fr_group *group);
// The pass of the last step. The pointer is valid until the group is closed.
typedef struct fr_group_pass {
    int sessions, rows; // sessions that shared the pass; their rows in total
    double seconds;     // of the pass alone, without drafting and sampling
    double predicted;   // `seconds` as predicted from earlier passes; 0: not known yet
} fr_group_pass;
const fr_group_pass *fr_group_last(const fr_group *group);

// options NULL: the defaults. FR_EARG: an option is wrong, the file of `tree` does not exist, or
// the group belongs to another engine or has a smaller context. FR_EIO, FR_EDATA: the file of a
// drafter or of `tree` cannot be read, or is damaged. FR_EUNSUP: such a file is for another model,
// the group is full, or the size of the model's heads does not fit kv_type. FR_ENOMEM.
fr_status fr_session_open(fr_session **out, fr_engine *engine, const fr_session_options *options,
                          fr_error *err);
void fr_session_close(fr_session *session);

typedef enum fr_finish { FR_FINISH_STOP, FR_FINISH_LENGTH, FR_FINISH_INTERRUPTED } fr_finish;

// One piece of output, in whole UTF-8 sequences. `token` completed the piece. `depth` is 0 for a
// token of the target itself and d > 0 for the d-th drafted token of a pass. `drafter` is the index
// of the part of the SPEC that drafted it (0 if depth is 0).
typedef struct fr_piece {
    const char *text;
    size_t bytes;
    int32_t token;
    int depth, drafter;
} fr_piece;
// Return false to stop after this piece. The piece stays part of the text. Text that was held back,
// because it may begin a stop string or a character, is still delivered. While the prompt is read,
// and after a token without text, the callback gets an empty piece with token -1, so that it can
// stop the generation there too.
typedef bool fr_stream_fn(void *user, const fr_piece *piece);

typedef struct fr_request { // one generation
    size_t size;
    const int32_t *prompt;
    int n_prompt;
    int n_predict;               // most tokens; -1: until an end token or the end of the context
    const fr_sampling *sampling; // NULL: greedy
    // NULL-terminated list of stop strings, or NULL. Control tokens are not part of the text. A
    // string that contains the spelling of one ("<|im_start|>", "\n<|im_start|>user") is compared
    // with the text and the spellings of control tokens.
    const char *const *stop;
    bool ignore_eos;      // end tokens are not drawn, unless they are among `stop_tokens`
    bool logprobs;        // fill fr_result.logprobs; not with accept "typical"
    bool prompt_logprobs; // fill fr_result.prompt_logprobs; the whole prompt is then evaluated
    bool drawn_logprobs;  // fr_result.logprobs describe the distribution after `sampling`
    int top_logprobs;     // likeliest tokens to list with each token; at most FR_TOP_LOGPROBS
    int n_prediction;
    // [n_prediction] Ids of a text that the answer is expected to contain (OpenAI's Predicted
    // Outputs). They are checked and stored. They never change the answer. No drafter reads them,
    // so they do not make it faster either.
    const int32_t *prediction;
    fr_stream_fn *stream; // NULL: none; called by the thread that begins, steps or ends
    void *user;
    // [n_shown] Control tokens whose spelling is part of the text; all others are left out. Must
    // stay valid until the end.
    const int32_t *shown;
    size_t n_shown;
    // [n_stop_tokens] Tokens that end the text. The bytes of such a token are part of the text,
    // unless it is a control token or an end token. Must stay valid until the end.
    const int32_t *stop_tokens;
    size_t n_stop_tokens;
} fr_request;

// A statistic of one drafter, in addition to those that fr_stats has for all drafters: `sum`, or
// with `mean` the quotient sum / of. The names are valid until the program ends.
enum { FR_DRAFT_COUNTS = 32 };
typedef struct fr_draft_count {
    const char *drafter, *name;
    bool mean;
    double sum, of;
} fr_draft_count;
typedef struct fr_draft_counts { // the pairs of drafter and name differ
    int n;
    fr_draft_count count[FR_DRAFT_COUNTS];
} fr_draft_counts;

enum { FR_MAX_DEPTH = 64, FR_COUNTED_ROWS = 64 };
typedef struct fr_stats {
    fr_finish finish;
    char used[64];  // the SPEC that was used
    char why[160];  // a phrase: why it was chosen, and what it drafted
    bool lossless;  // the acceptance rule guarantees the bytes of plain decoding
    bool exact_law; // the acceptance rule guarantees the distribution of plain decoding
    int prompt_tokens, prompt_reused, completion_tokens;
    int64_t passes, rows, plain_passes; // plain passes have the root as their only candidate
    double seconds_prompt, seconds_decode, seconds_draft, seconds_verify;
    // Seconds by the profile: of these passes, of plain decoding of the same tokens; 0: no profile.
    double predicted, predicted_plain;
    // Passes with a candidate at depth k, and passes that accepted one there, at index k - 1.
    int64_t offered[FR_MAX_DEPTH], accepted[FR_MAX_DEPTH];
    // Index n: passes of n rows, and seconds of these passes without drafting and verifying. Index
    // 0: passes of more than FR_COUNTED_ROWS rows.
    int64_t passes_by_rows[FR_COUNTED_ROWS + 1];
    double seconds_by_rows[FR_COUNTED_ROWS + 1];
    double predicted_by_rows[FR_COUNTED_ROWS + 1]; // expected of them by all passes before
    double expected; // tokens by the drafter's scores: the sum over passes of 1 + all scores
    fr_draft_counts draft;
} fr_stats;

// Natural logarithms of the model's own probabilities, before bias, penalties and sampling. With
// fr_request.drawn_logprobs they are of the distribution after these; only tokens that can be drawn
// are then listed.
enum { FR_TOP_LOGPROBS = 20 };
typedef struct fr_logprob {
    int32_t token;
    float logprob;
} fr_logprob;
typedef struct fr_logprobs {
    float logprob; // of the token itself
    int n_top;
    fr_logprob top[FR_TOP_LOGPROBS]; // [n_top] the likeliest tokens, best first
} fr_logprobs;

// The result of the last generation of a session, without the prompt. A session has one fr_result,
// valid until the session is closed. The next begin overwrites it.
typedef struct fr_result {
    const int32_t *tokens; // [n_tokens]
    int n_tokens;
    const fr_logprobs *const *logprobs; // [n_tokens]; NULL: the request did not ask for them
    const char *text;                   // valid UTF-8: a cut or invalid character is U+FFFD
    size_t text_bytes;
    const fr_stats *stats;
    // [n_prompt of the request] Of each token of the prompt, given the tokens before it; NULL: the
    // request did not ask for them. The entry of the first token is NULL, as are the entries of
    // tokens that were not yet read when the generation was stopped.
    const fr_logprobs *const *prompt_logprobs;
    int stopped_by;     // index in fr_request.stop of the string that ended the text; -1: none
    int32_t stop_token; // id of the token of fr_request.stop_tokens that ended it; -1: none
} fr_result;
const fr_result *fr_session_result(const fr_session *session);

// Runs one whole generation. The prefix that `prompt` shares with the context of the session is not
// evaluated again. *out receives fr_session_result, after errors too, but NULL if `stream` closed
// the session; out may be NULL. FR_EARG: the request is wrong. FR_ECONTEXT: the prompt does not fit
// the context. FR_ENOMEM. FR_EDATA: logits of the model are not finite, because its file is damaged
// or its weights overflow; tokens before that are in the result and were streamed.
fr_status fr_session_generate(fr_session *session, const fr_request *request, const fr_result **out,
                              fr_error *err);

// The same in parts, so that generations of several sessions of an engine can take turns:
// - begin checks the request and reads the prompt. In a group the steps read it, in shared passes.
// - step runs one pass of the session, or of its group. False: this generation has no step left.
// - end completes the result. Before that these members are up to date: `tokens` and `n_tokens` of
//   the result; `used`, `passes`, `rows`, `plain_passes`, `accepted`, `predicted`,
//   `predicted_plain`, `seconds_by_rows` and `predicted_by_rows` of the stats.
// A session has one generation at a time; a second begin gives FR_EARG. Every begin that returns
// FR_OK needs an end, even if not all steps were run. The request and its sampling are copied; what
// they point to must stay valid until end returns, which may call `stream` a last time. Times in
// the stats exclude the time between the calls. Other errors are those of fr_session_generate.
fr_status fr_session_begin(fr_session *session, const fr_request *request, fr_error *err);
bool fr_session_step(fr_session *session);
bool fr_session_runs(const fr_session *session); // its generation has steps left
fr_status fr_session_end(fr_session *session, fr_error *err);

// Stops the current generation before its next pass, also while the prompt is read or its group
// steps. The result is then the beginning of the full answer, with FR_FINISH_INTERRUPTED. While the
// session is open, any thread and any signal handler may call this. Without a generation it has no
// effect, because the next begin clears it.
void fr_session_cancel(fr_session *session);

// Replaces the context of `session` by a copy of the context of `from`, up to the capacity of
// `session`, so that a prefix that several sessions share is evaluated once. A drafter that needs
// the hidden states of a prompt copies them from a drafter of the same methods and packs; with any
// other drafter the prefix is evaluated again. `from` may have a generation between two steps.
// FR_EARG: `session` has a generation, or the two differ in engine or kv_type.
fr_status fr_session_adopt(fr_session *session, const fr_session *from, fr_error *err);
// The *n ids in the context, in order. The prefix that a prompt shares with them is not evaluated
// again. Valid until the next call on the session. May be called between two steps.
const int32_t *fr_session_context(const fr_session *session, int *n);
// Empties the context: the next prompt is evaluated from its beginning. FR_EARG: a generation has
// begun and not ended.
fr_status fr_session_forget(fr_session *session, fr_error *err);

#ifdef __cplusplus
}
#endif
#endif
