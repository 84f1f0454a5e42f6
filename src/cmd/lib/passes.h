// passes.h — plain passes over ids, for commands that look at logits themselves.
#ifndef FR_CMD_LIB_PASSES_H
#define FR_CMD_LIB_PASSES_H
#include "cmd/lib/generate.h"
#include "model/forward.h"

enum { FR_PASSES_ROWS = 64 }; // rows of one pass; any number gives the same bits

typedef struct fr_passes {
    fr_engine *engine; // borrowed
    fr_forward *forward;
    fr_kv kv;
} fr_passes;

// A context of n_ctx tokens, kept as kv_type (fr_session_options). FR_ECONTEXT when the model has
// less.
fr_status fr_passes_open(fr_passes *p, fr_engine *engine, int n_ctx, int max_rows,
                         const char *kv_type, fr_error *err);
void fr_passes_close(fr_passes *p);

// Called with the logits after ids[pos], pos ascending; it may change them. False stops.
typedef bool fr_logits_fn(void *user, int pos, float *logits);
// Evaluates ids[0..n) from an empty context, with logits from position `from` on. FR_EARG: an id
// outside the vocabulary; FR_EDATA: logits that are not finite; FR_EINTR.
fr_status fr_passes_read(fr_passes *p, const int32_t *ids, int n, int from, fr_logits_fn *fn,
                         void *user, fr_error *err);
// ln of the sum of exp(logits[0..n)).
double fr_logsumexp(const float *logits, int n);

#endif
