#include "decode/verify.h"

void fr_verify_exact(fr_verdict *v, const fr_tree *tree, fr_forward *forward, fr_sampler *sampler,
                     int32_t *ids, int n_ids) {
    int node = 0;
    v->n_path = 0;
    for (;;) {
        v->path[v->n_path++] = node;
        v->next = fr_sampler_token(sampler, fr_forward_logits(forward, node), ids, n_ids, n_ids);
        ids[n_ids++] = v->next;
        node = fr_tree_child(tree, node, v->next);
        if (node < 0) return;
    }
}
