"""llama.cpp from its source package, built for this machine, and the program that times its passes.

llama.cpp is taken out of the source distribution of llama-cpp-python, which holds it whole.
Built with GGML_NATIVE (every instruction of this CPU), its repacked weights, its own matrix products and OpenMP.
"""
import glob
import os
import shutil
import sys
import tarfile

from calls import Failure, run, say

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE, VERSION = "llama-cpp-python", "0.3.36"
TARGETS = ["llama-bench", "llama-speculative-simple", "llama-speculative", "llama-lookup"]
LEFT_OUT = ["LLAMA_CURL", "LLAMA_OPENSSL", "LLAMA_BUILD_TESTS", "LLAMA_BUILD_SERVER", "LLAMA_BUILD_APP"]
NICE = ["nice", "-n", "10"]


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Failure("%s: not found; tools/install-packages.sh installs what a build needs" % program)


def fetch(folder):
    """The folder of llama.cpp's sources under `folder`, downloaded and unpacked where they are missing."""
    pattern = os.path.join(folder, "*", "vendor", "llama.cpp")
    if not glob.glob(pattern):
        say("fetching the sources of %s %s" % (PACKAGE, VERSION))
        os.makedirs(folder, exist_ok=True)
        try:
            run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", PACKAGE,
                 "--dest", folder, "%s==%s" % (PACKAGE, VERSION)])
        except Failure as failure:
            raise Failure("the sources of llama.cpp could not be fetched (is there a network?): %s" % failure) from failure
        with tarfile.open(glob.glob(os.path.join(folder, "*.tar.gz"))[0]) as tar:
            tar.extractall(folder)
    found = glob.glob(pattern)
    if not found:
        raise Failure("%s: no vendor/llama.cpp in the source package" % folder)
    return found[0]


def compile_passes(source, build):
    """bench/peers/passes.c against the libllama just built."""
    program, text = os.path.join(build, "bin", "passes"), os.path.join(HERE, "passes.c")
    if os.path.exists(program) and os.path.getmtime(program) > os.path.getmtime(text):
        return
    libraries = os.path.join(build, "bin")
    run(["cc", "-O2", "-std=gnu11", "-Wall", "-Wextra", text, "-o", program, "-I", os.path.join(source, "include"),
         "-I", os.path.join(source, "ggml", "include"), "-L", libraries, "-lllama", "-lggml", "-lggml-base", "-Wl,-rpath," + libraries])


def build(folder, jobs):
    """Folder of llama.cpp's programs and `passes`; what is there already stays."""
    need("cc", "c++", "cmake", "ninja")
    source, out = fetch(folder), os.path.join(folder, "build")
    programs = os.path.join(out, "bin")
    if not all(os.path.exists(os.path.join(programs, target)) for target in TARGETS):
        say("building llama.cpp in %s with %d jobs: some minutes" % (out, jobs))
        run(NICE + ["cmake", "-G", "Ninja", "-S", source, "-B", out, "-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON",
                    "-DLLAMA_BUILD_EXAMPLES=ON", "-DLLAMA_BUILD_TOOLS=ON"] + ["-D%s=OFF" % name for name in LEFT_OUT])
        run(NICE + ["cmake", "--build", out, "--parallel", str(jobs), "--target"] + TARGETS)
    compile_passes(source, out)
    return programs
