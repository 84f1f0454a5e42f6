#!/usr/bin/env python3
"""Builds the peers from their sources for this machine, and the program that times the passes of
the first two.

    bench/peers/build.py [--build-dir DIR] [--ik DIR] [--jobs N] [--peer NAME ...]

llama.cpp     from the source package of llama-cpp-python, which contains all of it: GGML_NATIVE
              (every instruction of this CPU), its repacked weights, its own matrix products and
              OpenMP; tiles.h repairs what gcc 12 breaks
ik_llama.cpp  from a folder with its sources, --ik or the environment variable FR_IK_SOURCE; without
              one it is left out
openvino      the released package openvino-genai, in a virtual environment of its own
"""
import argparse
import glob
import os
import shutil
import sys
import tarfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(ROOT, "bench"))

from calls import Failure, run, say

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT_FOLDER = os.path.join(ROOT, "build-peer")
PACKAGE, VERSION = "llama-cpp-python", "0.3.36"
OPENVINO, OPENVINO_VERSION = "openvino-genai", "2026.4.1.0"
TARGETS = ["llama-bench", "llama-speculative-simple", "llama-speculative", "llama-lookup", "llama-server"]
LEFT_OUT = ["LLAMA_CURL", "LLAMA_OPENSSL", "LLAMA_BUILD_TESTS", "LLAMA_BUILD_APP", "LLAMA_BUILD_UI", "LLAMA_USE_PREBUILT_UI"]
# Kernels of attention over other types of keys and values than the default are what takes longest to compile.
IK_TARGETS = ["llama-bench", "llama-spec-bench", "llama-server"]
IK_LEFT_OUT = ["LLAMA_BUILD_TESTS", "LLAMA_CURL", "GGML_IQK_FA_ALL_QUANTS"]
NICE = ["nice", "-n", "10"]


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Failure("%s: not found; tools/install-packages.sh installs what a build needs" % program)


def fetch(folder):
    """The folder of llama.cpp's sources under `folder`, downloaded and unpacked where they are missing."""
    pattern = os.path.join(folder, "*%s" % VERSION, "vendor", "llama.cpp")
    if not glob.glob(pattern):
        say("fetching the sources of %s %s" % (PACKAGE, VERSION))
        os.makedirs(folder, exist_ok=True)
        try:
            run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", PACKAGE,
                 "--dest", folder, "%s==%s" % (PACKAGE, VERSION)])
        except Failure as failure:
            raise Failure("the sources of llama.cpp could not be fetched (is there a network?): %s" % failure) from failure
        with tarfile.open(glob.glob(os.path.join(folder, "*%s.tar.gz" % VERSION))[0]) as tar:
            tar.extractall(folder)
    found = glob.glob(pattern)
    if not found:
        raise Failure("%s: no vendor/llama.cpp in the source package" % folder)
    return found[0]


def library_folders(build):
    """Where the shared libraries of a build lie: one place or several, by project and age."""
    return sorted({os.path.dirname(path) for path in glob.glob(os.path.join(build, "**", "lib*.so"), recursive=True)})


def compile_passes(source, build, *options):
    """bench/peers/passes.c against the libllama just built."""
    program, text = os.path.join(build, "bin", "passes"), os.path.join(HERE, "passes.c")
    if os.path.exists(program) and os.path.getmtime(program) > os.path.getmtime(text):
        return
    folders = library_folders(build)
    names = {os.path.basename(path)[3:-3] for folder in folders for path in glob.glob(os.path.join(folder, "lib*.so"))}
    run(["cc", "-O2", "-std=gnu11", "-Wall", "-Wextra", text, "-o", program, "-I", os.path.join(source, "include"),
         "-I", os.path.join(source, "ggml", "include")] + list(options)
        + [word for folder in folders for word in ("-L", folder, "-Wl,-rpath," + folder)]
        + ["-l" + name for name in ("llama", "ggml", "ggml-base") if name in names])


def compile_peer(name, source, out, jobs, targets, settings):
    """Targets of a source folder in `out`; what is there already stays."""
    need("cc", "c++", "cmake", "ninja")
    programs = os.path.join(out, "bin")
    if not all(os.path.exists(os.path.join(programs, target)) for target in targets):
        say("building %s in %s with %d jobs: some minutes" % (name, out, jobs))
        run(NICE + ["cmake", "-G", "Ninja", "-S", source, "-B", out, "-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON"]
            + ["-D" + setting for setting in settings])
        run(NICE + ["cmake", "--build", out, "--parallel", str(jobs), "--target"] + targets)
    return programs


def build(folder, jobs):
    """Folder of llama.cpp's programs and `passes`."""
    source, out = fetch(folder), os.path.join(folder, "build-%s" % VERSION)
    programs = compile_peer("llama.cpp", source, out, jobs, TARGETS, ["LLAMA_BUILD_EXAMPLES=ON", "LLAMA_BUILD_TOOLS=ON", "LLAMA_BUILD_SERVER=ON",
                                                                           "CMAKE_CXX_FLAGS=-include " + os.path.join(HERE, "tiles.h")]
                            + ["%s=OFF" % name for name in LEFT_OUT])
    compile_passes(source, out)
    return programs


def built(folder):
    """The same of a folder that llama.cpp was built into before, without building there again."""
    out = os.path.join(folder, "build-%s" % VERSION)
    if not os.path.exists(os.path.join(out, "bin", "llama-bench")):
        raise Failure("%s: no build-%s/bin/llama-bench in it" % (folder, VERSION))
    compile_passes(fetch(folder), out)
    return os.path.join(out, "bin")


def build_ik(source, folder, jobs):
    """Folder of ik_llama.cpp's programs and `passes`."""
    if not source:
        raise Failure("no sources of ik_llama.cpp: name their folder with --ik or FR_IK_SOURCE")
    if not os.path.exists(os.path.join(source, "examples", "spec-bench", "CMakeLists.txt")):
        raise Failure("%s: not the sources of ik_llama.cpp, or of another time" % source)
    out = os.path.join(folder, "build-ik")
    programs = compile_peer("ik_llama.cpp", source, out, jobs, IK_TARGETS, ["%s=OFF" % name for name in IK_LEFT_OUT])
    compile_passes(source, out, "-DPEER_IK")
    return programs


def install_openvino(folder):
    """Python of an environment that has openvino-genai."""
    place = os.path.join(folder, "openvino")
    python = os.path.join(place, "bin", "python")
    if not glob.glob(os.path.join(place, "lib", "*", "site-packages", "openvino_genai")):
        say("installing %s %s in %s" % (OPENVINO, OPENVINO_VERSION, place))
        try:
            run([sys.executable, "-m", "venv", place])
            run([python, "-m", "pip", "install", "--quiet", "%s==%s" % (OPENVINO, OPENVINO_VERSION)])
        except Failure as failure:
            raise Failure("%s could not be installed (is there a network?): %s" % (OPENVINO, failure)) from failure
    return python


# What is built for a peer: peers may share it.
KINDS = ["llama.cpp", "ik_llama.cpp", "openvino"]


def prepare(kind, folder, ik, jobs):
    """Where the programs of a kind of peer are: a folder, or the Python that runs it."""
    if kind == "llama.cpp":
        return build(folder, jobs)
    if kind == "ik_llama.cpp":
        return build_ik(ik, folder, jobs)
    return install_openvino(folder)


def prepare_all(kinds, folder, ik, jobs):
    """{kind: place} of those that can be had; a sentence for each that cannot."""
    found = {}
    for kind in kinds:
        try:
            found[kind] = prepare(kind, folder, ik, jobs)
        except Failure as failure:
            say("left out: %s: %s" % (kind, failure))
    return found


def add_arguments(add):
    """Shared with the scripts that measure."""
    add("--build-dir", default=DEFAULT_FOLDER, metavar="DIR", help="where the peers are built (default: build-peer)")
    add("--ik", default=os.environ.get("FR_IK_SOURCE"), metavar="DIR",
        help="sources of ik_llama.cpp (default: the environment's FR_IK_SOURCE; else it is left out)")
    add("--jobs", type=int, default=1, metavar="N", help="of the builds (default: 1)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser.add_argument)
    parser.add_argument("--peer", action="append", choices=KINDS, help="default: all")
    args = parser.parse_args()
    found = prepare_all(args.peer or KINDS, args.build_dir, args.ik, args.jobs)
    for kind, place in found.items():
        print("%s: %s" % (kind, place))
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
