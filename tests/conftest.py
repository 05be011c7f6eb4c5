"""What holds for every test: nothing of the person's own settings or state gets in or is touched."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

from tests.preparing import prepare

# Machines that run tests are busy with other things: time limits are pytest-timeout's, not hypothesis's.
settings.register_profile("pool", deadline=None)
settings.register_profile("pool-ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("pool-ci" if os.environ.get("CI") else "pool")

OWN_VARIABLES = ("POOL_", "POOLSIDE_")
FOLDERS = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Before xdist starts its workers, so it comes first. For a few tests it would cost more than it saves."""
    config = session.config
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if whole and getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        prepare(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of collected tests are no garbage: they are not looked through while they are made, nor ever after."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def own_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Variables that set something are unset, no keyring is used; settings, state and caches are temporary."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(OWN_VARIABLES):
                patch.delenv(name)
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
        for name in FOLDERS:
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        yield
