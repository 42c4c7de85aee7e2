"""What the README says under "In a cluster" is what happens."""

import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

from servers import BINARIES, MODULE, Server, free_port, on_both
from wire import Wire

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..")


def commands():
    with open(os.path.join(ROOT, "README.md")) as file:
        section = file.read().split("\n## In a cluster\n", 1)[1].split("\n## ", 1)[0]
    block = section.split("```sh\n", 1)[1].split("```", 1)[0]
    # A line that ends in a backslash goes on.
    return [line for line in block.replace("\\\n", " ").splitlines() if line]


class Readme(unittest.TestCase):
    engine = None

    def test_five_commands_make_a_cluster_with_filters(self):
        build, *rest = commands()
        self.assertEqual(len(rest), 4)
        self.assertEqual(build.split("  ")[0], "cargo build --release -p gardenia-redis")
        free = set()
        while len(free) < 3:
            free.add(free_port(bus=True))
        ports = dict(zip((7001, 7002, 7003), free))
        with tempfile.TemporaryDirectory(prefix="gardenia-") as folder:
            # A filter as the command line writes it.
            server = Server(self.engine)
            try:
                server.do("GD.RESERVE", "k", "KIND", "blocked", "ITEMS", "100", "ERROR", "0.001")
                server.do("GD.ADD", "k", "evil.example")
                with open(os.path.join(folder, "bad.gdn"), "wb") as file:
                    file.write(server.do("GD.DUMP", "k"))
            finally:
                server.remove()
            # The module that is tested takes the place of the one that would be built.
            os.makedirs(os.path.join(folder, "target", "release"))
            os.symlink(MODULE, os.path.join(folder, "target", "release", "libgardenia_redis.so"))
            try:
                outputs = []
                for number, line in enumerate(rest):
                    outputs.append(self.run_line(line, ports, folder))
                    for port in ports.values():
                        self.wait_for(port).close() if number == 0 else self.wait_for_cluster(port)
                self.assertIn("[OK] All 16384 slots covered", outputs[1])
                self.assertEqual(outputs[2].split(), ["1", "1", "0"])
                self.assertEqual(outputs[3].split(), ["OK", "1"])
                # All nodes are stopped, and started by the same command.
                for port in ports.values():
                    self.stop(port)
                self.run_line(rest[0], ports, folder)
                for port in ports.values():
                    self.wait_for_cluster(port)
                first = next(iter(ports.values()))
                asked = f"redis-cli -c -p {first} BF.MEXISTS seen rose tulip; redis-cli -c -p {first} GD.EXISTS bad evil.example"
                self.assertEqual(self.run_line(asked, ports, folder).split(), ["1", "1", "1"])
            finally:
                for port in ports.values():
                    self.stop(port)

    def run_line(self, line, ports, folder):
        line = re.sub(r"700[123]", lambda port: str(ports[int(port[0])]), line)
        line = line.replace("redis-server ", BINARIES[self.engine] + " ")
        done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=180)
        self.assertEqual(done.returncode, 0, (line, done.stdout, done.stderr))
        return done.stdout

    def wait_for(self, port):
        """Until a server that was sent into the background listens."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                return Wire(port)
            except OSError:
                time.sleep(0.05)
        self.fail(f"nothing listens on {port}")

    def wait_for_cluster(self, port):
        """Nodes take a second to agree, which a person takes too."""
        wire, end = self.wait_for(port), time.monotonic() + 60
        while time.monotonic() < end and b"cluster_state:ok" not in wire.do("CLUSTER", "INFO"):
            time.sleep(0.05)
        wire.close()

    def stop(self, port):
        """By the number of the process, which the server knows."""
        try:
            wire = Wire(port)
        except OSError:
            return  # it was not started
        info = wire.do("INFO", "server").decode()
        os.kill(int(info.split("process_id:", 1)[1].split()[0]), signal.SIGTERM)
        self.assertRaises(ConnectionError, lambda: [wire.read() for _ in range(2)])
        wire.close()


class Clients(unittest.TestCase):
    engine = None

    def test_the_python_lines_of_the_documentation_run(self):
        with open(os.path.join(ROOT, "docs", "redis.md")) as file:
            block = file.read().split("```python\n", 1)[1].split("```", 1)[0]
        server = Server(self.engine)
        try:
            exec(block.replace("redis.Redis()", f"redis.Redis(port={server.port})"), {})
            self.assertEqual(server.do("BF.EXISTS", "seen", "rose"), 1)
            self.assertEqual(server.do("GD.EXISTS", "carts", "rose", "tulip", "daisy"), [1, 1, 0])
        finally:
            server.remove()


on_both(globals(), Readme, Clients)
