// schedule.h — the learning rate on the way: warm-up, then half a cosine down to a share of it.
#ifndef FR_TRAIN_MATH_SCHEDULE_H
#define FR_TRAIN_MATH_SCHEDULE_H

// The rate at `done` of the way, 0..1: rises in a straight line over the first 2 %, then falls as
// peak (end + (1 - end) (1 + cos(pi t)) / 2), t = 0..1 of the rest. [Loshchilov and Hutter 2017,
// eq. 5]
double fr_schedule_rate(double peak, double end, double done);

#endif
