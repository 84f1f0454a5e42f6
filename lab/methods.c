// methods.c — the drafters that forerun-lab knows beside forerun's (draft/registry.h).
#include "draft/registry.h"

const fr_drafter_method *const fr_drafter_more_methods[] = {NULL};
