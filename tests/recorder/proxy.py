"""A TCP proxy that changes how the server's bytes are cut into segments.

`coalesce` collects what the server sends and passes it on with one send() per pause;
`split` cuts in the middle of message headers, with every piece in a segment of its own.
"""

import select
import socket
import threading
import time

CUTS = [1, 2, 3, 5, 4, 6, 30, 1, 25, 9, 13, 31, 5, 1, 40]


class Proxy(threading.Thread):
    def __init__(self, listen_port, target_port, mode):
        super().__init__(daemon=True)
        self.target = target_port
        self.mode = mode
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", listen_port))
        self.listener.listen(5)
        self.start()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        server = socket.create_connection(("127.0.0.1", self.target))
        for sock in (client, server):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        held, held_until, turn = bytearray(), None, 0
        try:
            while True:
                wait = None if held_until is None else max(0, held_until - time.time())
                ready = select.select([client, server], [], [], wait)[0]
                if client in ready:
                    data = client.recv(65536)
                    if not data:
                        break
                    server.sendall(data)
                if server in ready:
                    data = server.recv(65536)
                    if not data:
                        break
                    if self.mode == "coalesce":
                        held += data
                        held_until = held_until or time.time() + 0.3
                    else:
                        turn = self.split(client, data, turn)
                if held_until is not None and (time.time() >= held_until or len(held) > 40000):
                    client.sendall(held)
                    held, held_until = bytearray(), None
            if held:
                client.sendall(held)
        except OSError:
            pass
        for sock in (client, server):
            sock.close()

    @staticmethod
    def split(client, data, turn):
        at = 0
        while at < len(data):
            size = CUTS[turn % len(CUTS)]
            client.sendall(data[at:at + size])
            at += size
            turn += 1
            time.sleep(0.0005)
        return turn

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)     # wakes the accept()
        self.listener.close()
