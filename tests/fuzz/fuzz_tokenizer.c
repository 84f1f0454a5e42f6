// fuzz_tokenizer.c — any vocabulary that a file may hold, and any text.
//
// First byte: bit 0 SentencePiece, bit 1 special tokens are read, bit 2 all bytes have tokens,
// bits 3..7 the family; where it is gemma4 or sarvam-moe, merges join characters. Then tokens as (type and score, length, bytes) up to a length of 255, then
// the text. In byte-level BPE every pair of spellings whose union is a token becomes a merge, so
// that vocabularies of the input's own making merge.
#include "../text/made_vocab.h"
#include "text/stop.h"
#include "text/stream.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const families[32] = {
    "gpt-2",      "smollm",     "qwen2",       "llama-bpe", "tekken",       "dbrx",
    "default",    "unheard-of", "gemma4",      "qwen35",    "gpt-4o",       "tiny_aya",
    "kimi-k2",    "youtu",      "deepseek-v3", "spark2_5",  "deepseek-llm", "deepseek-coder",
    "seed-coder", "bailingmoe", "exaone-moe",  "superbpe",  "laguna",       "minicpm5",
    "ufakzeka",   "jais-2",     "falcon",      "bloom",     "viking",       "chameleon",
    "afmoe",      "sarvam-moe"};

static int find_spelling(const made_vocab *v, const char *a, size_t n_a, const char *b) {
    for (int i = 0; i < v->n; i++)
        if (strlen(v->spelling[i]) == n_a + strlen(b) && !memcmp(v->spelling[i], a, n_a) &&
            !strcmp(v->spelling[i] + n_a, b))
            return i;
    return -1;
}

// Adds the tokens of the input; returns where its text begins.
static size_t add_tokens(made_vocab *v, const uint8_t *data, size_t size) {
    size_t at = 0;
    while (at + 2 <= size && v->n < MADE_MAX - 1) {
        size_t n = data[at + 1];
        if (n == 255) return at + 2;
        if (n > size - at - 2) n = size - at - 2;
        char spelling[64] = "";
        memcpy(spelling, data + at + 2, n < 40 ? n : 40);
        made_add(v, spelling, data[at] & 7, (float)(data[at] >> 3) - 16);
        at += 2 + n;
    }
    return at;
}

// A merge for every way to cut an added token into two tokens, as far as there is room.
static void add_merges(made_vocab *v, int first, char (*room)[80]) {
    for (int i = first; i < v->n; i++)
        for (size_t k = 1; k < strlen(v->spelling[i]) && v->n_merges < 64; k++) {
            const char *s = v->spelling[i];
            if (find_spelling(v, s, k, "") < 0 || find_spelling(v, s + k, strlen(s + k), "") < 0)
                continue;
            snprintf(room[v->n_merges], sizeof room[0], "%.*s %s", (int)k, s, s + k);
            v->merges[v->n_merges] = room[v->n_merges];
            v->n_merges++;
        }
}

// What comes out is ids of the vocabulary, the same ids every time, and bytes that the stream makes
// UTF-8 of.
static void use(const fr_tokenizer *t, const char *text, size_t bytes, unsigned flags) {
    fr_ids ids = {0}, again = {0};
    fr_buffer back = {0};
    if (fr_tokenizer_encode(t, text, bytes, flags, &ids, NULL)) abort();
    if (fr_tokenizer_encode(t, text, bytes, flags, &again, NULL)) abort();
    if (ids.n != again.n || (ids.n && memcmp(ids.data, again.data, ids.n * sizeof *ids.data)))
        abort();
    if (fr_tokenizer_decode(t, ids.data, ids.n, &back, NULL)) abort();
    char *whole = malloc(3 * back.n + 1), *shown = malloc(3 * back.n + 16);
    size_t n = fr_utf8_repair(back.data ? back.data : "", back.n, whole), n_shown = 0;
    fr_stream stream = {0};
    for (size_t i = 0; i < ids.n; i++) {
        size_t piece;
        const char *p = fr_token_bytes(t, ids.data[i], &piece);
        char out[FR_STREAM_ROOM(64)];
        if (!p || piece > fr_token_longest(t) || piece > 64) abort();
        n_shown = fr_stream_push(&stream, p, piece, out);
        if (fr_utf8_repair(out, n_shown, shown) != n_shown) abort();
        (void)fr_token_is_end(t, ids.data[i]);
    }
    fr_stop *stop;
    const char *strings[] = {"ab", "b\n", "aab", NULL};
    if (fr_stop_open(&stop, strings, NULL, NULL)) abort();
    char *cut = malloc(fr_stop_room(stop, n));
    (void)fr_stop_push(stop, whole, n, cut, &n_shown);
    if (n_shown > n || (n_shown && memcmp(cut, whole, n_shown))) abort();
    fr_stop_close(stop);
    free(cut);
    free(whole);
    free(shown);
    fr_ids_free(&ids);
    fr_ids_free(&again);
    fr_buffer_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static made_vocab v;
    static char merges[64][80];
    if (size < 1) return 0;
    unsigned mode = data[0];
    const char *pre = families[mode >> 3];
    if (mode & 1)
        made_spm(&v, mode & 4);
    else if (!strcmp(pre, "gemma4") || !strcmp(pre, "sarvam-moe"))
        made_chars(&v, mode & 4);
    else
        made_bpe_bytes(&v);
    v.pre = pre;
    if (!strcmp(pre, "sarvam-moe") && !(mode & 1)) v.model = "gpt2";
    v.add_space_prefix = mode & 1 ? (int)(mode >> 3 & 3) - 1 : -1;
    if (v.add_space_prefix == 2) v.architecture = "phi3", v.add_space_prefix = 0;
    int first = v.n;
    size_t at = 1 + add_tokens(&v, data + 1, size - 1);
    if (!(mode & 1)) add_merges(&v, first, merges);
    fr_tokenizer *t;
    fr_error err = {0};
    fr_status st = made_open(&v, &t, &err);
    if (st ? t || !err.text[0] || err.code != st : !t) abort();
    if (!st) use(t, (const char *)data + at, size - at, mode & 2 ? FR_PARSE_SPECIAL : 0);
    fr_tokenizer_close(t);
    return 0;
}
