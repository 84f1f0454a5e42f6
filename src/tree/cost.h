// cost.h — what a pass costs on this machine: seconds by rows, as measured (tune/latency.h).
//
// Whether a row is worth its cost is decided in decode/budget.h, over all sessions in
// decode/step.c.
//
// Where a model has experts, a row is dear because it wakes experts that the others do not read. The
// passes that are timed have unrelated tokens; rows of a text share more. So a cost holds how many
// experts each timed pass read, the seconds of one, and what rows share beyond that: a pass then
// takes less by the experts that it does not read.
//
// A row costs trunk time (all layers) and, where it wants logits, head time; the two grow apart,
// and at these sizes the head costs as much as 5 to 9 layers. Between the measured row counts the
// cost is interpolated. Beyond the last one, `last`, it is extrapolated with the last slope; if
// last is 32 or more, each further FR_COST_TILE rows add what the FR_COST_TILE rows before `last`
// added, because kernels that work in tiles make the curve a staircase.
#ifndef FR_TREE_COST_H
#define FR_TREE_COST_H
#include <stdbool.h>

enum { FR_COST_POINTS = 16, FR_COST_TILE = 16 }; // rows of AMX tiles

typedef struct fr_cost {
    int n; // points measured, rows ascending from 1; 0: nothing is known
    int rows[FR_COST_POINTS];
    double trunk[FR_COST_POINTS]; // seconds without head, of an empty context
    double head[FR_COST_POINTS];  // seconds of that many rows of logits
    double key, key_row; // attention: seconds for each committed slot, and for each slot and row
    double held; // mean time of a pass over the typical one, 1 or more: other programs' work
    // An expert of one layer is one: a pass of one row reads `used` times the layers with experts.
    double expert;                  // seconds of one; 0: the model has none
    double experts[FR_COST_POINTS]; // that a timed pass of that many rows read
    // Of the experts beyond those of one row, the part that a text's rows do not read. 0: as timed;
    // 1: all rows choose alike. Below 0: they share less than those that were timed.
    double shared;
} fr_cost;

// Seconds of a pass of `rows` rows, `logits` of which want logits, after `context` slots. 0 where
// nothing is known. rows 0: nothing.
double fr_cost_pass(const fr_cost *c, int rows, int logits, int context);

// Rows that are attached to a pass beside the candidates; some join at a later layer, few want
// logits. And how many of the candidates only continue where an earlier pass left them.
typedef struct fr_extra_rows {
    int rows;
    double trunk;     // the same in rows through all layers (two through half of them: 1); <= rows
    int logits;       // rows that want them
    int resumed;      // candidates that continue from an earlier pass
    double below;     // the share of the layers that these need not compute again
    double attention; // seconds of attention beyond that of as many rows after the pass' context
} fr_extra_rows;

// Adds rows; `below` becomes the mean of all resumed candidates.
static inline void fr_extra_rows_add(fr_extra_rows *to, const fr_extra_rows *rows) {
    const int resumed = to->resumed + rows->resumed;
    if (resumed) to->below = (to->below * to->resumed + rows->below * rows->resumed) / resumed;
    to->resumed = resumed;
    to->rows += rows->rows;
    to->trunk += rows->trunk;
    to->logits += rows->logits;
    to->attention += rows->attention;
}

// Seconds of a pass of `rows` rows with logits and these besides: the layers before they join run
// `rows` rows, those after it all of them, and the head those that want logits. NULL: none.
double fr_cost_with(const fr_cost *c, int rows, const fr_extra_rows *extra, int context);

// Experts that such a pass reads of unrelated tokens; beyond the last point as many as there.
double fr_cost_experts(const fr_cost *c, int rows, const fr_extra_rows *extra);

// The cost by which memory bounds few rows and arithmetic many, in passes of one row, where nothing
// was measured. With experts: each of `layers` layers has n, a row reads `used`, which are `part` of
// the bytes that it reads of all layers; rows choose independently. n 0: none.
fr_cost fr_cost_guess(int n, int used, int layers, double part);

// Rows ascend from 1 on, and nothing takes less than no time. One without points is sound.
bool fr_cost_is_sound(const fr_cost *c);

// Sets key and key_row from the seconds that one more slot adds to passes of one and of `rows` rows
// (2 or more). Measured values that cannot be, less than nothing or less with more rows, are
// raised; where nothing is left for the pass itself, all is the rows'.
void fr_cost_keys(fr_cost *c, double one, int rows, double many);

// Sets the seconds of an expert, of which each point has its number: no more than leaves passes of
// more rows at least the time of one row for all else; 0 where that is below 0.
void fr_cost_set_expert(fr_cost *c, double seconds);

// Smooths measured points where only another program's work on the cores explains them. More rows
// never take less time. And time never grows more slowly with rows than it did before (memory
// bounds few rows, arithmetic many), but for a twelfth that tiles of rows may make, and
// where one row more begins a tile that was measured. What experts take is left out of this: the
// more of them are read, the fewer a row adds.
void fr_cost_smooth(fr_cost *c);

#endif
