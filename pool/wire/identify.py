"""What a server's own documents say about it. Pure: `pool.wire.probe` fetches them, this reads them.

Servers imitate each other's endpoints, so what a server calls itself (`owned_by` in its model list) counts more than
which addresses answer, and a document counts only if it has the fields that it should have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pool.wire.chunks import token_count
from pool.wire.dialects import Dialect, ServerKind, TokenizerKind, for_server
from pool.wire.metrics import read_metrics
from pool_tools.frozen import frozen

MODELS_PATH = "models"
VERSION_PATH = "/version"
PROPS_PATH = "/props"
OLLAMA_VERSION_PATH = "/api/version"
OLLAMA_RUNNING_PATH = "/api/ps"
OLLAMA_TAGS_PATH = "/api/tags"
LMSTUDIO_MODELS_PATH = "/api/v0/models"
SGLANG_INFO_PATHS = ("/get_server_info", "/server_info")

SMALL_WINDOW_TOKENS = 16_384
"""Below this, Pool's own prompt and one larger file do not fit together."""

MAX_NAME_CHARS = 512
"""Longest name of a model or version of a server that is believed."""

MAX_SLOTS = 1 << 16
"""Most slots that a server is believed to have."""

_OWNERS = {
    "vllm": ServerKind.VLLM,
    "sglang": ServerKind.SGLANG,
    "llamacpp": ServerKind.LLAMACPP,
    "organization_owner": ServerKind.LMSTUDIO,
}
_WINDOW_FIELDS = ("max_model_len", "context_length", "context_window")
_PYTHON_SERVER = "BaseHTTP"
_SGLANG_FIELDS = ("server_args", "max_total_num_tokens", "speculative_algorithm", "mem_fraction_static")

Json = Mapping[str, Any]


@frozen
class Documents:
    """What was fetched: decoded JSON by path, the text of the metrics, the `Server` header of the model list's answer.

    trouble is a sentence that says why the model list could not be had, "" if it could; locked: it wants another key.
    """

    json: Mapping[str, Any]
    metrics: str = ""
    server_header: str = ""
    trouble: str = ""
    locked: bool = False

    def get(self, path: str) -> Json:
        """The JSON object at path, {} if there is none."""
        value = self.json.get(path)
        return cast(Json, value) if isinstance(value, dict) else {}


@frozen
class ServerInfo:
    """What is known of a server. window is in tokens, 0 if unknown, and window_source says who named it.

    model is the one to ask for, "" if none is known. speculation is None if the server does not tell. notes are whole
    sentences for people, each with its remedy. reachable: something answered. locked: it refuses the key.
    slots is how many requests it works on at the same time, 0 where it does not tell.
    """

    kind: ServerKind = ServerKind.GENERIC
    version: str = ""
    models: tuple[str, ...] = ()
    model: str = ""
    window: int = 0
    window_source: str = ""
    tokenizer: TokenizerKind = TokenizerKind.NONE
    speculation: bool | None = None
    notes: tuple[str, ...] = ()
    reachable: bool = False
    locked: bool = False
    slots: int = 0

    @property
    def dialect(self) -> Dialect:
        """How to speak to it."""
        return for_server(self.kind)

    def describe(self) -> str:
        """One line for people: `vLLM 0.25.1: laguna-s, window 131,072 tokens`."""
        name = f"{self.dialect.name} {self.version}".strip()
        if self.locked:
            return f"{name}: wants an API key"
        model = self.model or "no model known"
        window = f"window {self.window:,} tokens" if self.window else "window unknown"
        return f"{name}: {model}, {window}"


def identify(documents: Documents, known: ServerKind | None, wanted: str, reachable: bool) -> ServerInfo:
    """Put together what documents tell.

    known is what the address said already. wanted is the model that the user asked for, "" for none.
    """
    entries = _listed(documents)
    kind = known or _kind(documents, entries)
    dialect = for_server(kind)
    names = tuple(str(entry["id"]) for entry in entries)
    model, model_note = choose_model(names, wanted, _loaded(documents))
    window, source = _window(documents, kind, entries, model)
    notes = [documents.trouble]
    if not documents.trouble:
        notes += [model_note, _window_note(window, dialect), *_llamacpp_notes(documents)]
    return ServerInfo(
        kind=kind,
        version=_version(documents, kind),
        models=names,
        model=model,
        window=window,
        window_source=source,
        tokenizer=dialect.tokenizer,
        speculation=_speculation(documents, dialect),
        notes=tuple(note for note in notes if note),
        reachable=reachable,
        locked=documents.locked,
        slots=_slots(documents),
    )


def choose_model(names: Sequence[str], wanted: str, loaded: Sequence[str] = ()) -> tuple[str, str]:
    """The model to ask for, and a sentence for people if there is something to say.

    wanted is matched whole, then with Ollama's `:latest`, then without case, then as the last part of a path.
    """
    if wanted:
        return _match(names, wanted)
    usable = [name for name in names if "embed" not in name.lower()]
    if not usable:
        return "", "The server lists no model; load one, or name it with --model."
    if len(usable) == 1:
        return usable[0], ""
    pools = ([n for n in usable if n in loaded], [n for n in usable if "laguna" in n.lower()], usable)
    chosen = next(pool[0] for pool in pools if pool)
    return chosen, f"The server has {len(usable)} models; {chosen} was taken, --model chooses another."


def _match(names: Sequence[str], wanted: str) -> tuple[str, str]:
    low = wanted.lower()
    ladder = (
        [name for name in names if name in (wanted, f"{wanted}:latest")],
        [name for name in names if name.lower() == low],
        [name for name in names if name.rpartition("/")[2].lower() == low],
    )
    for found in ladder:
        if len(found) == 1:
            return found[0], ""
    if not names:
        return wanted, ""
    return wanted, f"The server does not list the model {wanted}; it has {', '.join(names[:5])}."


def _kind(documents: Documents, entries: Sequence[Json]) -> ServerKind:
    for entry in entries:
        owner = entry.get("owned_by")
        if isinstance(owner, str) and owner in _OWNERS:
            return _OWNERS[owner]
    if "default_generation_settings" in documents.get(PROPS_PATH):
        return ServerKind.LLAMACPP
    if any("state" in entry for entry in _entries(documents.get(LMSTUDIO_MODELS_PATH), "data")):
        return ServerKind.LMSTUDIO
    if "version" in documents.get(OLLAMA_VERSION_PATH) and "models" in documents.get(OLLAMA_RUNNING_PATH):
        return ServerKind.OLLAMA
    if _sglang(documents):
        return ServerKind.SGLANG
    if isinstance(documents.get(VERSION_PATH).get("version"), str):
        return ServerKind.VLLM
    if documents.server_header.startswith(_PYTHON_SERVER) and entries:
        return ServerKind.MLX
    return ServerKind.GENERIC


def _version(documents: Documents, kind: ServerKind) -> str:
    match kind:
        case ServerKind.VLLM:
            value = documents.get(VERSION_PATH).get("version")
        case ServerKind.LLAMACPP:
            value = documents.get(PROPS_PATH).get("build_info")
        case ServerKind.OLLAMA | ServerKind.OLLAMA_NATIVE:
            value = documents.get(OLLAMA_VERSION_PATH).get("version")
        case ServerKind.SGLANG:
            value = _sglang(documents).get("version")
        case _:
            value = ""
    return str(value) if _is_name(value) else ""


def _window(documents: Documents, kind: ServerKind, entries: Sequence[Json], model: str) -> tuple[int, str]:
    """The window in tokens and where it was found; what is loaded counts, not what the model could do."""
    slot = _object(documents.get(PROPS_PATH).get("default_generation_settings")).get("n_ctx")
    loaded = [entry for entry in _loaded_entries(documents) if model in (entry.get("id"), entry.get("name"))]
    candidates: list[tuple[Any, str]] = [(slot, f"{PROPS_PATH}, per slot")] if kind is ServerKind.LLAMACPP else []
    for entry in loaded:
        candidates.append((entry.get("loaded_context_length"), LMSTUDIO_MODELS_PATH))
        candidates.append((entry.get("context_length"), OLLAMA_RUNNING_PATH))
    for entry in entries:
        if entry.get("id") == model:
            candidates += [(entry.get(name), f"{MODELS_PATH}, {name}") for name in _WINDOW_FIELDS]
            candidates.append((_object(entry.get("meta")).get("n_ctx"), f"{MODELS_PATH}, n_ctx"))
    candidates.append((_sglang(documents).get("context_length"), SGLANG_INFO_PATHS[0]))
    for value, source in candidates:
        if tokens := token_count(value):
            return tokens, source
    return 0, ""


def _window_note(window: int, dialect: Dialect) -> str:
    if not window and dialect.shape.sets_window:
        return f"{_capital(dialect.name)} decides how large the context window is; {dialect.window_remedy}."
    if not window:
        return (
            f"{_capital(dialect.name)} does not tell how large its context window is; "
            "set `window` in the configuration to what it was started with."
        )
    if window < SMALL_WINDOW_TOKENS:
        return f"The context window of {window:,} tokens is small for an agent; {dialect.window_remedy}."
    return ""


def _llamacpp_notes(documents: Documents) -> list[str]:
    props = documents.get(PROPS_PATH)
    notes: list[str] = []
    if _object(props.get("chat_template_caps")).get("supports_tools") is False:
        notes.append(
            "The model's chat template knows no tools; start llama-server with --jinja and a template that does."
        )
    slots = props.get("total_slots")
    if isinstance(slots, int) and 1 < slots <= MAX_SLOTS:
        notes.append(
            f"The server shares its context among {slots} slots; --parallel 1 gives one conversation all of it."
        )
    return notes


def _slots(documents: Documents) -> int:
    """How many requests the server works on at the same time: llama.cpp's and SGLang's own word, 0 for none."""
    told = documents.get(PROPS_PATH).get("total_slots") or _sglang(documents).get("max_running_requests")
    return told if isinstance(told, int) and 0 < told <= MAX_SLOTS else 0


def _speculation(documents: Documents, dialect: Dialect) -> bool | None:
    sglang = _sglang(documents)
    if "speculative_algorithm" in sglang:
        return bool(sglang["speculative_algorithm"])
    settings = _object(documents.get(PROPS_PATH).get("default_generation_settings"))
    types = _object(settings.get("params")).get("speculative.types")
    if isinstance(types, str):
        return types != "none"
    if not documents.metrics or not dialect.speculation_metric:
        return None
    return any(name.startswith(dialect.speculation_metric) for name in read_metrics(documents.metrics))


def _sglang(documents: Documents) -> Json:
    """SGLang's description of itself; vLLM in development mode has a document of another shape at one of the paths."""
    for path in SGLANG_INFO_PATHS:
        document = documents.get(path)
        if any(name in document for name in _SGLANG_FIELDS):
            return document
    return {}


def _listed(documents: Documents) -> list[Json]:
    """The models that a server has, each with an `id` that can be shown: OpenAI's list, or Ollama's own."""
    own = _entries(documents.get(OLLAMA_TAGS_PATH), "models")
    listed = _entries(documents.get(MODELS_PATH), "data") + [{**entry, "id": entry.get("name")} for entry in own]
    return [entry for entry in listed if _is_name(entry.get("id"))]


def _loaded_entries(documents: Documents) -> list[Json]:
    lmstudio = _entries(documents.get(LMSTUDIO_MODELS_PATH), "data")
    return [e for e in lmstudio if e.get("state") == "loaded"] + _entries(documents.get(OLLAMA_RUNNING_PATH), "models")


def _loaded(documents: Documents) -> list[str]:
    return [name for e in _loaded_entries(documents) if isinstance(name := e.get("id") or e.get("name"), str)]


def _entries(document: Json, name: str) -> list[Json]:
    value = document.get(name)
    if not isinstance(value, list):
        return []
    return [cast(Json, item) for item in cast(list[Any], value) if isinstance(item, dict)]


def _is_name(value: object) -> bool:
    """Whether this can be a name or a version: text on one line, without control characters, of bearable length."""
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME_CHARS and value.isprintable()


def _object(value: Any) -> Json:
    return cast(Json, value) if isinstance(value, dict) else {}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
