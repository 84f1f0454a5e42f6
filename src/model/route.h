// route.h — which experts a row reads, and what each counts.
//
// The rule depends on the row's own scores alone, and ties are broken by number, so the choice of a
// row is the same whatever other rows the pass has (docs/numerics.md).
#ifndef FR_MODEL_ROUTE_H
#define FR_MODEL_ROUTE_H
#include "model/plan.h"

typedef struct fr_choice {
    int expert;
    float weight;
} fr_choice;

// Chooses e->used experts by the products of the router, scores [e->n], which are changed: the larger
// first, of equal ones that with the lower number. bias [e->n] counts for the choice alone; NULL:
// none. chosen [e->used]: ascending by number. Where a score is NaN, so are all weights. mark [e->n]
// is memory.
void fr_route(const fr_experts *e, float *scores, const float *bias, float *mark,
              fr_choice *chosen);

#endif
