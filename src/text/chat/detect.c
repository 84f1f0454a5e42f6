// detect.c — makes a template canonical, compares it with the table of turns, then looks for the
// parts that decide each other family. Names for --chat-template are looked up here too.
#include "text/chat/canon.h"
#include "text/chat/family.h"
#include <stdlib.h>
#include <string.h>

enum { TEMPLATE_MAX = 1 << 20 };

#define QWEN_SYSTEM "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."

// The families that a row of fr_chat_turns_table cannot describe. They are recognised by parts of
// the canonical text that each decide something. Order matters: the first that fits is taken.
typedef struct family {
    const char *name;
    fr_chat_kind kind;
    uint32_t variant;
    const char *need[8], *never[4];
    const char *system; // the default system message stands between system and system_end
    const char *system_end;
} family;

#define QWEN_CALL_ONE "<tool_call>\n{\"name\": <function-name>"
#define QWEN_CALL_TWO "<tool_call>\n{{\"name\": <function-name>"
#define QWEN_TURN                                                                                  \
    "{%if(message.role=='user')or(message.role=='system'and not loop.first)or(message.role=="      \
    "'assistant'and not message.tool_calls)%}{{'<|im_start|>'+message.role+'\n'+message.content+"  \
    "'<|im_end|>\n'}}"
#define QWEN_SYSTEM_ALONE                                                                          \
    "{%else%}{%if messages[0].role=='system'%}{{'<|im_start|>system\n'+messages[0].content+"       \
    "'<|im_end|>\n'}}"
#define QWEN_CALLS    "\n<tool_call>\n{\"name\": \"'+tool_call.name+'\", \"arguments\": '+"
#define QWEN_RESPONSE "'\n<tool_response>\n'+message.content+'\n</tool_response>'"
#define LLAMA31_TOOLS                                                                              \
    "Given the following functions, please respond with a JSON for a function call with its "      \
    "proper arguments that best answers the given prompt.\n\nRespond in the format {\"name\": "    \
    "function name, \"parameters\": dictionary of argument name and its value}.Do not use "        \
    "variables.\n\n"
#define MISTRAL_TOOL   "{%for key,val in tool.items()if key!='return'%}{%if val is string%}"
#define MISTRAL_RESULT "'+content|string+', '"
#define LAST_SYSTEM    "{%if loop.last and system_message is defined%}"
#define FIRST_SYSTEM   "{%if loop.first and system_message is defined%}"
#define LLAMA2_SYSTEM  "{%set content='<<SYS>>\n'+system_message+'\n<</SYS>>\n\n'+message.content%}"

// clang-format off
static const family families[] = {
    {"qwen3", FR_CHAT_QWEN3, 0,
     {"last_query_index=index", QWEN_CALL_ONE, "ns.multi_step_tool=false", "reasoning_content.strip('\n')",
      "{%if loop.last or(not loop.last and reasoning_content)%}", QWEN_RESPONSE,
      "enable_thinking is false%}{{'<think>\n\n</think>\n\n'}}",
      "message.content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n')"},
     {"<|im_sep|>"}, NULL, NULL},
    {"qwen2", FR_CHAT_QWEN2, 0,
     {QWEN_TURN, QWEN_SYSTEM_ALONE, QWEN_CALL_ONE, QWEN_CALLS, QWEN_RESPONSE, "\n\n# Tools\n\n"},
     {"think", QWEN_CALL_TWO}, "{%else%}{{'<|im_start|>system\n", "<|im_end|>\n'}}"},
    {NULL, FR_CHAT_QWEN2, FR_CHAT_QWEN_DOUBLE_BRACES,
     {QWEN_TURN, QWEN_SYSTEM_ALONE, QWEN_CALL_TWO, QWEN_CALLS, QWEN_RESPONSE},
     {"think", QWEN_CALL_ONE}, "{%else%}{{'<|im_start|>system\n", "<|im_end|>\n'}}"},
    {"llama3.1", FR_CHAT_LLAMA31, 0,
     {"{{bos_token}}", LLAMA31_TOOLS, "Cutting Knowledge Date: December 2023\nToday Date: '+date_string",
      "set date_string='26 Jul 2024'", "set tools_in_user_message=true", "\"parameters\": '+tool_call.arguments|tojson",
      "{{message.content|tojson}}"},
     {"strftime_now"}, NULL, NULL},
    {NULL, FR_CHAT_LLAMA31, FR_CHAT_LLAMA31_DATE,
     {"{{bos_token}}", LLAMA31_TOOLS, "Cutting Knowledge Date: December 2023\nToday Date: '+date_string",
      "set date_string=strftime_now('%d %b %Y')", "set date_string='26 Jul 2024'", "set tools_in_user_message=true",
      "\"parameters\": '+tool_call.arguments|tojson", "{{message.content|tojson}}"},
     {0}, NULL, NULL},
    {"mistral-v3", FR_CHAT_MISTRAL, FR_CHAT_MISTRAL_SPACE | FR_CHAT_MISTRAL_ASSISTANT_SPACE | FR_CHAT_MISTRAL_ASSISTANT_TRIM,
     {"[AVAILABLE_TOOLS] [", MISTRAL_TOOL, LAST_SYSTEM, "{{'[INST] '+system_message+'\n\n'+message.content+'[/INST]'}}",
      "[TOOL_CALLS] [", "{{' '+message.content|trim+eos_token}}", "[TOOL_RESULTS] {\"content\": " MISTRAL_RESULT},
     {0}, NULL, NULL},
    {NULL, FR_CHAT_MISTRAL, FR_CHAT_MISTRAL_SPACE | FR_CHAT_MISTRAL_ASSISTANT_SPACE,
     {"[AVAILABLE_TOOLS] [", MISTRAL_TOOL, LAST_SYSTEM, "{{'[INST] '+system_message+'\n\n'+message.content+'[/INST]'}}",
      "[TOOL_CALLS] [", "{{' '+message.content+eos_token}}", "[TOOL_RESULTS] {\"content\": " MISTRAL_RESULT},
     {0}, NULL, NULL},
    {NULL, FR_CHAT_MISTRAL, FR_CHAT_MISTRAL_SPACE | FR_CHAT_MISTRAL_ASSISTANT_SPACE | FR_CHAT_MISTRAL_SYSTEM_FIRST,
     {"[AVAILABLE_TOOLS] [", MISTRAL_TOOL, FIRST_SYSTEM, "{{'[INST] '+system_message+'\n\n'+message.content+'[/INST]'}}",
      "[TOOL_CALLS] [", "{{' '+message.content+eos_token}}", "[TOOL_RESULTS] {\"content\": " MISTRAL_RESULT},
     {0}, NULL, NULL},
    {"mistral-v3-tekken", FR_CHAT_MISTRAL, 0,
     {"[AVAILABLE_TOOLS][", MISTRAL_TOOL, LAST_SYSTEM, "{{'[INST]'+system_message+'\n\n'+message.content+'[/INST]'}}",
      "[TOOL_CALLS][", "{{message.content+eos_token}}", "[TOOL_RESULTS]{\"content\": " MISTRAL_RESULT},
     {0}, NULL, NULL},
    {"llama2", FR_CHAT_LLAMA2, 0,
     {LLAMA2_SYSTEM, "{%set system_message=messages[0].content%}", "{%set system_message=false%}",
      "{%if(message.role=='user')!=(loop.index0%2==0)%}", "{{bos_token+'[INST] '+content|trim+' [/INST]'}}",
      "{{' '+content|trim+' '+eos_token}}"},
     {"system_message='", "{{'<<SYS>>"}, NULL, NULL},
    {NULL, FR_CHAT_LLAMA2, FR_CHAT_LLAMA2_SYS_TURN,
     {LLAMA2_SYSTEM, "{%set system_message=messages[0].content%}", "{%set system_message=false%}",
      "{%if(message.role=='user')!=(loop.index0%2==0)%}", "{{bos_token+'[INST] '+content|trim+' [/INST]'}}",
      "{{' '+content|trim+' '+eos_token}}", "{{'<<SYS>>\n'+content|trim+'\n<</SYS>>\n\n'}}"},
     {"system_message='"}, NULL, NULL},
};
// clang-format on
enum { N_FAMILIES = sizeof families / sizeof *families };

#define KNOWN_NAMES                                                                                \
    "chatml, llama3, mistral, mistral-v1, mistral-v7, gemma, gemma3, phi3, zephyr, qwen3, qwen2, " \
    "llama3.1, mistral-v3, mistral-v3-tekken, llama2"

const char *fr_chat_name_at(int index) {
    for (int i = 0; i < fr_chat_turns_count; i++)
        if (fr_chat_turns_table[i].name && index-- == 0) return fr_chat_turns_table[i].name;
    for (int i = 0; i < N_FAMILIES; i++)
        if (families[i].name && index-- == 0) return families[i].name;
    return NULL;
}

// Variants without a name follow the named row of their family.
const char *fr_chat_name(const fr_chat_template *chat) {
    if (chat->kind == FR_CHAT_TURNS && chat->variant < (uint32_t)fr_chat_turns_count) {
        uint32_t row = chat->variant;
        while (row > 0 && !fr_chat_turns_table[row].name)
            row--;
        return fr_chat_turns_table[row].name;
    }
    const char *name = NULL;
    for (int i = 0; i < N_FAMILIES; i++) {
        if (families[i].name) name = families[i].name;
        if (families[i].kind == chat->kind && families[i].variant == chat->variant) return name;
    }
    return "none";
}

fr_status fr_chat_by_name(fr_chat_template *out, const char *name, fr_error *err) {
    *out = (fr_chat_template){0};
    for (int i = 0; i < fr_chat_turns_count; i++) {
        const char *known = fr_chat_turns_table[i].name;
        if (!known || strcmp(known, name)) continue;
        *out = (fr_chat_template){.kind = FR_CHAT_TURNS, .variant = (uint32_t)i};
        return FR_OK;
    }
    for (int i = 0; i < N_FAMILIES; i++) {
        if (!families[i].name || strcmp(families[i].name, name)) continue;
        *out = (fr_chat_template){.kind = families[i].kind, .variant = families[i].variant};
        if (out->kind == FR_CHAT_QWEN2) memcpy(out->system, QWEN_SYSTEM, sizeof QWEN_SYSTEM);
        return FR_OK;
    }
    return fr_fail(err, FR_EARG, "--chat-template %.40s: expected one of " KNOWN_NAMES, name);
}

// Keeps a default system message; false when it is too long or not plain text.
static bool keep_system(fr_chat_template *out, const char *text, size_t bytes) {
    if (!bytes || bytes >= sizeof out->system || memchr(text, 0, bytes) ||
        memchr(text, '\'', bytes) ||
        memchr(text, '"', bytes)) // a quote in it was canonicalised, which one is unknown
        return false;
    memcpy(out->system, text, bytes);
    out->system[bytes] = 0;
    return true;
}

// The whole canonical text must be the pattern, with a system message where the pattern has a '$'.
static bool match_turns(fr_chat_template *out, const fr_chat_text *text, uint32_t row) {
    const char *pattern = fr_chat_turns_table[row].pattern, *slot = strchr(pattern, '$');
    const size_t whole = strlen(pattern), front = slot ? (size_t)(slot - pattern) : whole;
    const size_t back = slot ? whole - front - 1 : 0;
    if (slot ? text->text.n < front + back : text->text.n != whole) return false;
    if (memcmp(text->text.data, pattern, front)) return false;
    if (slot && memcmp(text->text.data + text->text.n - back, slot + 1, back)) return false;
    *out = (fr_chat_template){.kind = FR_CHAT_TURNS, .variant = row};
    return !slot || keep_system(out, text->text.data + front, text->text.n - front - back);
}

static const char *find(const fr_chat_text *text, const char *part) {
    return strstr(text->text.data, part); // a NUL in a template hides the rest: then no family fits
}

// Whether the branch with tools writes the same default system message, alone in an output.
static bool same_with_tools(const fr_chat_text *text, const char *system) {
    static const char before[] = "{%else%}{{'", after[] = "'}}{%endif%}";
    const size_t n = strlen(system);
    for (const char *at = text->text.data; (at = strstr(at, before)); at++) {
        const char *rest = at + sizeof before - 1;
        if (!strncmp(rest, system, n) && !strncmp(rest + n, after, sizeof after - 1)) return true;
    }
    return false;
}

static bool match_family(fr_chat_template *out, const fr_chat_text *text, const family *f) {
    for (int i = 0; i < 8 && f->need[i]; i++)
        if (!find(text, f->need[i])) return false;
    for (int i = 0; i < 4 && f->never[i]; i++)
        if (find(text, f->never[i])) return false;
    *out = (fr_chat_template){.kind = f->kind, .variant = f->variant};
    if (!f->system) return true;
    const char *begin = find(text, f->system);
    if (!begin) return false;
    begin += strlen(f->system);
    const char *end = strstr(begin, f->system_end);
    return end && keep_system(out, begin, (size_t)(end - begin)) &&
           same_with_tools(text, out->system);
}

// Many templates open with this default, which Jinja needs. Here the request always says it.
static void drop_preamble(fr_chat_text *text) {
    static const char preamble[] = "{%if not add_generation_prompt is defined%}"
                                   "{%set add_generation_prompt=false%}{%endif%}";
    const size_t n = sizeof preamble - 1;
    if (text->text.n < n || memcmp(text->text.data, preamble, n)) return;
    memmove(text->text.data, text->text.data + n, text->text.n - n + 1);
    text->text.n -= n;
}

// x.strip() and x|trim do the same to strings.
static void strip_to_trim(fr_chat_text *text) {
    static const char from[] = "content.strip()", to[] = "content|trim";
    char *at = text->text.data;
    while ((at = strstr(at, from))) {
        const size_t tail = (size_t)(text->text.data + text->text.n - at) - (sizeof from - 1);
        memcpy(at, to, sizeof to - 1);
        at += sizeof to - 1;
        memmove(at, at + sizeof from - sizeof to, tail + 1);
        text->text.n -= sizeof from - sizeof to;
    }
}

fr_status fr_chat_detect(fr_chat_template *out, const char *text, size_t bytes, fr_error *err) {
    *out = (fr_chat_template){0};
    if (!text || !bytes)
        return fr_fail(err, FR_EUNSUP,
                       "the model has no chat template: use --raw, or "
                       "--chat-template with one of " KNOWN_NAMES);
    fr_chat_text canon = {0};
    fr_status st = FR_EUNSUP;
    if (bytes <= TEMPLATE_MAX) st = fr_chat_canon(&canon, text, bytes, err);
    if (st == FR_ENOMEM) {
        fr_chat_text_close(&canon);
        return st;
    }
    bool known = false;
    if (!st && canon.text.data) {
        drop_preamble(&canon);
        strip_to_trim(&canon);
        for (int i = 0; i < fr_chat_turns_count && !known; i++)
            known = match_turns(out, &canon, (uint32_t)i);
        for (int i = 0; i < N_FAMILIES && !known; i++)
            known = match_family(out, &canon, &families[i]);
    }
    fr_chat_text_close(&canon);
    if (known) return FR_OK;
    *out = (fr_chat_template){0};
    return fr_fail(err, FR_EUNSUP,
                   "the model's chat template is of no known family: use "
                   "--chat-template with one of " KNOWN_NAMES);
}
