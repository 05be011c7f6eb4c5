"""Files that the editor has open: unsaved text is read, edits go through it, and all of it can be taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.config.settings import Mode
from pool.extend.acp.errors import INTERNAL_ERROR, METHOD_NOT_FOUND, RpcError
from pool_tools.editorfiles import as_edited, as_text
from tests.acp.desk import FILES, Editor, Json, editing
from tests.cases.driver import answer, call, last_result


class Buffers:
    """What an editor has open, by path, and what was asked of it."""

    def __init__(self, editor: Editor, *, saves: bool = True) -> None:
        self.open: dict[str, str] = {}
        self.written: list[str] = []
        self.saves = saves
        editor.peer.methods = {
            **editor.peer.methods,
            "fs/read_text_file": self.read,
            "fs/write_text_file": self.write,
        }

    async def read(self, params: Json) -> Any:
        path = params["path"]
        try:
            return {"content": self.open.get(path) or Path(path).read_bytes().decode().replace("\r\n", "\n")}
        except FileNotFoundError:
            raise RpcError(INTERNAL_ERROR, "no such file") from None

    async def write(self, params: Json) -> Any:
        self.written.append(params["content"])
        self.open[params["path"]] = params["content"]
        if self.saves:
            Path(params["path"]).write_bytes(params["content"].encode())
        return {}


async def test_unsaved_text_is_read_and_edited_and_comes_back_with_undo(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("saved\n")
    steps = (
        call("read", path="a.txt"),
        call("edit", "c2", path="a.txt", old_text="unsaved", new_text="edited"),
        call("shell", "c3", command="cat a.txt"),
        answer("Done."),
    )
    async with editing(tmp_path, *steps, mode=Mode.ALLOW_ALL) as editor:
        await editor.begin(FILES)
        buffers = Buffers(editor)
        buffers.open[str(file)] = "unsaved\nwords\n"
        await editor.prompt()
        assert "unsaved" in editor.call()["rawOutput"]["text"]
        assert buffers.written == ["unsaved\nwords\n", "edited\nwords\n"]
        assert "edited\nwords" in last_result(editor.server.bodies[-1])
        editor.answer = "0"
        buffers.open.clear()
        await editor.prompt("/undo")
    assert file.read_text() == "unsaved\nwords\n"


def refusing(code: int) -> Callable[[Json], Any]:
    async def refuse(params: Json) -> Any:
        raise RpcError(code, "it is not in the project")

    return refuse


@pytest.mark.parametrize("code", [METHOD_NOT_FOUND, INTERNAL_ERROR])
async def test_a_client_that_cannot_leaves_it_to_the_disk(tmp_path: Path, code: int) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    steps = call("read", path="a.txt"), call("edit", "c2", path="a.txt", old_text="two", new_text="2"), answer("Done.")
    async with editing(tmp_path, *steps, mode=Mode.ACCEPT_EDITS) as editor:
        await editor.begin(FILES)
        editor.peer.methods = {
            **editor.peer.methods,
            "fs/read_text_file": refusing(code),
            "fs/write_text_file": refusing(code),
        }
        await editor.prompt()
        assert editor.call("c2")["status"] == "completed"
    assert (tmp_path / "a.txt").read_bytes() == b"one\r\n2\r\n"


async def test_unsaved_words_are_not_overwritten_where_the_editor_refuses(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("saved\n")
    steps = call("read", path="a.txt"), call("edit", "c2", path="a.txt", old_text="mine", new_text="x"), answer("No.")
    async with editing(tmp_path, *steps, mode=Mode.ACCEPT_EDITS) as editor:
        await editor.begin(FILES)
        buffers = Buffers(editor)
        buffers.open[str(file)] = "mine\n"
        editor.peer.methods = {**editor.peer.methods, "fs/write_text_file": refusing(INTERNAL_ERROR)}
        await editor.prompt()
        assert editor.call("c2")["status"] == "failed"
        assert "unsaved changes in the editor" in last_result(editor.server.bodies[-1])
    assert file.read_text() == "saved\n"


async def test_what_an_editor_does_not_save_is_on_disk_even_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    steps = (
        call("edit", path="a.txt", old_text="one", new_text="two"),
        call("write", "c2", path="new/b.txt", content="b\n"),
        answer("Done."),
    )
    async with editing(tmp_path, *steps, mode=Mode.ACCEPT_EDITS) as editor:
        await editor.begin(FILES)
        Buffers(editor, saves=False)
        await editor.prompt()
    assert (tmp_path / "a.txt").read_text() == "two\n"
    assert (tmp_path / "new" / "b.txt").read_text() == "b\n"


async def test_a_client_that_does_not_answer_does_not_hold_up_a_cancel(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    asked = asyncio.Event()

    async def silent(params: Json) -> Any:
        asked.set()
        await asyncio.Event().wait()

    async with editing(tmp_path, call("read", path="a.txt"), answer("?")) as editor:
        await editor.begin(FILES)
        editor.peer.methods = {**editor.peer.methods, "fs/read_text_file": silent}
        running = asyncio.create_task(editor.prompt())
        await asked.wait()
        editor.cancel()
        assert (await running)["stopReason"] == "cancelled"


async def test_the_workspace_has_the_name_that_the_client_gave_it(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    (real / "a.txt").write_text("one\n")
    async with editing(link, call("read", path="a.txt"), answer(".")) as editor:
        await editor.begin(FILES)
        buffers = Buffers(editor)
        buffers.open[str(link / "a.txt")] = "open\n"
        await editor.prompt()
        assert "open" in editor.call()["rawOutput"]["text"]
        assert editor.call()["locations"] == [{"path": str(link / "a.txt")}]


@settings(max_examples=25)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r")), st.sampled_from(["\n", "\r\n"]))
def test_a_file_that_is_not_changed_in_the_editor_keeps_its_bytes(text: str, end: str) -> None:
    data = text.replace("\n", end).encode()
    assert as_edited(data, text) == data
    assert as_edited(b"\xef\xbb\xbf" + data, text) == b"\xef\xbb\xbf" + data
    assert as_edited(data, None) == data


def test_bytes_that_are_no_utf_8_stay_the_files_own() -> None:
    assert as_edited(b"caf\xe9 au lait\n", "caf\ufffd au lait\n") == b"caf\xe9 au lait\n"
    assert as_edited(b"a\0b", "x") == b"a\0b"
    assert as_edited(b"a\r\nb\r\n", "a\nc\n") == b"a\r\nc\r\n"
    assert as_text(b"caf\xe9") is None
    assert as_text(b"\xef\xbb\xbfa") is None
    assert as_text("ä\n".encode()) == "ä\n"
