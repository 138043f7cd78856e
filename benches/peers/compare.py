"""Runs the same work in thermocline and in a peer, in turn, and prints what each process cost from start to exit.

Called by `compare`, which installs the peers. Costs are user and system seconds of the whole process as the kernel accounts
them, medians over the runs; a first, short run of each is not counted.
"""

import argparse
import csv
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Student's t, 99.9 % two-sided, by degrees of freedom; fewer degrees than a row have a wider interval.
T_999 = {1: 636.6, 2: 31.60, 3: 12.92, 4: 8.610, 6: 5.959, 9: 4.781, 19: 3.883}
T_95 = {9: 2.262, 19: 2.093}


def ran(command):
    """Runs a command to its end: its CPU seconds and what it printed."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([str(part) for part in command], stdout=out)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"exit code {child.returncode}: {command}")
        out.seek(0)
        return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, out.read().decode()


class Cost:
    """What the runs of one program cost."""

    def __init__(self):
        self.cpu_s, self.peak_mb, self.rates = [], [], []

    def add(self, cpu_s, peak_mb, requests):
        self.cpu_s.append(cpu_s)
        self.peak_mb.append(peak_mb)
        self.rates.append(requests / cpu_s)

    def rate(self):
        return statistics.median(self.rates)

    def line(self, name):
        low, middle, high = min(self.cpu_s), statistics.median(self.cpu_s), max(self.cpu_s)
        print(
            f"  {name:<16}{middle:>9.3f} CPU s ({low:.3f} to {high:.3f})"
            f"{self.rate():>13,.0f} requests/CPU-s{max(self.peak_mb):>8,.0f} MB"
        )


class Mean:
    """A mean with its standard error and the number of values behind it."""

    def __init__(self, value, error, count):
        self.value, self.error, self.count = value, error, count

    @classmethod
    def of(cls, values):
        spread = statistics.stdev(values) if len(values) > 1 else math.inf
        return cls(statistics.fmean(values), spread / math.sqrt(len(values)), len(values))

    @classmethod
    def recorded(cls, value, half_width, count):
        """From a published 95 % interval."""
        return cls(value, half_width / T_95[count - 1], count)

    def agrees(self, other):
        """Whether the difference lies in its 99.9 % interval."""
        degrees = min(self.count, other.count) - 1
        usable = [known for known in T_999 if known <= degrees]
        if not usable:
            return False
        bound = T_999[max(usable)] * math.hypot(self.error, other.error)
        return abs(self.value - other.value) <= bound

    def text(self, digits):
        return f"{self.value:.{digits}f} +- {self.error:.{digits}f} ({self.count})"


class Checks:
    """What must hold; all of it is printed, and the exit code says whether it does."""

    def __init__(self):
        self.failed = []

    def check(self, what, holds):
        print(f"  {what}: {'holds' if holds else 'FAILS'}")
        if not holds:
            self.failed.append(what)


def median_ratio(ours, theirs):
    """Requests per CPU second of ours over theirs, pair by pair: the pairing takes out the machine's drift."""
    return statistics.median(mine / other for mine, other in zip(ours.rates, theirs.rates))


# Rate [1/s], keep-alive [s], length [s], and P(cold) with its 95 % interval over so many seeds of SimFaaS 0.2.2 where recorded.
FUNCTIONS = [
    (0.9, 600, 1_000_000, Mean.recorded(0.0013347, 0.0000182, 20)),
    (0.9, 60, 1_000_000, Mean.recorded(0.0159992, 0.0000689, 10)),
    (0.9, 10, 1_000_000, Mean.recorded(0.0992863, 0.000167, 10)),
    (100, 600, 10_000, None),
]


def our_function(program, rate, keep_alive, until, seed):
    """One run of our function: CPU seconds, MB and the fleet's account."""
    place = "providers.faas.deployments.function"
    options = [
        f"time.horizon={until}s",
        f"{place}.scaling.keep_alive={keep_alive}s",
        f"{place}.traffic.all.arrivals={rate}/s",
    ]
    command = [program, "simulate", HERE / "function.toml", "--seed", seed, "--threads", 1]
    command += ["--format", "json", "--quiet"]
    cpu_s, peak_mb, out = ran(command + [part for option in options for part in ("--set", option)])
    account = json.loads(out)["fleet"][0]
    if account["rejected"] or account["peak_replicas"] >= 1000:
        sys.exit("the limit on instances is reached, and what happens there differs")
    return cpu_s, peak_mb, account


def their_function(python, rate, keep_alive, until, seed):
    command = [python, HERE / "run_simfaas.py", "--rate", rate, "--keep-alive", keep_alive]
    cpu_s, peak_mb, out = ran(command + ["--until", until, "--seed", seed])
    return cpu_s, peak_mb, json.loads(out)


def cold_share(account):
    return account["cold_requests"] / account["requests"]


def simfaas(program, python, runs, seeds, checks):
    print("SimFaaS 0.2.2: a function without a queue; warm 1.99 s, cold 2.2 s, starts empty")
    print("P(cold) is the mean over seeds +- its standard error (seeds); they agree within 99.9 %")
    our_function(program, 0.9, 600, 10_000, 1)
    their_function(python, 0.9, 600, 10_000, 1)
    flat = {}
    for rate, keep_alive, until, recorded in FUNCTIONS:
        ours, theirs, cold, peer_cold, loop = Cost(), Cost(), [], [], []
        for seed in range(1, runs + 1):
            cpu_s, peak_mb, account = our_function(program, rate, keep_alive, until, seed)
            ours.add(cpu_s, peak_mb, account["requests"])
            cold.append(cold_share(account))
            cpu_s, peak_mb, peer = their_function(python, rate, keep_alive, until, seed)
            theirs.add(cpu_s, peak_mb, peer["requests"])
            peer_cold.append(cold_share(peer))
            loop.append(peer["requests"] / peer["loop_cpu_s"])
        for seed in range(runs + 1, max(seeds, runs) + 1):
            cold.append(cold_share(our_function(program, rate, keep_alive, until, seed)[2]))
        print(f"\n{rate} requests/s, keep-alive {keep_alive} s, {until:,} s: {peer['instances']:.1f} instances on average")
        ours.line("thermocline")
        theirs.line("SimFaaS")
        cold, here = Mean.of(cold), Mean.of(peer_cold)
        print(f"  P(cold)         {cold.text(7)}, SimFaaS here {here.text(7)}")
        if recorded:
            print(f"                  SimFaaS as recorded {recorded.text(7)}")
        elif runs == 1:
            print("  skipped: P(cold) is not compared, one run of SimFaaS has no interval (--runs 5)")
        if recorded or runs > 1:
            checks.check("P(cold) agrees", cold.agrees(recorded or here))
        ratio = median_ratio(ours, theirs)
        loop_ratio = ours.rate() / statistics.median(loop)
        print(f"  {ratio:.0f} times as many requests per CPU second; {loop_ratio:.0f} without SimFaaS's imports")
        checks.check(f"{ratio:.0f} times is at least 50", ratio >= 50)
        flat[rate] = ours.rate()
    kept = flat[100] / flat[0.9]
    checks.check(f"{kept:.0%} of the speed is left with 30 times the instances (bar 80 %)", kept >= 0.8)


def our_replicas(program, scenario, seed, horizon=250):
    command = [program, "simulate", HERE / scenario, "--seed", seed, "--threads", 1]
    cpu_s, peak_mb, out = ran(command + ["--format", "json", "--quiet", "--set", f"time.horizon={horizon}s"])
    return cpu_s, peak_mb, json.loads(out)["fleet"][0]


def their_replicas(program, config, seed):
    """One run: CPU seconds, MB and the metrics, which it writes to a file."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "metrics.json"
        workload = HERE / "inference-lab/workload.toml"
        command = [program, "-q", "-c", HERE / config, "-w", workload, "--seed", seed, "-o", out]
        cpu_s, peak_mb, _ = ran(command)
        return cpu_s, peak_mb, json.loads(out.read_text())


def our_latencies(program, scenario, seed, first):
    """Mean time to first token and latency [s] of the first requests that arrived, as the other program counts them."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "simulate", HERE / scenario, "--seed", seed, "--quiet", "--set", "time.horizon=280s"]
        ran(command + ["--out", folder, "--force", "--requests", "everybody", "--format", "csv"])
        with open(Path(folder) / "requests.csv", newline="") as file:
            rows = sorted(csv.DictReader(file), key=lambda row: float(row["sent_s"]))
        rows = rows[:first]
        if len(rows) < first or any(row["outcome"] != "succeeded" for row in rows):
            sys.exit(f"{scenario}: not the first {first} requests, all of them answered")
        return [statistics.fmean(float(row[key]) for row in rows) for key in ("ttft_s", "latency_s")]


def inference_lab(program, peer, runs, seeds, checks):
    print("inference-lab 1.0.0: 10,000 requests, 512 tokens in, 512 out, 40/s, 8 replicas of Llama 3.1 8B on one H100 each")
    print("both: least outstanding, at most 256 sequences and 8192 tokens a pass, blocks of 16 tokens, nothing kept per request")
    for timing, note in [
        ("roofline", "each program's own times of an iteration: the latencies differ as the models of the hardware do"),
        ("linear", "the same times of an iteration in both: the latencies must agree"),
    ]:
        ours, theirs = Cost(), Cost()
        our_replicas(program, f"{timing}.toml", 1)
        their_replicas(peer, f"inference-lab/{timing}.toml", 1)
        for seed in range(1, runs + 1):
            cpu_s, peak_mb, account = our_replicas(program, f"{timing}.toml", seed)
            ours.add(cpu_s, peak_mb, account["requests"])
            cpu_s, peak_mb, metrics = their_replicas(peer, f"inference-lab/{timing}.toml", seed)
            theirs.add(cpu_s, peak_mb, 10_000)
        print(f"\n{timing}: {note}")
        ours.line("thermocline")
        theirs.line("inference-lab")
        ratio = median_ratio(ours, theirs)
        checks.check(f"{ratio:.0f} times as many requests per CPU second is at least 30", ratio >= 30)
        compare_latencies(program, peer, timing, seeds, checks)


def compare_latencies(program, peer, timing, seeds, checks):
    """Means over seeds of each program's mean over its 10,000 requests.

    In inference-lab an arrival takes part only from the next event on, of whichever replica: with eight of them it misses the
    boundaries of the last eighth of an iteration, and its first token is later by as much (with one replica by a whole iteration).
    Ours joins at the next boundary of its own replica. That eighth is taken off before the two are compared.
    """
    ours, theirs, eighths = [], [], []
    for seed in range(1, seeds + 1):
        ours.append(our_latencies(program, f"{timing}.toml", seed, 10_000))
        metrics = their_replicas(peer, f"inference-lab/{timing}.toml", seed)[2]["latency_metrics"]
        theirs.append([metrics[key]["mean"] / 1000 for key in ("ttft_ms", "e2e_ms")])
        eighths.append(metrics["per_token_ms"]["mean"] / 1000 / 8)
    for index, what in enumerate(["mean TTFT", "mean latency"]):
        mine, other = (Mean.of([values[index] for values in side]) for side in (ours, theirs))
        print(f"  {what:<14}{mine.text(5)} s, inference-lab {other.text(5)} s: {mine.value / other.value - 1:+.1%}")
        if timing == "linear":
            sooner = Mean.of([values[index] - eighth for values, eighth in zip(theirs, eighths)])
            checks.check(f"{what} agrees with {sooner.value:.5f} s, an eighth of an iteration sooner", mine.agrees(sooner))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--thermocline", required=True)
    parser.add_argument("--simfaas", help="a Python that has it")
    parser.add_argument("--inference-lab", help="the program")
    parser.add_argument("--runs", type=int, required=True)
    asked = parser.parse_args()
    checks = Checks()
    if asked.simfaas:
        simfaas(asked.thermocline, asked.simfaas, asked.runs, 20, checks)
        print()
    if asked.inference_lab:
        inference_lab(asked.thermocline, asked.inference_lab, asked.runs, 10, checks)
        print()
    if checks.failed:
        sys.exit("does not hold: " + "; ".join(checks.failed))
    print("everything holds")


if __name__ == "__main__":
    main()
