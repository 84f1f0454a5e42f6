// tiles.c — AMX tiles in plain C, after Intel's description of the instructions.
#include "emulate.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

_Thread_local emulate_tiles emulate_state;

static void fault(const char *what) {
    fprintf(stderr, "emulated AMX: %s\n", what);
    abort();
}

void emulate_loadconfig(const void *config) {
    const uint8_t *c = config;
    if ((uintptr_t)config % 64 || c[0] != 1 || c[1]) fault("palette or start row");
    for (int i = 2; i < 16; i++)
        if (c[i]) fault("reserved bytes of the configuration");
    for (int i = 0; i < 8; i++) {
        emulate_state.row_bytes[i] = c[16 + 2 * i] | c[17 + 2 * i] << 8;
        emulate_state.rows[i] = c[48 + i];
        if (emulate_state.row_bytes[i] > 64 || emulate_state.rows[i] > 16) fault("tile size");
        if (!emulate_state.row_bytes[i] != !emulate_state.rows[i]) fault("half-empty tile");
    }
    for (int i = 8; i < 16; i++)
        if (c[16 + 2 * i] || c[17 + 2 * i] || c[48 + i]) fault("tiles that do not exist");
    memset(emulate_state.data, 0, sizeof emulate_state.data);
    emulate_state.configured = 1;
}

void emulate_release(void) {
    emulate_state.configured = 0;
}

static void need(int tile) {
    if (!emulate_state.configured || !emulate_state.rows[tile]) fault("tile not configured");
}

void emulate_zero(int tile) {
    need(tile);
    memset(emulate_state.data[tile], 0, sizeof emulate_state.data[tile]);
}

void emulate_tile_load(int tile, const void *p, long stride) {
    emulate_zero(tile);
    for (int r = 0; r < emulate_state.rows[tile]; r++)
        memcpy(emulate_state.data[tile][r], (const char *)p + r * stride,
               (size_t)emulate_state.row_bytes[tile]);
}

void emulate_tile_store(int tile, void *p, long stride) {
    need(tile);
    for (int r = 0; r < emulate_state.rows[tile]; r++)
        memcpy((char *)p + r * stride, emulate_state.data[tile][r],
               (size_t)emulate_state.row_bytes[tile]);
}

// c[m][n] += sum over k, i of a[m][4k + i] * b[k][4n + i], signed bytes times signed or unsigned
// ones.
static void multiply(int c, int a, int b, bool b_signed) {
    const emulate_tiles *t = &emulate_state;
    need(a), need(b), need(c);
    if (c == a || c == b || a == b) fault("one tile twice");
    if (t->rows[c] != t->rows[a] || t->row_bytes[a] != 4 * t->rows[b] ||
        t->row_bytes[c] != t->row_bytes[b])
        fault("shapes that do not fit");
    for (int m = 0; m < t->rows[c]; m++)
        for (int n = 0; n < t->row_bytes[c] / 4; n++) {
            int32_t sum;
            memcpy(&sum, &t->data[c][m][4 * n], 4);
            for (int k = 0; k < t->row_bytes[a]; k++) {
                const uint8_t w = t->data[b][k / 4][4 * n + k % 4];
                sum += (int8_t)t->data[a][m][k] * (b_signed ? (int8_t)w : w);
            }
            memcpy(&emulate_state.data[c][m][4 * n], &sum, 4);
        }
}

void emulate_dpbssd(int c, int a, int b) {
    multiply(c, a, b, true);
}

void emulate_dpbsud(int c, int a, int b) {
    multiply(c, a, b, false);
}
