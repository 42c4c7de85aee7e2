"""The lines of docs/redis.md for Node, run as they stand but for the server's address: `clients.py DIRECTORY`, where node-redis is installed."""

import os
import subprocess
import sys

from servers import BINARIES, Server

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..")


def main(directory):
    with open(os.path.join(ROOT, "docs", "redis.md")) as file:
        block = file.read().split("```js\n", 1)[1].split("```", 1)[0]
    for engine in BINARIES:
        server = Server(engine)
        try:
            path = os.path.join(directory, "lines.mjs")
            with open(path, "w") as file:
                file.write(block.replace("createClient()", f'createClient({{ url: "redis://127.0.0.1:{server.port}" }})', 1))
                file.write("await client.close();\n")
            subprocess.run(["node", "lines.mjs"], cwd=directory, check=True, timeout=60)
            assert server.do("BF.EXISTS", "seen", "rose") == 1
            assert server.do("GD.EXISTS", "carts", "rose", "tulip") == [1, 0]
        finally:
            server.remove()
        print(f"node-redis: the lines of docs/redis.md run in {engine}")


if __name__ == "__main__":
    main(sys.argv[1])
