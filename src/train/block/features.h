// features.h — how far drafted states are from the target's, channel by channel.
#ifndef FR_TRAIN_BLOCK_FEATURES_H
#define FR_TRAIN_BLOCK_FEATURES_H

// Standard deviation of every channel of f [n][d] over rows that are not the first of their context
// (their states are outliers); at least 1e-3 of the largest, so that a dead channel counts little.
void fr_channel_spread(float *std, const float *f, const int *position, int n, int d);

// SmoothL1 with its bend at 1 of (g - f) / std, mean over the d channels; its gradient times
// `weight` is added to dg. [EAGLE, arXiv 2401.15077, section 3.2]
float fr_smooth_l1(float *dg, const float *g, const float *f, const float *std, float weight,
                   int d);

#endif
