"""Drives `thermocline serve` through OpenAI's own client: what it streams, counts and raises, and how long the first token takes.

usage: openai_client.py THERMOCLINE

Called by `openai`. Stops by itself; exits with 1 at the first thing that is wrong.
"""

import asyncio
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

import openai

from serving import Serving, measure, observed

HERE = Path(__file__).resolve().parent
# The whole script takes ten seconds; a hang ends after this.
PATIENCE_S = 120
# What the scenario says of the model `steady` [s].
TRUE_TTFT_S = 0.2
# The client stamps before it builds the request and after it has parsed the chunk: Python's work, a few milliseconds. On a machine
# with other work it may wait for a processor as well.
CLIENT_COST_S = 0.1
# Neither clock can be early; this is for their resolution.
EARLY_S = 0.002

MESSAGES = [{"role": "user", "content": "Say something."}]


def models(client):
    names = [model.id for model in client.models.list()]
    assert names == ["steady", "busy", "asleep", "short"], names


def chat(client):
    stream = client.chat.completions.create(
        model="steady", messages=MESSAGES, max_tokens=16, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    assert chunks[0].choices[0].delta.role == "assistant", chunks[0]
    texts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    # A server without a processor to spare sends several tokens in a chunk.
    assert 2 <= len(texts) <= 16, f"{len(texts)} chunks of text for 16 tokens"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "length"
    last = chunks[-1]
    assert last.choices == [] and last.usage.completion_tokens == 16, last
    assert all(chunk.usage is None for chunk in chunks[:-1]), "usage before the end"

    whole = client.chat.completions.create(model="steady", messages=MESSAGES, max_completion_tokens=16)
    assert whole.choices[0].message.content == "".join(texts), "streamed and whole answers differ"
    assert whole.usage == last.usage, (whole.usage, last.usage)
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + 16


def text(client):
    stream = client.completions.create(model="steady", prompt="Once", max_tokens=8, stream=True)
    texts = [chunk.choices[0].text for chunk in stream if chunk.choices and chunk.choices[0].text]
    whole = client.completions.create(model="steady", prompt="Once", max_tokens=8)
    assert whole.choices[0].text == "".join(texts) != "", (whole, texts)
    assert whole.usage.completion_tokens == 8, whole.usage


def refused(client, kind, status, **asked):
    """The client raises `kind` for a request; what it raised."""
    try:
        client.chat.completions.create(messages=MESSAGES, **asked)
    except openai.APIStatusError as error:
        assert type(error) is kind and error.status_code == status, repr(error)
        assert error.message and error.body["message"], "an error without words"
        return error
    raise AssertionError(f"{asked} was answered instead of refused with {status}")


def errors(client):
    unknown = refused(client, openai.NotFoundError, 404, model="stedy")
    assert "did you mean `steady`" in unknown.message and unknown.code == "model_not_found", unknown.message
    refused(client, openai.BadRequestError, 400, model="steady", max_tokens=-1)
    too_long = refused(client, openai.BadRequestError, 400, model="short", max_tokens=1000)
    assert too_long.code == "context_length_exceeded", too_long.body
    asleep = refused(client, openai.InternalServerError, 503, model="asleep")
    assert int(asleep.response.headers["retry-after"]) > 0, asleep.response.headers
    with client.chat.completions.create(model="busy", messages=MESSAGES, max_tokens=4, stream=True) as stream:
        next(iter(stream))
        refused(client, openai.RateLimitError, 429, model="busy")


async def at_once(url):
    """Eight streams at a time through the asynchronous client."""
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0) as client:

        async def one():
            stream = await client.chat.completions.create(
                model="steady", messages=MESSAGES, max_tokens=16, stream=True
            )
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

        answers = await asyncio.gather(*[one() for _ in range(8)])
    assert len(set(answers)) == 1 and answers[0], answers


def ttft(client):
    """From the call to the first chunk with content [s], connection set-up included on the first call."""
    begun = time.perf_counter()
    seen = None
    for chunk in client.chat.completions.create(model="steady", messages=MESSAGES, max_tokens=16, stream=True):
        if seen is None and chunk.choices and chunk.choices[0].delta.content:
            seen = time.perf_counter() - begun
    return seen


def times(client, program, url):
    """The client's own TTFT and that of `thermocline measure` on the same endpoint."""
    theirs = statistics.median([ttft(client) for _ in range(21)][1:])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "observations.jsonl"
        measure(program, url, "steady", 20, 16, file)
        ours = statistics.median(observed(file))
    print(f"median TTFT: {1000 * TRUE_TTFT_S:.1f} ms in truth, {1000 * theirs:.1f} ms by openai, {1000 * ours:.1f} ms by measure")
    for name, value in [("openai", theirs), ("measure", ours)]:
        late = value - TRUE_TTFT_S
        assert -EARLY_S <= late <= CLIENT_COST_S, f"{name} is {1000 * late:.1f} ms late"
    assert abs(theirs - ours) <= CLIENT_COST_S, "the clients disagree"


def main(program):
    signal.alarm(PATIENCE_S)
    with Serving(program, HERE / "openai.toml") as serving:
        url = serving.url
        with openai.OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0) as client:
            for step in [models, chat, text, errors]:
                step(client)
                print(f"{step.__name__}: ok")
            asyncio.run(at_once(url))
            print("at_once: ok")
            times(client, program, url)
    print(f"openai {openai.__version__}: everything holds")


if __name__ == "__main__":
    main(sys.argv[1])
