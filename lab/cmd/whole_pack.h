// whole_pack.h — for commands that write a pack again with something changed.
#ifndef LAB_CMD_WHOLE_PACK_H
#define LAB_CMD_WHOLE_PACK_H
#include "draft/pack/pack.h"
#include "gguf/writer.h"

// A pack that is damaged would be given a checksum that says it is not: FR_EDATA where `g` is no
// pack, or not whole, or has values that are not finite.
fr_status fr_lab_check_pack(const fr_gguf *g, fr_error *err);

// All entries but the checksum and those of these keys (NULL ends the list).
void fr_lab_copy_entries(fr_gguf_writer *w, const fr_gguf *pack, const char *const *but);

#endif
