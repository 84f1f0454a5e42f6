// auto.h — which drafter `auto` stands for. Private to the engine.
#ifndef FR_ENGINE_AUTO_H
#define FR_ENGINE_AUTO_H
#include "engine/engine.h"

// What is predicted to be fastest: by the profile, what was tuned; of packs that lie ready for this
// model and were not tuned, by their accuracies, joined with prompt lookup. Prompt lookup, which
// costs nothing, where nothing is known. *reason becomes half a sentence.
const char *fr_auto_spec(const fr_engine *e, const char **reason);
// A SPEC cannot be opened (a pack, draft model or datastore may be gone since): this engine does
// not choose it again. False: it is nothing that this engine would choose but where all else fails.
bool fr_auto_forget(fr_engine *e, const char *spec);

#endif
