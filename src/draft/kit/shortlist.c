#include "draft/kit/shortlist.h"
#include <assert.h>
#include <math.h>

// The list is a heap whose least logit stands in front.

static void put(fr_shortlist *list, int at, int32_t index, float z) {
    list->index[at] = index;
    list->z[at] = z;
}

static void sink(fr_shortlist *list, int32_t index, float z) {
    int at = 0;
    for (int child; (child = 2 * at + 1) < list->n; at = child) {
        if (child + 1 < list->n && list->z[child + 1] < list->z[child]) child++;
        if (list->z[child] >= z) break;
        put(list, at, list->index[child], list->z[child]);
    }
    put(list, at, index, z);
}

static void rise(fr_shortlist *list, int32_t index, float z) {
    int at = list->n++;
    for (int parent; at > 0 && list->z[parent = (at - 1) / 2] > z; at = parent)
        put(list, at, list->index[parent], list->z[parent]);
    put(list, at, index, z);
}

static void offer(fr_shortlist *list, int most, int32_t index, float z) {
    if (list->n < most)
        rise(list, index, z);
    else if (z > list->z[0])
        sink(list, index, z);
}

// A logit that `most` of them reach: the most-th largest of the largest ones of blocks. Nearly all
// others lie below it, so that they cost a comparison and no place in the heap.
static float reached_by(fr_shortlist *list, const float *logits, int n, int most) {
    const int width = n / (2 * most);
    list->n = 0;
    if (width < 2) return -INFINITY;
    for (int i = 0; i + width <= n; i += width) {
        float largest = -INFINITY;
        for (int k = i; k < i + width; k++)
            largest = logits[k] > largest ? logits[k] : largest;
        offer(list, most, i, largest);
    }
    return list->z[0];
}

void fr_shortlist_take(fr_shortlist *list, const float *logits, int n, int most) {
    assert(most >= 1 && most <= FR_SHORTLIST_MOST);
    const float least = reached_by(list, logits, n, most);
    list->n = 0;
    for (int i = 0; i < n; i++)
        if (logits[i] >= least && logits[i] > -INFINITY) offer(list, most, i, logits[i]);
}
