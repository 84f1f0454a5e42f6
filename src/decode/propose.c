// propose.c — the members' drafters begin; then the passes that they wait for run, each once, and
// those who waited go on.
#include "decode/propose.h"
#include "base/clock.h"
#include "decode/choose.h"
#include "decode/member.h"

// The passes that members wait for, each once, and how many wait for each.
static int passes_waited_for(fr_decoder *const *members, int n, fr_draft_pass **pass, int *waits) {
    int n_passes = 0;
    for (int i = 0; i < n; i++) {
        fr_draft_pass *own = members[i]->proposal.waits;
        int at = 0;
        if (!own) continue;
        while (at < n_passes && pass[at] != own)
            at++;
        if (at == n_passes) {
            pass[n_passes++] = own;
            waits[at] = 0;
        }
        waits[at]++;
    }
    return n_passes;
}

// One pass of each network for all who wait for it, until nobody does.
static void run_draft_passes(fr_decoder *const *members, int n) {
    fr_draft_pass *pass[FR_GROUP_MEMBERS];
    double seconds[FR_GROUP_MEMBERS];
    int waits[FR_GROUP_MEMBERS], n_passes;
    while ((n_passes = passes_waited_for(members, n, pass, waits)) > 0) {
        for (int k = 0; k < n_passes; k++) {
            const double start = fr_seconds();
            pass[k]->run(pass[k]);
            seconds[k] = (fr_seconds() - start) / waits[k];
        }
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n_passes; k++)
                if (members[i]->proposal.waits == pass[k]) {
                    fr_member_go_on(members[i], seconds[k]);
                    break;
                }
    }
}

void fr_propose_trees(fr_decoder *const *members, int n) {
    for (int i = 0; i < n; i++)
        fr_member_propose(members[i], fr_choose_most(members[i], n));
    run_draft_passes(members, n);
}
