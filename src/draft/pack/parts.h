// parts.h — the parts of the check when a pack is opened. Private to this folder.
#ifndef FR_DRAFT_PACK_PARTS_H
#define FR_DRAFT_PACK_PARTS_H
#include "draft/pack/form.h"

// All of `p` but n_params and bytes, from the metadata of p->gguf. FR_EDATA, FR_EUNSUP: as
// fr_pack_open; FR_ENOMEM. The caller closes what `p` owns by then.
fr_status fr_pack_metadata(fr_pack *p, fr_error *err);
// Whether the tensors are those of its form and none besides; counts parameters and bytes.
fr_status fr_pack_check_tensors(fr_pack *p, fr_error *err);

#endif
