// mean.h — exponential moving averages: older observations count less.
//
// Two forms. A *followed* value is an exponential moving average with smoothing factor `share`: an
// observation n steps old weighs share (1 - share)^n. It starts at an expected value. A *mean with
// a weight* also has the sum of its observations' weights. All observations count alike until their
// weight reaches the memory; from then on older ones fade. Shares and memories are set where they
// are used. The order of the operations is fixed: same values, same bits.
#ifndef FR_BASE_MEAN_H
#define FR_BASE_MEAN_H
#include <stdbool.h>

// *value moves by `share` (0..1) of the way to `seen`.
static inline void fr_follow(double *value, double seen, double share) {
    *value += share * (seen - *value);
}
static inline void fr_follow_f32(float *value, float seen, float share) {
    *value += share * (seen - *value);
}

// A sum whose older parts fade: it is multiplied by `kept` (0..1), and `more` is added. The
// quotient of two such sums is a recent mean. So is one sum, if `more` is the observation times 1 -
// kept.
static inline void fr_fade(double *sum, double more, double kept) {
    *sum = kept * *sum + more;
}

typedef struct fr_mean { // {0}: nothing was seen
    float sum, weight;   // both 0 or more; of pseudo-counts, where something is expected
} fr_mean;

// As after `weight` things seen whose mean was `value`.
static inline fr_mean fr_mean_expect(float value, float weight) {
    return (fr_mean){.sum = weight * value, .weight = weight};
}

// Something of this weight, 0..1, and this sum is seen. `memory`: the most that the weight of all
// grows to, above 1; 0: no bound.
static inline void fr_mean_add_weighted(fr_mean *m, float sum, float weight, float memory) {
    if (memory > 0 && m->weight > memory - weight) {
        const float kept = (memory - weight) / m->weight;
        m->weight *= kept;
        m->sum *= kept;
    }
    m->weight += weight;
    m->sum += sum;
}

// One more thing is seen.
static inline void fr_mean_add(fr_mean *m, float seen, float memory) {
    fr_mean_add_weighted(m, seen, 1, memory);
}

static inline bool fr_mean_is_sound(const fr_mean *m) { // neither holds of a NaN
    return m->sum >= 0 && m->weight >= 0;
}

// Without observations there is no mean (weight is 0); the caller must check.
static inline float fr_mean_value(const fr_mean *m) {
    return m->sum / m->weight;
}

#endif
