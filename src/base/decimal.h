// decimal.h — floats as Python writes them.
#ifndef FR_BASE_DECIMAL_H
#define FR_BASE_DECIMAL_H

enum { FR_DECIMAL_MAX = 48 };
// repr(x): the fewest digits that read back as x, plain from 1e-4 up to 1e16, else with an exponent
// of two digits or more; "inf", "-inf", "nan". NUL-terminated.
void fr_decimal_repr(double x, char out[FR_DECIMAL_MAX]);

#endif
