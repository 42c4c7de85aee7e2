"""What was stored is there again, with the same digests: by files, by dumps, and on replicas."""

from servers import Case, replica_of
from wire import Wire


class Restarts(Case):
    """`fill` makes keys and tells their names; `go_on` uses them afterwards, as if nothing had been."""

    def fill(self):
        raise NotImplementedError

    def go_on(self):
        raise NotImplementedError

    def check(self, how):
        keys = self.fill()
        self.assertEqual(self.do("EXISTS", *keys), len(keys))
        before = self.server.digest(*keys)
        how(keys)
        self.assertEqual(self.server.digest(*keys), before)
        self.go_on()

    def test_by_the_database_file(self):
        def how(keys):
            self.assertEqual(self.do("SAVE"), "OK")
            self.server.restart()

        self.check(how)

    def test_by_dump_and_restore(self):
        def how(keys):
            for key in keys:
                bytes = self.do("DUMP", key)
                self.assertEqual(self.do("DEL", key), 1)
                self.assertEqual(self.do("RESTORE", key, 0, bytes), "OK")

        self.check(how)

    def test_by_reload(self):
        self.check(lambda keys: self.assertEqual(self.do("DEBUG", "RELOAD"), "OK"))


class Appended(Restarts):
    """The same by the append-only file, without a database file inside it."""

    options = ("--appendonly", "yes", "--aof-use-rdb-preamble", "no", "--appendfsync", "no")

    def test_by_the_database_file(self):
        """As it was written."""
        self.check(lambda keys: self.server.restart())

    def test_by_dump_and_restore(self):
        """As it is rewritten."""

        def how(keys):
            self.do("BGREWRITEAOF")
            self.server.wait(
                lambda: self.server.info("persistence", "aof_rewrite_in_progress") == "0"
                and self.server.info("persistence", "aof_rewrite_scheduled") == "0"
            )
            self.assertEqual(self.server.info("persistence", "aof_last_bgrewrite_status"), "ok")
            self.server.restart()

        self.check(how)

    def test_by_reload(self):
        self.check(lambda keys: self.assertEqual(self.do("DEBUG", "LOADAOF"), "OK"))


def passed_on(case, prefix, work):
    """The commands with this prefix that a replica gets while something is done."""
    case.do("CONFIG", "SET", "repl-ping-replica-period", "3600")
    replica = replica_of(case.server)
    watcher = Wire(replica.port)
    watcher.do("MONITOR")
    try:
        work()
        case.do("SET", "end", "1")
        seen = []
        while not seen or '"end"' not in seen[-1]:
            seen.append(watcher.read())
        lines = [line.split("] ", 1)[1].replace('"', "") for line in seen if "] " in line]
        return [line for line in lines if line.upper().startswith(prefix)]
    finally:
        watcher.close()
        replica.remove()
