#include "text/mend.h"
#include <string.h>

// Marks of turns, as the chat templates of the models that run here write them. An ordinary token or
// an HTML tag that looks the same ("</s>") is not among them.
static const char *const turn_marks[] = {
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|user|>",
    "<|assistant|>",
    "<|system|>",
    "<|end|>",
    "<|end_of_turn|>",
    "<|START_OF_TURN_TOKEN|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|EOT|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<end_of_utterance>",
    "[INST]",
    "[/INST]",
    "<｜begin▁of▁sentence｜>",
    "<｜end▁of▁sentence｜>",
    "<｜User｜>",
    "<｜Assistant｜>",
};

static bool is_text(const fr_vocab *v, int32_t id, const char *text) {
    return fr_vocab_bytes(v, id) == strlen(text) &&
           !memcmp(fr_vocab_text(v, id), text, strlen(text));
}

static bool is_turn_mark(const fr_vocab *v, int32_t id) {
    const char first = fr_vocab_text(v, id)[0];
    if (first != '<' && first != '[') return false;
    for (size_t i = 0; i < sizeof turn_marks / sizeof *turn_marks; i++)
        if (is_text(v, id, turn_marks[i])) return true;
    return false;
}

// Between `begin` and `end`, with something there.
static bool is_between(const fr_vocab *v, int32_t id, const char *begin, const char *end) {
    const size_t n = fr_vocab_bytes(v, id), b = strlen(begin), e = strlen(end);
    const char *text = fr_vocab_text(v, id);
    return n > b + e && !memcmp(text, begin, b) && !memcmp(text + n - e, end, e);
}

bool fr_mend_is_mark(const fr_vocab *v, int32_t id) {
    return is_between(v, id, "<|", "|>") || is_between(v, id, "<｜", "｜>");
}

static bool is_bracketed(const fr_vocab *v, int32_t id) {
    return is_between(v, id, "<", ">") || is_between(v, id, "[", "]");
}

static void make_control(fr_vocab *v, int32_t id) {
    v->flags[id] = (uint8_t)((v->flags[id] & ~FR_VOCAB_TYPE) | FR_TOKEN_CONTROL);
}

// A file that has a mark of turns, or the end of a text, as a token of the user's has other marks so
// too. Such tokens are found in any text, and who writes one could end his turn and begin the
// system's.
static bool has_wrong_user_tokens(const fr_vocab *v, const fr_special_ids *s) {
    const int32_t ends[] = {s->eos, s->eot, s->eom};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends[i] >= 0 && fr_vocab_type(v, ends[i]) == FR_TOKEN_USER) return true;
    for (int32_t id = 0; id < v->n; id++)
        if (fr_vocab_type(v, id) == FR_TOKEN_USER &&
            (v->flags[id] & FR_VOCAB_END || is_turn_mark(v, id)))
            return true;
    return false;
}

static void mend_named(fr_vocab *v, const fr_special_ids *s) {
    const int32_t ids[] = {s->bos,        s->eos,     s->eot,        s->eom,
                           s->unknown,    s->pad,     s->fim_prefix, s->fim_suffix,
                           s->fim_middle, s->fim_pad, s->fim_file,   s->fim_repository};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i] >= 0 && fr_vocab_type(v, ids[i]) == FR_TOKEN_NORMAL && is_bracketed(v, ids[i]))
            make_control(v, ids[i]);
}

void fr_mend_types(fr_vocab *v, const fr_special_ids *s) {
    const bool users = has_wrong_user_tokens(v, s);
    for (int32_t id = 0; id < v->n; id++) {
        const fr_token_type type = fr_vocab_type(v, id);
        if (type == FR_TOKEN_CONTROL) continue;
        if (is_turn_mark(v, id) || (type == FR_TOKEN_NORMAL && fr_mend_is_mark(v, id)) ||
            (users && type == FR_TOKEN_USER && fr_mend_is_mark(v, id)))
            make_control(v, id);
    }
    mend_named(v, s);
}

// A tag of HTML, or "<s>", is as short.
static bool is_short(const fr_vocab *v, int32_t id) {
    const size_t slash = fr_vocab_text(v, id)[1] == '/';
    return fr_vocab_bytes(v, id) - slash <= 4;
}

int fr_mend_added(fr_vocab *v, const bool *made) {
    int n = 0;
    for (int32_t id = 0; id < v->n; id++) {
        if (made[id] || fr_vocab_type(v, id) != FR_TOKEN_NORMAL || !is_bracketed(v, id) ||
            is_short(v, id))
            continue;
        v->flags[id] |= FR_VOCAB_ADDED;
        n++;
    }
    return n;
}
