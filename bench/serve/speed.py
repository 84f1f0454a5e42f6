#!/usr/bin/env python3
"""`forerun serve` compared with the servers of llama.cpp and ik_llama.cpp, for 1 to 16 users.

    bench/serve/speed.py -m MODEL.gguf [-m ...] --prompts DIR --llama PATH/llama-server --ik PATH/llama-server \\
        --draft DRAFT.gguf --add results.jsonl [--rounds 5] [--users 1,2,4,8,16] [--temperatures 0,0.8]
    bench/serve/speed.py --add results.jsonl            writes the table again from the results

A cell is one server, model, number of users, temperature and round. Each cell has a server of its
own with as many slots as users, and a closed loop: that many requests are active until the list is
done or --seconds have passed. The list has equal parts of every set of prompts and no prompt twice.
It is the same for all servers of a round, and nothing is cached.

Servers follow each other within a round, so that changes of the machine affect all alike. Every
cell is appended to --add when it ends. A cell that is there is not measured again, so an
interrupted run continues; --limit S stops in time. A cell during which other programs or the
machine's host used more than 0.15 CPUs does not count and is measured again.

Results are medians over rounds:
  rate          tokens of all users, from `usage`, divided by the time of the whole cell, including
                prompts and the end with fewer active requests. A cell that was cut counts up to
                the cut, which favours servers that had read less.
  first token   from the request's first byte to the first event with text
  gap           between events with text of one answer, as they arrive; events within a millisecond
                count as one

Servers (--server, in turns): forerun[=DRAFTER], llama[=TYPE[:N]], ik[=TYPE[:N]]. The part after "="
is a drafter of forerun, or a --spec-type of the others with at most N tokens; without it nothing is
drafted. ik runs with -rtr.
"""
import argparse
import datetime
import glob
import json
import os
import statistics
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[1:1] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "peers")]

import load
import servers
from calls import json_lines, name_of, say
from machine import cpu_name, physical_cores

KEY = ("model", "users", "temperature", "server", "round", "tokens_each")
DISTURBED = 0.15  # CPUs that others may take from a cell that counts
SERVERS = "forerun,forerun=none,llama,ik"


def words(text, kind=str):
    return [kind(word) for word in text.split(",") if word]


def quiet(cell):
    """Whether the machine was the server's while a cell was measured."""
    return cell["others_cpu"] + cell["stolen_cpu"] <= DISTURBED


def count_for(users, sets):
    """Requests of a cell: as many of every set, some for each user."""
    return sets * max(1, -(-2 * users // sets))


def measure(args, prompts, model, users, temperature, name, part):
    """One cell, or None where the server cannot be had."""
    port = servers.free_ports(1)[0]
    command = servers.command(name, args, model, users, port)
    if not command:
        return None
    body = {"model": name_of(model), "max_tokens": args.tokens, "temperature": temperature, "stream": True, "cache_prompt": False,
            "stream_options": {"include_usage": True}}
    with open(args.log or os.devnull, "ab") as log:
        server = servers.Server(command, port, log)
        try:
            started = server.ready()
            load.run(port, [("warm-up", "Say hello.")], 1, {**body, "max_tokens": 4}, 30)
            dealt = prompts.deal(args.requests or count_for(users, len(prompts.sets)), part)
            before, began = (server.cpu(), *servers.machine_time()), time.perf_counter()
            run = load.run(port, dealt, users, body, args.seconds)
            lasted = time.perf_counter() - began
            own, worked, stolen = [(b - a) / lasted for a, b in zip(before, (server.cpu(), *servers.machine_time()))]
            memory = server.memory()
        finally:
            server.end()
    found = load.summary(*run)
    return {**found, "server_cpu": own, "others_cpu": worked - own - run[3] / lasted, "stolen_cpu": stolen,
            "memory_mb": memory, "start_s": started}


def measure_all(args, cells):
    began, prompts = time.monotonic(), load.Prompts(sorted(glob.glob(os.path.join(args.prompts, "*_dev.jsonl"))))
    cpu = cpu_name()
    there = {tuple(cell[k] for k in KEY) for cell in cells if quiet(cell) and (cell["cpu"], cell["threads"]) == (cpu, args.threads)}
    for part in range(args.rounds):
        for model, users, temperature in [(m, u, t) for m in args.model for t in args.temperatures for u in args.users]:
            for name in args.server:
                key = (name_of(model), users, temperature, name, part, args.tokens)
                if key in there:
                    continue
                if time.monotonic() - began > args.limit:
                    say("stopped at --limit; call again to go on")
                    return
                try:
                    found = measure(args, prompts, model, users, temperature, name, part)
                except (OSError, ValueError) as why:  # of one server: the other cells are measured
                    say("%s: %s" % (name, why))
                    continue
                if not found:
                    say("left out: %s with %s" % (name, name_of(model)))
                    continue
                cell = {**dict(zip(KEY, key)), **found, "date": datetime.datetime.now().isoformat(timespec="seconds"),
                        "cpu": cpu, "threads": args.threads, "load": os.getloadavg()[0]}
                cells.append(cell)
                say(row(cell))
                if args.add:
                    with open(args.add, "a", encoding="utf-8") as f:
                        f.write(json.dumps(cell) + "\n")


def number(value, form="%.0f"):
    return "" if value is None else form % value


def row(cell):
    return ("%(model)s, %(users)d users, temperature %(temperature)g, round %(round)d: %(server)s: " % cell + "%.1f tok/s, first token %s ms "
            "(p99 %s), gap %s ms (p99 %s), %d of %d whole in %.0f s, CPUs: server %.2f, client %.3f, others %.2f, "
            "stolen %.2f%s" % (
                cell["rate"], number(cell["first_p50"]), number(cell["first_p99"]), number(cell["gap_p50"]), number(cell["gap_p99"]),
                cell["whole"], cell["requests"], cell["seconds"], cell["server_cpu"], cell["client_cpu"],
                cell["others_cpu"], cell["stolen_cpu"], "" if quiet(cell) else ": disturbed"))


def median(cells, field):
    values = [cell[field] for cell in cells if cell[field] is not None]
    return statistics.median(values) if values else None


def tables(cells):
    """A table for each machine, number of threads and length of answers: what is of different ones is not compared."""
    parts = {}
    for cell in filter(quiet, cells):
        parts.setdefault((cell["cpu"], cell["threads"], cell["tokens_each"]), []).append(cell)
    return "\n\n".join("%s, %d threads, at most %d tokens an answer:\n\n%s" % (*key, table(part)) for key, part in parts.items())


def table(cells):
    """Medians over the rounds of each kind of cell; the ratio is that of forerun's rate, of the same rounds."""
    lines = ["| model | users | temp. | server | rounds | tok/s | forerun's over it | first token ms (p99) | gap ms p50 | p99 | own ms a token |",
             "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    groups = {}
    for cell in cells:
        groups.setdefault(tuple(cell[k] for k in KEY[:4]), {})[cell["round"]] = cell
    for key in sorted(groups, key=lambda k: (k[0], k[2], k[1], list(groups).index(k))):
        mine = groups[key]
        ours = groups.get(key[:3] + ("forerun",), {})
        ratios = [ours[r]["rate"] / mine[r]["rate"] for r in mine if r in ours and mine[r]["rate"]]
        found = list(mine.values())
        lines.append("| %s | %d | %g | %s | %d | %.1f | %s | %s (%s) | %s | %s | %s |" % (
            *key, len(found), median(found, "rate"), number(statistics.median(ratios), "%.2f") if ratios else "",
            number(median(found, "first_p50")), number(median(found, "first_p99")), number(median(found, "gap_p50")),
            number(median(found, "gap_p99")), number(median(found, "own_token_ms"), "%.1f")))
    return "\n".join(lines)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-m", "--model", action="append", default=[], metavar="FILE", help="none: only the table")
    add("--prompts", metavar="DIR", help="its *_dev.jsonl, lines with task and messages")
    add("--server", default=SERVERS, metavar="NAME,...", help="default: %(default)s")
    add("--users", default="1,2,4,8,16", metavar="N,...", help="default: %(default)s")
    add("--temperatures", default="0,0.8", metavar="T,...", help="default: %(default)s")
    add("--rounds", type=int, default=5, metavar="N", help="rounds there shall be in all (default: 5)")
    add("--tokens", type=int, default=128, metavar="N", help="of an answer at most (default: 128)")
    add("--requests", type=int, metavar="N", help="of a cell (default: by the number of users, equal parts of every set)")
    add("--seconds", type=float, default=240, metavar="S", help="of a cell at most (default: 240)")
    add("--limit", type=float, default=1e9, metavar="S", help="no cell is begun later than this")
    add("--slot-ctx", type=int, default=2048, metavar="N", help="context of each user (default: 2048)")
    add("-t", "--threads", type=int, default=physical_cores(), metavar="N", help="of all servers (default: the physical cores)")
    add("--draft", action="append", metavar="FILE", help="draft model for the larger models of its family")
    add("--forerun", default=os.path.join(ROOT, "build", "forerun"), metavar="PATH")
    add("--llama", metavar="PATH", help="llama.cpp's llama-server")
    add("--ik", metavar="PATH", help="ik_llama.cpp's llama-server")
    add("--add", metavar="FILE.jsonl", help="results, one cell a line")
    add("--log", metavar="FILE", help="what the servers print")
    args = parser.parse_args()
    if args.model and not args.prompts:
        parser.error("--prompts DIR is missing")
    args.server, args.users, args.temperatures = words(args.server), words(args.users, int), words(args.temperatures, float)
    return args


def main():
    args = arguments()
    cells = json_lines(args.add)
    if args.model:
        measure_all(args, cells)
    print(tables(cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
