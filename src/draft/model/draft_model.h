// draft_model.h — the draft model of a drafter that fr_draft_model_method opened, for tests.
#ifndef FR_DRAFT_MODEL_DRAFT_MODEL_H
#define FR_DRAFT_MODEL_DRAFT_MODEL_H
#include "draft/model/second_model.h"

struct fr_drafter;
const fr_second_model *fr_draft_model_second(const struct fr_drafter *d);

#endif
