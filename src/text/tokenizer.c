// tokenizer.c — opening: vocabulary, special ids, then BPE or SPM; decoding; questions about
// tokens.
#include "base/alloc.h"
#include "text/families.h"
#include "text/fim.h"
#include "text/mend.h"
#include "text/stream.h"
#include "text/tokenizer_parts.h"
#include <string.h>

// ---- opening

static void mark_end(fr_tokenizer *t, int32_t id) {
    if (id >= 0) t->vocab.flags[id] |= FR_VOCAB_END;
}

static void mark_ends(fr_tokenizer *t) {
    mark_end(t, t->special.eos);
    mark_end(t, t->special.eot);
    mark_end(t, t->special.eom);
    fr_mend_mark_ends(&t->vocab);
}

// *id: the key's value, -1 for "none" as files write it; `missing` where the key is absent, or
// where there is no such token.
static fr_status read_id(fr_tokenizer *t, const fr_gguf *file, const char *key, int32_t missing,
                         int32_t *id, fr_error *err) {
    const fr_gguf_kv *kv = fr_gguf_find(file, key);
    const int32_t n = t->vocab.n;
    uint32_t unused;
    *id = missing < n ? missing : -1;
    if (!kv) return FR_OK;
    if (kv->type == FR_GGUF_BOOL || kv->type == FR_GGUF_STR || kv->type == FR_GGUF_ARRAY ||
        kv->type == FR_GGUF_F32 || kv->type == FR_GGUF_F64)
        return fr_gguf_get_u32(file, key, &unused, err); // the sentence: it is no number
    const int64_t value = fr_gguf_item_i64(kv, 0);
    if (value == -1 || value == UINT32_MAX)
        *id = -1;
    else if (value >= 0 && value < n)
        *id = (int32_t)value;
    else
        fr_fail(&t->note, FR_EDATA, "%s: expected an id below %d, found %lld: left out", key, n,
                (long long)value);
    return FR_OK;
}

// A list of ends, as Ollama writes it. Ids beyond the vocabulary are passed over. If no key names
// the eos token, it is the first of the list.
static fr_status read_ends(fr_tokenizer *t, const fr_gguf *file, fr_error *err) {
    const fr_gguf_kv *list = NULL;
    bool first = !fr_gguf_find(file, "tokenizer.ggml.eos_token_id");
    const fr_status st =
        fr_gguf_opt_array(file, "tokenizer.ggml.eos_token_ids", FR_GGUF_INTS, &list, err);
    for (uint64_t i = 0; list && i < list->count; i++) {
        const int64_t id = fr_gguf_item_i64(list, i);
        if (id < 0 || id >= t->vocab.n) continue;
        if (first) t->special.eos = (int32_t)id;
        first = false;
        mark_end(t, (int32_t)id);
    }
    return st;
}

static fr_status read_special(fr_tokenizer *t, const fr_gguf *file, fr_error *err) {
    fr_special_ids *s = &t->special;
    bool spm = t->vocab.kind == FR_VOCAB_SPM;
    s->fim_end = -1;
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
    if (!st) st = read_ends(t, file, err);
    if (st) return st;
    const unsigned is = t->presplit ? fr_presplit_is(t->presplit) : 0;
    s->add_bos = spm || is & FR_WORDS_BOS;
    s->add_space_prefix = spm;
    if ((st = fr_gguf_opt_bool(file, "tokenizer.ggml.add_bos_token", &s->add_bos, err))) return st;
    if ((st = fr_gguf_opt_bool(file, "tokenizer.ggml.add_eos_token", &s->add_eos, err))) return st;
    if ((st = fr_gguf_opt_bool(file, "tokenizer.ggml.add_space_prefix", &s->add_space_prefix, err)))
        return st;
    s->add_bos = (s->add_bos || is & FR_WORDS_GEMMA4) && s->bos >= 0;
    s->add_eos = s->add_eos && s->eos >= 0;
    s->add_space_prefix = s->add_space_prefix && spm; // byte-level BPE has no such thing
    return FR_OK;
}

// Phi-3's special tokens, except three, remove the white space after them. The format has no key
// for that.
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

// With the model "gemma4" the key of the family is often missing, and has no other value.
static fr_status open_presplit(fr_presplit **out, const fr_gguf *file, bool gemma4, fr_error *err) {
    if (gemma4) return fr_presplit_open(out, "gemma4", 6, err);
    fr_gguf_str pre = {"default", 7};
    const fr_status st = fr_gguf_opt_str(file, "tokenizer.ggml.pre", &pre, err);
    return st ? st : fr_presplit_open(out, pre.data, pre.bytes, err);
}

static fr_status open_vocab(fr_tokenizer *t, const fr_gguf *file, fr_vocab_kind kind,
                            fr_error *err) {
    fr_status st = fr_vocab_open(&t->vocab, file, kind, err);
    if (st || (st = read_special(t, file, err))) return st;
    fr_mend_types(&t->vocab, &t->special);
    return fr_vocab_index(&t->vocab, err);
}

static fr_status find_added(fr_tokenizer *t, fr_error *err) {
    bool *made = fr_alloc_zero((size_t)t->vocab.n * sizeof *made);
    if (!made) return fr_fail(err, FR_ENOMEM, "vocabulary: no memory for %d tokens", t->vocab.n);
    fr_bpe_made(&t->bpe, made);
    const int n = fr_mend_added(&t->vocab, made);
    fr_free(made);
    return n ? fr_vocab_index_special(&t->vocab, err) : FR_OK;
}

static fr_status open_bpe(fr_tokenizer *t, const fr_gguf *file, bool gemma4, fr_error *err) {
    fr_status st = open_presplit(&t->presplit, file, gemma4, err);
    if (st) return st;
    const unsigned is = fr_presplit_is(t->presplit);
    const fr_vocab_kind kind = is & FR_WORDS_CHARS ? FR_VOCAB_CHARS : FR_VOCAB_BPE;
    if ((st = open_vocab(t, file, kind, err))) return st;
    if ((st = fr_bpe_open(&t->bpe, file, &t->vocab, err))) return st;
    t->bpe.whole_words = is & FR_WORDS_WHOLE;
    t->bpe.whole_lines = is & FR_WORDS_GEMMA4;
    return find_added(t, err);
}

static fr_status open_spm(fr_tokenizer *t, const fr_gguf *file, fr_error *err) {
    const fr_status st = open_vocab(t, file, FR_VOCAB_SPM, err);
    return st ? st : fr_spm_open(&t->spm, &t->vocab, t->special.unknown, err);
}

static fr_status open_kind(fr_tokenizer *t, const fr_gguf *file, fr_error *err) {
    fr_gguf_str model;
    const fr_status st = fr_gguf_get_str(file, "tokenizer.ggml.model", &model, err);
    if (st) return st;
    const bool gemma4 = fr_gguf_str_is(model, "gemma4");
    if (gemma4 || fr_gguf_str_is(model, "gpt2")) return open_bpe(t, file, gemma4, err);
    if (fr_gguf_str_is(model, "llama")) return open_spm(t, file, err);
    return fr_fail(err, FR_EUNSUP,
                   "tokenizer.ggml.model: expected gpt2 (byte-level BPE), llama (SentencePiece) or "
                   "gemma4 (BPE of characters), found '%.*s'",
                   (int)(model.bytes < 64 ? model.bytes : 64), model.data);
}

fr_status fr_tokenizer_open(fr_tokenizer **out, const fr_gguf *file, fr_error *err) {
    *out = NULL;
    fr_tokenizer *t = fr_alloc_zero(sizeof *t);
    if (!t) return fr_fail(err, FR_ENOMEM, "vocabulary: no memory");
    const fr_status st = open_kind(t, file, err);
    if (st) {
        fr_tokenizer_close(t);
        return st;
    }
    mark_rstrip(t, file);
    mark_ends(t);
    fr_fim_find(&t->vocab, &t->special);
    fr_fewest_open(t);
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

bool fr_tokenizer_names_control(const fr_tokenizer *t, const char *text, size_t bytes) {
    for (size_t at = 0; at < bytes; at++) {
        const int32_t id =
            fr_vocab_match_special(&t->vocab, text + at, bytes - at, FR_MARK_TEMPLATE);
        if (fr_token_is_control(t, id) || fr_token_is_end(t, id)) return true;
    }
    return false;
}

int fr_tokenizer_size(const fr_tokenizer *t) {
    return t->vocab.n;
}

const fr_special_ids *fr_tokenizer_special(const fr_tokenizer *t) {
    return &t->special;
}

const char *fr_tokenizer_note(const fr_tokenizer *t) {
    return t->note.text[0] ? t->note.text : NULL;
}
