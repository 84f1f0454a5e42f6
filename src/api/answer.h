// answer.h — splits a model's output, as it arrives, into thinking, content and tool calls.
//
// The forms of thinking are rows of a table (text/chat/thinking.c), those of calls rows of another
// (forms.c). Two of calls have no mark: one JSON object alone (Llama 3), or an object as it is
// ({"name"...) at the beginning. Messages with a head are harmony's, of gpt-oss (harmony.c): the
// channel "analysis" is thinking, one that goes to functions.NAME a call, all else content.
//
// There may be several calls between two marks. The end of a piece that may begin a mark, and text
// that may become a call, are held back. Text that cannot become a call is content at once, and
// marks in it count. Only white space around thinking and calls is lost.
#ifndef FR_API_ANSWER_H
#define FR_API_ANSWER_H
#include "api/call_scan.h"
#include "text/tokenizer.h"

enum { FR_API_CALLS = 32, FR_API_THOUGHTS = 16 };

typedef struct fr_api_call {
    char *name, *arguments;   // a JSON object as text, in whatever form the model wrote it
    size_t thinking, content; // bytes of thinking and content before the call
} fr_api_call;

typedef enum fr_api_stage {
    FR_API_BEGINS,
    FR_API_THINKS,
    FR_API_SAYS,
    FR_API_CALLS_TOOL,
    FR_API_HEAD, // of a harmony message
    FR_API_BODY,
} fr_api_stage;

typedef struct fr_api_answer {
    bool thinks, tools;                           // search for thinking; for calls
    bool json_calls;                              // calls are JSON alone
    uint32_t forms;                               // bit i: row i of the forms is looked for
    const struct fr_thinking_form *thinking_form; // of the thinking that has begun
    bool one_call;                                // calls after the first are left out
    // Borrowed: the request's tools. JSON without a mark may call them alone, and they give the types
    // of arguments that are plain text. NULL: any tool, no types.
    const json_t *offered;
    // Results so far; each only grows.
    fr_buffer thinking, content;
    fr_api_call call[FR_API_CALLS];
    int n_calls;
    // Ranges of the text that are thinking, with its marks.
    struct {
        size_t from, to;
    } thought[FR_API_THOUGHTS];
    int n_thoughts;
    // State of the parser.
    fr_api_stage stage;
    bool trims;     // white space here is between parts, and is dropped
    fr_buffer held; // held bytes, after `done` bytes that are no longer held
    size_t done;
    size_t read;        // bytes of the text before the held ones
    size_t blank;       // leading white space of the text, as far as it was read
    fr_call_scan scan;  // of the current call
    size_t row;         // ... whose form is this row
    const char *closes; // the mark that may be after the last calls; NULL: none
    bool around;        // the current call began with the mark around calls
    bool cut;           // the text ended within a call: marks in it are a part of its values
    size_t refused;     // held bytes that are no call whatever the form: up to the end of a whole
                        // one that was not taken, or the last whole string in it
    size_t furthest;    // bytes of the text that were read as calls, at most
    size_t scanned;     // bytes that were read as calls, in all
    bool no_memory;     // memory ran out while a call was read
    // The current harmony message:
    bool body_thinks; // its body is thinking
    bool body_raw;    // ... or content, and so are its marks
    bool body_began;  // some of the body was read
    size_t head;      // bytes of a call's head, which is held; 0: it is no call
} fr_api_answer;

// `thinks`: separate thinking; `open`: the prompt has begun thinking. `tools`: separate calls.
// `chat_template` (may be NULL) decides on the form of calls.
void fr_api_answer_open(fr_api_answer *a, bool thinks, bool open, bool tools,
                        const char *chat_template);
void fr_api_answer_close(fr_api_answer *a); // {0} is fine
// Adds the next piece of text; ends the text. FR_ENOMEM.
fr_status fr_api_answer_push(fr_api_answer *a, const char *text, size_t bytes, fr_error *err);
fr_status fr_api_answer_finish(fr_api_answer *a, fr_error *err);

// How many of the text's n tokens are thinking, including its marks. shown: the control tokens that
// are part of the text.  [thought.c]
int fr_api_thought_tokens(const fr_api_answer *a, const fr_tokenizer *t, const fr_ids *shown,
                          const int32_t *tokens, int n);

#endif
