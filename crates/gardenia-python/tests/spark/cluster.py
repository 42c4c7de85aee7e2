"""The session that all tests share: two executors, each a process of its own."""

import json
import pathlib

import pytest
from sessions import session


class Log:
    """What Spark writes about its jobs."""

    def __init__(self, directory):
        self.directory = directory

    def events(self, *names):
        lines = [line for path in sorted(self.directory.rglob("events_*")) for line in path.read_text().splitlines()]
        events = []
        for line in lines:
            try:
                event = json.loads(line)
            except json.JSONDecodeError:  # the last line, while it is written
                continue
            if event["Event"].removeprefix("SparkListener") in names:
                events.append(event)
        return events


@pytest.fixture(scope="session")
def log(tmp_path_factory):
    return Log(tmp_path_factory.mktemp("events"))


@pytest.fixture(scope="session")
def spark(log):
    made = session(
        "local-cluster[2,1,1024]",
        spark__eventLog__enabled="true",
        spark__eventLog__dir=pathlib.Path(log.directory).as_uri(),
        spark__eventLog__compress="false",
    )
    yield made
    made.stop()


@pytest.fixture
def no_job(spark):
    """Checks that the test starts no job."""
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup())
    yield
    assert set(tracker.getJobIdsForGroup()) == before
