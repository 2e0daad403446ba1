"""Every test runs for each Wireshark series and each capture that it asks for by name (wireshark, capture); with
@pytest.mark.captures(NAME, ...) for these captures only."""
import concurrent.futures
import itertools
import json
import os
import pathlib
import shutil

import pytest

import pcap
import tls
from wireshark import REPOSITORY, Scratch, Wireshark, trees


def captures():
    """All captures; PGREPL_CAPTURES names another directory."""
    directory = pathlib.Path(os.environ.get('PGREPL_CAPTURES') or REPOSITORY / 'tests' / 'captures')
    found = sorted(directory.glob('*.pcapng.gz'))
    if not found:
        raise pytest.UsageError(f'no captures (*.pcapng.gz) in {directory}')
    return found


def pytest_configure(config):
    config.addinivalue_line('markers', 'captures(*names): the captures that a test is for')
    config.addinivalue_line('markers', 'xdist_group(name): tests of one group run in one process')


def pytest_generate_tests(metafunc):
    if 'wireshark' in metafunc.fixturenames:
        try:
            metafunc.parametrize('wireshark', sorted(trees()), indirect=True)
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None
    if 'capture' in metafunc.fixturenames:
        wanted = metafunc.definition.get_closest_marker('captures')
        found = [path for path in captures() if not wanted or name_of(path) in wanted.args]
        if wanted and len(found) != len(wanted.args) and not os.environ.get('PGREPL_CAPTURES'):
            raise pytest.UsageError(f'not all of {wanted.args} are there')
        metafunc.parametrize('capture', found, ids=name_of, indirect=True)


def pytest_collection_modifyitems(items):
    """All tests of one capture together, and in one process, series by series: they share the runs of tshark."""
    def place(item):
        params = item.callspec.params if hasattr(item, 'callspec') else {}
        return str(params.get('capture', '')), params.get('wireshark', '')
    items.sort(key=place)
    for item in items:
        item.add_marker(pytest.mark.xdist_group(place(item)[0] or item.path.name))


def name_of(path):
    return path.name.removesuffix('.pcapng.gz')


@pytest.fixture(scope='session')
def scratch():
    directory = Scratch()
    yield directory
    directory.remove()


@pytest.fixture(scope='session')
def every_wireshark(scratch):
    """{series: Wireshark}. A series without the plugin ends the whole run."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        every = {series: Wireshark(series, tree, scratch, pool) for series, tree in trees().items()}
        missing = [reason for w in every.values() if (reason := w.missing_plugin())]
        if missing:
            pytest.exit('\n'.join(missing), returncode=1)
        yield every
        for wireshark in every.values():
            wireshark.close()


class CaptureFile:
    """A capture, copied to where Wireshark may read it."""

    def __init__(self, source, scratch):
        self.source, self.scratch = source, scratch
        self.path = scratch.path / source.name
        shutil.copyfile(source, self.path)
        scratch.give(self.path)
        self.content = pcap.read(self.path)
        self.made = {}

    def __str__(self):
        return str(self.path)

    def derive(self, name, make):
        """Another capture made out of this one, once: the path and the content."""
        if name not in self.made:
            content = make(self.content)
            path = self.path.with_name(f'{name_of(self.path)}-{name}.pcapng')
            pcap.write(path, content)
            self.scratch.give(path)
            self.made[name] = path, content
        return self.made[name]

    def forget(self):
        for path in [self.path, *(path for path, _ in self.made.values())]:
            path.unlink()


@pytest.fixture(scope='session')
def current():
    """The capture whose turn it is, in a list of one; the tests come capture by capture."""
    return []


@pytest.fixture
def capture(request, scratch, current, every_wireshark):
    if not current or current[0][0] != request.param:
        for _, old in current:
            old.forget()
        current[:] = [(request.param, CaptureFile(request.param, scratch))]
        for wireshark in every_wireshark.values():
            wireshark.prepare(current[0][1])
    return current[0][1]


@pytest.fixture(scope='session')
def certificate(tmp_path_factory):
    """Of a TLS server."""
    return tls.Certificate(tmp_path_factory.mktemp('certificate'))


@pytest.fixture
def answers(capture):
    """What the server said itself: the lines of NAME.server.jsonl."""
    source = capture.source.with_name(name_of(capture.source) + '.server.jsonl')
    return [json.loads(line) for line in source.read_text(encoding='utf-8').splitlines()]


@pytest.fixture
def wireshark(request, every_wireshark):
    return every_wireshark[request.param]


made = itertools.count(1)               # results are remembered by path: no path is used twice


@pytest.fixture
def save(scratch):
    """Writes a capture where Wireshark may read it; returns the path. It is gone after the test."""
    written = []

    def write(capture):
        path = scratch.path / f'made-{next(made)}.pcapng'
        pcap.write(path, capture)
        scratch.give(path)
        written.append(path)
        return path

    yield write
    for path in written:
        path.unlink()
