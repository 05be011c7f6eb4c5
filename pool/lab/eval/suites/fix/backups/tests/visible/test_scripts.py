import subprocess
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(script, *arguments):
    return subprocess.run(["sh", str(ROOT / script), *map(str, arguments)], capture_output=True, text=True)


def make(folder, *names):
    folder.mkdir()
    for name in names:
        (folder / name).write_text(name)
    return folder


def test_pack(tmp_path):
    source = make(tmp_path / "photos", "one.txt")
    done = run("bin/pack.sh", source, tmp_path / "out", "20310509")
    assert done.returncode == 0, done.stderr
    assert tarfile.open(done.stdout.strip()).getnames() == [".", "./one.txt"]
    assert run("bin/pack.sh", tmp_path / "none", tmp_path / "out", "20310509").returncode == 2


def test_pack_a_name_with_blanks(tmp_path):
    source = make(tmp_path / "my photos", "one.txt")
    done = run("bin/pack.sh", source, tmp_path / "out", "20310509")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path}/out/my photos-20310509.tar\n"


def test_prune_keeps_so_many(tmp_path):
    target = make(tmp_path / "out", *(f"a-2031050{day}.tar" for day in range(1, 6)), "b-20310101.tar")
    done = run("bin/prune.sh", target, "a", 2)
    assert done.stdout.split() == ["a-20310501.tar", "a-20310502.tar", "a-20310503.tar"]
    assert sorted(path.name for path in target.iterdir()) == ["a-20310504.tar", "a-20310505.tar", "b-20310101.tar"]


def test_sizes(tmp_path):
    target = make(tmp_path / "out", "a-20310509.tar", "note.txt")
    assert run("bin/sizes.sh", target).stdout == "14 a-20310509.tar\n"
    assert run("bin/sizes.sh", target, 14).stdout == "14 a-20310509.tar\n"
    assert run("bin/sizes.sh", target, 15).stdout == ""
