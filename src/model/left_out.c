#include "model/left_out.h"
#include <stdio.h>
#include <string.h>

// How names begin of other models in the file: encoders of pictures and sound with their projectors
// (llama.cpp's, Ollama's and Hugging Face's names), layers that guess tokens further ahead, heads that
// classify a text.
static const char *const beside[] = {
    "v.",
    "mm.",
    "a.",
    "vision.",
    "audio.",
    "vision_model.",
    "vision_tower.",
    "vision_embed_tokens.",
    "audio_model.",
    "audio_tower.",
    "embed_vision.",
    "embed_audio.",
    "multi_modal_projector.",
    "multimodal_projector.",
    "resampler.",
    "mtp.",
    "nextn.",
    "cls.",
};

// Tables that old converters wrote, and that follow from the keys of RoPE.
static const char *const tables[] = {"attn_rot_embd", "rotary_emb.inv_freq"};

// Whether it belongs to a layer after the model's own that guesses tokens further ahead.
static bool is_ahead(const fr_gguf *g, const char *name, int n_layer) {
    int block = -1, end = 0;
    char mark[64];
    if (sscanf(name, "blk.%9d.%n", &block, &end) != 1 || !end || block < n_layer) return false;
    snprintf(mark, sizeof mark, "blk.%d.nextn.eh_proj.weight", block);
    return fr_gguf_tensor_find(g, mark);
}

bool fr_model_leaves_out(const fr_gguf *g, const fr_gguf_tensor *t, const fr_config *c) {
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        if (!strncmp(t->name, beside[i], strlen(beside[i]))) return true;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (strstr(t->name, tables[i])) return true;
    return is_ahead(g, t->name, c->n_layer);
}
