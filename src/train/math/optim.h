// optim.h — AdamW: from the gradient of a step to new parameters.
//
// [Loshchilov and Hutter 2019, algorithm 2], decay decoupled from the gradient:
//     g = scale grad;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
//     w = w - rate (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay w)     decay: matrices
// with b1 0.9, b2 0.95, eps 1e-8, decay 0.01.
#ifndef FR_TRAIN_MATH_OPTIM_H
#define FR_TRAIN_MATH_OPTIM_H
#include "train/math/param.h"

// Euclidean norm of the gradients, summed in one fixed order. NaN where one is not a number.
double fr_grad_norm(const fr_params *p);
// What the gradient is multiplied by so that its norm, after division by `weight`, is `most` or
// less.
double fr_grad_scale(double norm, double weight, double most);
// One step, the t-th (from 1); the gradients are zero afterwards.
void fr_adamw_step(fr_params *p, double rate, double scale, uint64_t t);

#endif
