// samplers.c — llama.cpp's list of samplers: those that it leaves out are off.
#include "api/fields.h"
#include "api/value.h"
#include <string.h>

// In the order in which they go here, llama.cpp's default one. Others that a list may name are
// off by their own values (refused.c).
static const struct {
    char letter;
    const char *name;
} ORDER[] = {
    {'e', "penalties"}, {'k', "top_k"}, {'p', "top_p"}, {'m', "min_p"}, {'t', "temperature"}};
enum { PENALTIES, TOP_K, TOP_P, MIN_P, TEMPERATURE, N_ORDER };

static int place_of(const json_t *list, const char *letters, size_t i) {
    const char *name = letters ? NULL : fr_api_text(json_array_get(list, i));
    for (int at = 0; at < N_ORDER; at++)
        if (letters ? letters[i] == ORDER[at].letter : name && !strcmp(name, ORDER[at].name))
            return at;
    return -1;
}

// Without temperature the model's own probabilities are drawn from. llama.cpp's sampler for
// infilling leaves out what is not likely and ends early; greedy decoding comes nearest to it.
static void turn_off(fr_api_sampling *s, const bool on[N_ORDER], bool infills) {
    if (!on[PENALTIES]) s->repeat_penalty = 1, s->frequency_penalty = s->presence_penalty = 0;
    if (!on[TOP_K]) s->top_k = 0;
    if (!on[TOP_P]) s->top_p = 1;
    if (!on[MIN_P]) s->min_p = 0;
    if (!on[TEMPERATURE]) s->temperature = infills ? 0 : 1;
}

// A list of names, or their letters. An empty one has no effect.
fr_status fr_api_read_samplers(fr_api_request *r, fr_error *err) {
    const json_t *given = fr_api_member(r->root, "samplers");
    const char *letters = fr_api_text(given);
    bool on[N_ORDER] = {false}, infills = false;
    if (given && !letters && !json_is_array(given))
        return fr_api_wrong(err, given, "a list", "samplers");
    const size_t n = letters ? strlen(letters) : json_array_size(given);
    int last = -1;
    for (size_t i = 0; i < n; i++) {
        const int place = place_of(given, letters, i);
        infills |= letters ? letters[i] == 'i' : fr_api_is(json_array_get(given, i), "infill");
        if (place < 0) continue;
        if (place <= last)
            return fr_fail(err, FR_EARG,
                           "samplers: they go in the order penalties, top_k, top_p, min_p, "
                           "temperature here: expected some of these in this order");
        on[last = place] = true;
    }
    if (n) turn_off(&r->sampling, on, infills);
    return FR_OK;
}
