// siphash.h — a hash for tables whose keys come from outside: who does not know the key of this
// process cannot make texts that collide.
//
// What is kept, or has to be the same in every process, takes gguf/hash.h.  [Aumasson and Bernstein
// 2012, SipHash, of one round a word and three at the end]
#ifndef FR_BASE_SIPHASH_H
#define FR_BASE_SIPHASH_H
#include <stddef.h>
#include <stdint.h>

uint64_t fr_siphash13(const uint64_t key[2], const void *bytes, size_t n);

// By a key that is drawn once in a process. Nothing that is seen outside may depend on it.
uint64_t fr_secret_hash(const void *bytes, size_t n);

#endif
