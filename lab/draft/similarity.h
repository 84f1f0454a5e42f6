// similarity.h — how similar the hidden states of attached rows are to the true ones, by layer.
//
// In a text that the target wrote, the state after layer l of attached row i under row q is
// compared with the state of row q + i, whose token it stands for: the cosine, averaged over many
// q. [Hidden Transfer §4.4, figure 4]  As a baseline also the cosine of row q's own state with that
// of row q + i: what an attached row would get that left its state unchanged.
#ifndef LAB_DRAFT_SIMILARITY_H
#define LAB_DRAFT_SIMILARITY_H
#include "draft/attached/attached.h"

enum { FR_SIMILARITY_TEXT = 512 }; // tokens of a text that are looked at

typedef struct fr_similarity {
    const fr_model *model;      // borrowed
    const fr_attached *drafter; // borrowed
    int layers, steps;
    double (*attached)[FR_MAX_LAYERS + 1]; // [steps][0..layers] sums of cosines; 0 below the entry
    double (*stays)[FR_MAX_LAYERS + 1];    // the same of row q
    int64_t n;                             // rows q
    fr_kv kv;
    fr_forward *forward;
    float *real; // [FR_SIMILARITY_TEXT][layers + 1][d]
    int taps[FR_MAX_LAYERS + 1];
} fr_similarity;

// `drafter` is a drafter whose guesses are attached (attached.h). FR_ENOMEM; FR_EUNSUP as
// fr_kv_open.
fr_status fr_similarity_open(fr_similarity *s, const fr_model *m, const fr_attached *drafter,
                             fr_kv_type kv_type, fr_error *err);
void fr_similarity_close(fr_similarity *s); // a zeroed one is fine

// A text ids[0..n), of which the target wrote ids[first..n). Looks at every `every`-th row whose
// attached rows stand for tokens that it wrote.
void fr_similarity_add(fr_similarity *s, const int32_t *ids, int n, int first, int every);
// Mean cosine after layer l (0: the embedding) of step i (from 0); NaN where nothing was seen or
// the step has not entered yet.
double fr_similarity_attached(const fr_similarity *s, int i, int l);
double fr_similarity_stays(const fr_similarity *s, int i, int l);

#endif
