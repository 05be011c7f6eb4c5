"""Files as an editor has them: what is open there may not be saved yet, and is changed there first."""

from __future__ import annotations

from typing import Protocol

from pool_tools.textfile import decode, line_end, to_lf


class EditorFiles(Protocol):
    """An editor beside the agent. Its functions block, so they are called in threads."""

    def read(self, path: str) -> str | None:
        """The text of a file as the editor has it, saved or not; None where it does not say."""
        ...

    def write(self, path: str, text: str) -> str | None:
        """Change a file there and save it: "" if that was done, else why not; None where the editor does not do it."""
        ...


def as_edited(data: bytes, shown: str | None) -> bytes:
    """A file's bytes, with what the editor shows of it in their place where that is something else.

    Editors keep line ends and marks apart from the text, so the file's own come back: a file that is not changed there
    keeps its bytes. So does one in another encoding than UTF-8, of which an editor may show something else.
    """
    if shown is None or b"\0" in data:
        return data
    if not data:
        return shown.encode("utf-8", "replace")
    file = decode(data)
    if file.codec != "utf-8" or file.stray or to_lf(file.text) == to_lf(shown):
        return data
    text = to_lf(shown)
    end = line_end(file.text)
    return file.encode(text if end == "\n" else text.replace("\n", end))


def as_text(data: bytes) -> str | None:
    """Bytes as text that an editor can take whole; None where saving it could give other bytes."""
    if data.startswith(b"\xef\xbb\xbf") or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
