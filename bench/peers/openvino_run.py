#!/usr/bin/env python3
"""One measurement of OpenVINO GenAI on a GGUF file, CPU, printed as JSON. Needs the package
openvino-genai.

    bench/peers/openvino_run.py WHAT -m MODEL.gguf -t THREADS --keep DIR [--ids FILE.json] [-n N] [--rows N,...]

Its GGUF reader converts the model once, into a subfolder of --keep. Later runs load the result,
which takes less time. WHAT is one of
  keep         only the conversion
  plain        -n tokens after --ids, one per pass: {"tok_s"}
  prompt       reading --ids: {"tok_s"}, from the time to the first token
  passes       passes of --rows tokens, logits on all, after the first of --ids (all but as many as
               the largest of --rows): {"rows", "ms"}; the better of two after an untimed one, with
               keys and values restored in between
  speculative  -n tokens after --ids, plain and with its prompt lookup (--assistant tokens,
               --ngram): {"modes": {name: [tokens, seconds, accepted, drafted, same tokens as plain]}}
"""
import argparse
import json
import os
import shutil
import sys
import time

# What the GGUF reader is asked to write, and what is looked for later.
KEPT = "openvino_model.xml"


def keep(genai, args):
    """Folder with the model in OpenVINO's form. The reader writes beside the file that it is given: a link."""
    folder = os.path.join(args.keep, os.path.splitext(os.path.basename(args.model))[0])
    if os.path.exists(os.path.join(folder, KEPT)):
        return folder
    making = folder + ".new"
    shutil.rmtree(making, ignore_errors=True)
    os.makedirs(making)
    link = os.path.join(making, os.path.basename(args.model))
    os.symlink(os.path.abspath(args.model), link)
    genai.LLMPipeline(link, "CPU", enable_save_ov_model=True, **settings(args))
    os.remove(link)
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(making, folder)
    return folder


def settings(args):
    return {"INFERENCE_NUM_THREADS": args.threads}


def pipeline(genai, args, **more):
    return genai.LLMPipeline(keep(genai, args), "CPU", **settings(args), **more)


def generate(genai, openvino, pipe, ids, tokens, **more):
    """Greedy; ids, seconds to the first token, seconds of the others."""
    import numpy
    config = genai.GenerationConfig()
    config.max_new_tokens, config.do_sample, config.apply_chat_template = tokens, False, False
    for name, value in more.items():
        setattr(config, name, value)
    found = pipe.generate(openvino.Tensor(numpy.array([ids], dtype=numpy.int64)), config)
    times = found.perf_metrics
    first = times.get_ttft().mean / 1e3
    return list(found.tokens[0]), first, times.get_generate_duration().mean / 1e3 - first


def plain(genai, openvino, args, ids):
    pipe = pipeline(genai, args)
    generate(genai, openvino, pipe, ids, 4, ignore_eos=True)
    made, _, seconds = generate(genai, openvino, pipe, ids, args.n, ignore_eos=True)
    return {"tok_s": (len(made) - 1) / seconds}


def prompt(genai, openvino, args, ids):
    """Warmed with the same tokens in another order: what was read before could be kept."""
    pipe = pipeline(genai, args)
    generate(genai, openvino, pipe, ids[::-1], 1, ignore_eos=True)
    _, first, _ = generate(genai, openvino, pipe, ids, 1, ignore_eos=True)
    return {"tok_s": len(ids) / first}


class Passes:
    """The model without the pipeline, which gives no logits of every row."""

    def __init__(self, openvino, folder, args):
        import numpy
        self.numpy, self.openvino = numpy, openvino
        model = openvino.Core().compile_model(os.path.join(folder, KEPT), "CPU", settings(args))
        self.request = model.create_infer_request()

    def run(self, ids, past):
        integers = self.numpy.int64
        inputs = {"input_ids": self.numpy.array([ids], dtype=integers),
                  "attention_mask": self.numpy.ones((1, past + len(ids)), dtype=integers),
                  "position_ids": self.numpy.arange(past, past + len(ids), dtype=integers)[None],
                  "beam_idx": self.numpy.zeros(1, dtype=self.numpy.int32)}
        start = time.perf_counter()
        self.request.infer(inputs)
        seconds = time.perf_counter() - start
        if self.request.get_output_tensor().shape[1] != len(ids):
            raise SystemExit("openvino_run.py: logits of some rows only")
        return seconds

    def state(self):
        return [self.openvino.Tensor(self.numpy.array(state.state.data)) for state in self.request.query_state()]

    def restore(self, kept):
        for state, value in zip(self.request.query_state(), kept):
            state.state = value


def passes(genai, openvino, args, ids):
    rows = [int(n) for n in args.rows.split(",")]
    context = len(ids) - max(rows)
    model = Passes(openvino, keep(genai, args), args)
    model.run(ids[:context], 0)
    kept, least = model.state(), []
    for n in rows:
        times = []
        for _ in range(3):
            model.restore(kept)
            times.append(model.run(ids[context:context + n], context))
        least.append(1e3 * min(times[1:]))
    return {"rows": rows, "ms": least}


def speculative(genai, openvino, args, ids):
    modes, expected = {}, None
    lookup = {"num_assistant_tokens": args.assistant, "max_ngram_size": args.ngram}
    for name, options, more in (("none", {}, {}), ("prompt-lookup", {"prompt_lookup": True}, lookup)):
        pipe = pipeline(genai, args, **options)
        generate(genai, openvino, pipe, ids[:8], 4, **more)
        made, _, seconds = generate(genai, openvino, pipe, ids, args.n, **more)
        expected = made if expected is None else expected
        modes[name] = [len(made) - 1, seconds, 0, 0, made == expected]
        del pipe
    return {"modes": modes}


MEASUREMENTS = {"plain": plain, "prompt": prompt, "passes": passes, "speculative": speculative}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("what", choices=["keep"] + list(MEASUREMENTS))
    add("-m", "--model", required=True)
    add("-t", "--threads", type=int, required=True)
    add("--keep", required=True, metavar="DIR")
    add("--ids", metavar="FILE.json", help="token numbers, a JSON list")
    add("-n", type=int, default=128)
    add("--rows", default="1,8,16")
    add("--assistant", type=int, default=5)
    add("--ngram", type=int, default=3)
    args = parser.parse_args()
    try:
        import openvino
        import openvino_genai as genai
    except ImportError as error:
        sys.exit("openvino_run.py: %s; pip install openvino-genai" % error)
    if args.what == "keep":
        keep(genai, args)
        result = {}
    else:
        with open(args.ids, encoding="utf-8") as f:
            result = MEASUREMENTS[args.what](genai, openvino, args, json.load(f))
    print(json.dumps(dict(result, version=genai.__version__)))


if __name__ == "__main__":
    main()
