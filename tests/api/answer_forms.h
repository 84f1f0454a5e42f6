// answer_forms.h — what is looked for in a chat template to know the form of its calls.
#ifndef FR_TESTS_API_ANSWER_FORMS_H
#define FR_TESTS_API_ANSWER_FORMS_H

#define HERMES  "... <tool_call> ... parameters ..."
#define LLAMA   "... {\"name\": ..., \"parameters\": ...} ..."
#define MISTRAL "... [AVAILABLE_TOOLS] ... parameters ... [TOOL_CALLS] ..."
#define LFM2    "... <|tool_list_start|> ... parameters ..."
#define HARMONY "... <|start|>assistant<|channel|>final<|message|> ... parameters ..."

#endif
