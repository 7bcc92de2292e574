"""Certificates for tests, made by openssl in a folder of their own."""

import os
import shutil
import subprocess
import tempfile


def install(pair, live):
    """Puts copies of a certificate and its key in place of others, each at one instant."""
    for new, old in zip(pair, live):
        shutil.copy(new, old + ".new")
        os.rename(old + ".new", old)


class Authority:
    """A certificate authority in a temporary folder."""

    def __init__(self, name="weir test"):
        self.folder = tempfile.TemporaryDirectory()
        self.ca = self.path("ca.pem")
        self._openssl("req", "-x509", *self._key("ca.key"), "-out", self.ca, "-days", "2",
                      "-subj", f"/CN={name} authority")
        self.certificate, self.key = self.issue("server")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def issue(self, name, where="IP:127.0.0.1,DNS:localhost"):
        """A signed certificate and its key; the paths of both."""
        request, certificate, key = (self.path(name + end) for end in (".csr", ".pem", ".key"))
        self._openssl("req", "-new", *self._key(name + ".key"), "-out", request,
                      "-subj", f"/CN={name}")
        with open(self.path("names"), "w", encoding="ascii") as names:
            names.write(f"subjectAltName={where}\n")
        self._openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey",
                      self.path("ca.key"), "-CAcreateserial", "-days", "2",
                      "-extfile", self.path("names"), "-out", certificate)
        return certificate, key

    def _key(self, name):
        return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                self.path(name))

    def close(self):
        self.folder.cleanup()

    @staticmethod
    def _openssl(*arguments):
        subprocess.run(["openssl", *arguments], capture_output=True, check=True, timeout=30)
