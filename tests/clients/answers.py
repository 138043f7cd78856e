"""One fleet, many clients: points each client at the same served scenario and prints what it says of the time to first token.

Called by `compare`, which installs the clients. Every client gets a server of its own at the same seed, so all of them meet the
same forty times, those of `thermocline simulate`; it sends one request after another. Each client's own result file is read by
`thermocline analyze`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from serving import Serving, analysed, measure

HERE = Path(__file__).resolve().parent
SCENARIO = HERE / "fleet.toml"
MODEL, REQUESTS, TOKENS = "flaky", 40, 16
# What real endpoints do and some clients do not expect.
QUIRKS = ["--early-role", "--comments", "openrouter", "--comment-every", "500ms"]
PATIENCE_S = 600
# A client stamps before it builds its request and after it has parsed a chunk. What that may add to a median, beside work of others
# on the machine [s].
COST_S = 0.05
# Clocks' resolution [s].
EARLY_S = 0.002


class Client:
    """A client: what runs it and gives its result file, and how `analyze` reads that where it is a table."""

    def __init__(self, name, run, *reading):
        self.name, self.run, self.reading = name, run, reading


def quietly(command, folder):
    """Runs a client; what it prints is kept for the case that it fails."""
    log = folder / "output.txt"
    with open(log, "w") as out:
        done = subprocess.run(
            [str(part) for part in command],
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            timeout=PATIENCE_S,
        )
    if done.returncode != 0:
        raise RuntimeError(f"exit code {done.returncode}: {log.read_text()[-2000:]}")


def tokenizer(url, folder):
    """The endpoint's own tokenizer, as a folder."""
    own = folder / "tokenizer"
    own.mkdir()
    for name in ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"]:
        with urllib.request.urlopen(f"{url}/{MODEL}/resolve/main/{name}") as file:
            (own / name).write_bytes(file.read())
    return own


def ours(asked, url, folder):
    out = folder / "observations.jsonl"
    measure(asked.thermocline, url, MODEL, REQUESTS, TOKENS, out)
    return out


def openai(asked, url, folder):
    """What a user writes with OpenAI's client: the clock around the call, up to the first chunk with content."""
    quietly([asked.openai, HERE / "by_hand.py", url, MODEL, REQUESTS, "ttft.csv"], folder)
    return folder / "ttft.csv"


def aiperf(asked, url, folder):
    command = [asked.aiperf, "profile", "--model", MODEL, "--url", url, "--endpoint-type", "chat", "--streaming"]
    command += ["--concurrency", 1, "--request-count", REQUESTS, "--osl", TOKENS, "--isl", TOKENS, "--ui", "none"]
    command += ["--tokenizer", tokenizer(url, folder), "--artifact-dir", folder / "out", "--no-gpu-telemetry"]
    quietly(command, folder)
    return folder / "out/profile_export.jsonl"


def inference_perf(asked, url, folder):
    config = {
        "api": {"type": "chat", "streaming": True},
        # Of its sources of prompts that need no network, the one that speaks chat.
        "data": {
            "type": "shared_prefix",
            "shared_prefix": {
                "num_groups": 1,
                "num_prompts_per_group": REQUESTS,
                "system_prompt_len": TOKENS,
                "question_len": TOKENS,
                "output_len": TOKENS,
            },
        },
        "load": {
            "type": "concurrent",
            "stages": [{"num_requests": REQUESTS, "concurrency_level": 1}],
            "num_workers": 1,
            "worker_max_concurrency": 1,
        },
        "server": {"type": "vllm", "model_name": MODEL, "base_url": url, "ignore_eos": True},
        "tokenizer": {"pretrained_model_name_or_path": str(tokenizer(url, folder))},
        "report": {"request_lifecycle": {"summary": True, "per_stage": False, "per_request": True}},
        "storage": {"local_storage": {"path": str(folder / "out")}},
    }
    # JSON is YAML.
    (folder / "config.yml").write_text(json.dumps(config))
    quietly([asked.inference_perf, "--config_file", "config.yml"], folder)
    return folder / "out/per_request_lifecycle_metrics.json"


def clients(asked):
    every = [
        Client("measure", ours),
        asked.openai and Client("openai, by hand", openai, "--column", "ttft_ms"),
        asked.aiperf and Client("AIPerf 0.13.0", aiperf),
        asked.inference_perf and Client("inference-perf 0.7.0", inference_perf),
    ]
    return [client for client in every if client]


def simulated(program):
    """The fleet's truth: the same requests in virtual time."""
    command = [program, "simulate", SCENARIO, "--quiet", "--format", "json"]
    out = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out)["benchmarks"][0]


def row(name, figures, definition):
    cells = [figures[key] for key in ("ttft_median_s", "ttft_mean_s", "ttft_p95_s", "ttft_std_s")]
    times = "".join(f"{'-' if cell is None else format(1000 * cell, '.0f'):>8}" for cell in cells)
    cv = "-" if figures["cv_percent"] is None else format(figures["cv_percent"], ".0f")
    print(f"{name:<22}{figures['succeeded']:>4}{times}{cv:>6}  {figures['verdict']:<12}{definition}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--thermocline", required=True)
    for client in ["--openai", "--aiperf", "--inference-perf"]:
        parser.add_argument(client)
    asked = parser.parse_args()

    truth = simulated(asked.thermocline)
    print(f"one fleet, {REQUESTS} requests, one after another; times in ms, std with n - 1")
    print(f"{'client':<22}{'ok':>4}{'median':>8}{'mean':>8}{'p95':>8}{'std':>8}{'CV %':>6}  {'class':<12}its TTFT")
    row("truth (simulate)", truth, "virtual time")
    wrong = []
    for client in clients(asked):
        with tempfile.TemporaryDirectory() as folder, Serving(asked.thermocline, SCENARIO, *QUIRKS) as serving:
            try:
                file = client.run(asked, serving.url, Path(folder))
                definition, figures = analysed(asked.thermocline, file, *client.reading)
            except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                print(f"{client.name}: did not run: {error}")
                wrong.append(client.name)
                continue
        row(client.name, figures, definition)
        late = figures["ttft_median_s"] - truth["ttft_median_s"]
        if not -EARLY_S <= late <= COST_S:
            print(f"  its median is {1000 * late:.1f} ms late, which its definition does not allow")
            wrong.append(client.name)
    if wrong:
        sys.exit(f"not as documented: {', '.join(wrong)}")
    print(f"each median is at most {1000 * COST_S:.0f} ms above the truth: all wait for the first token, not for the role")


if __name__ == "__main__":
    main()
