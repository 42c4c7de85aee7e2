"""What a server with RedisBloom wrote, and the keys that it was given."""

import base64
import json
import os

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
with open(os.path.join(DATA, "redisbloom.json")) as file:
    WRITTEN = json.load(file)
with open(os.path.join(DATA, "strings.json")) as file:
    STRINGS = json.load(file)
KEYS, PROBES = STRINGS["keys"], STRINGS["probes"]


def chunks(name):
    """What RedisBloom's SCANDUMP gave, as arguments of LOADCHUNK."""
    return [(at, base64.b64decode(text)) for at, text in WRITTEN[name]["chunks"]]
