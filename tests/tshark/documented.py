"""What the specification says about fields, and which fields depend on the packets rather than on the messages."""
import csv
import json
import re

from wireshark import REPOSITORY

FIELDS = REPOSITORY / 'tests' / 'spec' / 'fields.tsv'


def documented(path=FIELDS):
    """Names of the fields that are on the wire."""
    with open(path, encoding='utf-8', newline='') as f:
        rows = csv.DictReader(f, delimiter='\t', quoting=csv.QUOTE_NONE)
        return {name for row in rows for name in re.findall(r'pgrepl\.[a-z0-9_.]+', row['display_filter'])}


DOCUMENTED = documented()

def recorded(wanted):
    """Names of the captures whose answers are as wanted."""
    for path in sorted((REPOSITORY / 'tests' / 'captures').glob('*.server.jsonl')):
        with open(path, encoding='utf-8') as lines:
            if wanted([json.loads(line) for line in lines]):
                yield path.name.removesuffix('.server.jsonl')


def is_readable(answers):
    """Nothing of it is encrypted: its bytes can be read without Wireshark."""
    return not any('encrypted' in answer for answer in answers)


# Generated fields that hold numbers or times of packets: the same messages in other packets have others.
OF_PACKETS = {
    'pgrepl.relation.frame', 'pgrepl.start.frame', 'pgrepl.txn.begin_frame', 'pgrepl.txn.prepare_frame',
    'pgrepl.txn.end_frame', 'pgrepl.txn.duration', 'pgrepl.ack.frame', 'pgrepl.ack.time',
}

# Generated fields that only a second pass can know, so that one pass may lack them.
OF_SECOND_PASS = {
    'pgrepl.txn.prepare_frame', 'pgrepl.txn.end_frame', 'pgrepl.txn.outcome', 'pgrepl.ack.frame', 'pgrepl.ack.time',
}
