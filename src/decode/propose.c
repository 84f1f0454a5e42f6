// propose.c — the members' drafters begin; then the passes that they want run, each once for all of
// them.
#include "decode/propose.h"
#include "base/clock.h"
#include "decode/choose.h"
#include "decode/member.h"

typedef struct shared_pass { // that members want, with the rows of all of them
    fr_draft_pass *pass;
    int rows;
    double seconds;
} shared_pass;

static shared_pass *find_pass(shared_pass *all, int *n, fr_draft_pass *pass) {
    int at = 0;
    while (at < *n && all[at].pass != pass)
        at++;
    if (at == *n) all[(*n)++] = (shared_pass){.pass = pass};
    return &all[at];
}

// Runs each pass that members want once, with the rows of all of them, until none is wanted.
static void run_draft_passes(fr_decoder *const *members, int n) {
    shared_pass all[FR_GROUP_MEMBERS];
    for (;;) {
        int n_passes = 0;
        for (int i = 0; i < n; i++)
            if (fr_member_wants(members[i]))
                find_pass(all, &n_passes, members[i]->want.pass)->rows += members[i]->want.rows;
        if (!n_passes) return;
        for (int k = 0; k < n_passes; k++) {
            const double start = fr_seconds();
            all[k].pass->run(all[k].pass);
            all[k].seconds = fr_seconds() - start;
        }
        for (int i = 0; i < n; i++) {
            if (!members[i]->drafts) continue;
            const shared_pass *ran = find_pass(all, &n_passes, members[i]->want.pass);
            fr_member_got(members[i], ran->seconds * members[i]->want.rows / ran->rows);
        }
    }
}

void fr_propose_trees(fr_decoder *const *members, int n) {
    for (int i = 0; i < n; i++)
        fr_member_propose(members[i], fr_choose_most(members[i], n));
    run_draft_passes(members, n);
}
