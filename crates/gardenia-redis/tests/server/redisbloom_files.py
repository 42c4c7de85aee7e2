"""DUMP payloads of a running RedisBloom (tests/data/redisbloom_rdb.json), with the commands that made them and what it answered."""

import base64
import json
import os

with open(os.path.join(os.path.dirname(__file__), "..", "data", "redisbloom_rdb.json")) as file:
    CASES = json.load(file)["cases"]

TYPES = {"cf": "MBbloomCF", "topk": "TopK-TYPE", "cms": "CMSk-TYPE", "bf": "MBbloom--"}


def family(case):
    return case["name"].split("-")[0]


def payload(case):
    return base64.b64decode(case["dump"])


def crc64(data):
    """The checksum of DUMP: Jones's polynomial, reflected."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x95AC9329AC4BC9B5 if crc & 1 else 0)
    return crc


def for_engine(payload):
    """The payload with RDB version 10, which all engines read."""
    body = payload[:-10] + b"\x0a\x00"
    return body + crc64(body).to_bytes(8, "little")
