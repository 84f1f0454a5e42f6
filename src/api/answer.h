// answer.h — what a model writes, taken apart as it comes: thinking, content, calls of tools.
//
// Templates make models write thinking as <think>...</think>, and calls in one of these forms:
// - <tool_call>{"name":..., "arguments":{...}}</tool_call> (Hermes, Qwen); some double the braces;
// - one JSON object alone (Llama 3), or a block of code (```json) or an object as it is ({"name"...)
//   at the beginning;
// - [TOOL_CALLS] and a list of such objects, or a name and its arguments (Mistral);
// - <|python_tag|> and such objects, or NAME.call(KEY=VALUE...), up to the end (Llama 3);
// - messages with a head, <|channel|>CHANNEL<|message|>...<|end|> (harmony, of gpt-oss): the channel
//   "analysis" is thinking, one that goes to functions.NAME a call, all else content.
// There may be several calls between two marks. Held back is the end of a piece that may begin a mark,
// and what may become a call. A text that cannot become one is content at once, and marks within it count.
// Only white space around thinking and calls is lost.
#ifndef FR_API_ANSWER_H
#define FR_API_ANSWER_H
#include "api/call_scan.h"
#include "text/tokenizer.h"

enum { FR_API_CALLS = 32, FR_API_THOUGHTS = 16 };

typedef struct fr_api_call {
    char *name, *arguments;   // a JSON object as text, whatever form the model gave it
    size_t thinking, content; // bytes of them in front of it
} fr_api_call;

typedef enum fr_api_stage {
    FR_API_BEGINS,
    FR_API_THINKS,
    FR_API_SAYS,
    FR_API_CALLS_TOOL,
    FR_API_HEAD, // of a message of harmony
    FR_API_BODY,
} fr_api_stage;

typedef struct fr_api_answer {
    bool thinks, tools;    // thinking, and calls, are looked for
    bool json_calls;       // calls are JSON alone
    bool one_call;         // those after the first are left out
    const json_t *offered; // borrowed: the tools that JSON without a mark may call; NULL: any
    // So far; each only grows.
    fr_buffer thinking, content;
    fr_api_call call[FR_API_CALLS];
    int n_calls;
    // Bytes of the text that are thinking, with its marks.
    struct {
        size_t from, to;
    } thought[FR_API_THOUGHTS];
    int n_thoughts;
    // At work.
    fr_api_stage stage;
    bool trims;     // white space here stands between parts, and is lost
    fr_buffer held; // what is held back, after `done` bytes that are not any more
    size_t done;
    size_t read;       // bytes of the text in front of what is held
    size_t blank;      // of these the white space at its beginning, as far as it was read
    fr_call_scan scan; // of the call at hand
    size_t scanned;    // bytes that were read as calls, in all
    bool no_memory;    // ... to read one
    // Of a message of harmony:
    bool body_thinks; // its body is thinking
    bool body_raw;    // ... or content, and so are its marks
    bool body_began;  // some of the body was read
    size_t head;      // of a call: bytes of the head, which is held; 0: it is no call
} fr_api_answer;

// `thinks`: thinking is taken out; `open`: the prompt has begun it. `tools`: calls are taken out.
// `chat_template` (may be NULL) decides on the form of calls.
void fr_api_answer_open(fr_api_answer *a, bool thinks, bool open, bool tools,
                        const char *chat_template);
void fr_api_answer_close(fr_api_answer *a); // {0} is fine
// The next piece of text, and the end of all. FR_ENOMEM.
fr_status fr_api_answer_push(fr_api_answer *a, const char *text, size_t bytes, fr_error *err);
fr_status fr_api_answer_finish(fr_api_answer *a, fr_error *err);

// How many of the n tokens that the text was made of are thinking, its marks among them. shown: the
// control tokens that are part of the text.  [thought.c]
int fr_api_thought_tokens(const fr_api_answer *a, const fr_tokenizer *t, const fr_ids *shown,
                          const int32_t *tokens, int n);

// The marks above, which some models have as control tokens: these must be part of the text for it
// to be taken apart. Those of calls where there are tools. NULL-terminated.
extern const char *const fr_api_marks[];
extern const char *const fr_api_call_marks[];

#endif
