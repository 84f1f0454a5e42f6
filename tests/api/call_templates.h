// call_templates.h — short templates that write calls, one for each form. Each follows the rule of the
// templates of models with that form.
#ifndef FR_TESTS_API_CALL_TEMPLATES_H
#define FR_TESTS_API_CALL_TEMPLATES_H

// Marks that are looked for too, so that they count where arguments quote them.
#define QUOTED "[TOOL_CALLS] <|tool_call_start|> <|python_tag|>"
#define TEMPLATE(calls)                                                                            \
    "{# " QUOTED                                                                                   \
    " #}{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<S>{{ m.role }}:{{ "   \
    "m.content or '' }}{% if m.tool_calls %}" calls "{% endif %}<E>{% endfor %}"
#define LINE      "{{ '\\n' }}"
#define EACH(of)  "{% for c in m.tool_calls %}" of "{% endfor %}"
#define NAME      "{{ c.function.name }}"
#define ARGS      "{{ c.function.arguments | tojson }}"
#define OBJECT    "{\"name\": \"" NAME "\", \"arguments\": " ARGS "}"
#define COMMA     "{% if not loop.last %}, {% endif %}"
#define PAIRS(of) "{% for k, v in c.function.arguments | items %}" of "{% endfor %}"
#define KEY       "{{ k }}"
#define VALUE     "{{ v if v is string else v | tojson }}"
#define PRINTED   "{{ v | string }}" // as Python does
#define DSML      "<｜DSML｜"
#define DSML_END  "</｜DSML｜"
#define DSML_CALLS(tag)                                                                            \
    LINE LINE DSML tag ">" LINE EACH(DSML "invoke name=\"" NAME "\">" LINE PAIRS(                  \
        DSML "parameter name=\"" KEY                                                               \
             "\" string=\"{{ 'true' if v is string else 'false' }}\">" VALUE DSML_END              \
             "parameter>" LINE) DSML_END "invoke>" LINE) DSML_END tag ">"

// {...} with bare keys and <|"|> around strings.
#define GEMMA                                                                                      \
    "{% macro written(v) %}{% if v is string %}<|\"|>{{ v }}<|\"|>{% elif v is boolean %}"         \
    "{{ 'true' if v else 'false' }}{% elif v is mapping %}{ {%- for k, x in v | dictsort %}"       \
    "{{ k }}:{{ written(x) }}" COMMA_BARE "{% endfor %}}{% elif v is sequence %}[{% for x in v "   \
    "%}{{ written(x) }}" COMMA_BARE "{% endfor %}]{% else %}{{ v }}{% endif %}{% endmacro %}"
#define COMMA_BARE "{% if not loop.last %},{% endif %}"

static const struct {
    const char *name, *template;
} call_templates[] = {
    {"Hermes", TEMPLATE(EACH(LINE "<tool_call>" LINE OBJECT LINE "</tool_call>"))},
    {"Hermes's list", TEMPLATE("<tool_call>[" EACH(OBJECT COMMA) "]</tool_call>")},
    {"Qwen3-Coder",
     TEMPLATE(EACH(LINE "<tool_call>" LINE "<function=" NAME ">" LINE PAIRS(
         "<parameter=" KEY ">" LINE "{{ v | tojson if v is mapping or (v is sequence "
         "and v is not string) else v | string }}" LINE "</parameter>" LINE) "</function>" LINE
                                                                             "</tool_call>"))},
    {"Qwen3-Coder, without the outer mark",
     TEMPLATE(EACH("<function=" NAME ">" LINE PAIRS("<parameter=" KEY ">" LINE VALUE LINE
                                                    "</parameter>" LINE) "</function>" LINE
                                                                         "</tool_call>"))},
    {"Seed", TEMPLATE(EACH(LINE "<seed:tool_call>" LINE "<function=" NAME ">" LINE PAIRS(
                 "<parameter=" KEY ">" PRINTED "</parameter>" LINE) "</function>" LINE
                                                                    "</seed:tool_call>"))},
    {"MiniMax-M2",
     TEMPLATE(LINE "<minimax:tool_call>" LINE EACH("<invoke name=\"" NAME "\">" LINE PAIRS(
         "<parameter name=\"" KEY "\">" VALUE
         "</parameter>" LINE) "</invoke>" LINE) "</minimax:tool_call>")},
    {"GLM", TEMPLATE(EACH(LINE "<tool_call>" NAME LINE PAIRS("<arg_key>" KEY "</arg_key>" LINE
                                                             "<arg_value>" VALUE
                                                             "</arg_value>" LINE) "</tool_call>"))},
    {"GLM, on one line",
     TEMPLATE(EACH("<tool_call>" NAME PAIRS("<arg_key>" KEY "</arg_key><arg_value>" VALUE
                                            "</arg_value>") "</tool_call>"))},
    {"Hunyuan",
     TEMPLATE("<tool_calls:opensource>" LINE EACH(
         "<tool_call:opensource>" NAME "<tool_sep:opensource>" LINE PAIRS(
             "<arg_key:opensource>" KEY "</arg_key:opensource>" LINE "<arg_value:opensource>" VALUE
             "</arg_value:opensource>" LINE) "</tool_call:opensource>" LINE) "</"
                                                                             "tool_calls:"
                                                                             "opensource>")},
    {"DeepSeek V3.2", TEMPLATE(DSML_CALLS("function_calls"))},
    {"DeepSeek V4", TEMPLATE(DSML_CALLS("tool_calls"))},
    {"Gemma 4",
     GEMMA TEMPLATE(EACH("<|tool_call>call:" NAME
                         "{{ written(c.function.arguments) if c.function.arguments is mapping else "
                         "'{' + c.function.arguments + '}' }}<tool_call|>"))},
    {"LFM2",
     TEMPLATE("<|tool_call_start|>[" EACH(NAME "(" PAIRS(
         KEY "={{ \"'\" + v + \"'\" if v is string else v | tojson if v is mapping else v | "
             "string }}" COMMA) ")" COMMA) "]<|tool_call_end|>")},
    {"Llama 3's tag", TEMPLATE(EACH("<|python_tag|>" OBJECT))},
    {"Llama 3's functions",
     TEMPLATE(EACH("<|python_tag|>" NAME ".call(" PAIRS(KEY "={{ v | tojson }}" COMMA) ")"))},
    {"Mistral's list", TEMPLATE("[TOOL_CALLS][" EACH(OBJECT COMMA) "]")},
    {"Mistral", TEMPLATE(EACH("[TOOL_CALLS]" NAME "[ARGS]" ARGS))},
    {"Mistral's ids", TEMPLATE(EACH("[TOOL_CALLS]" NAME "[CALL_ID]{{ c.id }}[ARGS]" ARGS))},
    {"DeepSeek R1",
     TEMPLATE("<｜tool▁calls▁begin｜>" EACH("<｜tool▁call▁begin｜>function<｜tool▁sep｜>" NAME LINE
                                            "```json" LINE ARGS LINE
                                            "```<｜tool▁call▁end｜>" LINE) "<｜tool▁calls▁end｜>")},
    {"DeepSeek V3.1",
     TEMPLATE("<｜tool▁calls▁begin｜>" EACH("<｜tool▁call▁begin｜>" NAME "<｜tool▁sep｜>" ARGS
                                            "<｜tool▁call▁end｜>") "<｜tool▁calls▁end｜>")},
    {"Kimi",
     TEMPLATE("<|tool_calls_section_begin|>" EACH(
         "<|tool_call_begin|>functions." NAME ":{{ loop.index0 }}<|tool_call_argument_begin|>" ARGS
         "<|tool_call_end|>") "<|tool_calls_section_end|>")},
    {"Functionary", TEMPLATE(EACH("<function=" NAME ">" ARGS "</function>"))},
    {"Nemotron Nano", TEMPLATE("<TOOLCALL>[" EACH(OBJECT COMMA) "]</TOOLCALL>")},
    {"Apriel", TEMPLATE("<tool_calls>[" EACH(OBJECT COMMA) "]</tool_calls>")},
    {"GigaChat", TEMPLATE(EACH("<|function_call|>" OBJECT))},
    {"Granite 3", TEMPLATE("<|tool_call|>[" EACH(OBJECT COMMA) "]")},
};
enum { N_CALL_TEMPLATES = sizeof call_templates / sizeof *call_templates };

#endif
