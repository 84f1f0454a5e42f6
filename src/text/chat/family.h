// family.h — what recogniser and renderer share: the variants of each family. Private to
// text/.
#ifndef FR_TEXT_CHAT_FAMILY_H
#define FR_TEXT_CHAT_FAMILY_H
#include "text/chat/chat.h"

// In the texts of a turn style: the request's eos, the template's default system message.
#define FR_CHAT_EOS "\x01"

// A family that writes one turn after another. A turn is before + content + after; a role without
// `before` writes nothing. Names of the fields as in the templates.
typedef struct fr_chat_turns {
    const char *name;    // for --chat-template; NULL: only by recognition
    const char *pattern; // the canonical template (canon.h); '$': the default system message
    const char *user[2], *assistant[2], *system[2];
    const char *other[3];    // any role: before its name, after it, after the content
    const char *prompt;      // add_generation_prompt
    const char *no_prompt;   // without it
    const char *fallback[2]; // around the default system message, where none is given first
    uint32_t rules;
} fr_chat_turns;

enum {                              // rules of turns
    FR_CHAT_BOS = 1 << 0,           // begins with bos
    FR_CHAT_TRIM = 1 << 1,          // contents are stripped
    FR_CHAT_ALTERNATE = 1 << 2,     // user at even places, never at odd ones
    FR_CHAT_NO_SYSTEM = 1 << 3,     // a system message at the front is refused
    FR_CHAT_KNOWN_ROLES = 1 << 4,   // a role without text is refused
    FR_CHAT_SYSTEM_PREFIX = 1 << 5, // a first system message opens the first turn, "\n\n" between
    FR_CHAT_MODEL_ROLE = 1 << 6,    // assistant is written as model
    FR_CHAT_ALWAYS_PROMPT = 1 << 7, // whatever the request says
    FR_CHAT_NEVER_PROMPT = 1 << 8,  // the user's turn ends with it
    FR_CHAT_PROMPT_NOT_AFTER = 1 << 9, // no prompt after an assistant message
    FR_CHAT_SYSTEM_IF_TEXT = 1 << 10,  // an empty system message writes nothing
};
extern const fr_chat_turns fr_chat_turns_table[];
extern const int fr_chat_turns_count;

enum { FR_CHAT_QWEN_DOUBLE_BRACES = 1 }; // variant of QWEN2: {{"name": …}}
enum { FR_CHAT_LLAMA31_DATE = 1 };       // variant of LLAMA31: asks for today
enum { FR_CHAT_LLAMA2_SYS_TURN = 1 };    // variant of LLAMA2: later system messages are written
enum {                                   // variant of MISTRAL
    FR_CHAT_MISTRAL_SPACE = 1 << 0,      // "[INST] ", "[TOOL_CALLS] [" …
    FR_CHAT_MISTRAL_ASSISTANT_SPACE = 1 << 1, // " " before the assistant's content
    FR_CHAT_MISTRAL_ASSISTANT_TRIM = 1 << 2,  // which is stripped
    FR_CHAT_MISTRAL_SYSTEM_FIRST = 1 << 3,    // the system message in the first, not the last turn
};

#endif
