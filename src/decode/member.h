// member.h — what a step does for one member of a group, in this order. Private to step.c and
// propose.c.
#ifndef FR_DECODE_MEMBER_H
#define FR_DECODE_MEMBER_H
#include "decode/group.h"

// The drafter begins to propose a tree of at most most_nodes nodes after the root.
void fr_member_propose(fr_decoder *d, int most_nodes);
// Whether it needs a pass of its network (d->want); false: the proposal is complete.
bool fr_member_wants(fr_decoder *d);
// Hands over what it got of that pass, where its rows took `seconds`.
void fr_member_got(fr_decoder *d, double seconds);
// The rows of the chosen tree and what the drafter attaches to them, at most `room` more.
void fr_member_rows(fr_decoder *d, int room);
// The next n tokens of a text that is read.
void fr_member_read(fr_decoder *d, int n);

// After the pass, whose rows took `seconds`: which candidates count. Members may verify at the same
// time, each in a room of its own.
void fr_member_verify(fr_decoder *d, fr_verify_room *room, double seconds);
// Emits and commits the path, and shows the drafter what came of it; how many new tokens. 0: the
// model's numbers are broken.
int fr_member_take(fr_decoder *d);
// Commits what was read; scores it where that is wanted; the drafter sees it if it asked to.
void fr_member_keep_read(fr_decoder *d, fr_verify_room *room);

// What the pass has of this member besides whole rows with logits: attached rows that join late or
// want no logits, and candidate rows that go on from a middle layer.
fr_extra_rows fr_member_extra_rows(const fr_decoder *d);

#endif
