// siphash.h — a hash for tables whose keys come from outside: without the secret of this process no
// client can make texts that collide.
//
// A hash that is kept, or has to be the same in every process, is gguf/hash.h.  [Aumasson and
// Bernstein 2012, SipHash, of one round a word and three at the end]
#ifndef FR_BASE_SIPHASH_H
#define FR_BASE_SIPHASH_H
#include <stddef.h>
#include <stdint.h>

// Of bytes[n], by a key of 128 bits.
uint64_t fr_siphash13(const uint64_t key[2], const void *bytes, size_t n);

// The same by a secret key, drawn once in a process. Nothing that leaves the process may depend on it.
uint64_t fr_secret_hash(const void *bytes, size_t n);

#endif
