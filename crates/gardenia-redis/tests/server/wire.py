"""A client of one connection that shows replies as they came: client libraries reshape them, and hide words of errors."""

import socket


class Error:
    """An error reply, alone or inside an array."""

    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return isinstance(other, Error) and self.text == other.text

    def __repr__(self):
        return f"Error({self.text!r})"


def encoded(*commands):
    """Commands as bytes."""
    out = []
    for words in commands:
        out.append(b"*%d\r\n" % len(words))
        for word in words:
            word = word if isinstance(word, bytes) else str(word).encode()
            out.append(b"$%d\r\n%b\r\n" % (len(word), word))
    return b"".join(out)


class Wire:
    def __init__(self, port, protocol=2):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.file = self.socket.makefile("rb")
        if protocol == 3:
            self.do("HELLO", "3")

    def close(self):
        self.file.close()
        self.socket.close()

    def do(self, *words):
        """The reply to one command."""
        self.send(words)
        return self.read()

    def pipeline(self, commands):
        """The replies to many commands, sent at once."""
        self.send(*commands)
        return [self.read() for _ in commands]

    def send(self, *commands):
        self.socket.sendall(encoded(*commands))

    def drain(self, bytes):
        """Sends commands that are encoded already, and forgets the replies unread."""
        end = b"$7\r\ndrained\r\n"
        self.socket.sendall(bytes + encoded(("ECHO", "drained")))
        last = b""
        while not last.endswith(end):
            some = self.file.read1(1 << 16)
            if not some:
                raise ConnectionError("the server closed the connection")
            last = last[-len(end) :] + some

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return Error(rest.decode())
        if kind in b":":
            return int(rest)
        if kind == b",":
            return float(rest)
        if kind == b"#":
            return rest == b"t"
        if kind == b"_":
            return None
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind in b"*~>":
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        if kind == b"%":
            return {self.read(): self.read() for _ in range(int(rest))}
        raise ValueError(line)
