#include "train/math/schedule.h"
#include <math.h>

static const double warm_up = 0.02;

double fr_schedule_rate(double peak, double end, double done) {
    if (done < warm_up) return peak * (done > 0 ? done / warm_up : 0);
    const double t = done < 1 ? (done - warm_up) / (1 - warm_up) : 1;
    return peak * (end + (1 - end) * 0.5 * (1 + cos(M_PI * t)));
}
