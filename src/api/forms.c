#include "api/forms.h"
#include "api/marks.h"
#include "text/chat/thinking.h"

static const char CALL[] = "<tool_call>", END_CALL[] = "</tool_call>", PYTHON[] = "<|python_tag|>",
                  MISTRAL[] = "[TOOL_CALLS]";

#define DSML(tag)     "<｜DSML｜" tag
#define DSML_END(tag) "</｜DSML｜" tag
#define DSML_TAGS                                                                                  \
    {                                                                                              \
        .name_end = "\">", .key = DSML("parameter name=\""), .key_end = "\" string=\"true\">",     \
        .json_end = "\" string=\"false\">", .value = "", .value_end = DSML_END("parameter>")       \
    }

// Forms with the same mark are tried in this order.
static const fr_call_form FORMS[] = {
    // Hermes, Qwen, Granite 4; some double the braces.
    {.begin = CALL,
     .end = {END_CALL},
     .next = CALL,
     .instead = CALL,
     .body = FR_BODY_OBJECTS | FR_BODY_LIST,
     .usual = true},
    // Mistral: a list, or a name and its arguments.
    {.begin = MISTRAL,
     .spare = true,
     .instead = MISTRAL,
     .inside = {MARK_CALL_ID, MARK_ARGS},
     .body = FR_BODY_OBJECTS | FR_BODY_LIST | FR_BODY_NAMED,
     .at_once = true},
    // Llama 3.
    {.begin = PYTHON,
     .spare = true,
     .next = PYTHON,
     .suffix = ".call",
     .body = FR_BODY_OBJECTS | FR_BODY_LIST | FR_BODY_PYTHON},
    // A block of code.
    {.begin = "```json",
     .end = {"```"},
     .body = FR_BODY_OBJECTS | FR_BODY_LIST,
     .place = FR_FORM_FIRST,
     .unsure = true},
    // LFM2, whose templates need not have the marks.
    {.begin = "<|tool_call_start|>",
     .end = {"<|tool_call_end|>"},
     .next = "<|tool_call_start|>",
     .where = "<|tool_list_start|>",
     .spare = true,
     .instead = "<|tool_",
     .suffix = "",
     .body = FR_BODY_OBJECTS | FR_BODY_LIST | FR_BODY_PYTHON,
     .apostrophes = true},
    // Seed.
    {.begin = "<function=",
     .end = {"</function>"},
     .around = {"<seed:tool_call>", "</seed:tool_call>"},
     .where = "<seed:tool_call>",
     .instead = "<seed:tool_call>",
     .tags = {">", "<parameter=", ">", "", "</parameter>", false},
     .body = FR_BODY_TAGS},
    // Qwen3-Coder, Qwen3.5, Nemotron 3, Step.
    {.begin = "<function=",
     .end = {"</function>"},
     .around = {CALL, END_CALL},
     .where = "<parameter=",
     .tags = {">", "<parameter=", ">", "", "</parameter>", true},
     .body = FR_BODY_TAGS},
    // Functionary 3.1.
    {.begin = "<function=",
     .end = {"</function>"},
     .where = "<function=",
     .instead = "<function=",
     .separator = ">",
     .body = FR_BODY_HEADED},
    // MiniMax-M2.
    {.begin = "<invoke name=\"",
     .end = {"</invoke>"},
     .around = {"<minimax:tool_call>", "</minimax:tool_call>"},
     .where = "<minimax:tool_call>",
     .instead = "<minimax:tool_call>",
     .tags = {"\">", "<parameter name=\"", "\">", "", "</parameter>", false},
     .body = FR_BODY_TAGS},
    // GLM, Ling, Laguna.
    {.begin = CALL,
     .end = {END_CALL},
     .next = CALL,
     .where = "<arg_key>",
     .tags = {"", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", false},
     .body = FR_BODY_TAGS},
    // Hunyuan 3.
    {.begin = "<tool_call:opensource>",
     .end = {"</tool_call:opensource>"},
     .next = "<tool_call:opensource>",
     .around = {"<tool_calls:opensource>", "</tool_calls:opensource>"},
     .where = ":opensource",
     .instead = ":opensource",
     .tags = {"<tool_sep:opensource>", "<arg_key:opensource>", "</arg_key:opensource>",
              "<arg_value:opensource>", "</arg_value:opensource>", false},
     .body = FR_BODY_TAGS},
    // Gemma 4.
    {.begin = "<|tool_call>call:",
     .end = {"<tool_call|>"},
     .next = "<|tool_call>call:",
     .where = "<|tool_call>",
     .instead = "<|tool_call>",
     .inside = {MARK_QUOTE},
     .body = FR_BODY_BRACES},
    // DeepSeek: R1 has a type and a block of code, V3.1 has neither.
    {.begin = "<｜tool▁call▁begin｜>",
     .end = {"<｜tool▁call▁end｜>", "```<｜tool▁call▁end｜>", "```\n<｜tool▁call▁end｜>"},
     .next = "<｜tool▁call▁begin｜>",
     .around = {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"},
     .where = "<｜tool▁call▁begin｜>",
     .instead = "<｜tool▁call▁begin｜>",
     .separator = "<｜tool▁sep｜>",
     .body = FR_BODY_HEADED},
    // DeepSeek V3.2 and V4.
    {.begin = DSML("invoke name=\""),
     .end = {DSML_END("invoke>")},
     .around = {DSML("function_calls>"), DSML_END("function_calls>")},
     .where = "｜DSML｜",
     .instead = "｜DSML｜",
     .tags = DSML_TAGS,
     .body = FR_BODY_TAGS},
    {.begin = DSML("invoke name=\""),
     .end = {DSML_END("invoke>")},
     .around = {DSML("tool_calls>"), DSML_END("tool_calls>")},
     .where = "｜DSML｜",
     .tags = DSML_TAGS,
     .body = FR_BODY_TAGS},
    // Kimi.
    {.begin = "<|tool_call_begin|>",
     .end = {"<|tool_call_end|>"},
     .next = "<|tool_call_begin|>",
     .around = {"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"},
     .where = "<|tool_call_begin|>",
     .instead = "<|tool_call_begin|>",
     .separator = "<|tool_call_argument_begin|>",
     .prefix = "functions.",
     .body = FR_BODY_HEADED},
    // Nemotron Nano 2.
    {.begin = "<TOOLCALL>",
     .end = {"</TOOLCALL>"},
     .where = "<TOOLCALL>",
     .instead = "<TOOLCALL>",
     .body = FR_BODY_OBJECTS | FR_BODY_LIST},
    // Apriel, MiniMax-M1.
    {.begin = "<tool_calls>",
     .end = {"</tool_calls>"},
     .where = "<tool_calls>",
     .instead = "<tool_calls>",
     .body = FR_BODY_OBJECTS | FR_BODY_LIST},
    // GigaChat 3.1.
    {.begin = "<|function_call|>",
     .next = "<|function_call|>",
     .where = "<|function_call|>",
     .instead = "<|function_call|>",
     .body = FR_BODY_OBJECTS | FR_BODY_LIST},
    // Granite 3.
    {.begin = "<|tool_call|>",
     .next = "<|tool_call|>",
     .where = "<|tool_call|>",
     .instead = "<|tool_call|>",
     .body = FR_BODY_OBJECTS | FR_BODY_LIST},
};
enum { N_FORMS = sizeof FORMS / sizeof *FORMS };
_Static_assert(sizeof FORMS / sizeof *FORMS <= FR_CALL_FORMS, "fr_api_answer has a bit for each");

const fr_call_form fr_form_alone = {.begin = "",
                                    .next = PYTHON,
                                    .body = FR_BODY_OBJECTS,
                                    .place = FR_FORM_UNMARKED,
                                    .unsure = true,
                                    .any_member = true};
const fr_call_form fr_form_bare = {
    .begin = "", .body = FR_BODY_OBJECTS | FR_BODY_LIST, .place = FR_FORM_UNMARKED, .unsure = true};
const fr_call_form fr_form_harmony = {.begin = "",
                                      .end = {MARK_END, "<|call|>", "<|return|>"},
                                      .next = MARK_START,
                                      .body = FR_BODY_ARGUMENTS,
                                      .place = FR_FORM_UNMARKED};

const fr_call_form *fr_call_form_at(size_t i) {
    return i < N_FORMS ? &FORMS[i] : NULL;
}

const char *fr_thinking_mark(size_t i) {
    static const char *const harmony[] = {MARK_CHANNEL, MARK_MESSAGE, MARK_START, MARK_END,
                                          "<|constrain|>"};
    enum { N_HARMONY = sizeof harmony / sizeof *harmony };
    if (i < N_HARMONY) return harmony[i];
    const fr_thinking_form *form = fr_thinking_form_at((i - N_HARMONY) / 2);
    return !form ? NULL : (i - N_HARMONY) % 2 ? form->close : form->open;
}

// A mark of a row by its number; NULL: the row has no such mark.
enum { MARKS = 15 };
static const char *mark_of(const fr_call_form *f, size_t i) {
    const char *const all[MARKS] = {f->begin,        f->end[0],     f->end[1],        f->end[2],
                                    f->end[3],       f->around[0],  f->around[1],     f->inside[0],
                                    f->inside[1],    f->separator,  f->tags.name_end, f->tags.key,
                                    f->tags.key_end, f->tags.value, f->tags.value_end};
    return all[i];
}

const char *fr_call_mark(size_t i) {
    for (size_t at = 0; at < N_FORMS * MARKS; at++) {
        const char *mark = mark_of(&FORMS[at / MARKS], at % MARKS);
        const bool is = mark && *mark && FORMS[at / MARKS].place == FR_FORM_ANYWHERE;
        if (is && !i--) return mark;
    }
    return NULL;
}
