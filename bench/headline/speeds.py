"""Speeds from the rows that headline.py wrote: the median of the rounds for each prompt, and the
speed of a system from those of its prompts."""
import statistics

DISTURBED = 0.15  # CPUs that others may take from an answer that counts
PLAIN, OURS_PLAIN, OURS = "llama", "forerun=none", "forerun"


class Model:
    """Every system's speeds on one model, tokens a second."""

    def __init__(self, name, lines):
        self.name, self.dropped = name, 0
        self.lines = [l for l in lines if l["model"] == name and int(l["round"]) > 0]
        modes = {l["system"] for l in self.lines} - {PLAIN, OURS_PLAIN, OURS}
        self.mode = min(modes)
        self.systems = [PLAIN, self.mode, OURS_PLAIN, OURS]
        self.prompts = sorted({int(l["prompt"]) for l in self.lines})
        self.rounds = len({l["round"] for l in self.lines})
        self.speeds = {system: self.by_prompt(system) for system in self.systems}

    def by_prompt(self, system):
        """Medians of the rounds; rounds in which others took the machine count only where there is no other."""
        found = []
        for prompt in self.prompts:
            own = [l for l in self.lines if l["system"] == system and int(l["prompt"]) == prompt]
            calm = [l for l in own if float(l["others"]) <= DISTURBED]
            self.dropped += len(own) - len(calm or own)
            found.append(statistics.median(float(l["tok_s"]) for l in calm or own))
        return found

    def speed(self, system):
        return statistics.median(self.speeds[system])

    def span(self, system):
        return min(self.speeds[system]), max(self.speeds[system])

    def ratios(self, system, to):
        """(median, least, greatest) of the prompts' ratios."""
        found = [a / b for a, b in zip(self.speeds[system], self.speeds[to])]
        return statistics.median(found), min(found), max(found)

    def sets(self):
        """{set: places of its prompts in the lists of speeds}."""
        names = {int(l["prompt"]): l["set"] for l in self.lines}
        found = {}
        for at, prompt in enumerate(self.prompts):
            found.setdefault(names[prompt], []).append(at)
        return found

    def apart(self, system):
        """How far rounds of the same prompt lie apart: greatest over least, the median of the prompts."""
        found = []
        for prompt in self.prompts:
            own = [float(l["tok_s"]) for l in self.lines if l["system"] == system and int(l["prompt"]) == prompt]
            found.append(max(own) / min(own))
        return statistics.median(found)

    def same(self, system):
        own = [l for l in self.lines if l["system"] == system]
        return sum(l["same"] == "yes" for l in own), len(own)


def models(lines):
    return [Model(name, lines) for name in dict.fromkeys(l["model"] for l in lines if int(l["round"]) > 0)]
