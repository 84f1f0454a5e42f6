// named.c — templates by name, for models whose file has none: turns of text, no tools.
#include "text/chat/chat.h"
#include <stdio.h>
#include <string.h>

#define PROMPT(text) "{% if add_generation_prompt %}{{ '" text "' }}{% endif %}"
#define EACH(turn)   "{% for m in messages %}" turn "{% endfor %}"
#define ALTERNATE                                                                                  \
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"                                        \
    "{{ raise_exception('the roles user and assistant must take turns') }}{% endif %}"
#define NO_ROLE "{{ raise_exception('this chat template has no role ' ~ m.role) }}"
// The first system message goes into the first turn, as `first`; the others are `rest`.
#define SYSTEM_APART                                                                               \
    "{% set first = messages[0].content if messages[0].role == 'system' else none %}"              \
    "{% set rest = messages if first is none else messages[1:] %}"
#define WITH_FIRST "((first ~ '\n\n') if loop.first and first is not none else '')"

#define GEMMA_TURN(content)                                                                        \
    "{{ '<start_of_turn>' + ('model' if m.role == 'assistant' else m.role) + '\n' + " content      \
    " + '<end_of_turn>\n' }}"

static const struct {
    const char *name, *text;
} templates[] = {
    {"chatml", EACH("{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}")
                   PROMPT("<|im_start|>assistant\n")},
    {"command-r",
     EACH("{{ '<|START_OF_TURN_TOKEN|>' + {'system': '<|SYSTEM_TOKEN|>', 'user': '<|USER_TOKEN|>', "
          "'assistant': '<|CHATBOT_TOKEN|>'}[m.role] + (m.content | trim) + "
          "'<|END_OF_TURN_TOKEN|>' }}") PROMPT("<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>")},
    {"gemma", "{{ bos_token }}" EACH("{% if m.role == 'system' %}" NO_ROLE
                                     "{% endif %}" ALTERNATE GEMMA_TURN("(m.content | trim)"))
                  PROMPT("<start_of_turn>model\n")},
    {"gemma3",
     "{{ bos_token }}" SYSTEM_APART "{% for m in rest %}" ALTERNATE GEMMA_TURN(
         WITH_FIRST " + (m.content | trim)") "{% endfor %}" PROMPT("<start_of_turn>model\n")},
    {"llama2",
     SYSTEM_APART "{% for m in rest %}" ALTERNATE
                  "{% set text = m.content if not (loop.first and first is not none) else "
                  "'<<SYS>>\n' + first + '\n<</SYS>>\n\n' + m.content %}"
                  "{% if m.role == 'user' %}{{ bos_token + '[INST] ' + text | trim + ' [/INST]' }}"
                  "{% elif m.role == 'assistant' %}{{ ' ' + text | trim + ' ' + eos_token }}"
                  "{% endif %}{% endfor %}"},
    {"llama3", "{{ bos_token }}" EACH("{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\n\n'"
                                      " + m.content | trim + '<|eot_id|>' }}")
                   PROMPT("<|start_header_id|>assistant<|end_header_id|>\n\n")},
    {"mistral", "{{ bos_token }}" EACH(
                    ALTERNATE "{% if m.role == 'user' %}{{ '[INST] ' + m.content + ' [/INST]' }}"
                              "{% elif m.role == 'assistant' %}{{ m.content + eos_token }}"
                              "{% else %}" NO_ROLE "{% endif %}")},
    {"mistral-v1",
     "{{ bos_token }}" SYSTEM_APART "{% for m in rest %}" ALTERNATE
     "{% if m.role == 'user' %}{{ ' [INST] ' + " WITH_FIRST " + m.content + ' [/INST]' }}"
     "{% elif m.role == 'assistant' %}{{ ' ' + m.content + eos_token }}"
     "{% else %}" NO_ROLE "{% endif %}{% endfor %}"},
    {"mistral-v7",
     "{{ bos_token }}" EACH(
         "{% if m.role == 'user' %}{{ '[INST] ' + m.content + '[/INST]' }}"
         "{% elif m.role == 'system' %}{{ '[SYSTEM_PROMPT] ' + m.content + '[/SYSTEM_PROMPT]' }}"
         "{% elif m.role == 'assistant' %}{{ ' ' + m.content + eos_token }}"
         "{% else %}" NO_ROLE "{% endif %}")},
    {"phi3",
     EACH("{% if m.role in ['system', 'user', 'assistant'] %}"
          "{{ '<|' + m.role + '|>\n' + m.content + '<|end|>\n' }}{% endif %}") "{{ "
                                                                               "'<|assistant|>\n' "
                                                                               "if "
                                                                               "add_generation_"
                                                                               "prompt else "
                                                                               "eos_token }}"},
    {"zephyr", EACH("{% if m.role in ['system', 'user', 'assistant'] %}"
                    "{{ '<|' + m.role + '|>\n' + m.content + eos_token + '\n' }}{% endif %}")
                   PROMPT("<|assistant|>\n")},
};
enum { COUNT = sizeof templates / sizeof *templates };

const char *fr_chat_name_at(int index) {
    return (unsigned)index < COUNT ? templates[index].name : NULL;
}

const char *fr_chat_text_named(const char *name) {
    for (int i = 0; i < COUNT; i++)
        if (!strcmp(templates[i].name, name)) return templates[i].text;
    return NULL;
}

const char *fr_chat_names(char *text, size_t room, const char *between) {
    size_t at = 0;
    for (int i = 0; i < COUNT && at < room; i++)
        at += (size_t)snprintf(text + at, room - at, "%s%s", i ? between : "", templates[i].name);
    return text;
}

fr_status fr_chat_find_named(const char **text, const char *name, fr_error *err) {
    char names[256];
    *text = fr_chat_text_named(name);
    if (*text) return FR_OK;
    return fr_fail(err, FR_EARG, "--chat-template %.40s: expected one of %s", name,
                   fr_chat_names(names, sizeof names, ", "));
}
