"""The header and the library as C and C++ programs see them."""
import os
import pathlib
import re
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get('CARGO_TARGET_DIR') or REPOSITORY / 'target') / 'release'
HEADER = REPOSITORY / 'include' / 'pgrepl.h'
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Werror']
C = ['cc', '-std=c99', *WARNINGS]
CPLUSPLUS = ['c++', '-std=c++11', *WARNINGS]

BEGIN = '4200000000016b37480002b0d5d4e94000000002bc'
RELATION = ('52000040017075626c6963006974656d73006400020169640000000017ff'
            'ffffff006e616d650000000019ffffffff')
INSERT = '49000040014e000274000000013175'
FIELDS = """\
Begin
  0+0 pgrepl.txn.xid = 700
  0+0 pgrepl.txn.begin_frame = 1
  0+1 pgrepl.message.type = 'B'
  1+8 pgrepl.final_lsn = 0/16B3748
  9+8 pgrepl.commit_time = 2024-01-01 00:00:00.000000 UTC
  17+4 pgrepl.xid = 700
Relation
  0+0 pgrepl.txn.xid = 700
  0+0 pgrepl.txn.begin_frame = 1
  0+1 pgrepl.message.type = 'R'
  1+4 pgrepl.relation.oid = 16385
  5+7 pgrepl.relation.namespace = public
  12+6 pgrepl.relation.name = items
  18+0 pgrepl.table = public.items
  18+1 pgrepl.relation.replica_identity = 'd'
  19+2 pgrepl.relation.column_count = 2
  Column 1
    21+1 pgrepl.column.flags = 1
      21+1 pgrepl.column.flags.key = 1
    22+3 pgrepl.column.name = id
    25+4 pgrepl.column.type_oid = 23
    29+4 pgrepl.column.type_modifier = -1
  Column 2
    33+1 pgrepl.column.flags = 0
      33+1 pgrepl.column.flags.key = 0
    34+5 pgrepl.column.name = name
    39+4 pgrepl.column.type_oid = 25
    43+4 pgrepl.column.type_modifier = -1
Insert
  0+0 pgrepl.txn.xid = 700
  0+0 pgrepl.txn.begin_frame = 1
  0+1 pgrepl.message.type = 'I'
  1+4 pgrepl.relation.oid = 16385
  5+0 pgrepl.table = public.items
  5+0 pgrepl.relation.frame = 2
  New row
    5+1 pgrepl.tuple.kind = 'N'
    6+2 pgrepl.tuple.column_count = 2
    Column 1
      8+1 pgrepl.value.kind = 't'
      9+4 pgrepl.value.length = 1
      13+1 pgrepl.value.text = 1
      14+0 pgrepl.value.column = id
      14+0 pgrepl.value.type = integer
      14+0 pgrepl.value.key = 1
      14+0 pgrepl.cell = id=1
    Column 2
      14+1 pgrepl.value.kind = 'u'
      15+0 pgrepl.value.column = name
      15+0 pgrepl.value.type = text
      15+0 pgrepl.cell = name=(unchanged TOAST)
"""
NAMES = """\
pgrepl.copydata.type 0+1
pgrepl.wal_end 1+8
pgrepl.send_time 9+8
pgrepl.reply_requested 17+1
"""


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **more).stdout


@pytest.fixture(scope='session', autouse=True)
def library():
    """The release build; cargo finds that there is nothing to do when it is there."""
    subprocess.run(['cargo', 'build', '--release', '--lib', '--quiet'], cwd=REPOSITORY, check=True)


def linked(how):
    if how == 'static':
        return [TARGET / 'libpgrepl.a', '-lpthread', '-ldl', '-lm']
    return ['-L', TARGET, '-lpgrepl', f'-Wl,-rpath,{TARGET}']


@pytest.mark.parametrize('how', ['static', 'dynamic'])
@pytest.mark.parametrize('compiler, source, arguments, output', [
    (C, 'print_fields.c', [BEGIN, RELATION, INSERT], FIELDS),
    (CPLUSPLUS, 'print_fields.c', [BEGIN, RELATION, INSERT], FIELDS),
    (CPLUSPLUS, 'print_fields.cc', [], NAMES),
], ids=['c99', 'c-as-c++', 'c++'])
def test_program(tmp_path, compiler, source, arguments, output, how):
    program = tmp_path / 'program'
    language = ['-x', 'c++' if compiler is CPLUSPLUS else 'c']
    run(*compiler, '-I', HEADER.parent, '-o', program, *language, REPOSITORY / 'examples' / source, '-x', 'none', *linked(how))
    assert ('libpgrepl.so' in run('ldd', program)) == (how == 'dynamic')
    assert run(program, *arguments) == output


@pytest.mark.parametrize('compiler', [C, CPLUSPLUS], ids=['c99', 'c++'])
def test_header_stands_alone(tmp_path, compiler):
    source = tmp_path / ('alone.c' if compiler is C else 'alone.cc')
    source.write_text('#include "pgrepl.h"\n#include "pgrepl.h"\nint main(void) { return 0; }\n')
    run(*compiler, '-I', HEADER.parent, '-fsyntax-only', source)


def declared():
    text = re.sub(r'/\*.*?\*/', '', HEADER.read_text(), flags=re.S)
    return set(re.findall(r'\b(pgrepl_\w+)\(', text))


def exported(*nm):
    return {line.split()[-1] for line in run('nm', *nm).splitlines() if re.search(r' T pgrepl_', line)}


@pytest.mark.parametrize('nm', [('-D', '--defined-only', TARGET / 'libpgrepl.so'), ('--defined-only', TARGET / 'libpgrepl.a')],
                         ids=['shared', 'static'])
def test_symbols_and_header_agree(nm):
    assert len(declared()) > 15
    assert exported(*nm) == declared()


def test_shared_library_exports_nothing_else():
    symbols = {line.split()[-1] for line in run('nm', '-D', '--defined-only', TARGET / 'libpgrepl.so').splitlines()}
    assert symbols == declared()


def test_header_is_what_the_source_says(tmp_path):
    """The build refuses another header; here that it really looks."""
    environment = {**os.environ, 'CARGO_TARGET_DIR': str(tmp_path / 'target')}
    copy = tmp_path / 'copy'
    run('git', 'clone', '--quiet', '--no-hardlinks', REPOSITORY, copy)
    for name in ['src', 'include', 'build.rs', 'cbindgen.toml', 'Cargo.toml', 'Cargo.lock']:
        run('cp', '-r', REPOSITORY / name, copy)
    header = copy / 'include' / 'pgrepl.h'
    header.write_text(header.read_text().replace('uint32_t pgrepl_abi_version(void);', 'uint64_t pgrepl_abi_version(void);'))
    checked = subprocess.run(['cargo', 'check', '--lib', '--quiet'], cwd=copy, env=environment, capture_output=True, text=True)
    assert checked.returncode != 0
    assert 'PGREPL_WRITE_HEADER=1' in checked.stderr
    subprocess.run(['cargo', 'check', '--lib', '--quiet'], cwd=copy, env={**environment, 'PGREPL_WRITE_HEADER': '1'}, check=True)
    assert header.read_text() == HEADER.read_text()
