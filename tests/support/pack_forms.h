// pack_forms.h — the forms and settings of all drafters' packs.
#ifndef FR_TESTS_SUPPORT_PACK_FORMS_H
#define FR_TESTS_SUPPORT_PACK_FORMS_H
#include "draft/attached/attached_pack.h"
#include "draft/chimera/chimera_pack.h"
#include "draft/eagle/eagle_pack.h"
#include "draft/hidden_state/hidden_state_pack.h"
#include "draft/medusa/medusa_pack.h"
#include "draft/self/self_pack.h"

#endif
