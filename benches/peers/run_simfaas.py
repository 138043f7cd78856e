"""One run of SimFaaS 0.2.2, its figures as a line of JSON.

usage: run_simfaas.py --rate PER_S --keep-alive S --until S --seed N

Warm requests take 1.99 s on average, cold ones 2.2 s, both exponential.
"""

import argparse
import json
import time

import numpy
from simfaas.ServerlessSimulator import ServerlessSimulator

parser = argparse.ArgumentParser()
for option in ["--rate", "--keep-alive", "--until"]:
    parser.add_argument(option, type=float, required=True)
parser.add_argument("--seed", type=int, required=True)
asked = parser.parse_args()

numpy.random.seed(asked.seed)
simulator = ServerlessSimulator(
    arrival_rate=asked.rate,
    warm_service_rate=1 / 1.99,
    cold_service_rate=1 / 2.2,
    expiration_threshold=asked.keep_alive,
    max_time=asked.until,
)
before = time.process_time()
simulator.generate_trace(debug_print=False, progress=False)
loop_cpu_s = time.process_time() - before
print(
    json.dumps(
        {
            "requests": simulator.total_req_count,
            "cold_requests": simulator.total_cold_count,
            "instances": float(simulator.get_result_dict()["inst_count_avg"]),
            "loop_cpu_s": loop_cpu_s,
        }
    )
)
