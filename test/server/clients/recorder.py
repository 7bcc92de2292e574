"""What clients send: recorded on its way to a server, and as docs/protocol.md tells it."""

import contextlib
import itertools
import pathlib
import re
import socket
import threading

PROTOCOL_PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "protocol.md"


class Recorder:
    """Listens on a free port of its own; every connection goes on to `target`."""

    def __init__(self, target):
        self.target = target
        self.commands = []  # a list of arguments each, in the order of their arrival
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                threading.Thread(target=self._record, args=(client, server), daemon=True).start()
                threading.Thread(target=pass_on, args=(server, client), daemon=True).start()

    def _record(self, client, server):
        pending = b""

        def look(chunk):
            nonlocal pending
            pending += chunk
            while found := first_command(pending):
                arguments, size = found
                self.commands.append(arguments)
                pending = pending[size:]

        pass_on(client, server, look)


def pass_on(source, sink, look=lambda chunk: None):
    with contextlib.suppress(OSError):
        while chunk := source.recv(65536):
            look(chunk)
            sink.sendall(chunk)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)
    source.close()


def first_command(data):
    """The arguments of the first whole command and its size; none where it has not all come."""
    def line(begin):
        end = data.find(b"\r\n", begin)
        return (data[begin:end].decode(errors="replace"), end + 2) if end >= 0 else ("", 0)

    head, at = line(0)
    if not at or not head.startswith("*"):
        return (head.split(), at) if at else None
    arguments = []
    for _ in range(int(head[1:])):
        length, begin = line(at)
        if not begin or len(data) < begin + int(length[1:]) + 2:
            return None
        at = begin + int(length[1:]) + 2
        arguments.append(data[begin:at - 2].decode(errors="replace"))
    return arguments, at


def shown(command):
    """A command as the table has it: its name, and the words that choose what it does."""
    name = command[0].upper()
    if name == "CLIENT":
        return f"CLIENT {command[1].upper()}"
    if name == "HELLO":
        return " ".join(["HELLO", command[1], *(word.upper() for word in command[2::2])])
    return name


def sent_before_the_first_take(commands):
    names = [shown(command) for command in commands]
    return [name for name, _ in itertools.groupby(names[:names.index("WEIR.TAKE")])]


def row_of_the_page(client):
    client = re.sub(r" with [^,]*", "", client)  # one client, used in another way
    row = re.search(rf"^\| {re.escape(client)} \|(.*)\|$", PROTOCOL_PAGE.read_text(), re.M)
    return re.findall("`(.*?)`", row[1]) if row else None
