"""What must hold of values of every type: they survive files, replicas and the death of the server."""

import every
import restarts
from servers import Case, follow, on_both, replica_of
from wire import Error


class Filled:
    """Keys of every type, each with a copy that goes the same way."""

    def fill(self):
        self.keys = every.fill(self.do)
        self.copies = [f"copy of {key}" for key in self.keys]
        for key, copy in zip(self.keys, self.copies):
            self.assertEqual(self.do("COPY", key, copy), 1)
        self.answers = every.ask(self.do, self.keys)
        self.assertEqual(self.server.digest(*self.keys), self.server.digest(*self.copies))
        return self.keys

    def go_on(self):
        self.assertEqual(every.ask(self.do, self.keys), self.answers)
        for names in zip(self.keys, self.copies):
            for name in names:
                for command in ("BF.MADD", "CF.INSERT", "TOPK.ADD", "GD.ADD"):
                    options = ("ITEMS",) if command == "CF.INSERT" else ()
                    self.do(command, name, *options, *range(5000, 5200))
                self.do("CMS.INCRBY", name, "a", "3")
        self.assertEqual(self.server.digest(*self.keys), self.server.digest(*self.copies))


class Restarts(Filled, restarts.Restarts):
    pass


class Appended(Filled, restarts.Appended):
    pass


class Replicas(Case):
    options = ("--appendonly", "yes", "--aof-use-rdb-preamble", "no", "--appendfsync", "no")

    def test_a_replica_has_the_same_bits_after_100_000_random_commands(self):
        every.fill(self.do)
        # A replica with other settings, and a limit of its own, follows all the same.
        # It would end itself at the first command that is refused there.
        replica = replica_of(self.server, "--propagation-error-behavior", "panic-on-replicas")
        try:
            replica.do("CONFIG", "SET", "bf.initial-size", "7", "bf.error-rate", "0.3", "bf.memory-limit", "1000")
            self.assertEqual(replica.digest(), self.server.digest())
            commands = every.some(100_000, seed=7)
            wire, replies = self.server.wire(), []
            for start in range(0, len(commands), 2000):
                replies += wire.pipeline(commands[start : start + 2000])
            self.do("MULTI")
            self.do("BF.ADD", "multi", "a")
            self.do("CF.ADD", "multi-cuckoo", "a")
            self.do("EXEC")
            self.do("EVAL", "return redis.call('BF.MADD', KEYS[1], 'a', 'b')", 1, "script")
            follow(self.server, replica)
            keys = sorted(self.do("KEYS", "*"))
            self.assertGreaterEqual(len(keys), 25)
            for key, here, there in zip(keys, self.server.digest(*keys), replica.digest(*keys)):
                self.assertEqual(here, there, key)
            self.assertEqual(replica.digest(), self.server.digest())
            # Most commands did something, and some of every family were refused.
            wrong = {command[0] for command, reply in zip(commands, replies) if isinstance(reply, Error)}
            self.assertGreaterEqual({name.split(".")[0] for name in wrong}, {"BF", "CF", "CMS", "TOPK", "GD"})
            self.assertLess(sum(isinstance(reply, Error) for reply in replies), len(replies) // 3)
            # The file that was written beside holds the same.
            digest = self.server.digest()
            self.server.restart()
            self.assertEqual(self.server.digest(), digest)
        finally:
            replica.remove()


class Killed(Case):
    options = ("--appendonly", "yes", "--appendfsync", "always")

    def test_what_was_answered_survives_the_death_of_the_server(self):
        families = {
            "BF.MADD": ("bf", "BF.MEXISTS"),
            "CF.INSERTNX": ("cf", "CF.MEXISTS"),
            "GD.ADD": ("gd", "GD.EXISTS"),
        }
        self.do("GD.RESERVE", "gd", "KIND", "scalable", "ITEMS", "1000", "ERROR", "0.001")
        self.do("CF.RESERVE", "cf", "1000", "EXPANSION", "2")
        self.do("CMS.INITBYDIM", "cms", "2000", "5")
        answered, counted = {key: set() for key, _ in families.values()}, 0
        for round in range(3):
            wire = self.server.wire()
            first = round * 10**6
            commands = []
            for at in range(first, first + 20000, 20):
                items = range(at, at + 20)
                for command, (key, _) in families.items():
                    commands.append((command, key, *(("ITEMS",) if command.startswith("CF") else ()), *items))
                commands.append(("CMS.INCRBY", "cms", "rose", 1))
            wire.send(*commands)
            # In the middle of its work.
            for command in commands[: 600 * (round + 1)]:
                wire.read()
                if command[0] == "CMS.INCRBY":
                    counted += 1
                else:
                    answered[command[1]].update(command[-20:])
            self.server.kill()
            self.server.start()
            for key, exists in families.values():
                self.assertEqual(set(self.do(exists, key, *answered[key])), {1}, key)
            self.assertGreaterEqual(self.do("CMS.QUERY", "cms", "rose")[0], counted)
        # One of a hundred new items seems to be in; ten of a thousand, and five standard errors.
        new = self.do("BF.MADD", "bf", *(f"rose {number}" for number in range(1000)))
        self.assertGreater(sum(new), 1000 - 10 - 5 * 3.2)


on_both(globals(), Restarts, Appended, Replicas, Killed)
