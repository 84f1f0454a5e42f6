// routes.c — which path is answered by what.
#include "serve/server.h"

const fr_http_route fr_server_routes[] = {
    {"POST", "/v1/chat/completions", fr_handle_chat, false},
    {"POST", "/chat/completions", fr_handle_chat, false},
    {"POST", "/v1/chat/completions/input_tokens", fr_handle_count, false},
    {"POST", "/chat/completions/input_tokens", fr_handle_count, false},
    {"POST", "/v1/completions", fr_handle_completions, false},
    {"POST", "/completion", fr_handle_completion, false},
    {"POST", "/completions", fr_handle_completion, false},
    {"POST", "/v1/messages", fr_handle_messages, false},
    {"POST", "/v1/messages/count_tokens", fr_handle_count_tokens, false},
    {"POST", "/v1/responses", fr_handle_responses, false},
    {"POST", "/infill", fr_handle_infill, false},
    {"POST", "/tokenize", fr_handle_tokenize, false},
    {"POST", "/detokenize", fr_handle_detokenize, false},
    {"POST", "/apply-template", fr_handle_template, false},
    {"GET", "/tokenizer_info", fr_handle_tokenizer, false},
    {"GET", "/v1/models", fr_handle_models, true},
    {"GET", "/models", fr_handle_models, true},
    {"GET", "/health", fr_handle_health, true},
    {"GET", "/v1/health", fr_handle_health, true},
    {"GET", "/ready", fr_handle_ready, true},
    {"GET", "/props", fr_handle_props, false},
    {"GET", "/slots", fr_handle_slots, false},
    {"GET", "/metrics", fr_handle_metrics, false},
    {.method = 0},
};
