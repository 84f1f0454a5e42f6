// main.c — the program forerun-lab: forerun's commands, which here know the lab's drafters too, and
// those that only papers ask for.
#include "lab/cmd/lab.h"

static const fr_command *const tables[] = {FR_CMD_TABLES(lab_cmd_train), &lab_cmd_hits.table,
                                           &lab_cmd_replay.table,        &lab_cmd_requantize.table,
                                           &lab_cmd_similarity.table,    NULL};

const fr_program fr_cmd_program = {
    .name = "forerun-lab",
    .version = FR_VERSION,
    .summary = "measure what papers on speculative decoding measure, beside forerun's own drafters",
    .about =
        "forerun's commands with drafters, trainings and measurements that rows of docs/papers "
        "need and no user of forerun wants: they lost, or show how a method works.",
    .commands = tables,
    .specs = fr_cmd_spec_word,
};

int main(int argc, char **argv) {
    return fr_cmd_main(argc, argv);
}
