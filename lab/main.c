// main.c — the program forerun-lab: the commands of forerun, with the drafters of the lab, and the
// commands that only docs/papers needs.
#include "lab/cmd/lab.h"

static const fr_command *const tables[] = {FR_CMD_TABLES(lab_cmd_train),
                                           &lab_cmd_hits.table,
                                           &lab_cmd_replay.table,
                                           &lab_cmd_requantize.table,
                                           &lab_cmd_adopt.table,
                                           &lab_cmd_similarity.table,
                                           NULL};

const fr_program fr_cmd_program = {
    .name = "forerun-lab",
    .version = FR_VERSION,
    .summary = "repeat measurements of papers on speculative decoding",
    .about = "The commands of forerun, with drafters, trainings and measurements that only "
             "docs/papers needs: methods that lost, or that show how a method works.",
    .commands = tables,
    .specs = fr_cmd_spec_word,
};

int main(int argc, char **argv) {
    return fr_cmd_main(argc, argv);
}
