// methods.h — the lab's drafters, one a file or two that share one.
#ifndef LAB_DRAFT_METHODS_H
#define LAB_DRAFT_METHODS_H
#include "draft/shared/config.h"

extern const fr_drafter_method lab_hidden_state_union_method, lab_hidden_state_iterative_method,
    lab_jacobi_method, lab_ppd_planned_method, lab_hidden_transfer_planned_method;

#endif
