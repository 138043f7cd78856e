"""Times to first token through OpenAI's client, as a user measures them.

usage: by_hand.py URL MODEL REQUESTS FILE
"""

import csv
import sys
import time

import openai

url, model, requests, file = sys.argv[1:]
with openai.OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0) as client, open(file, "w", newline="") as out:
    rows = csv.writer(out)
    rows.writerow(["ttft_ms"])
    for _ in range(int(requests)):
        begun, seen = time.perf_counter(), None
        stream = client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": "Say something."}], max_tokens=16, stream=True
        )
        for chunk in stream:
            if seen is None and chunk.choices and chunk.choices[0].delta.content:
                seen = time.perf_counter()
        rows.writerow([1000 * (seen - begun)])
