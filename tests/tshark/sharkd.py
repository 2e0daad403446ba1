"""A client of sharkd, which dissects single frames in any order, as clicks in the window do."""
import json
import re
import subprocess


class Sharkd:
    def __init__(self, wireshark, plugin=True):
        self.log = open(wireshark.work / 'sharkd.log', 'w+b')
        self.process = wireshark.popen('sharkd', ['-'], plugin, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=self.log)
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def call(self, method, **params):
        self.count += 1
        request = {'jsonrpc': '2.0', 'id': self.count, 'method': method, 'params': params}
        self.process.stdin.write(json.dumps(request).encode() + b'\n')
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {}
        if 'result' not in answer or answer['id'] != self.count:
            self.log.seek(0)
            raise RuntimeError(f'sharkd answers {line!r} to {request}\n' + self.log.read().decode('utf-8', 'replace'))
        return answer['result']

    def load(self, capture):
        """Loads a capture; returns the number of its frames."""
        self.call('load', file=str(capture))
        return self.call('status')['frames']

    def columns(self):
        """{frame number: [Protocol, Info]}: the list of packets."""
        return {row['num']: [row['c'][4], row['c'][6]] for row in self.call('frames')}

    def frame(self, number):
        """The PostgreSQL part of the tree of a frame, as lines."""
        lines = []
        for item in self.call('frame', frame=number, proto=True)['tree']:
            if is_postgresql(item['l']):
                walk(item, 0, lines)
        return lines


def is_postgresql(label):
    """4.0 puts a remark in front of what it cuts short."""
    return label.removeprefix(' [truncated]').startswith('PostgreSQL')


def walk(item, depth, lines):
    label = f"[{item['l']}]" if item.get('g') else item['l']
    lines.append('    ' * depth + label)
    for child in item.get('n', ()):
        walk(child, depth + 1, lines)


def trees(text):
    """The same out of the output of tshark -V: {frame number: lines}, only frames that have such a part."""
    found, number, inside = {}, 0, False
    for line in text.split('\n'):
        if not line:
            continue
        if not line.startswith('    '):
            start = re.match(r'Frame (\d+): ', line)
            number = int(start[1]) if start else number
            inside = is_postgresql(line)
        if inside:
            found.setdefault(number, []).append(line)
    return found
