// doctor.c — `doctor`: what this machine is, and what would make forerun faster on it.
#include "cmd/doctor/doctor.h"
#include <stdlib.h>

// Whether the model's file is there; a broken one is reported with the rest.
static fr_status check_model(const fr_cmd_args *args, fr_error *err) {
    fr_gguf *g;
    fr_status st = fr_cmd_model(args, err);
    if (st) return st;
    st = fr_gguf_open(&g, args->model, err);
    if (!st) fr_gguf_close(g);
    return st == FR_EDATA || st == FR_EUNSUP ? FR_OK : st;
}

static fr_status look(fr_doctor *d, const fr_cmd_args *args, fr_error *err) {
    const fr_status st = args->model ? check_model(args, err) : FR_OK;
    if (st) return st;
    fr_doctor_look(&d->machine);
    if (args->model) fr_doctor_look_at_model(&d->model, &d->machine, args->model);
    fr_doctor_find_packs(&d->packs, &d->model);
    fr_error unmeasured;
    fr_doctor_read_memory(&d->machine, &unmeasured); // the rest is worth saying without it
    if (fr_cmd_interrupted()) return fr_fail(err, FR_EINTR, "doctor: interrupted");
    fr_doctor_advise(d);
    return FR_OK;
}

static int run_doctor(const fr_cmd_args *args, const fr_parsed *parsed) {
    (void)parsed;
    fr_error err = {0};
    int code = FR_EXIT_DONE;
    fr_doctor *d = calloc(1, sizeof *d);
    fr_status st = d ? look(d, args, &err) : fr_fail(&err, FR_ENOMEM, "doctor: no memory");
    if (st)
        code = fr_cmd_fail(&err);
    else if (args->json)
        code = fr_cmd_print_json(fr_doctor_json(d));
    else
        fr_doctor_print(d);
    free(d);
    return code;
}

const fr_cmd fr_cmd_doctor = {
    {.name = "doctor",
     .summary = "describe this machine, and what would make forerun faster on it",
     .about = "Prints the CPU, the kernels in use, the memory and the speed of reading it "
              "(measured for about a second), limits, the trained drafters that were found, and "
              "possible improvements, each with a remedy. Nothing is changed.\n\nWith -m it also "
              "prints whether the model fits into memory, how often per second it can be read, the "
              "results of 'tune', and the predicted speed of the packs that fit. What the "
              "system does not report is 'not known', in the JSON document null.",
     .example = "forerun doctor",
     .groups = {&fr_cmd_file_options, &fr_cmd_output_options}},
    run_doctor};
