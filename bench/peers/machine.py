"""The machine as the comparisons describe it, and the draft model for each model."""
import os
import re

from calls import name_of, say


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            return re.search(r"model name\s*: (.*)", f.read()).group(1)
    except (OSError, AttributeError):
        return "unknown"


def physical_cores():
    cores = set()
    for cpu in os.sched_getaffinity(0):
        try:
            with open("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list" % cpu, encoding="ascii") as f:
                cores.add(f.read())
        except OSError:
            cores.add(cpu)
    return len(cores)


def draft_finder(paths):
    """The draft model for a target: the one of the same family that is another file and smaller."""
    def find(model):
        family = name_of(model).split("-")[0]
        for path in paths or []:
            if name_of(path).startswith(family) and os.path.exists(path) and os.path.getsize(path) < os.path.getsize(model):
                return path
        return None
    return find


def warn_of_load():
    load = os.getloadavg()[0]
    if load > 0.5:
        say("the machine is busy (load %.1f): llama.cpp's threads wait for each other spinning, and such a comparison is not fair" % load)
