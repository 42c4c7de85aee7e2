"""A slow task gets a speculative copy: what both would send is counted once. In a process of its own, with two workers on hosts of
different names, because Spark starts no copy on the host that runs the first one."""

import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import gardenia
import gardenia.spark as gs
import numpy as np
from pyspark import TaskContext
from sessions import session

SLOW = 3


def start(arguments, log):
    program = pathlib.Path(os.environ["SPARK_HOME"]) / "bin" / "spark-class"
    return subprocess.Popen([program, *arguments], stdout=log, stderr=log)


def waited(host, port):
    for _ in range(1200):
        try:
            return socket.create_connection((host, port)).close()
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"{host}:{port}")


def run(directory, port):
    # A worker has one core, so that each of them runs every other task.
    spark = session(
        f"spark://127.0.0.1:{port}",
        spark__speculation="true",
        spark__speculation__interval="100ms",
        spark__speculation__quantile="0.5",
        spark__speculation__multiplier="1.1",
        spark__speculation__minTaskRuntime="100ms",
        spark__executor__memory="1g",
    )

    def slow(batches):
        batches = list(batches)
        context = TaskContext.get()
        attempt = context.partitionId(), context.attemptNumber()
        (pathlib.Path(directory) / "task-{}-{}".format(*attempt)).touch()
        if attempt == (SLOW, 0):
            time.sleep(600)
        yield from batches

    rows = spark.range(0, 4000, 1, 4).selectExpr("id % 100 as id").mapInArrow(slow, "id bigint")
    begin = time.monotonic()
    built = gs.build(rows, "id", "counting items=100 width=8")
    assert time.monotonic() - begin < 600
    assert (pathlib.Path(directory) / f"task-{SLOW}-1").exists(), os.listdir(directory)
    assert built.to_bytes() == gardenia.make("counting items=100 width=8", np.arange(4000) % 100).to_bytes()
    spark.stop()
    print("speculated")


def main():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as directory, open(os.path.join(directory, "log"), "wb") as log:
        master = "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"
        processes = [start(master, log)]
        try:
            waited("127.0.0.1", port)
            for host in ("127.0.0.1", "127.0.0.2"):
                worker = ["--host", host, "--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", directory]
                processes.append(start(["org.apache.spark.deploy.worker.Worker", *worker, f"spark://127.0.0.1:{port}"], log))
            run(directory, port)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()


if __name__ == "__main__":
    sys.exit(main())
