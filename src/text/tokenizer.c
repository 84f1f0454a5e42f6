// tokenizer.c — opening: vocabulary, special ids, then BPE or SPM. Encoding cuts the text at the
// special tokens and encodes what lies between; below that: decoding and questions about tokens.
#define _GNU_SOURCE // memmem
#include "text/tokenizer.h"
#include "base/alloc.h"
#include "text/bpe.h"
#include "text/fim.h"
#include "text/presplit.h"
#include "text/spm.h"
#include "text/stream.h"
#include "text/utf8.h"
#include <string.h>

enum { MAX_TEXT = 1 << 30 };
#define SPM_SPACE "\xE2\x96\x81" // U+2581

struct fr_tokenizer {
    fr_vocab vocab;
    fr_special_ids special;
    fr_presplit *presplit; // BPE only
    fr_bpe bpe;
    fr_spm spm; // SPM only
};

// ---- opening

// Texts of tokens that end a generation, besides the ids that the file names. They count only for
// control tokens, since an ordinary entry or an HTML tag may look the same, and for user-defined
// tokens that nobody would write by chance ("<|...|>").
static const char *const end_names[] = {
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|end|>",
    "<|end_of_turn|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|EOT|>",
    "<end_of_turn>",
    "<EOT>",
    "<eos>",
    "</s>",
    "<｜end▁of▁sentence｜>",
};

static void mark_end(fr_tokenizer *t, int32_t id) {
    if (id >= 0) t->vocab.flags[id] |= FR_VOCAB_END;
}

static bool is_mark(const fr_vocab *v, int32_t id) {
    const size_t n = fr_vocab_bytes(v, id);
    const char *text = fr_vocab_text(v, id);
    return n > 4 && !memcmp(text, "<|", 2) && !memcmp(text + n - 2, "|>", 2);
}

// A file that has the end of a turn as a token of the user's has the other marks of turns so too.
// Such tokens are found in any text, and who writes one could end his turn and begin the system's.
static void take_back_marks(fr_vocab *v) {
    bool wrong = false;
    for (int32_t id = 0; id < v->n; id++)
        wrong |= (v->flags[id] & FR_VOCAB_END) && fr_vocab_type(v, id) == FR_TOKEN_USER;
    for (int32_t id = 0; wrong && id < v->n; id++)
        if (fr_vocab_type(v, id) == FR_TOKEN_USER && is_mark(v, id))
            v->flags[id] = (uint8_t)((v->flags[id] & ~FR_VOCAB_TYPE) | FR_TOKEN_CONTROL);
}

static void mark_ends(fr_tokenizer *t) {
    mark_end(t, t->special.eos);
    mark_end(t, t->special.eot);
    mark_end(t, t->special.eom);
    for (size_t i = 0; i < sizeof end_names / sizeof end_names[0]; i++) {
        const char *name = end_names[i];
        int32_t id = fr_vocab_find_special(&t->vocab, name, strlen(name));
        if (id < 0) continue;
        fr_token_type type = fr_vocab_type(&t->vocab, id);
        if (type == FR_TOKEN_CONTROL || (type == FR_TOKEN_USER && strncmp(name, "<|", 2) == 0))
            mark_end(t, id);
    }
    take_back_marks(&t->vocab);
}

// *id: the key's value, -1 for "none" as files write it; `missing` where the key is absent.
static fr_status read_id(const fr_tokenizer *t, const fr_gguf *file, const char *key,
                         int32_t missing, int32_t *id, fr_error *err) {
    if (!fr_gguf_find(file, key)) {
        *id = missing < t->vocab.n ? missing : -1;
        return FR_OK;
    }
    int32_t value_signed;
    uint32_t value;
    *id = -1;
    if (fr_gguf_get_i32(file, key, &value_signed, NULL) == FR_OK && value_signed == -1)
        return FR_OK;
    fr_status st = fr_gguf_get_u32(file, key, &value, err);
    if (st || value == UINT32_MAX) return st;
    if (value >= (uint32_t)t->vocab.n)
        return fr_fail(err, FR_EDATA, "%s: expected an id below %d, found %u", key, t->vocab.n,
                       value);
    *id = (int32_t)value;
    return FR_OK;
}

static fr_status read_special(fr_tokenizer *t, const fr_gguf *file, fr_error *err) {
    fr_special_ids *s = &t->special;
    bool spm = t->vocab.kind == FR_VOCAB_SPM;
    const struct {
        const char *key;
        int32_t missing, *id;
    } ids[] = {
        {"tokenizer.ggml.bos_token_id", spm ? 1 : -1, &s->bos},
        {"tokenizer.ggml.eos_token_id", spm ? 2 : -1, &s->eos},
        {"tokenizer.ggml.eot_token_id", -1, &s->eot},
        {"tokenizer.ggml.eom_token_id", -1, &s->eom},
        {"tokenizer.ggml.unknown_token_id", spm ? 0 : -1, &s->unknown},
        {"tokenizer.ggml.padding_token_id", -1, &s->pad},
        {"tokenizer.ggml.fim_pre_token_id", -1, &s->fim_prefix},
        {"tokenizer.ggml.fim_suf_token_id", -1, &s->fim_suffix},
        {"tokenizer.ggml.fim_mid_token_id", -1, &s->fim_middle},
        {"tokenizer.ggml.fim_pad_token_id", -1, &s->fim_pad},
        {"tokenizer.ggml.fim_rep_token_id", -1, &s->fim_repository},
        {"tokenizer.ggml.fim_sep_token_id", -1, &s->fim_file},
    };
    fr_status st = FR_OK;
    for (size_t i = 0; !st && i < sizeof ids / sizeof ids[0]; i++)
        st = read_id(t, file, ids[i].key, ids[i].missing, ids[i].id, err);
    if (st) return st;
    s->add_bos = spm || fr_presplit_adds_bos(t->presplit);
    s->add_space_prefix = spm;
    if ((st = fr_gguf_opt_bool(file, "tokenizer.ggml.add_bos_token", &s->add_bos, err))) return st;
    if ((st = fr_gguf_opt_bool(file, "tokenizer.ggml.add_eos_token", &s->add_eos, err))) return st;
    if ((st = fr_gguf_opt_bool(file, "tokenizer.ggml.add_space_prefix", &s->add_space_prefix, err)))
        return st;
    s->add_bos = s->add_bos && s->bos >= 0;
    s->add_eos = s->add_eos && s->eos >= 0;
    s->add_space_prefix = s->add_space_prefix && spm; // byte-level BPE has no such thing
    return FR_OK;
}

// Phi-3's special tokens swallow the white space behind them, all but three. The format has no key
// for it.
static void mark_rstrip(fr_tokenizer *t, const fr_gguf *file) {
    static const char *const not_these[] = {"<unk>", "<s>", "<|endoftext|>"};
    fr_gguf_str architecture = {"", 0};
    (void)fr_gguf_opt_str(file, "general.architecture", &architecture, NULL);
    if (!fr_gguf_str_is(architecture, "phi3") || t->vocab.kind != FR_VOCAB_SPM) return;
    for (int i = 0; i < t->vocab.n_special; i++)
        t->vocab.flags[t->vocab.special[i]] |= FR_VOCAB_RSTRIP;
    for (size_t i = 0; i < sizeof not_these / sizeof not_these[0]; i++) {
        int32_t id = fr_vocab_find_special(&t->vocab, not_these[i], strlen(not_these[i]));
        if (id >= 0) t->vocab.flags[id] &= (uint8_t)~FR_VOCAB_RSTRIP;
    }
}

static fr_status open_presplit(fr_presplit **out, const fr_gguf *file, fr_error *err) {
    fr_gguf_str pre = {"default", 7};
    const fr_status st = fr_gguf_opt_str(file, "tokenizer.ggml.pre", &pre, err);
    return st ? st : fr_presplit_open(out, pre.data, pre.bytes, err);
}

static fr_status open_bpe(fr_tokenizer *t, const fr_gguf *file, fr_error *err) {
    fr_status st = open_presplit(&t->presplit, file, err);
    if (st) return st;
    if ((st = fr_vocab_open(&t->vocab, file, FR_VOCAB_BPE, err))) return st;
    if ((st = fr_bpe_open(&t->bpe, file, &t->vocab, err))) return st;
    t->bpe.whole_words = fr_presplit_whole_words(t->presplit);
    return read_special(t, file, err);
}

static fr_status open_spm(fr_tokenizer *t, const fr_gguf *file, fr_error *err) {
    fr_status st = fr_vocab_open(&t->vocab, file, FR_VOCAB_SPM, err);
    if (st || (st = read_special(t, file, err))) return st;
    return fr_spm_open(&t->spm, &t->vocab, t->special.unknown, err);
}

static fr_status read_kind(fr_vocab_kind *kind, const fr_gguf *file, fr_error *err) {
    fr_gguf_str model;
    const fr_status st = fr_gguf_get_str(file, "tokenizer.ggml.model", &model, err);
    if (st) return st;
    *kind = fr_gguf_str_is(model, "gpt2") ? FR_VOCAB_BPE : FR_VOCAB_SPM;
    if (*kind == FR_VOCAB_BPE || fr_gguf_str_is(model, "llama")) return FR_OK;
    return fr_fail(err, FR_EUNSUP,
                   "tokenizer.ggml.model: expected gpt2 (byte-level BPE) or llama "
                   "(SentencePiece), found '%.*s'",
                   (int)(model.bytes < 64 ? model.bytes : 64), model.data);
}

fr_status fr_tokenizer_check(const fr_gguf *file, fr_error *err) {
    fr_vocab_kind kind;
    fr_presplit *presplit = NULL;
    fr_status st = read_kind(&kind, file, err);
    if (!st && kind == FR_VOCAB_BPE) st = open_presplit(&presplit, file, err);
    fr_presplit_close(presplit);
    return st;
}

fr_status fr_tokenizer_open(fr_tokenizer **out, const fr_gguf *file, fr_error *err) {
    fr_vocab_kind kind;
    *out = NULL;
    fr_status st = read_kind(&kind, file, err);
    if (st) return st;
    fr_tokenizer *t = fr_alloc_zero(sizeof *t);
    if (!t) return fr_fail(err, FR_ENOMEM, "vocabulary: no memory");
    st = kind == FR_VOCAB_BPE ? open_bpe(t, file, err) : open_spm(t, file, err);
    if (st) {
        fr_tokenizer_close(t);
        return st;
    }
    mark_rstrip(t, file);
    mark_ends(t);
    fr_fim_find(&t->vocab, &t->special);
    *out = t;
    return FR_OK;
}

void fr_tokenizer_close(fr_tokenizer *t) {
    if (!t) return;
    fr_bpe_close(&t->bpe);
    fr_spm_close(&t->spm);
    fr_presplit_close(t->presplit);
    fr_vocab_close(&t->vocab);
    fr_free(t);
}

// ---- encoding

typedef struct encoding { // one call
    const fr_tokenizer *t;
    fr_ids *ids;
    fr_merger merger;
    fr_presplit_state *state; // BPE only
    fr_buffer clean;          // the text as the tokenizer sees it, where that differs
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
        if (!(st = fr_buffer_add(&e->clean, from, (size_t)(found - from), err)))
            st = fr_buffer_add(&e->clean, " ", 1, err);
        from = found + 3;
    }
    if (!st) st = fr_buffer_add(&e->clean, from, (size_t)(end - from), err);
    *text = e->clean.data;
    *bytes = e->clean.n;
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
    if (t->vocab.kind == FR_VOCAB_BPE)
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

// How far the run around `at` reaches in which control tokens may stand; 0: they may not here.
static size_t control_end(const fr_marked *m, size_t *run, size_t at) {
    while (*run < m->n_runs && m->run[*run].end <= at)
        ++*run;
    return *run < m->n_runs && m->run[*run].mark == FR_MARK_TEMPLATE ? m->run[*run].end : 0;
}

// The longest special token at text[at], control ones only up to `control`.
static int32_t special_at(const fr_vocab *v, const fr_buffer *text, size_t at, size_t control) {
    const char *here = text->data + at;
    const int32_t any = fr_vocab_match_special(v, here, text->n - at, control == text->n);
    if (control <= at || control == text->n) return any;
    const int32_t within = fr_vocab_match_special(v, here, control - at, true);
    if (any < 0 || within < 0) return any < 0 ? within : any;
    return fr_vocab_bytes(v, any) > fr_vocab_bytes(v, within) ? any : within;
}

// Cuts the text at special tokens, at every place the longest, and encodes what lies between.
static fr_status encode_all(encoding *e, const fr_marked *m, fr_error *err) {
    const fr_vocab *v = &e->t->vocab;
    const char *text = m->text.data;
    const size_t bytes = m->text.n;
    fr_status st = FR_OK;
    size_t begin = 0, at = 0, run = 0;
    while (!st && at < bytes) {
        const int32_t id = special_at(v, &m->text, at, control_end(m, &run, at));
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
        if (e->t->vocab.kind == FR_VOCAB_BPE)
            st = clean_utf8(e, &part, &bytes, err);
        else
            st = clean_spaces(e, &part, &bytes, err);
        if (!st) st = fr_marked_add(out, part, bytes, text->run[i].mark, err);
        fr_buffer_free(&e->clean);
    }
    return st;
}

static bool is_clean(const fr_tokenizer *t, const fr_buffer *text) {
    if (t->vocab.kind == FR_VOCAB_BPE) return is_utf8(text->data, text->n);
    return !memmem(text->data, text->n, SPM_SPACE, 3);
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
    if (t->vocab.kind == FR_VOCAB_BPE) st = fr_presplit_state_open(&e.state, t->presplit, err);
    if (!st && !is_clean(t, &text->text)) {
        st = clean(&e, text, &cleaned, err);
        text = &cleaned;
    }
    if (!st) st = encode_all(&e, text, err);
    if (st) ids->n = n_before;
    fr_presplit_state_close(e.state);
    fr_merger_close(&e.merger);
    fr_buffer_free(&e.clean);
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
    fr_text_run whole = {bytes, flags & FR_PARSE_SPECIAL ? FR_MARK_TEMPLATE : FR_MARK_MESSAGE};
    const fr_marked borrowed = {
        // read, never written
        .text = {.data = (char *)(uintptr_t)text, .n = bytes},
        .run = &whole,
        .n_runs = 1,
    };
    return fr_tokenizer_encode_marked(t, &borrowed, watch, ids, err);
}

// ---- decoding

fr_status fr_tokenizer_decode(const fr_tokenizer *t, const int32_t *ids, size_t n, fr_buffer *text,
                              fr_error *err) {
    size_t n_before = text->n;
    fr_status st = FR_OK;
    bool prefixed =
        t->special.add_space_prefix; // encode puts a space in front of text that begins here
    for (size_t i = 0; !st && i < n; i++) {
        size_t bytes;
        const char *piece = fr_token_bytes(t, ids[i], &bytes);
        if (!piece) {
            st = fr_fail(err, FR_EARG, "token id %zu: expected 0..%d, found %d", i + 1,
                         t->vocab.n - 1, ids[i]);
            break;
        }
        fr_token_type type = fr_vocab_type(&t->vocab, ids[i]);
        size_t skip = prefixed && type == FR_TOKEN_NORMAL && bytes && piece[0] == ' ';
        st = fr_buffer_add(text, piece + skip, bytes - skip, err);
        prefixed =
            t->special.add_space_prefix && (type == FR_TOKEN_CONTROL || type == FR_TOKEN_USER);
    }
    if (st) text->n = n_before;
    return st;
}

fr_status fr_tokenizer_answer(const fr_tokenizer *t, const int32_t *ids, size_t n, fr_buffer *text,
                              fr_error *err) {
    fr_buffer raw = {0};
    fr_status st = FR_OK;
    for (size_t i = 0; i < n && !st && !fr_token_is_end(t, ids[i]); i++) {
        size_t bytes;
        const char *shown = fr_token_shown(t, ids[i], &bytes);
        st = fr_buffer_add(&raw, shown, bytes, err);
    }
    char *clean = st || !raw.n ? NULL : fr_alloc_array(raw.n, 3);
    if (clean)
        st = fr_buffer_add(text, clean, fr_utf8_repair(raw.data, raw.n, clean), err);
    else if (!st && raw.n)
        st = fr_fail(err, FR_ENOMEM, "text: no memory for a copy of %zu bytes", raw.n);
    fr_free(clean);
    fr_buffer_free(&raw);
    return st;
}

// ---- asking

static bool in_vocab(const fr_tokenizer *t, int32_t id) {
    return id >= 0 && id < t->vocab.n;
}

const char *fr_token_bytes(const fr_tokenizer *t, int32_t id, size_t *bytes) {
    *bytes = in_vocab(t, id) ? fr_vocab_bytes(&t->vocab, id) : 0;
    return in_vocab(t, id) ? fr_vocab_text(&t->vocab, id) : NULL;
}

const char *fr_token_shown(const fr_tokenizer *t, int32_t id, size_t *bytes) {
    const char *text = fr_token_is_control(t, id) ? NULL : fr_token_bytes(t, id, bytes);
    if (!text) *bytes = 0;
    return text ? text : "";
}

size_t fr_token_longest(const fr_tokenizer *t) {
    return t->vocab.longest;
}

fr_token_type fr_token_type_of(const fr_tokenizer *t, int32_t id) {
    return in_vocab(t, id) ? fr_vocab_type(&t->vocab, id) : FR_TOKEN_UNUSED;
}

bool fr_token_is_control(const fr_tokenizer *t, int32_t id) {
    fr_token_type type = fr_token_type_of(t, id);
    return type == FR_TOKEN_CONTROL || type == FR_TOKEN_UNKNOWN;
}

bool fr_token_is_end(const fr_tokenizer *t, int32_t id) {
    return in_vocab(t, id) && t->vocab.flags[id] & FR_VOCAB_END;
}

int32_t fr_tokenizer_find(const fr_tokenizer *t, const char *text, size_t bytes) {
    return fr_vocab_find_special(&t->vocab, text, bytes);
}

int fr_tokenizer_size(const fr_tokenizer *t) {
    return t->vocab.n;
}

const fr_special_ids *fr_tokenizer_special(const fr_tokenizer *t) {
    return &t->special;
}
