// answer.h — what a model writes, taken apart as it comes: thinking, content, calls of tools.
//
// Templates make models write thinking as <think>...</think> and calls as
// <tool_call>{"name":..., "arguments":{...}}</tool_call> (Hermes, Qwen) or as one JSON object alone
// (Llama 3); some write the object as a block of code (```json) at the beginning of their answer, or
// as it is ({"name"...), and some double its braces, as a template's example does. The end of a piece that may be the beginning of a marker is held back. What looks like a call and
// is none is content; nothing but white space around thinking and calls is lost.
#ifndef FR_API_ANSWER_H
#define FR_API_ANSWER_H
#include "base/buffer.h"

enum { FR_API_CALLS = 32 };

typedef struct fr_api_call {
    char *name, *arguments; // JSON text
} fr_api_call;

typedef enum fr_api_stage {
    FR_API_BEGINS,
    FR_API_THINKS,
    FR_API_SAYS,
    FR_API_CALLS_TOOL
} fr_api_stage;

typedef struct fr_api_answer {
    bool thinks, tools, json_calls; // what is looked for; calls are JSON alone
    // So far; each only grows.
    fr_buffer thinking, content;
    fr_api_call call[FR_API_CALLS];
    int n_calls;
    // At work.
    fr_api_stage stage;
    bool trims;     // white space is between parts
    bool fenced;    // the call at hand stands in a block of code,
    bool bare;      // ... or without anything around it
    fr_buffer held; // not yet told apart
    size_t tried;   // bytes of it in which no end of the call begins
} fr_api_answer;

// `thinks`: thinking is taken out; `open`: the prompt has begun it. `tools`: calls are.
// `chat_template` (may be NULL) tells which form calls have.
void fr_api_answer_open(fr_api_answer *a, bool thinks, bool open, bool tools,
                        const char *chat_template);
void fr_api_answer_close(fr_api_answer *a); // {0} is fine
// The next piece of text, and the end of all. FR_ENOMEM.
fr_status fr_api_answer_push(fr_api_answer *a, const char *text, size_t bytes, fr_error *err);
fr_status fr_api_answer_finish(fr_api_answer *a, fr_error *err);

#endif
