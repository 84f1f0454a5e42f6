#include "api/take.h"
#include "api/answer_parts.h"

void fr_take_name(fr_call_taker *t, const char *name, size_t n) {
    t->name = name;
    t->name_bytes = n;
    t->json.n = 0;
    json_decref(t->arguments);
    t->arguments = json_object();
    t->answer->no_memory |= !t->arguments;
}

void fr_take_key(fr_call_taker *t, const char *key, size_t n) {
    t->key = key;
    t->key_bytes = n;
}

static json_t *value_of(fr_call_taker *t, const char *text, size_t n, fr_value_says says) {
    fr_api_answer *a = t->answer;
    json_t *json = says == FR_SAYS_JSON ? fr_call_json(text, n, &a->no_memory) : NULL;
    if (json || a->no_memory) return json;
    if (says == FR_SAYS_TEXT) {
        json_t *value = fr_json_text(text, n);
        a->no_memory |= !value;
        return value;
    }
    return fr_typed_value(a->offered, t->name, t->name_bytes, t->key, t->key_bytes, text, n,
                          &a->no_memory);
}

void fr_take_value(fr_call_taker *t, const char *text, size_t n, fr_value_says says) {
    json_t *key = fr_json_text(t->key, t->key_bytes), *value = value_of(t, text, n, says);
    if (value && key) {
        if (json_object_setn_new(t->arguments, json_string_value(key), json_string_length(key),
                                 value))
            t->answer->no_memory = true;
    } else {
        json_decref(value);
    }
    t->answer->no_memory |= !key;
    json_decref(key);
}

void fr_take_end(fr_call_taker *t) {
    fr_api_answer *a = t->answer;
    json_t *given = t->json.n ? fr_call_json(t->json.data, t->json.n, &a->no_memory)
                              : json_incref(t->arguments);
    if (!fr_answer_keep_named(a, t->name, t->name_bytes, given)) t->failed = true;
    json_decref(given);
}

bool fr_take_again(fr_api_answer *a, const fr_call_scan *s, const char *text, bool last) {
    fr_call_taker taker = {.answer = a};
    fr_call_scan again;
    fr_call_scan_begin(&again, s->form, s->offered, s->space, s->head - s->space,
                       s->body > s->head);
    again.taker = &taker;
    const fr_call_verdict is = fr_call_scan_read(&again, text, s->at, last);
    a->no_memory |= again.no_memory;
    json_decref(taker.arguments);
    fr_buffer_free(&taker.json);
    return is == FR_CALL_WHOLE && !taker.failed;
}
