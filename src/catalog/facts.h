// facts.h — what a model file's header says to somebody who looks for a model to run.
#ifndef FR_CATALOG_FACTS_H
#define FR_CATALOG_FACTS_H
#include "base/status.h"

typedef struct fr_model_facts {
    uint64_t bytes, parameters; // of all its files; 0: not known
    char architecture[64];      // "" : not known
    char quantization[16]; // the mixture that the file names, as Q4_K_M; else the type that most
                           // of its bytes have; "": not known
    char name[128];        // general.name, ""
    bool runs;             // architecture, numbers, tokenizer and types are such as can be run
    fr_error why;          // else: the reason
} fr_model_facts;

// Reads the header alone. *f is filled as far as the file can be read.
void fr_model_facts_read(fr_model_facts *f, const char *path);

#endif
