// auto.h — which drafter `auto` stands for. Where it cannot be opened session.c takes the next best.
// Private to the engine.
#ifndef FR_ENGINE_AUTO_H
#define FR_ENGINE_AUTO_H
#include "engine/engine.h"

// The SPEC that is predicted to be fastest: tuned drafters by the profile; packs that lie ready for
// this model and were not tuned, joined with prompt lookup, by their accuracies. Where nothing is
// known it is prompt lookup, which costs nothing. *reason becomes half a sentence.
const char *fr_auto_spec(const fr_engine *e, const char **reason);
// Notes that a SPEC cannot be opened (a pack, draft model or datastore may be gone since), so that
// this engine does not choose it again. False: the profile does not hold it and it is not that of a
// pack, so there is nothing to note.
bool fr_auto_forget(fr_engine *e, const char *spec);

#endif
