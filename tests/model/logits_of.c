// logits_of.c — writes the logits that a model gives for token ids, to compare engines by hand.
//
//     logits_of MODEL.gguf ID,ID,... OUT.f32        [ids][vocabulary] floats
#include "gguf/gguf.h"
#include "model/forward.h"
#include <stdio.h>
#include <stdlib.h>

enum { IDS = 256 };

static void die(const fr_error *err) {
    fprintf(stderr, "logits_of: %s\n", err->text);
    exit(1);
}

static int read_ids(char *list, int32_t *ids, int most) {
    int n = 0;
    for (char *at = list; *at && n < most; at += *at == ',')
        ids[n++] = (int32_t)strtol(at, &at, 10);
    return n;
}

int main(int argc, char **argv) {
    int32_t ids[IDS];
    fr_row rows[IDS];
    fr_error err;
    fr_gguf *g;
    fr_pool *pool;
    const fr_kern *kern;
    fr_model m;
    fr_kv kv;
    fr_forward *f;
    if (argc != 4) {
        fprintf(stderr, "usage: logits_of MODEL.gguf ID,ID,... OUT.f32\n");
        return 2;
    }
    const int n = read_ids(argv[2], ids, IDS);
    if (fr_kern_pick(&kern, getenv("FR_ISA"), &err) || fr_pool_open(&pool, 1, &err) ||
        fr_gguf_open(&g, argv[1], &err) ||
        fr_model_open(&m, g, kern, pool, FR_WEIGHTS_PACKED, NULL, NULL, &err))
        die(&err);
    const fr_forward_limits limits = {.max_rows = n, .max_logits = n, .n_ctx = n + 1};
    if (fr_kv_open(&kv, &m.config, n + 1, FR_KV_F16, &err) ||
        fr_forward_open(&f, &m, &limits, &err))
        die(&err);
    // Other engines go by the size of the context, not by the text.
    fr_kv_stretch(&kv, m.rope_long.freq && m.config.n_ctx_train > m.config.rope_ctx_orig);
    for (int i = 0; i < n; i++)
        rows[i] = fr_row_token(ids[i], i - 1, FR_WANT_LOGITS);
    fr_forward_run(f, &(fr_pass){.rows = rows, .n_rows = n, .kv = (fr_kv *[]){&kv}, .n_seq = 1});
    FILE *out = fopen(argv[3], "wb");
    if (!out) return perror(argv[3]), 1;
    for (int i = 0; i < n; i++)
        fwrite(fr_forward_logits(f, i), sizeof(float), (size_t)m.config.n_vocab, out);
    return fclose(out) != 0;
}
