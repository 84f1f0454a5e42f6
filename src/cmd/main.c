// main.c — the program forerun: its commands.
#include "cmd/lib/cmd.h"

static const fr_command *const tables[] = {FR_CMD_TABLES(fr_cmd_train), NULL};

static const char *const first[] = {"chat", "run", "serve", "tune", "doctor", NULL};

const fr_program fr_cmd_program = {
    .name = "forerun",
    .version = FR_VERSION,
    .summary = "run language models several tokens per pass, with the bytes of plain decoding",
    .about =
        "Runs frozen GGUF models on the CPU. A drafter guesses the next tokens, and one pass of "
        "the model checks all guesses. The output is exactly that of decoding one token at a time.",
    .commands = tables,
    .specs = fr_cmd_spec_word,
    .first = first,
};

int main(int argc, char **argv) {
    return fr_cmd_main(argc, argv);
}
