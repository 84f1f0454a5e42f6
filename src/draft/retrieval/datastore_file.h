// datastore_file.h — the header of a datastore, for its reader and its writer.
#ifndef FR_DRAFT_RETRIEVAL_DATASTORE_FILE_H
#define FR_DRAFT_RETRIEVAL_DATASTORE_FILE_H
#include "draft/retrieval/datastore.h"

#define FR_DATASTORE_MAGIC "FRSTORE1" // the last byte is the version

// Little-endian; after it n_ids ids (i32) and n_places places (u32).
typedef struct fr_datastore_header {
    char magic[8], vocab[24];
    uint64_t n_ids, n_places, n_texts;
    uint32_t n_vocab, order;
    uint64_t bytes, checksum; // XXH64 of the whole file with this field zero
} fr_datastore_header;

uint64_t fr_datastore_checksum(const void *data, size_t bytes); // bytes: more than the header

#endif
