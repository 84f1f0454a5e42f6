// turns.c — the families that write one turn after another, as a table.
#include "text/chat/family.h"

#define FOR            "{%for message in messages%}"
#define END            "{%endfor%}"
#define FI             "{%endif%}"
#define IF_USER        "{%if message.role=='user'%}"
#define ELIF_ASSISTANT "{%elif message.role=='assistant'%}"
#define ALTERNATING                                                                                \
    "{%if(message.role=='user')!=(loop.index0%2==0)%}{{raise_exception('Conversation roles must "  \
    "alternate user/assistant/user/assistant/...')}}{%endif%}"
#define EOS FR_CHAT_EOS

#define CHATML_TURN "{{'<|im_start|>'+message.role+'\n'+message.content+'<|im_end|>\n'}}"
#define CHATML_END  END "{%if add_generation_prompt%}{{'<|im_start|>assistant\n'}}{%endif%}"
#define CHATML_TEXTS                                                                               \
    .other = {"<|im_start|>", "\n", "<|im_end|>\n"}, .prompt = "<|im_start|>assistant\n",          \
    .fallback = {"<|im_start|>system\n", "<|im_end|>\n"}

#define LLAMA3_TURNS                                                                               \
    "{%set loop_messages=messages%}{%for message in loop_messages%}{%set content="                 \
    "'<|start_header_id|>'+message.role+'<|end_header_id|>\n\n'+message.content|trim+'<|eot_id|>'" \
    "%}{%if loop.index0==0%}{%set content=bos_token+content%}{%endif%}{{content}}{%endfor%}"
#define LLAMA3_PROMPT "<|start_header_id|>assistant<|end_header_id|>\n\n"
#define LLAMA3_TEXTS                                                                               \
    .other = {"<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>"}, .prompt = LLAMA3_PROMPT

#define MISTRAL_REFUSE                                                                             \
    "{%else%}{{raise_exception('Only user and assistant roles are supported!')}}{%endif%}"
#define MISTRAL_OLD(after)                                                                         \
    FOR ALTERNATING IF_USER                                                                        \
        "{{'[INST] '+message.content+' [/INST]'}}" ELIF_ASSISTANT after MISTRAL_REFUSE END
#define MISTRAL_V1                                                                                 \
    "{%if messages[0].role=='system'%}{%set system_message=messages[0].content%}{%set "            \
    "loop_messages=messages[1:]%}{%else%}{%set loop_messages=messages%}{%endif%}{{bos_token}}"     \
    "{%for message in loop_messages%}{%if(message.role=='user')!=(loop.index0%2==0)%}"             \
    "{{raise_exception('After the optional system message, conversation roles must alternate "     \
    "user/assistant/user/assistant/...')}}{%endif%}" IF_USER                                       \
    "{%if loop.first and system_message is defined%}{{' [INST] '+system_message+'\n\n'+"           \
    "message.content+' [/INST]'}}{%else%}{{' [INST] '+message.content+' "                          \
    "[/INST]'}}{%endif%}" ELIF_ASSISTANT                                                           \
    "{{' '+message.content+eos_token}}{%else%}{{raise_exception('Only user and "                   \
    "assistant roles are supported, with the exception of an initial optional system message!')}}" \
    "{%endif%}{%endfor%}"
#define MISTRAL_V7                                                                                 \
    "{{bos_token}}" FOR IF_USER "{{'[INST] '+message.content+'[/INST]'}}{%elif message.role=="     \
    "'system'%}{{'[SYSTEM_PROMPT] '+message.content+'[/SYSTEM_PROMPT]'}}" ELIF_ASSISTANT           \
    "{{' '+message.content+eos_token}}{%else%}{{raise_exception('Only user, system and assistant " \
    "roles are supported!')}}{%endif%}{%endfor%}"

#define GEMMA                                                                                      \
    "{%if messages[0].role=='system'%}{{raise_exception('System role not "                         \
    "supported')}}{%endif%}" FOR ALTERNATING                                                       \
    "{%if message.role=='assistant'%}{%set role='model'%}{%else%}{%set role="                      \
    "message.role%}{%endif%}{{'<start_of_turn>'+role+'\n'+message.content|trim+'<end_of_turn>\n'"  \
    "}}{%endfor%}{%if add_generation_prompt%}{{'<start_of_turn>model\n'}}{%endif%}"
#define GEMMA_TEXTS                                                                                \
    .other = {"<start_of_turn>", "\n", "<end_of_turn>\n"}, .prompt = "<start_of_turn>model\n"
#define GEMMA3                                                                                     \
    "{{bos_token}}{%if messages[0].role=='system'%}{%if messages[0].content is string%}{%set "     \
    "first_user_prefix=messages[0].content+'\n\n'%}{%else%}{%set first_user_prefix="               \
    "messages[0].content[0].text+'\n\n'%}{%endif%}{%set loop_messages=messages[1:]%}{%else%}"      \
    "{%set first_user_prefix=''%}{%set loop_messages=messages%}{%endif%}{%for message in "         \
    "loop_messages%}" ALTERNATING "{%if message.role=='assistant'%}{%set role='model'%}{%else%}"   \
    "{%set role=message.role%}{%endif%}{{'<start_of_turn>'+role+'\n'+(first_user_prefix if "       \
    "loop.first else'')}}{%if message.content is string%}{{message.content|trim}}{%elif "          \
    "message.content is iterable%}{%for item in message.content%}{%if item.type=='image'%}"        \
    "{{'<start_of_image>'}}{%elif item.type=='text'%}{{item.text|trim}}{%endif%}{%endfor%}"        \
    "{%else%}{{raise_exception('Invalid content type')}}{%endif%}{{'<end_of_turn>\n'}}{%endfor%}"  \
    "{%if add_generation_prompt%}{{'<start_of_turn>model\n'}}{%endif%}"

#define PHI3_OLD                                                                                   \
    FOR IF_USER "{{'<|user|>\n'+message.content+'<|end|>\n<|assistant|>\n'}}" ELIF_ASSISTANT       \
                "{{message.content+'<|end|>\n'}}{%endif%}{%endfor%}"
#define PHI3_ANY FOR "{{'<|'+message.role+'|>\n'+message.content+'<|end|>\n'}}" END
#define PHI3_SYSTEM(condition)                                                                     \
    FOR "{%if message.role=='system'" condition "%}{{'<|system|>\n'+message.content+'<|end|>\n'}}" \
        "{%elif message.role=='user'%}{{'<|user|>\n'+message.content+'<|end|>\n'}}" ELIF_ASSISTANT \
        "{{'<|assistant|>\n'+message.content+'<|end|>\n'}}{%endif%}{%endfor%}"
#define PHI3_END "{%if add_generation_prompt%}{{'<|assistant|>\n'}}{%else%}{{eos_token}}{%endif%}"
#define PHI3_OLD_TEXTS                                                                             \
    .user = {"<|user|>\n", "<|end|>\n<|assistant|>\n"}, .assistant = {"", "<|end|>\n"}
#define PHI3_TEXTS                                                                                 \
    .user = {"<|user|>\n", "<|end|>\n"}, .assistant = {"<|assistant|>\n", "<|end|>\n"},            \
    .system = {"<|system|>\n", "<|end|>\n"}, .prompt = "<|assistant|>\n"

#define ZEPHYR(end, after)                                                                         \
    FOR IF_USER "{{'<|user|>\n'+message.content+eos_token" end                                     \
                "}}{%elif message.role=='system'%}{{'<|system|>\n'+message.content+eos_token" end  \
                "}}" ELIF_ASSISTANT "{{'<|assistant|>\n'+message.content+eos_token" end            \
                "}}{%endif%}"                                                                      \
                "{%if loop.last and add_generation_prompt%}{{'<|assistant|>" after                 \
                "'}}{%endif%}{%endfor%}"
#define ZEPHYR_TEXTS(end, after)                                                                   \
    .user = {"<|user|>\n", EOS end}, .assistant = {"<|assistant|>\n", EOS end},                    \
    .system = {"<|system|>\n", EOS end}, .prompt = "<|assistant|>" after

// clang-format off
const fr_chat_turns fr_chat_turns_table[] = {
    {"chatml", FOR CHATML_TURN CHATML_END, CHATML_TEXTS},
    {NULL, FOR "{%if loop.first and messages[0].role!='system'%}{{'<|im_start|>system\n$<|im_end|>\n'}}"
           "{%endif%}" CHATML_TURN CHATML_END, CHATML_TEXTS},
    {"llama3", LLAMA3_TURNS "{%if add_generation_prompt%}{{'" LLAMA3_PROMPT "'}}{%endif%}",
     LLAMA3_TEXTS, .rules = FR_CHAT_BOS | FR_CHAT_TRIM},
    {NULL, LLAMA3_TURNS "{{'" LLAMA3_PROMPT "'}}",
     LLAMA3_TEXTS, .rules = FR_CHAT_BOS | FR_CHAT_TRIM | FR_CHAT_ALWAYS_PROMPT},
    {"mistral", "{{bos_token}}" MISTRAL_OLD("{{message.content+eos_token}}"),
     .user = {"[INST] ", " [/INST]"}, .assistant = {"", EOS},
     .rules = FR_CHAT_BOS | FR_CHAT_ALTERNATE | FR_CHAT_KNOWN_ROLES},
    {NULL, "{{bos_token}}" MISTRAL_OLD("{{message.content+eos_token+' '}}"),
     .user = {"[INST] ", " [/INST]"}, .assistant = {"", EOS " "},
     .rules = FR_CHAT_BOS | FR_CHAT_ALTERNATE | FR_CHAT_KNOWN_ROLES},
    {"mistral-v1", MISTRAL_V1,
     .user = {" [INST] ", " [/INST]"}, .assistant = {" ", EOS},
     .rules = FR_CHAT_BOS | FR_CHAT_ALTERNATE | FR_CHAT_KNOWN_ROLES | FR_CHAT_SYSTEM_PREFIX},
    {"mistral-v7", MISTRAL_V7,
     .user = {"[INST] ", "[/INST]"}, .assistant = {" ", EOS},
     .system = {"[SYSTEM_PROMPT] ", "[/SYSTEM_PROMPT]"}, .rules = FR_CHAT_BOS | FR_CHAT_KNOWN_ROLES},
    {"gemma", "{{bos_token}}" GEMMA, GEMMA_TEXTS,
     .rules = FR_CHAT_BOS | FR_CHAT_TRIM | FR_CHAT_ALTERNATE | FR_CHAT_NO_SYSTEM | FR_CHAT_MODEL_ROLE},
    {NULL, GEMMA, GEMMA_TEXTS,
     .rules = FR_CHAT_TRIM | FR_CHAT_ALTERNATE | FR_CHAT_NO_SYSTEM | FR_CHAT_MODEL_ROLE},
    {"gemma3", GEMMA3, GEMMA_TEXTS,
     .rules = FR_CHAT_BOS | FR_CHAT_TRIM | FR_CHAT_ALTERNATE | FR_CHAT_MODEL_ROLE | FR_CHAT_SYSTEM_PREFIX},
    {"phi3", PHI3_SYSTEM("") PHI3_END, PHI3_TEXTS, .no_prompt = EOS},
    {NULL, PHI3_SYSTEM("and message.content") PHI3_END, PHI3_TEXTS, .no_prompt = EOS,
     .rules = FR_CHAT_SYSTEM_IF_TEXT},
    {NULL, "{{bos_token}}" PHI3_OLD, PHI3_OLD_TEXTS, .rules = FR_CHAT_BOS},
    {NULL, PHI3_OLD, PHI3_OLD_TEXTS},
    {NULL, "{{bos_token}}" PHI3_ANY PHI3_END,
     .other = {"<|", "|>\n", "<|end|>\n"}, .prompt = "<|assistant|>\n", .no_prompt = EOS,
     .rules = FR_CHAT_BOS},
    {NULL, PHI3_ANY PHI3_END,
     .other = {"<|", "|>\n", "<|end|>\n"}, .prompt = "<|assistant|>\n", .no_prompt = EOS},
    {NULL, PHI3_ANY "{%if add_generation_prompt and messages[-1].role!='assistant'%}{{'<|assistant|>\n'}}{%endif%}",
     .other = {"<|", "|>\n", "<|end|>\n"}, .prompt = "<|assistant|>\n", .rules = FR_CHAT_PROMPT_NOT_AFTER},
    {"zephyr", ZEPHYR("+'\n'", "\n"), ZEPHYR_TEXTS("\n", "\n")},
    {NULL, ZEPHYR("", ""), ZEPHYR_TEXTS("", "")},
    {NULL, ZEPHYR("+'\n'", ""), ZEPHYR_TEXTS("\n", "")},
};
// clang-format on
const int fr_chat_turns_count = sizeof fr_chat_turns_table / sizeof *fr_chat_turns_table;
