// mend.c — types of tokens by their spelling.
#include "text/mend.h"
#include <string.h>

// Marks in the chat templates of the supported models. OURS: a control token whatever its type in
// the file. TURN: so is it, and where the file has it as user-defined, other marks are wrong too.
// ADDED: a control token where the file has it as user-defined; an ordinary one is text. "</s>" is
// none of these, because an HTML tag may look the same. ENDS: as a control token it ends an answer,
// besides the ids that the file names. INNER: a mark of calls, results or thinking. Where the file has
// it as user-defined, it is part of an answer's text, and a message cannot hold it.
enum { OURS = 1, ENDS = 2, HINT = 4, ADDED = 8, INNER = 16, TURN = OURS | HINT };
static const struct {
    const char *text;
    unsigned is;
} marks[] = {
    {"<|im_end|>", TURN | ENDS},
    {"<|endoftext|>", TURN | ENDS},
    {"<|eot_id|>", TURN | ENDS},
    {"<|eom_id|>", TURN | ENDS},
    {"<|end_of_text|>", TURN | ENDS},
    {"<|end|>", TURN | ENDS},
    {"<|end_of_turn|>", TURN | ENDS},
    {"<|END_OF_TURN_TOKEN|>", TURN | ENDS},
    {"<|EOT|>", TURN | ENDS},
    {"<end_of_turn>", TURN | ENDS},
    {"<｜end▁of▁sentence｜>", TURN | ENDS},
    {"<end_of_utterance>", TURN | ENDS},
    // gpt-oss and Solar Open: the ends of an answer and of a tool call.
    {"<|return|>", TURN | ENDS},
    {"<|call|>", TURN | ENDS},
    {"<|calls|>", TURN | ENDS},
    {"<|flush|>", TURN | ENDS},
    // Gemma 4. Files have other marks of it as user-defined, as parts of an answer's text.
    {"<turn|>", OURS | ENDS},
    {"<|turn>", OURS},
    {"<|tool_response>", OURS | ENDS},
    {"[e~[", OURS | ENDS}, // MiniMax M2
    {"]~b]", OURS},        // the beginning of its turns
    {"<|im_start|>", TURN},
    {"<|begin_of_text|>", TURN},
    {"<|start_header_id|>", TURN},
    {"<|end_header_id|>", TURN},
    {"<|user|>", TURN},
    {"<|assistant|>", TURN},
    {"<|system|>", TURN},
    {"<|START_OF_TURN_TOKEN|>", TURN},
    {"<start_of_turn>", TURN},
    {"[INST]", TURN},
    {"[/INST]", TURN},
    {"<｜begin▁of▁sentence｜>", TURN},
    {"<｜User｜>", TURN},
    {"<｜Assistant｜>", TURN},
    {"<EOT>", ADDED | ENDS},
    {"<eos>", ADDED | ENDS},
    {"_<EOT>", ADDED | ENDS},
    {"[EOT]", ADDED | ENDS},
    {"[EOS]", ADDED | ENDS},
    {"</s>", ENDS},
    // Those that do not look like marks by themselves (fr_mend_is_mark).
    {"<think>", INNER},
    {"</think>", INNER},
    {"<seed:think>", INNER},
    {"</seed:think>", INNER},
    {"<think:opensource>", INNER},
    {"</think:opensource>", INNER},
    {"[THINK]", INNER},
    {"[/THINK]", INNER},
    {"<tool_call>", INNER},
    {"</tool_call>", INNER},
    {"<tool_response>", INNER},
    {"</tool_response>", INNER},
    {"<tool_calls>", INNER},
    {"</tool_calls>", INNER},
    {"<TOOLCALL>", INNER},
    {"</TOOLCALL>", INNER},
    {"</function>", INNER},
    {"</parameter>", INNER},
    {"</invoke>", INNER},
    {"<arg_key>", INNER},
    {"</arg_key>", INNER},
    {"<arg_value>", INNER},
    {"</arg_value>", INNER},
    {"<seed:tool_call>", INNER},
    {"</seed:tool_call>", INNER},
    {"<minimax:tool_call>", INNER},
    {"</minimax:tool_call>", INNER},
    {"<tool_calls:opensource>", INNER},
    {"</tool_calls:opensource>", INNER},
    {"<tool_call:opensource>", INNER},
    {"</tool_call:opensource>", INNER},
    {"<tool_sep:opensource>", INNER},
    {"<arg_key:opensource>", INNER},
    {"</arg_key:opensource>", INNER},
    {"<arg_value:opensource>", INNER},
    {"</arg_value:opensource>", INNER},
    {"[TOOL_CALLS]", INNER},
    {"[TOOL_RESULTS]", INNER},
    {"[/TOOL_RESULTS]", INNER},
    {"[TOOL_CONTENT]", INNER},
    {"[CALL_ID]", INNER},
    {"[ARGS]", INNER},
};
enum { N_MARKS = sizeof marks / sizeof *marks };

static bool is_text(const fr_vocab *v, int32_t id, const char *text) {
    return fr_vocab_bytes(v, id) == strlen(text) &&
           !memcmp(fr_vocab_text(v, id), text, strlen(text));
}

static unsigned mark_of(const fr_vocab *v, int32_t id) {
    const char first = fr_vocab_text(v, id)[0];
    if (!first || !strchr("<[]_", first)) return 0;
    for (size_t i = 0; i < N_MARKS; i++)
        if (is_text(v, id, marks[i].text)) return marks[i].is;
    return 0;
}

// Whether the token begins and ends so, with something between.
static bool is_between(const fr_vocab *v, int32_t id, const char *begin, const char *end) {
    const size_t n = fr_vocab_bytes(v, id), b = strlen(begin), e = strlen(end);
    const char *text = fr_vocab_text(v, id);
    return n > b + e && !memcmp(text, begin, b) && !memcmp(text + n - e, end, e);
}

bool fr_mend_is_mark(const fr_vocab *v, int32_t id) {
    return is_between(v, id, "<|", "|>") || is_between(v, id, "<｜", "｜>");
}

// Gemma 4 has <|BEGIN> and <END|>, too.
static bool is_inner(const fr_vocab *v, int32_t id) {
    return mark_of(v, id) & INNER || fr_mend_is_mark(v, id) || is_between(v, id, "<|", ">") ||
           is_between(v, id, "<", "|>") || is_between(v, id, "｜", "｜");
}

static bool is_bracketed(const fr_vocab *v, int32_t id) {
    return is_between(v, id, "<", ">") || is_between(v, id, "[", "]");
}

static void make_control(fr_vocab *v, int32_t id) {
    v->flags[id] = (uint8_t)((v->flags[id] & ~FR_VOCAB_TYPE) | FR_TOKEN_CONTROL);
}

// Whether the file has a mark of turns, or the end of a text, as a user-defined token. Then it has
// other marks so too. User-defined tokens are found in any text, so that a message which holds one
// could end its turn and begin the system's.
static bool has_wrong_user_tokens(const fr_vocab *v, const fr_special_ids *s) {
    const int32_t ends[] = {s->eos, s->eot, s->eom};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends[i] >= 0 && fr_vocab_type(v, ends[i]) == FR_TOKEN_USER) return true;
    for (int32_t id = 0; id < v->n; id++)
        if (fr_vocab_type(v, id) == FR_TOKEN_USER &&
            (v->flags[id] & FR_VOCAB_END || mark_of(v, id) & HINT))
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
        const unsigned ours = type == FR_TOKEN_USER ? OURS | ADDED : OURS;
        if (type == FR_TOKEN_CONTROL) continue;
        if (type == FR_TOKEN_USER && is_inner(v, id)) v->flags[id] |= FR_VOCAB_INNER;
        if (mark_of(v, id) & ours || (type == FR_TOKEN_NORMAL && fr_mend_is_mark(v, id)) ||
            (users && type == FR_TOKEN_USER && fr_mend_is_mark(v, id)))
            make_control(v, id);
    }
    mend_named(v, s);
}

// As short as many tags of HTML, or "<s>".
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

static int32_t find_end(const fr_vocab *v, const char *text) {
    const int32_t id = fr_vocab_find_special(v, text, strlen(text));
    return id >= 0 && v->flags[id] & FR_VOCAB_END ? id : -1;
}

static void clear_end(fr_vocab *v, const char *text) {
    const int32_t id = find_end(v, text);
    if (id >= 0) v->flags[id] &= (uint8_t)~FR_VOCAB_END;
}

// In gpt-oss and Solar Open "<|end|>" ends one of an answer's messages, also where the file names
// it as an end. To Gemma 4, "</s>" is HTML.
static void clear_inner_ends(fr_vocab *v) {
    const bool call = find_end(v, "<|call|>") >= 0 || find_end(v, "<|calls|>") >= 0;
    if (call && (find_end(v, "<|return|>") >= 0 || find_end(v, "<|flush|>") >= 0))
        clear_end(v, "<|end|>");
    if (find_end(v, "<|tool_response>") >= 0) clear_end(v, "</s>");
}

void fr_mend_mark_ends(fr_vocab *v) {
    for (size_t i = 0; i < N_MARKS; i++) {
        const int32_t id = fr_vocab_find_special(v, marks[i].text, strlen(marks[i].text));
        if (marks[i].is & ENDS && id >= 0 && fr_vocab_type(v, id) == FR_TOKEN_CONTROL)
            v->flags[id] |= FR_VOCAB_END;
    }
    clear_inner_ends(v);
}
