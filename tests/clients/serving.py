"""`thermocline serve` and `thermocline measure` as the client scripts use them."""

import json
import re
import signal
import subprocess
import tempfile


class Serving:
    """A scenario behind a port of its own on loopback, for as long as the `with` lasts."""

    def __init__(self, program, scenario, *options):
        self.command = [program, "serve", str(scenario), "--listen", "127.0.0.1:0", *options]

    def __enter__(self):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        for line in self.process.stdout:
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            if found:
                self.url = found.group()
                return self
        self.process.wait()
        self.errors.seek(0)
        raise SystemExit(f"`{' '.join(self.command)}` did not come up: {self.errors.read()}")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise SystemExit("`thermocline serve` did not stop within ten seconds")
        finally:
            self.process.stdout.close()
            self.errors.close()


def measure(program, url, model, requests, tokens, file):
    """The benchmark over HTTP: requests one after another, each counted."""
    command = [program, "measure", "--url", f"{url}/v1", "--model", model, "--requests", requests, "--discard", 0]
    command += ["--gap", "50ms", "--max-tokens", tokens, "--out", file, "--quiet"]
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"`thermocline measure`: exit code {done.returncode}: {done.stderr}")


def observed(file):
    """Times to first token in a file of `measure` [s]."""
    with open(file) as lines:
        next(lines)
        return [row["ttft_s"] for row in map(json.loads, lines) if row["outcome"] == "ok"]


def analysed(program, file, *options):
    """What `thermocline analyze` makes of a result file: its definition of the TTFT, and the figures."""
    command = [program, "analyze", file, *options, "--format", "json", "--quiet"]
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"`thermocline analyze`: exit code {done.returncode}: {done.stderr}")
    found = json.loads(done.stdout)
    return found["files"][0]["ttft_definition"], found["series"][0]
