#include "draft/shortlist.h"
#include <assert.h>
#include <math.h>

// The list is a heap whose least logit stands in front, so that one comparison turns most away.

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

void fr_shortlist_take(fr_shortlist *list, const float *logits, int n, int most) {
    assert(most >= 1 && most <= FR_SHORTLIST_MOST);
    list->n = 0;
    int i = 0;
    for (; i < n && list->n < most; i++)
        if (logits[i] > -INFINITY) rise(list, i, logits[i]);
    for (; i < n; i++)
        if (logits[i] > list->z[0]) sink(list, i, logits[i]);
}
