// report.c — what `accuracy` shows: JSON, a table for each drafter, a picture of them all.
#include "base/alloc.h"
#include "base/path.h"
#include "cmd/accuracy/accuracy.h"
#include "cmd/plot/plot.h"
#include "json/value.h"
#include <string.h>

static const char *of_what(const fr_asked *a) {
    return a->has_dists ? "distributions" : "candidates";
}

static const char *given(const fr_asked *a) {
    return a->given == FR_GIVEN_ANSWER ? "answer" : "guesses";
}

// ---------------------------------------------------------------- JSON

static json_t *interval_json(const fr_asked *a, int distance, int k) {
    fr_interval i;
    fr_error unsaid;
    if (fr_ranks_interval(&a->ranks, distance, k, &i, &unsaid)) return NULL;
    return json_pack("[o, o]", fr_cmd_real(i.low), fr_cmd_real(i.high));
}

// [[places, right at the first guess, among all FR_ACCURACY_RANKS]...], the prompts in their order.
static json_t *prompts_json(const fr_asked *a, int distance) {
    json_t *list = json_array();
    for (int i = 0; list && i < a->ranks.n; i++) {
        const fr_prompt_ranks *r = &a->ranks.prompt[i];
        json_array_append_new(
            list, json_pack("[I, I, I]", (json_int_t)r->places[distance - 1],
                            (json_int_t)fr_ranks_right(r, distance, 1),
                            (json_int_t)fr_ranks_right(r, distance, FR_ACCURACY_RANKS)));
    }
    return list;
}

static json_t *distance_json(const fr_asked *a, int distance) {
    json_t *top = json_array();
    for (int k = 1; top && k <= FR_ACCURACY_RANKS; k++)
        json_array_append_new(top, fr_cmd_real(fr_ranks_top(&a->ranks, distance, k)));
    return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "places",
                     (json_int_t)fr_ranks_places(&a->ranks, distance), "guessed",
                     (json_int_t)fr_ranks_guessed(&a->ranks, distance), "k", top, "interval_1",
                     interval_json(a, distance, 1), "interval_10",
                     interval_json(a, distance, FR_ACCURACY_RANKS), "by_prompt",
                     prompts_json(a, distance));
}

static json_t *asked_json(const fr_asked *a) {
    json_t *list = json_array();
    for (int k = 1; list && k <= FR_DISTANCES && fr_ranks_places(&a->ranks, k); k++)
        json_array_append_new(list, distance_json(a, k));
    return json_pack("{s:o, s:s, s:s, s:i, s:I, s:o}", "drafter", fr_json_string(a->spec),
                     "ranks_of", of_what(a), "given", given(a), "prompts", a->ranks.n, "places",
                     (json_int_t)fr_ranks_places(&a->ranks, 1), "distance", list);
}

json_t *fr_accuracy_json(const fr_asked *asked, int n) {
    if (n == 1) return asked_json(asked);
    json_t *list = json_array();
    for (int i = 0; list && i < n; i++)
        json_array_append_new(list, asked_json(&asked[i]));
    return json_pack("{s:o}", "drafters", list);
}

// ---------------------------------------------------------------- tables

static fr_status print_top(const fr_asked *a, int distance, int k, fr_error *err) {
    fr_interval i;
    const fr_status st = fr_ranks_interval(&a->ranks, distance, k, &i, err);
    if (st) return st;
    printf("  %5.1f%%", 100 * fr_ranks_top(&a->ranks, distance, k));
    if (i.high >= i.low)
        printf(" (%4.1f to %4.1f)", 100 * i.low, 100 * i.high);
    else
        printf(" %14s", "");
    return FR_OK;
}

static fr_status print_one(const fr_asked *a, fr_error *err) {
    fr_status st = FR_OK;
    printf("%s, ranks in its %s, %lld places of %d answers; top-N: share of places with the true "
           "token among the first N guesses%s\n",
           a->spec, of_what(a), (long long)fr_ranks_places(&a->ranks, 1), a->ranks.n,
           a->given == FR_GIVEN_ANSWER ? ", given the answer up to them" : "");
    printf("distance    places  guessed  %-22s   %5s    %5s  %s\n", " top-1", "top-3", "top-5",
           " top-10");
    for (int k = 1; k <= FR_DISTANCES && fr_ranks_guessed(&a->ranks, k) && !st; k++) {
        const double places = (double)fr_ranks_places(&a->ranks, k);
        printf("%8d  %8.0f  %6.1f%%", k, places,
               100 * (double)fr_ranks_guessed(&a->ranks, k) / places);
        st = print_top(a, k, 1, err);
        printf("   %5.1f%%   %5.1f%%", 100 * fr_ranks_top(&a->ranks, k, 3),
               100 * fr_ranks_top(&a->ranks, k, 5));
        if (!st) st = print_top(a, k, FR_ACCURACY_RANKS, err);
        putchar('\n');
    }
    return st;
}

fr_status fr_accuracy_print(const fr_asked *asked, int n, fr_error *err) {
    fr_status st = FR_OK;
    for (int i = 0; i < n && !st; i++)
        st = print_one(&asked[i], err);
    return st;
}

// ---------------------------------------------------------------- the picture

typedef struct drawing {
    fr_plot_series series[2 * FR_ACCURACY_DRAFTERS];
    fr_plot_point points[2 * FR_ACCURACY_DRAFTERS][FR_DISTANCES];
    char labels[2 * FR_ACCURACY_DRAFTERS][64];
} drawing;

// Without the folders of a pack.
static void name_drafter(const char *spec, char *to, size_t size) {
    const char *file = strchr(spec, ':');
    snprintf(to, size, "%.*s%.40s", file ? (int)(file + 1 - spec) : 0, spec,
             file ? fr_path_name(file + 1) : spec);
}

static fr_status place_points(const fr_asked *a, int k, fr_plot_point *to, int *n, fr_error *err) {
    *n = 0;
    for (int distance = 1; distance <= FR_DISTANCES; distance++) {
        fr_interval i;
        if (!(fr_ranks_top(&a->ranks, distance, FR_ACCURACY_RANKS) > 0)) continue;
        const fr_status st = fr_ranks_interval(&a->ranks, distance, k, &i, err);
        if (st) return st;
        to[(*n)++] = (fr_plot_point){.x = distance,
                                     .y = 100 * fr_ranks_top(&a->ranks, distance, k),
                                     .low = 100 * i.low,
                                     .high = 100 * i.high};
    }
    return FR_OK;
}

// The best guess in full, the first ten dashed; up to the last distance where one was right.
static fr_status draw(const fr_asked *asked, int n_asked, drawing *d, int *n, fr_error *err) {
    *n = 0;
    for (int i = 0; i < 2 * n_asked; i++) {
        const fr_asked *a = &asked[i / 2];
        const bool all = i % 2;
        int count;
        const fr_status st =
            place_points(a, all ? FR_ACCURACY_RANKS : 1, d->points[*n], &count, err);
        if (st) return st;
        if (!count) continue;
        char name[64];
        name_drafter(a->spec, name, sizeof name);
        snprintf(d->labels[*n], sizeof d->labels[*n], "%.48s, first %d", name,
                 all ? FR_ACCURACY_RANKS : 1);
        d->series[*n] = (fr_plot_series){d->labels[*n], all ? FR_PLOT_DASHED : FR_PLOT_LINE, i / 2,
                                         d->points[*n], count};
        ++*n;
    }
    return FR_OK;
}

fr_status fr_accuracy_plot(const fr_asked *asked, int n, const char *model, const char *path,
                           fr_error *err) {
    drawing *d = fr_alloc_zero(sizeof *d);
    if (!d) return fr_fail(err, FR_ENOMEM, "%s: no memory for the picture", path);
    int n_series;
    fr_status st = draw(asked, n, d, &n_series, err);
    if (!st && !n_series)
        st = fr_fail(err, FR_EDATA, "%s: nothing to draw: no guess was right", path);
    if (!st)
        st = fr_plot_save(&(fr_plot){.title = model,
                                     .subtitle = "how often the true token is among the first "
                                                 "guesses; whiskers: bootstrap over prompts",
                                     .x_label = "distance from the last known token",
                                     .y_label = "%",
                                     .x_steps = FR_PLOT_COUNTS,
                                     .y_steps = FR_PLOT_LINEAR,
                                     .y_from_zero = true,
                                     .series = d->series,
                                     .n_series = n_series},
                          path, err);
    fr_free(d);
    return st;
}
