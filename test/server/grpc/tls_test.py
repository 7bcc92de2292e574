"""gRPC over TLS: gRPC's own client, who is let in, and certificates that change meanwhile."""

import pathlib
import signal
import socket
import ssl
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
try:
    import grpc
except ImportError:
    print("python3-grpcio is not installed: skipped")
    sys.exit(77)
from certificates import Authority, install  # noqa: E402
from weir_process import Weir  # noqa: E402

SERVING = b"\x08\x01"
HEALTH = "/grpc.health.v1.Health/"


def as_is(message):
    return message


def read(path):
    return pathlib.Path(path).read_bytes()


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.addClassCleanup(cls.authority.close)
        cls.another = Authority("another")
        cls.addClassCleanup(cls.another.close)

    def serve(self, *arguments, certificate=None, key=None):
        self.weir = Weir("--grpc", "tls:127.0.0.1:0", "--tls-cert",
                         certificate or self.authority.certificate, "--tls-key",
                         key or self.authority.key, *arguments)
        self.addCleanup(self.weir.stop)
        self.address = self.weir.others[0].removeprefix("tls:")

    def channel(self, authority, *shown):
        """Trusts the authority, and shows a certificate and its key."""
        certificate, key = (read(path) for path in shown) if shown else (None, None)
        channel = grpc.secure_channel(self.address, grpc.ssl_channel_credentials(
            read(authority.ca), key, certificate))
        self.addCleanup(channel.close)
        return channel

    def check(self, channel):
        return channel.unary_unary(HEALTH + "Check", as_is, as_is)(b"", timeout=10)

    def assert_refused(self, channel):
        with self.assertRaises(grpc.RpcError) as refused:
            self.check(channel)
        self.assertEqual(refused.exception.code(), grpc.StatusCode.UNAVAILABLE)

    def test_grpcs_own_client_speaks_it(self):
        self.serve()
        self.assertEqual(self.check(self.channel(self.authority)), SERVING)
        self.assert_refused(self.channel(self.another))

    def test_asks_for_a_certificate(self):
        self.serve("--tls-client-ca", self.authority.ca)
        client = self.authority.issue("client")
        self.assertEqual(self.check(self.channel(self.authority, *client)), SERVING)
        self.assert_refused(self.channel(self.authority))
        self.assert_refused(self.channel(self.authority, self.another.certificate,
                                         self.another.key))

    def test_sighup_takes_a_new_certificate_and_open_calls_go_on(self):
        live = (self.authority.path("live.pem"), self.authority.path("live.key"))
        install((self.authority.certificate, self.authority.key), live)
        self.serve(certificate=live[0], key=live[1])
        old = self.channel(self.authority)
        watch = old.unary_stream(HEALTH + "Watch", as_is, as_is)(b"", timeout=60)
        self.assertEqual(next(watch), SERVING)
        install((self.another.certificate, self.another.key), live)
        self.weir.process.send_signal(signal.SIGHUP)
        reloads = 'weir_config_load_total{what="tls",result="ok"}'
        self.weir.eventually(lambda: self.weir.metric(reloads) == 1)
        self.assertEqual(self.check(self.channel(self.another)), SERVING)
        # Were it to connect anew, it would not trust what it is shown.
        self.assertEqual(self.check(old), SERVING)
        self.assertTrue(watch.is_active())

    def test_is_h2_for_who_asks_by_name(self):
        self.serve()
        host, port = self.address.split(":")
        for offered, chosen in ((["h2", "http/1.1"], "h2"), (["http/1.1"], "refused")):
            context = ssl.create_default_context(cafile=self.authority.ca)
            context.set_alpn_protocols(offered)
            plain = socket.create_connection((host, int(port)), timeout=10)
            try:
                with context.wrap_socket(plain, server_hostname=host) as connection:
                    self.assertEqual(connection.selected_alpn_protocol(), chosen)
            except (ssl.SSLError, ConnectionError):
                self.assertEqual(chosen, "refused")


if __name__ == "__main__":
    unittest.main(verbosity=2)
