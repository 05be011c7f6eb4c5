from datetime import date

import pytest

from backups.names import Archive
from backups.report import ReportError, lines, parse_sizes


def test_lines():
    archive = Archive(date(2031, 5, 9), "a")
    assert lines([archive], parse_sizes("12 a-20310509.tar\n")) == ["2031-05-09 a 12"]


def test_other_lines_are_errors():
    with pytest.raises(ReportError):
        parse_sizes("sizes.sh: cannot read\n")
