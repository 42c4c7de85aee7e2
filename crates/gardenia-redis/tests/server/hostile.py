"""Damaged bytes in place of values: no crash, no panic, no memory lost."""

import random
import struct

from servers import Case, dump
from wire import encoded

# Of each type, by RESTORE and by LOADCHUNK.
DAMAGED = 10_000


class Hostile(Case):
    """`fill` makes keys, small ones, and tells their names; `uses` are commands that a value under `x` must survive."""

    options = ("--loglevel", "warning")
    family = None
    uses = ()

    def fill(self):
        raise NotImplementedError

    def watched(self, work):
        """Does the work; afterwards the server lives, remembers, and has no less memory."""
        keys = self.fill()
        self.do("CONFIG", "SET", "sanitize-dump-payload", "no")
        self.assertEqual(self.do("DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", 1), "OK")
        work(keys[:1])  # once, so that what the server takes for itself is taken
        digests, before = self.server.digest(*keys), int(self.server.info("memory", "used_memory"))
        taken, refused = work(keys)
        self.do("DEL", "x", "y")
        self.assertEqual(self.server.digest(*keys), digests)
        # A value is some hundred bytes: one in fifty that is lost would be seen.
        self.assertLess(int(self.server.info("memory", "used_memory")), before + 200_000)
        self.assertNotIn("panicked", self.server.log())
        # The damage is neither nothing nor everything.
        self.assertGreater(refused, (taken + refused) // 20)
        return taken, refused

    def use(self, batch, replies):
        """Uses what was taken: whatever it is, it must work."""
        taken = [command for command, reply in zip(batch, replies) if reply == "OK"]
        uses = encoded(*self.uses, ("DUMP", "x"), ("COPY", "x", "y", "REPLACE"))
        for command in taken:
            self.server.wire().drain(encoded(command) + uses)
        return len(taken), len(batch) - len(taken)

    def test_damaged_payloads_are_refused_and_the_server_lives(self):
        random.seed(11)

        def work(keys):
            payloads = [self.do("DUMP", key) for key in keys]
            sums = [0, 0]
            for _ in range(0, DAMAGED, 500):
                batch = [
                    ("RESTORE", "x", 0, mutate(payloads[number % len(payloads)]), "REPLACE") for number in range(500)
                ]
                used = self.use(batch, self.server.wire().pipeline(batch))
                sums = [a + b for a, b in zip(sums, used)]
            return sums

        self.watched(work)

    def test_damaged_chunks_are_refused_and_the_server_lives(self):
        random.seed(12)
        scandump, loadchunk = (f"{self.family}.{name}" for name in ("SCANDUMP", "LOADCHUNK"))

        def work(keys):
            dumps = [dump(self.do, scandump, key) for key in keys]
            uses = encoded(*self.uses, ("DUMP", "x"), ("DEL", "x"))
            taken = refused = 0
            for number in range(DAMAGED):
                chunks = [list(chunk) for chunk in dumps[number % len(dumps)]]
                damaged = random.choice(chunks)
                damaged[1] = bytes(damage(bytearray(damaged[1])))
                if random.random() < 0.2:
                    place = random.choice((0, 2, -1, 2**63 - 1, -(2**63), random.randrange(10**5)))
                    random.choice(chunks)[0] = place
                commands = [(loadchunk, "x", *chunk) for chunk in chunks]
                good = all(reply == "OK" for reply in self.server.wire().pipeline(commands))
                self.server.wire().drain(uses)
                taken, refused = taken + good, refused + (not good)
            return taken, refused

        self.watched(work)


def damage(bytes):
    """Some bytes changed, inserted, removed, or replaced by extreme numbers."""
    for _ in range(random.choice((1, 1, 2, 5))):
        at = random.randrange(len(bytes)) if bytes else 0
        kind = random.randrange(5)
        if kind == 0 and bytes:
            bytes[at] ^= 1 << random.randrange(8)
        elif kind == 1 and bytes:
            bytes[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif kind == 2:
            bytes[at : at + 8] = struct.pack("<Q", random.choice((0, 1, 2**31, 2**32, 2**63, 2**64 - 1)))
        elif kind == 3:
            del bytes[at : at + random.randrange(1, 20)]
        else:
            bytes[at:at] = random.randbytes(random.randrange(1, 20))
    return bytes


def mutate(payload):
    """A damaged value before the ten bytes of its version and its checksum, which the server is told not to look at."""
    return bytes(damage(bytearray(payload[:-10])) + payload[-10:])
