"""What the specification says about fields, and which fields depend on the packets rather than on the messages."""
import csv
import re

from wireshark import REPOSITORY

FIELDS = REPOSITORY / 'tests' / 'spec' / 'fields.tsv'


def documented(path=FIELDS):
    """Names of the fields that are on the wire."""
    with open(path, encoding='utf-8', newline='') as f:
        rows = csv.DictReader(f, delimiter='\t', quoting=csv.QUOTE_NONE)
        return {name for row in rows for name in re.findall(r'pgrepl\.[a-z0-9_.]+', row['display_filter'])}


DOCUMENTED = documented()

# Generated fields that hold numbers or times of packets: the same messages in other packets have others.
OF_PACKETS = {
    'pgrepl.relation.frame', 'pgrepl.start.frame', 'pgrepl.txn.begin_frame', 'pgrepl.txn.prepare_frame',
    'pgrepl.txn.end_frame', 'pgrepl.txn.duration', 'pgrepl.ack.frame', 'pgrepl.ack.time',
}

# Generated fields that only a second pass can know, so that one pass may lack them.
OF_SECOND_PASS = {
    'pgrepl.txn.prepare_frame', 'pgrepl.txn.end_frame', 'pgrepl.txn.outcome', 'pgrepl.ack.frame', 'pgrepl.ack.time',
}
