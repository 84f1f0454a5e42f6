"""Text and tokens: a model's tokenizer and its chat template."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._lifetime import Closing, Resource
from ._native import c_bytes, c_id, c_ids, c_path, call, ffi, lib, sized_text, text_of
from .errors import ArgumentError

Message = Mapping[str, Any]
"""A message in the form of the OpenAI API: ``{"role": "user", "content": "Hello"}``.

It may have ``tool_calls``, ``reasoning_content`` and a list of text parts as content.
"""
Messages = str | Sequence[Message]
"""A conversation; a text alone is one message of the user."""

MODEL_PATH_BYTES = 4096


def find_model(name: str | os.PathLike[str]) -> str:
    """The path of the model that a name stands for, as ``forerun run -m`` takes it.

    ``name`` is a GGUF file, a folder with one in it, or the name of a model that Hugging Face,
    llama.cpp, Ollama or LM Studio have put on this machine (``"org/repo"``, ``"org/repo:Q4_K_M"``,
    ``"smollm2:135m"``). Nothing is downloaded. FileError: there is none, or several.
    DataError: Ollama's record of it is faulty.
    """
    path = ffi.new("char[]", MODEL_PATH_BYTES)
    call(lib.fr_model_find, path, MODEL_PATH_BYTES, c_path(name))
    return os.fsdecode(ffi.string(path))


def chat_templates() -> dict[str, str]:
    """Short chat templates (Jinja) for models that have none, by name."""
    templates: dict[str, str] = {}
    while name := lib.fr_chat_name_at(len(templates)):
        templates[text_of(name)] = text_of(lib.fr_chat_text_named(name))
    return templates


@dataclass(frozen=True)
class TextInfo:
    """What a model's text side is; ids are -1 where the model has no such token."""

    n_vocab: int
    """Ids that stand for text are 0 to n_vocab - 1."""
    bos: int
    eos: int
    eot: int
    unknown: int
    pad: int
    adds_bos: bool
    """A text begins with ``bos``."""
    adds_eos: bool
    """A text ends with ``eos``."""
    ends: tuple[int, ...]
    """Who generates one of these has finished; ascending."""
    fim_prefix: int
    """To fill in the middle: ``fim_prefix`` prefix ``fim_suffix`` suffix ``fim_middle``."""
    fim_suffix: int
    fim_middle: int
    fim_pad: int
    fim_repository: int
    """The name of a repository stands behind it."""
    fim_file: int
    """The name of a file stands behind it."""
    chat_template: str | None
    """Jinja."""
    chat_fault: str | None
    """Why conversations cannot be put through the template; None: they can."""
    chat_tools: bool
    """The template takes tools."""
    chat_thinking: bool
    """The template knows ``enable_thinking``, which turns thinking off."""
    tool_template: str | None
    """For conversations with tools; None: ``chat_template`` is."""


@dataclass(frozen=True)
class Encoded:
    """A text and its token ids."""

    text: str
    ids: list[int]


class Text(Closing):
    """The text side of a model: tokenizer and chat template.

    An engine has one (`Engine.text`). ``Text(model)`` opens that of a file alone, at once, as the
    weights are not read. Any number of threads may use one at the same time.
    """

    def __init__(self, model: str | os.PathLike[str]) -> None:
        """``model`` as `find_model` takes it. FileError, DataError, UnsupportedError."""
        out = ffi.new("fr_text **")
        call(lib.fr_text_open, out, c_path(find_model(model)))
        self._pointer = out[0]
        self._owner = Resource("text", out[0], lib.fr_text_close)
        self._closes_owner = True

    @classmethod
    def _of(cls, pointer: Any, owner: Resource, closes_owner: bool) -> Text:
        text = cls.__new__(cls)
        text._pointer, text._owner, text._closes_owner = pointer, owner, closes_owner
        return text

    def with_template(self, template: str) -> Text:
        """The same with another chat template (Jinja) in the place of the model's.

        UnsupportedError: it is empty. DataError: what is wrong with it, and in which line.
        """
        data = c_bytes(template)
        out = ffi.new("fr_text **")
        self._owner.hold()
        try:
            call(lib.fr_text_open_with, out, self._pointer, data, len(data))
        except BaseException:
            self._owner.let_go()
            raise
        owner = Resource("text", out[0], lib.fr_text_close, (self._owner,))
        return Text._of(out[0], owner, closes_owner=True)

    def close(self) -> None:
        """Frees it, but for an engine's own, which goes with the engine."""
        if self._closes_owner:
            self._owner.close()

    def __del__(self) -> None:
        if hasattr(self, "_owner"):
            self.close()

    @property
    def info(self) -> TextInfo:
        """Its special tokens and what its chat template can do."""
        with self._owner.held():
            info = lib.fr_text_describe(self._pointer)[0]
            members = {name: getattr(info, name) for name in TextInfo.__dataclass_fields__}
            members["ends"] = tuple(info.ends[0 : info.n_ends])
            template = info.chat_template
            members["chat_template"] = (
                sized_text(template, info.chat_template_bytes) if template else None
            )
            template = info.tool_template
            members["tool_template"] = (
                sized_text(template, info.tool_template_bytes) if template else None
            )
            members["chat_fault"] = text_of(info.chat_fault) if info.chat_fault else None
            return TextInfo(**members)

    def _encoded(self, function: Any, *arguments: Any) -> Encoded:
        with self._owner.held():
            out = ffi.new("fr_encoded **")
            call(function, self._pointer, *arguments, out)
            encoded = out[0]
            try:
                ids = ffi.unpack(encoded.ids, encoded.n_ids) if encoded.n_ids else []
                return Encoded(sized_text(encoded.text, encoded.text_bytes), ids)
            finally:
                lib.fr_encoded_free(encoded)

    def tokenize(self, text: str | bytes, *, bos: bool = True, control: bool = False) -> list[int]:
        """The token ids of a text.

        ``bos``: the token that the model wants in front of a text, if any, is put there.
        ``control``: control tokens that are written in the text (``"<|im_end|>"``) become such;
        else they are text, which is what text from outside should be.
        """
        data = c_bytes(text) if isinstance(text, str) else text
        return self._encoded(lib.fr_text_tokenize, data, len(data), _flags(bos, control)).ids

    def detokenize_bytes(self, ids: Sequence[int]) -> bytes:
        """The bytes of token ids, which need not be UTF-8. ArgumentError: an id that is none."""
        with self._owner.held():
            out = ffi.new("fr_encoded **")
            array = c_ids("ids", ids)
            call(lib.fr_text_detokenize, self._pointer, array, len(array), out)
            try:
                return bytes(ffi.buffer(out[0].text, out[0].text_bytes))
            finally:
                lib.fr_encoded_free(out[0])

    def detokenize(self, ids: Sequence[int]) -> str:
        """The text of token ids, control tokens as they are written; U+FFFD for invalid UTF-8."""
        return self.detokenize_bytes(ids).decode("utf-8", "replace")

    def token(self, token: int) -> bytes | None:
        """The bytes of one token; None where there is no such token."""
        try:
            in_c = c_id("token", token)
        except ArgumentError:
            return None
        with self._owner.held():
            n = ffi.new("size_t *")
            data = lib.fr_text_token(self._pointer, in_c, n)
            return bytes(ffi.buffer(data, n[0])) if data else None

    def find(self, text: str | bytes) -> int | None:
        """The special token that is written so; None where there is none."""
        data = c_bytes(text) if isinstance(text, str) else text
        with self._owner.held():
            token = int(lib.fr_text_find(self._pointer, data, len(data)))
        return None if token < 0 else token

    def is_control(self, token: int) -> bool:
        """Whether it is no part of what a model says. ArgumentError: it has more than 32 bits."""
        with self._owner.held():
            return bool(lib.fr_text_is_control(self._pointer, c_id("token", token)))

    def is_end(self, token: int) -> bool:
        """Whether who generates it has finished. ArgumentError: it has more than 32 bits."""
        with self._owner.held():
            return bool(lib.fr_text_is_end(self._pointer, c_id("token", token)))

    def render(
        self,
        messages: Messages,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True,
        template_kwargs: Mapping[str, Any] | None = None,
        bos: bool = True,
        control: bool = False,
    ) -> Encoded:
        """A conversation as the model was trained on it: its text and its ids.

        ``tools`` as the OpenAI API has them. ``add_generation_prompt``: the assistant's turn is
        opened. ``template_kwargs``: variables for the template, as ``{"enable_thinking": False}``.
        ``bos`` adds the token only where the template did not write it. ``control``: control
        tokens that are written in messages count, which lets whoever writes them speak in any role.

        UnsupportedError: there is no template, or it takes no tools. ArgumentError: what the
        template refuses, or is wrong with the messages.
        """
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        body: dict[str, Any] = {
            "messages": list(messages),
            "add_generation_prompt": add_generation_prompt,
        }
        if tools is not None:
            body["tools"] = list(tools)
        if template_kwargs is not None:
            body["chat_template_kwargs"] = dict(template_kwargs)
        try:
            data = json.dumps(body).encode()
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"messages: expected what JSON has: {error}") from None
        return self._encoded(lib.fr_text_chat_json, data, len(data), _flags(bos, control))


def _flags(bos: bool, control: bool) -> int:
    return int((lib.FR_TEXT_BOS if bos else 0) | (lib.FR_TEXT_CONTROL if control else 0))
