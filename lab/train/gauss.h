// gauss.h — a Gaussian process over points of some numbers, and where it expects to improve most:
// the model of a Bayesian optimisation.
//
// Covariance exp(-|a - b|² / (2 length²)) of values that were made to have mean 0 and variance 1;
// the length is, of a few, the one that makes the values seen likeliest. Improvement is what a
// point is expected to add to the best value seen (largest is best).  [Jones, Schonlau, Welch 1998;
// Rasmussen and Williams 2006, algorithm 2.1]
#ifndef LAB_TRAIN_GAUSS_H
#define LAB_TRAIN_GAUSS_H
#include "base/status.h"

typedef struct fr_gauss {
    int d, n, most; // numbers of a point; points seen; room for them
    double *x, *y;  // [most][d], [most]
    double *chol;   // [most][most] lower triangle
    double *alpha;  // [most]: covariance⁻¹ · values
    double *column; // [most] scratch
    double mean, spread, best, length;
} fr_gauss;

fr_status fr_gauss_open(fr_gauss *g, int d, int most, fr_error *err); // FR_ENOMEM
void fr_gauss_close(fr_gauss *g);                                     // {0} is fine
// Adds a point and its value (n < most); nothing is predicted by it before fr_gauss_fit.
void fr_gauss_add(fr_gauss *g, const double *x, double y);
void fr_gauss_fit(fr_gauss *g); // n >= 1
void fr_gauss_predict(const fr_gauss *g, const double *x, double *mean, double *deviation);
double fr_gauss_improvement(const fr_gauss *g, const double *x);

#endif
