// encode.c — text to ids: cuts it at the special tokens and encodes what lies between by BPE or
// SPM.
#define _GNU_SOURCE // memmem
#include "base/alloc.h"
#include "base/utf8.h"
#include "text/stream.h"
#include "text/tokenizer_parts.h"
#include <string.h>

enum { MAX_TEXT = 1 << 30, ASK = 1 << 16 }; // bytes: the limit; between questions of the watch
#define SPM_SPACE "\xE2\x96\x81"            // U+2581

typedef struct encoding { // one call
    const fr_tokenizer *t;
    fr_ids *ids;
    fr_merger merger;
    fr_presplit_state *state; // where there is a presplit
    fr_buffer clean, spaced;  // the text as the tokenizer sees it, where that differs
    fr_buffer prefixed;
} encoding;

static bool is_utf8(const char *text, size_t bytes) {
    for (size_t at = 0; at < bytes;) {
        fr_utf8_step step = fr_utf8_next((const uint8_t *)text + at, bytes - at);
        if (step.kind != FR_UTF8_WHOLE) return false;
        at += (size_t)step.bytes;
    }
    return true;
}

static fr_status clean_utf8(encoding *e, const char **text, size_t *bytes, fr_error *err) {
    if (is_utf8(*text, *bytes)) return FR_OK;
    if (!(e->clean.data = fr_alloc_zero(3 * *bytes)))
        return fr_fail(err, FR_ENOMEM, "text: no memory for a copy of %zu bytes", *bytes);
    *bytes = fr_utf8_repair(*text, *bytes, e->clean.data);
    *text = e->clean.data;
    return FR_OK;
}

// SentencePiece writes a space as U+2581, so that the two are the same to it. Here both are a
// space.
static fr_status clean_spaces(encoding *e, const char **text, size_t *bytes, fr_error *err) {
    const char *from = *text, *end = *text + *bytes, *found;
    fr_status st = FR_OK;
    if (!memmem(from, *bytes, SPM_SPACE, 3)) return FR_OK;
    while (!st && (found = memmem(from, (size_t)(end - from), SPM_SPACE, 3))) {
        if (!(st = fr_buffer_add(&e->spaced, from, (size_t)(found - from), err)))
            st = fr_buffer_add(&e->spaced, " ", 1, err);
        from = found + 3;
    }
    if (!st) st = fr_buffer_add(&e->spaced, from, (size_t)(end - from), err);
    *text = e->spaced.data;
    *bytes = e->spaced.n;
    return st;
}

static fr_status encode_word(void *user, const char *word, size_t bytes, fr_error *err) {
    encoding *e = user;
    return fr_bpe_word(&e->t->bpe, &e->merger, word, bytes, e->ids, err);
}

// Text between special tokens.
static fr_status encode_plain(encoding *e, const char *text, size_t bytes, fr_error *err) {
    const fr_tokenizer *t = e->t;
    if (bytes == 0) return FR_OK;
    if (t->presplit)
        return fr_presplit_run(t->presplit, e->state, text, bytes, encode_word, e, err);
    if (t->special.add_space_prefix) {
        e->prefixed.n = 0;
        fr_status st = fr_buffer_add(&e->prefixed, " ", 1, err);
        if (st || (st = fr_buffer_add(&e->prefixed, text, bytes, err))) return st;
        text = e->prefixed.data;
        bytes = e->prefixed.n;
    }
    return fr_spm_text(&t->spm, &e->merger, text, bytes, e->ids, err);
}

// The longest special token at `at` that is in one run whose mark allows it, or that any text may hold.
static int32_t special_at(const fr_vocab *v, const fr_marked *m, size_t *run, size_t at) {
    const char *here = m->text.data + at;
    const size_t left = m->text.n - at;
    while (m->run[*run].end <= at)
        ++*run;
    const fr_text_run *in = &m->run[*run];
    if (in->end == m->text.n) return fr_vocab_match_special(v, here, left, in->mark);
    const int32_t any = fr_vocab_match_special(v, here, left, FR_MARK_MESSAGE);
    if (in->mark == FR_MARK_MESSAGE) return any;
    const int32_t within = fr_vocab_match_special(v, here, in->end - at, in->mark);
    if (any < 0 || within < 0) return any < 0 ? within : any;
    return fr_vocab_bytes(v, any) > fr_vocab_bytes(v, within) ? any : within;
}

// Cuts the text at special tokens, at every place the longest, and encodes what lies between.
static fr_status encode_all(encoding *e, const fr_marked *m, fr_error *err) {
    const fr_vocab *v = &e->t->vocab;
    const char *text = m->text.data;
    const size_t bytes = m->text.n;
    fr_status st = FR_OK;
    size_t begin = 0, at = 0, run = 0, asked = 0;
    while (!st && at < bytes) {
        if (at >= asked && (st = fr_watch_ask(e->merger.watch, err))) break;
        if (at >= asked) asked = at + ASK;
        const int32_t id = special_at(v, m, &run, at);
        if (id < 0) {
            at++;
            continue;
        }
        if ((st = encode_plain(e, text + begin, at - begin, err))) break;
        st = fr_ids_push(e->ids, id, err);
        at += fr_vocab_bytes(v, id);
        if (v->flags[id] & FR_VOCAB_RSTRIP)
            while (at < bytes && strchr(" \t\n\v\f\r", text[at]) && text[at])
                at++;
        begin = at;
    }
    return st ? st : encode_plain(e, text + begin, bytes - begin, err);
}

// The text as the tokenizer sees it, run by run.
static fr_status clean(encoding *e, const fr_marked *text, fr_marked *out, fr_error *err) {
    fr_status st = FR_OK;
    for (size_t i = 0, begin = 0; i < text->n_runs && !st; begin = text->run[i++].end) {
        const char *part = text->text.data + begin;
        size_t bytes = text->run[i].end - begin;
        if (e->t->vocab.kind != FR_VOCAB_SPM) st = clean_utf8(e, &part, &bytes, err);
        if (!st && e->t->vocab.kind != FR_VOCAB_BPE) st = clean_spaces(e, &part, &bytes, err);
        if (!st) st = fr_marked_add(out, part, bytes, text->run[i].mark, err);
        fr_buffer_free(&e->clean);
        fr_buffer_free(&e->spaced);
    }
    return st;
}

static bool is_clean(const fr_tokenizer *t, const fr_buffer *text) {
    return (t->vocab.kind == FR_VOCAB_SPM || is_utf8(text->data, text->n)) &&
           (t->vocab.kind == FR_VOCAB_BPE || !memmem(text->data, text->n, SPM_SPACE, 3));
}

fr_status fr_tokenizer_encode_marked(const fr_tokenizer *t, const fr_marked *text,
                                     const fr_watch *watch, fr_ids *ids, fr_error *err) {
    const size_t bytes = text->text.n, n_before = ids->n;
    if (bytes > MAX_TEXT)
        return fr_fail(err, FR_EARG, "text: expected at most %d bytes, found %zu", MAX_TEXT, bytes);
    if (bytes == 0) return FR_OK;
    encoding e = {.t = t, .ids = ids, .merger.watch = watch};
    fr_marked cleaned = {0};
    fr_status st = FR_OK;
    if (t->presplit) st = fr_presplit_state_open(&e.state, t->presplit, err);
    if (!st && !is_clean(t, &text->text)) {
        st = clean(&e, text, &cleaned, err);
        text = &cleaned;
    }
    if (!st) st = encode_all(&e, text, err);
    if (st) ids->n = n_before;
    fr_presplit_state_close(e.state);
    fr_merger_close(&e.merger);
    fr_buffer_free(&e.clean);
    fr_buffer_free(&e.spaced);
    fr_buffer_free(&e.prefixed);
    fr_marked_free(&cleaned);
    return st;
}

fr_status fr_tokenizer_encode(const fr_tokenizer *t, const char *text, size_t bytes, unsigned flags,
                              fr_ids *ids, fr_error *err) {
    return fr_tokenizer_encode_watched(t, text, bytes, flags, NULL, ids, err);
}

fr_status fr_tokenizer_encode_watched(const fr_tokenizer *t, const char *text, size_t bytes,
                                      unsigned flags, const fr_watch *watch, fr_ids *ids,
                                      fr_error *err) {
    fr_text_run whole = {bytes, flags & FR_PARSE_SPECIAL ? FR_MARK_TEMPLATE : FR_MARK_PLAIN};
    const fr_marked borrowed = {
        // read, never written
        .text = {.data = (char *)(uintptr_t)text, .n = bytes},
        .run = &whole,
        .n_runs = 1,
    };
    return fr_tokenizer_encode_marked(t, &borrowed, watch, ids, err);
}
