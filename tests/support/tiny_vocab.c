#include "support/tiny_model.h"
#include <stdio.h>
#include <string.h>

enum { MAX_TOKENS = 512, TOKEN_BYTES = 24 };

// Token types of the file format.
enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, BYTE = 6 };

typedef struct vocab {
    char text[MAX_TOKENS][TOKEN_BYTES];
    int32_t type[MAX_TOKENS];
    float score[MAX_TOKENS];
    int n;
} vocab;

static int add(vocab *v, const char *text, int type, float score) {
    snprintf(v->text[v->n], TOKEN_BYTES, "%s", text);
    v->type[v->n] = type;
    v->score[v->n] = score;
    return v->n++;
}

// One character of at most two bytes.
static void add_code(vocab *v, unsigned code) {
    char text[3] = {(char)code};
    if (code >= 0x80) {
        text[0] = (char)(0xC0 | code >> 6);
        text[1] = (char)(0x80 | (code & 0x3F));
    }
    add(v, text, NORMAL, 0);
}

// The byte-level alphabet writes a byte that does not print in Latin-1 as a character from U+0100
// on, in order.
static void add_byte_alphabet(vocab *v) {
    unsigned next = 0x100;
    for (unsigned byte = 0; byte < 256; byte++) {
        bool prints = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
        add_code(v, prints ? byte : next++);
    }
}

#define SPACE "\u0120" // the space of the byte-level alphabet
static const char *const MERGES[][2] = {
    {"t", "h"},     {"i", "n"},   {"e", "r"},     {"h", "e"},        {"a", "n"},
    {"o", "n"},     {"r", "e"},   {"o", "u"},     {"l", "l"},        {SPACE, "a"},
    {SPACE, "t"},   {SPACE, "w"}, {"th", "e"},    {SPACE "t", "he"}, {"an", "d"},
    {SPACE, "and"}, {"in", "g"},  {SPACE, SPACE}, {"e", "d"},        {"y", "ou"},
};
enum { N_MERGES = sizeof MERGES / sizeof *MERGES };

static void write_tokens(fr_gguf_writer *w, const vocab *v) {
    const char *texts[MAX_TOKENS];
    for (int i = 0; i < v->n; i++)
        texts[i] = v->text[i];
    fr_gguf_writer_str_array(w, "tokenizer.ggml.tokens", texts, (size_t)v->n);
    fr_gguf_writer_i32_array(w, "tokenizer.ggml.token_type", v->type, (size_t)v->n);
}

static int add_bpe(fr_gguf_writer *w, vocab *v, const char *pre) {
    char lines[N_MERGES][2 * TOKEN_BYTES];
    const char *merges[N_MERGES];
    add_byte_alphabet(v);
    for (int i = 0; i < N_MERGES; i++) {
        char both[TOKEN_BYTES];
        snprintf(both, sizeof both, "%s%s", MERGES[i][0], MERGES[i][1]);
        snprintf(lines[i], sizeof lines[i], "%s %s", MERGES[i][0], MERGES[i][1]);
        merges[i] = lines[i];
        add(v, both, NORMAL, 0);
    }
    int end = add(v, "<|endoftext|>", CONTROL, 0);
    add(v, "<|im_start|>", CONTROL, 0);
    int end_turn = add(v, "<|im_end|>", CONTROL, 0);
    fr_gguf_writer_str(w, "tokenizer.ggml.model", "gpt2");
    fr_gguf_writer_str(w, "tokenizer.ggml.pre", pre ? pre : "gpt-2");
    write_tokens(w, v);
    fr_gguf_writer_str_array(w, "tokenizer.ggml.merges", merges, N_MERGES);
    fr_gguf_writer_u32(w, "tokenizer.ggml.bos_token_id", (uint32_t)end);
    fr_gguf_writer_u32(w, "tokenizer.ggml.eos_token_id", (uint32_t)end_turn);
    fr_gguf_writer_bool(w, "tokenizer.ggml.add_bos_token", false);
    return v->n;
}

static void add_byte_tokens(vocab *v) {
    for (int byte = 0; byte < 256; byte++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", byte);
        add(v, text, BYTE, 0);
    }
}

// Gemma 4's kind: merges of characters, a space written U+2581.
static int add_chars(fr_gguf_writer *w, vocab *v) {
    static const char *const merges[] = {"t h",      "i n",      "e r",          "h e", "a n",
                                         "\u2581 a", "\u2581 t", "\u2581t he",   "d e", "o u",
                                         "an d",     "\n \n",    "\u2581 \u2581"};
    enum { N = sizeof merges / sizeof *merges };
    add(v, "<pad>", CONTROL, 0);
    const int end = add(v, "<eos>", CONTROL, 0), begin = add(v, "<bos>", CONTROL, 0);
    add_byte_tokens(v);
    add(v, "\u2581", NORMAL, 0);
    add(v, "\n", NORMAL, 0);
    for (unsigned letter = 'a'; letter <= 'z'; letter++)
        add_code(v, letter);
    for (int i = 0; i < N; i++) {
        const char *space = strchr(merges[i], ' ');
        char both[TOKEN_BYTES];
        snprintf(both, sizeof both, "%.*s%s", (int)(space - merges[i]), merges[i], space + 1);
        add(v, both, NORMAL, 0);
    }
    add(v, "<|turn>", CONTROL, 0);
    add(v, "<turn|>", CONTROL, 0);
    fr_gguf_writer_str(w, "tokenizer.ggml.model", "gemma4");
    write_tokens(w, v);
    fr_gguf_writer_str_array(w, "tokenizer.ggml.merges", merges, N);
    fr_gguf_writer_u32(w, "tokenizer.ggml.bos_token_id", (uint32_t)begin);
    fr_gguf_writer_u32(w, "tokenizer.ggml.eos_token_id", (uint32_t)end);
    return v->n;
}

static int add_spm(fr_gguf_writer *w, vocab *v, const char *arch) {
    static const char *const pieces[] = {
        "\u2581", "e", "t",  "a",  "o",  "i",  "n",   "s",       "r",         "h",      "l",
        "d",      "u", "th", "in", "er", "an", "the", "\u2581t", "\u2581the", "\u2581a"};
    const bool gemma = strcmp(arch, "gemma3") == 0, phi = strcmp(arch, "phi3") == 0;
    add(v, "<unk>", UNKNOWN, 0);
    add(v, "<s>", CONTROL, 0);
    add(v, "</s>", CONTROL, 0);
    add_byte_tokens(v);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        add(v, pieces[i], NORMAL, -(float)i); // later pieces merge later
    if (gemma) add(v, "<start_of_turn>", CONTROL, 0);
    if (phi) add(v, "<|user|>", CONTROL, 0);
    if (phi) add(v, "<|assistant|>", CONTROL, 0);
    int end_turn = gemma ? add(v, "<end_of_turn>", CONTROL, 0)
                   : phi ? add(v, "<|end|>", CONTROL, 0)
                         : 2;
    fr_gguf_writer_str(w, "tokenizer.ggml.model", "llama");
    write_tokens(w, v);
    fr_gguf_writer_f32_array(w, "tokenizer.ggml.scores", v->score, (size_t)v->n);
    fr_gguf_writer_u32(w, "tokenizer.ggml.bos_token_id", 1);
    fr_gguf_writer_u32(w, "tokenizer.ggml.eos_token_id", 2);
    fr_gguf_writer_u32(w, "tokenizer.ggml.eot_token_id", (uint32_t)end_turn);
    fr_gguf_writer_u32(w, "tokenizer.ggml.unknown_token_id", 0);
    fr_gguf_writer_bool(w, "tokenizer.ggml.add_bos_token", true);
    fr_gguf_writer_bool(w, "tokenizer.ggml.add_space_prefix", !gemma);
    return v->n;
}

int fr_tiny_add_vocab(fr_gguf_writer *w, const fr_tiny_options *o) {
    static const char chatml[] =
        "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
        "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
        "{{ '<|im_start|>assistant\n' }}{% endif %}";
    vocab v = {.n = 0};
    const char *arch = o->arch ? o->arch : "llama";
    const bool spm = o->spm || strcmp(arch, "gemma3") == 0 || strcmp(arch, "phi3") == 0;
    const bool chars = !strcmp(arch, "gemma4") || (o->pre && !strcmp(o->pre, "gemma4"));
    const int n = chars ? add_chars(w, &v) : spm ? add_spm(w, &v, arch) : add_bpe(w, &v, o->pre);
    const char *chat = o->chat_template ? o->chat_template : spm || chars ? "" : chatml;
    if (*chat) fr_gguf_writer_str(w, "tokenizer.chat_template", chat);
    if (o->tool_template)
        fr_gguf_writer_str(w, "tokenizer.chat_template.tool_use", o->tool_template);
    return n;
}
