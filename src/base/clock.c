#include "base/clock.h"

fr_pass_clock fr_clock_of_passes;
