// auto.h — which drafter `auto` stands for. Where it cannot be opened session.c takes the next best.
// Private to the engine.
#ifndef FR_ENGINE_AUTO_H
#define FR_ENGINE_AUTO_H
#include "engine/engine.h"

// The SPEC that is predicted to be fastest, of the tuned drafters (by the profile) and of the packs
// found for this model that were not tuned (joined with prompt lookup, by their accuracies). "none"
// if plain decoding beats all of them; prompt lookup, whose drafts cost no pass, if nothing was
// tuned and no pack is better. *reason becomes half a sentence.
const char *fr_auto_spec(const fr_engine *e, const char **reason);
// Notes that a SPEC cannot be opened (a pack, draft model or datastore may be gone since), so that
// this engine does not choose it again. False: the profile does not hold it and it is not that of a
// pack, so there is nothing to note.
bool fr_auto_forget(fr_engine *e, const char *spec);

#endif
