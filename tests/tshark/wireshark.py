"""Runs the programs of one Wireshark series: never as root, in a home of their own, with or without the plugin.

As root Wireshark ignores WIRESHARK_PLUGIN_DIR without a word, so the tests would test nothing.
"""
import collections
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import tempfile

import pdml

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
NOBODY = 65534
TREES = 'PGREPL_WIRESHARK_TREES'

HOW = f"""\
{TREES} must name the Wireshark trees to test with, for example
    {TREES}="4.0=DIR 4.4=DIR 4.6=DIR" python3 -m pytest tests/tshark
    tests/wireshark.sh bookworm DIR     makes the tree of 4.0 (trixie: 4.4, sid: 4.6)
    make -C plugin SYSROOT=DIR          builds the plugin for it, target/plugin/SERIES/epan/pgrepl.so
PGREPL_PLUGIN_DIR names another directory with plugins in place of target/plugin."""


class Failure(Exception):
    """A program of Wireshark failed or complained."""


def trees():
    """{series: directory} of the environment; a ValueError says what is wrong with it."""
    found = {}
    for word in os.environ.get(TREES, '').split():
        series, _, directory = word.partition('=')
        if not os.access(os.path.join(directory, 'bin', 'tshark'), os.X_OK):
            raise ValueError(f'{TREES}: {word}: no bin/tshark there\n{HOW}')
        found[series] = os.path.abspath(directory)
    if not found:
        raise ValueError(HOW)
    return found


class Scratch:
    """A directory that the user of the programs may read and write; removed at the end."""

    def __init__(self):
        self.root = os.geteuid() == 0
        self.path = pathlib.Path(tempfile.mkdtemp(prefix='pgrepl-'))
        self.give(self.path)

    def give(self, path):
        """Hands a file or directory over to the user of the programs."""
        os.chmod(path, 0o755 if os.path.isdir(path) else 0o644)
        if self.root:
            os.chown(path, NOBODY, NOBODY)

    def user(self):
        """Arguments of subprocess: an unprivileged user, if we are root."""
        return {'user': NOBODY, 'group': NOBODY, 'extra_groups': []} if self.root else {}

    def reachable(self, path):
        return subprocess.run(['test', '-x', path], **self.user()).returncode == 0

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


class Run:
    """One run of a program. Starts in the background; asking for the output waits for it."""

    def __init__(self, pool, path, job):
        self.path = path
        self.parsed = None
        self.future = pool.submit(job)

    def stderr(self):
        return self.future.result()

    def bytes(self):
        self.future.result()
        return self.path.read_bytes()

    def text(self):
        return self.bytes().decode('utf-8', 'surrogateescape')

    def frames(self):
        """The output as PDML: a list of pdml.Frame."""
        self.future.result()
        if self.parsed is None:
            with open(self.path, 'rb') as f:
                self.parsed = list(pdml.read(f))
        return self.parsed

    def forget(self):
        concurrent.futures.wait([self.future])
        self.path.unlink(missing_ok=True)


class Wireshark:
    """One series. The results of the last runs are kept, so that tests can share them."""
    KEEP = 16

    def __init__(self, series, tree, scratch, pool):
        self.series, self.scratch, self.pool = series, scratch, pool
        self.work = scratch.path / series
        self.home, self.none = self.work / 'home', self.work / 'no-plugins'
        for directory in (self.work, self.home, self.none):
            directory.mkdir()
            scratch.give(directory)
        self.tree = self.within_reach(tree)
        self.plugins = self.work / 'plugins'
        source = pathlib.Path(os.environ.get('PGREPL_PLUGIN_DIR') or REPOSITORY / 'target' / 'plugin')
        if (source / series).is_dir():
            shutil.copytree(source, self.plugins, ignore=lambda d, names: [
                n for n in names if d == str(source) and n[0].isdigit() and n != series])
        else:
            self.plugins.mkdir()
        self.cache = collections.OrderedDict()
        self.count = 0

    def within_reach(self, tree):
        """The tree, or a copy if it lies below a directory that is closed to our user (root's home)."""
        if self.scratch.reachable(os.path.join(tree, 'bin', 'tshark')):
            return pathlib.Path(tree)
        copy = self.work / 'tree'
        for link in (['--link'], []):
            done = subprocess.run(['cp', '-a', *link, tree, copy], capture_output=True, text=True)
            if done.returncode == 0:
                return copy
            shutil.rmtree(copy, ignore_errors=True)
        raise Failure(done.stderr)

    def environment(self, plugin):
        return {
            'PATH': os.environ.get('PATH', '/usr/bin:/bin'),
            'HOME': str(self.home),
            'LC_ALL': 'C.UTF-8',
            'TZ': 'UTC',
            'WIRESHARK_PLUGIN_DIR': str(self.plugins if plugin else self.none),
            'WIRESHARK_ABORT_ON_DISSECTOR_BUG': '1',
        }

    def popen(self, program, args, plugin=True, **how):
        return subprocess.Popen([str(self.tree / 'bin' / program), *map(str, args)], cwd=self.work,
                                env=self.environment(plugin), **self.scratch.user(), **how)

    def execute(self, program, args, output, plugin):
        """Runs to the end; standard output goes to a file. Returns what it wrote to standard error."""
        with open(output, 'wb') as out:
            process = self.popen(program, args, plugin, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE)
            noise = process.communicate()[1].decode('utf-8', 'replace')
        if process.returncode or noise:
            command = ' '.join(map(str, [program, *args]))
            raise Failure(f'{self.series}: {command}: status {process.returncode}\n{noise}')
        return noise

    def run(self, program, *args, plugin=True):
        key = (program, args, plugin)
        if key in self.cache:
            self.cache.move_to_end(key)
            return self.cache[key]
        self.count += 1
        path = self.work / f'{self.count}.out'
        run = self.cache[key] = Run(self.pool, path, lambda: self.execute(program, args, path, plugin))
        while len(self.cache) > self.KEEP:
            self.cache.popitem(last=False)[1].forget()
        return run

    # --- what the tests look at ---

    def tshark(self, capture, *args, two_pass=False, plugin=True):
        return self.run('tshark', '-n', *(['-2'] if two_pass else []), '-r', str(capture), *args, plugin=plugin)

    def pdml(self, capture, two_pass=False):
        return self.tshark(capture, '-T', 'pdml', two_pass=two_pass)

    def without(self, capture):
        """PDML without the plugin."""
        return self.tshark(capture, '-T', 'pdml', plugin=False)

    def disabled(self, capture):
        """PDML with the protocol switched off."""
        return self.tshark(capture, '-T', 'pdml', '--disable-protocol', 'pgrepl')

    def text(self, capture):
        """The trees as text."""
        return self.tshark(capture, '-V', two_pass=True)

    def columns(self, capture):
        """The list of packets: number, Protocol, Info. Below it the protocol hierarchy."""
        columns = 'gui.column.format:"Number","%m","Protocol","%p","Info","%i"'
        return self.tshark(capture, '-o', columns, '-z', 'io,phs')

    def messages(self, capture, two_pass=False):
        """As pdml, but quicker on captures of many packets: only the frames and protocols that matter."""
        return self.tshark(capture, '-Y', 'pgrepl', '-J', 'pgsql pgrepl', '-T', 'pdml', two_pass=two_pass)

    def prepare(self, capture):
        """Starts what the tests of a capture will ask for, so that nothing waits."""
        self.pdml(capture, two_pass=True)
        for look in (self.pdml, self.without, self.columns, self.disabled, self.text):
            look(capture)

    def missing_plugin(self):
        """Why this series cannot be tested, or None."""
        try:
            listed = self.run('tshark', '-G', 'plugins').text()
        except Failure as failure:
            return str(failure)
        if any(line.startswith('pgrepl') for line in listed.splitlines()):
            return None
        return f'Wireshark {self.series} does not load the plugin. It lists:\n{listed}\n{HOW}'

    def close(self):
        for run in self.cache.values():
            run.forget()
        self.cache.clear()
