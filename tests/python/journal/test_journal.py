"""Journals: what is in them survives, what is torn is not read, and nobody takes up another's."""

import errno
import json
import os
import resource
import subprocess
import sys
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import journal as module
from weft._core import RunError, UsageError
from weft.journal import Journal, path_beside

REQUEST = {"measure": [{"benchmark": "echo", "bytes": [8, 64]}], "name": "here"}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
records = st.dictionaries(st.text(), values, max_size=4)


@pytest.fixture(scope="module", autouse=True)
def disk():
    """Nobody waits for the disk here, where hundreds of journals are made; how often is counted."""
    waits = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.os, "fsync", waits.append)
        yield waits


def filled(output, found, request=REQUEST):
    with Journal(output, request, command="weft measure echo") as log:
        for record in found:
            log.append(record)
    return path_beside(output)


@settings(deadline=None, max_examples=50)
@given(st.lists(records, min_size=1, max_size=6))
def test_what_is_appended_is_taken_up(tmp_path_factory, found):
    output = tmp_path_factory.mktemp("journal") / "x.csv"
    filled(output, found)
    with Journal(output, REQUEST, resume=True) as log:
        assert log.records == found
        log.append({"more": 1})
    with Journal(output, REQUEST, resume=True) as log:
        assert log.records == [*found, {"more": 1}]
        log.finish()
    assert list(output.parent.iterdir()) == []


def test_a_journal_that_ends_anywhere_has_the_records_before(tmp_path):
    found = [{"launch": number, "rows": [number] * number} for number in range(4)]
    path = filled(tmp_path / "x.csv", found)
    content = path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(content) if byte == ord("\n")]
    for length in range(len(content) + 1):
        path.write_bytes(content[:length])
        with Journal(tmp_path / "x.csv", REQUEST, resume=True) as log:
            whole = sum(end <= length for end in ends)
            assert log.records == found[: max(0, whole - 1)]
            log.append({"after": length})
        with Journal(tmp_path / "x.csv", REQUEST, resume=True) as log:
            assert log.records[-1] == {"after": length}, "what was torn is gone"


@pytest.mark.parametrize("tail", [b"\0" * 300, b'deadbeef {"launch": 9}\n', b"\xff\n\xff\n", b"\n"])
def test_what_power_loss_leaves_at_the_end_is_not_read(tmp_path, tail):
    path = filled(tmp_path / "x.csv", [{"launch": 0}])
    with path.open("ab") as file:
        file.write(tail)
    with Journal(tmp_path / "x.csv", REQUEST, resume=True) as log:
        assert log.records == [{"launch": 0}]


def test_each_record_is_on_the_disk_before_the_next_launch(tmp_path, disk):
    with Journal(tmp_path / "x.csv", REQUEST) as log:
        for number in range(3):
            before = len(disk)
            log.append({"launch": number})
            assert len(disk) == before + 1
        log.append({"launch": 3}, every=3600.0)
        assert len(disk) == before + 1, "short records are waited for now and then"


def test_a_line_says_itself_what_it_is(tmp_path):
    head, line = filled(tmp_path / "x.csv", [{"launch": 0}]).read_bytes().splitlines()
    for one in (head, line):
        checksum, _, text = one.partition(b" ")
        assert int(checksum, 16) == zlib.crc32(text)
    assert json.loads(head.partition(b" ")[2]) == {
        "weft_journal": 1,
        "command": "weft measure echo",
        "request": REQUEST,
    }


def test_a_record_that_was_changed_is_refused_and_force_discards_it(tmp_path):
    path = filled(tmp_path / "x.csv", [{"launch": 0}, {"launch": 1}])
    path.write_bytes(path.read_bytes().replace(b'"launch":0', b'"launch":7'))
    with pytest.raises(UsageError, match=r"x\.csv\.journal, line 2: its checksum is wrong, so the file was changed"):
        Journal(tmp_path / "x.csv", REQUEST, resume=True)
    with Journal(tmp_path / "x.csv", REQUEST, force=True) as log:
        assert log.records == []
    assert not path.exists(), "one without records is not left"


def test_one_that_was_left_is_refused_unless_it_is_said_what_becomes_of_it(tmp_path):
    path = filled(tmp_path / "x.csv", [{"launch": 0}])
    content = path.read_bytes()
    message = (
        rf"^{path} has 1 record of an unfinished run \(begun by `weft measure echo`\): --resume \(from Python, "
        r"resume=True\) goes on with it, --force \(force=True\) discards it$"
    )
    with pytest.raises(UsageError, match=message):
        Journal(tmp_path / "x.csv", REQUEST)
    assert path.read_bytes() == content


def test_one_of_another_request_is_refused_with_the_difference(tmp_path):
    path = filled(tmp_path / "x.csv", [{"launch": 0}])
    content = path.read_bytes()
    other = {"measure": [{"benchmark": "echo", "bytes": [8, 128]}], "name": "here"}
    with pytest.raises(UsageError) as error:
        Journal(tmp_path / "x.csv", other, resume=True)
    assert str(error.value) == (
        f"{path} belongs to another request (begun by `weft measure echo`): its measure 1 bytes is [8, 64], that of "
        "this request is [8, 128]. Go on with that one by the same words and --resume, name another output with -o, or "
        "discard it with --force"
    )
    assert path.read_bytes() == content


def test_a_file_of_somebody_else_is_left_alone(tmp_path):
    path = tmp_path / "x.csv.journal"
    path.write_text("Dear diary\nnothing happened\n")
    for options in ({}, {"resume": True}, {"force": True}):
        with pytest.raises(UsageError, match=r"is no journal of weft, but weft would write one there: move it away"):
            Journal(tmp_path / "x.csv", REQUEST, **options)
    assert path.read_text().startswith("Dear")


def test_a_second_process_is_refused(tmp_path):
    output = tmp_path / "x.csv"
    with Journal(output, REQUEST) as log:
        log.append({"launch": 0})
        for options in ({}, {"resume": True}, {"force": True}):
            with pytest.raises(UsageError, match=r"is in use: another weft is writing the same output"):
                Journal(output, REQUEST, **options)
        code = f"from weft.journal import Journal\nJournal({str(output)!r}, {REQUEST!r}, resume=True)"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "is in use: another weft is writing the same output" in other.stderr
    with Journal(output, REQUEST, resume=True) as log:
        assert log.records == [{"launch": 0}]


def test_a_process_that_is_killed_leaves_its_records(tmp_path):
    output = tmp_path / "x.csv"
    code = (
        "import os, signal\nfrom weft.journal import Journal\n"
        f"log = Journal({str(output)!r}, {REQUEST!r})\n"
        "for launch in range(3): log.append({'launch': launch})\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    with Journal(output, REQUEST, resume=True) as log:
        assert [record["launch"] for record in log.records] == [0, 1, 2]


def test_a_folder_that_is_removed_is_said(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with Journal(folder / "x.csv", REQUEST) as log:
        log.append({"launch": 0})
        log.path.unlink()
        folder.rmdir()
        with pytest.raises(RunError, match=r"x\.csv\.journal could not be written: it, or its folder, was removed$"):
            log.append({"launch": 1})
        assert not log.is_there


def test_another_file_in_its_place_is_not_removed(tmp_path):
    with Journal(tmp_path / "x.csv", REQUEST) as log:
        log.append({"launch": 0})
        log.path.unlink()
        log.path.write_text("mine")
        with pytest.raises(RunError, match="was removed"):
            log.append({"launch": 1})
        log.finish()
    assert (tmp_path / "x.csv.journal").read_text() == "mine"


def test_a_full_disk_keeps_what_was_there(tmp_path):
    """A limit on the length of files stands for the disk: the record that does not fit is cut off, whole."""
    code = f"""
import resource, signal
from weft._core import RunError
from weft.journal import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = Journal({str(tmp_path / "x.csv")!r}, {REQUEST!r})
log.append({{"launch": 0}})
size = log.path.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, resource.RLIM_INFINITY))
try:
    log.append({{"launch": 1, "rows": "x" * 100}})
except RunError as error:
    print(error)
print(log.path.stat().st_size - size)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.append({{"launch": 2}})
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert found == [f"the journal {tmp_path}/x.csv.journal could not be written: File too large", "0"]
    with Journal(tmp_path / "x.csv", REQUEST, resume=True) as log:
        assert [record["launch"] for record in log.records] == [0, 2]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_a_record_that_was_interrupted_is_written_over(tmp_path, monkeypatch):
    with Journal(tmp_path / "x.csv", REQUEST) as log:
        write = os.write

        def interrupted(file, content):
            write(file, content[:7])
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(module.os, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                log.append({"launch": 0})
        log.append({"launch": 1})
    with Journal(tmp_path / "x.csv", REQUEST, resume=True) as log:
        assert log.records == [{"launch": 1}]


def test_a_folder_that_is_not_there_is_usage(tmp_path):
    with pytest.raises(UsageError, match=r"the journal .*x\.csv\.journal cannot be opened: No such file or directory"):
        Journal(tmp_path / "nowhere" / "x.csv", REQUEST)


def test_file_systems_without_locks_still_have_journals(tmp_path, monkeypatch):
    def none(file, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(module.fcntl, "flock", none)
    filled(tmp_path / "x.csv", [{"launch": 0}])
    with Journal(tmp_path / "x.csv", REQUEST, resume=True) as log:
        assert log.records == [{"launch": 0}]
