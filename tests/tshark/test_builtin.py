"""The built-in dissector of 4.6 reads replication messages, too, and not always right.

It must not do so a second time beside ours."""

OTHERS = {
    'pgsql.copydata_type', 'pgsql.xid', 'pgsql.xid_subtransaction', 'pgsql.custom_type_name', 'pgsql.namespace',
    'pgsql.relation', 'pgsql.relation_oid', 'pgsql.tuple_type', 'pgsql.tuple_data_type',
}


def twice(names):
    """Those of the names that are of replication."""
    return sorted(n for n in names if n.startswith(('pgsql.logical.', 'pgsql.xlog', 'pgsql.standby.')) or n in OTHERS)


def test_not_twice(wireshark, capture):
    for frame in wireshark.pdml(capture).frames():
        if frame.messages:
            assert not twice(frame.fields), f'frame {frame.number}'


def test_names(wireshark):
    """The names above are those that Wireshark has, so that the test above can fail."""
    known = {line.split('\t')[2] for line in wireshark.run('tshark', '-G', 'fields', plugin=False).text().splitlines()
             if line.startswith('F\t')}
    of_replication = set(twice(known))
    if wireshark.series < '4.6':
        assert not of_replication
    else:
        assert OTHERS | {'pgsql.logical.msg_type', 'pgsql.xlog_ts', 'pgsql.standby.xmin'} <= of_replication
