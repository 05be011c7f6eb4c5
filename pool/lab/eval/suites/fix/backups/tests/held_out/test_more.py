import subprocess
import tarfile
from datetime import date
from pathlib import Path

import pytest

from backups.names import Archive, archives, parse
from backups.policy import is_old, to_remove
from backups.report import ReportError, lines, parse_sizes

ROOT = Path(__file__).resolve().parents[1]
TODAY = date(2032, 3, 1)


def run(script, *arguments):
    return subprocess.run(["sh", str(ROOT / script), *map(str, arguments)], capture_output=True, text=True)


def make(folder, *names):
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_text(name)
    return folder


def test_lists_go_on_only_where_asked():
    first = archives(["a-20310509.tar"])
    assert archives(["b-20310509.tar"], first) == [parse("a-20310509.tar"), parse("b-20310509.tar")]
    assert archives([]) == []


@pytest.mark.parametrize(("days", "old"), [(29, False), (30, True), (31, True)])
def test_thirty_days(days, old):
    assert is_old(Archive(date.fromordinal(TODAY.toordinal() - days), "a"), TODAY) is old
    assert is_old(Archive(TODAY, "a"), TODAY, days=0)


def test_what_goes():
    found = [parse(f"{name}-203201{day:02}.tar") for name in "ab" for day in (1, 2, 31)]
    assert [archive.name for archive in to_remove(found, TODAY)] == [
        "a-20320101.tar",
        "b-20320101.tar",
        "a-20320102.tar",
        "b-20320102.tar",
    ]


@pytest.mark.parametrize("output", ["x a.tar", "1 a.tar\n\n2 b.tar", "12"])
def test_sizes_that_cannot_be_read(output):
    if output == "12":
        assert parse_sizes(output) == {"": 12}
    else:
        with pytest.raises(ReportError):
            parse_sizes(output)


@pytest.mark.parametrize("name", ["plain", "two  words", "star *", "quote's ümläut"])
def test_pack_any_name(tmp_path, name):
    source = make(tmp_path / "in" / name, "one.txt", "two words.txt")
    target = tmp_path / "out there"
    done = run("bin/pack.sh", source, target, "20320301")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{target}/{name}-20320301.tar\n"
    with tarfile.open(target / f"{name}-20320301.tar") as packed:
        assert sorted(packed.getnames()) == [".", "./one.txt", "./two words.txt"]


@pytest.mark.parametrize("keep", [0, 1, 5])
def test_prune_keeps_what_was_asked(tmp_path, keep):
    names = [f"my box-2032010{day}.tar" for day in range(1, 5)]
    target = make(tmp_path / "out there", *names, "my box-notes.tar", "box-20320101.tar")
    done = run("bin/prune.sh", target, "my box", keep)
    assert done.returncode == 0, done.stderr
    gone = names[: max(0, len(names) - keep)]
    assert done.stdout.splitlines() == gone
    left = {path.name for path in target.iterdir()}
    assert left == {*names, "my box-notes.tar", "box-20320101.tar"} - set(gone)


@pytest.mark.parametrize(("least", "shown"), [(3, "ab"), (5, "b"), (6, "")])
def test_sizes_from_the_least_on(tmp_path, least, shown):
    target = make(tmp_path / "out")
    (target / "a-20320101.tar").write_bytes(b"123")
    (target / "b-20320101.tar").write_bytes(b"12345")
    (target / "empty-20320101.tar").write_bytes(b"")
    output = run("bin/sizes.sh", target, least).stdout
    assert "".join(line.split()[1][0] for line in output.splitlines()) == shown
    found = archives([path.name for path in target.iterdir()])
    assert len(lines(found, parse_sizes(output))) == 3


def test_sizes_of_nothing(tmp_path):
    done = run("bin/sizes.sh", make(tmp_path / "out"))
    assert (done.returncode, done.stdout) == (0, "")
