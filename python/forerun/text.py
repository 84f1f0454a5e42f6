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
"""A conversation; a single text is one message of the user."""

MODEL_PATH_BYTES = 4096


def find_model(name: str | os.PathLike[str]) -> str:
    """The path of the model that a name means, as in ``forerun run -m``.

    ``name`` is a GGUF file, a folder that holds one, or the name of a model that Hugging Face,
    llama.cpp, Ollama or LM Studio stored on this machine (``"org/repo"``, ``"org/repo:Q4_K_M"``,
    ``"smollm2:135m"``). Nothing is downloaded. Raises FileError if there is no such model or
    several, and DataError if Ollama's manifest of it is damaged.
    """
    path = ffi.new("char[]", MODEL_PATH_BYTES)
    call(lib.fr_model_find, path, MODEL_PATH_BYTES, c_path(name))
    return os.fsdecode(ffi.string(path))


def chat_templates() -> dict[str, str]:
    """Built-in short chat templates (Jinja) for models without one, by name."""
    templates: dict[str, str] = {}
    while name := lib.fr_chat_name_at(len(templates)):
        templates[text_of(name)] = text_of(lib.fr_chat_text_named(name))
    return templates


@dataclass(frozen=True)
class TextInfo:
    """Facts about tokenizer and chat template. An id that the model lacks is -1."""

    n_vocab: int
    """Text uses the ids 0 to n_vocab - 1."""
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
    """Tokens that end a generation, ascending."""
    fim_prefix: int
    """Fill-in-the-middle: ``fim_prefix`` prefix ``fim_suffix`` suffix ``fim_middle``."""
    fim_suffix: int
    fim_middle: int
    fim_pad: int
    fim_repository: int
    """The name of a repository follows it."""
    fim_file: int
    """The name of a file follows it."""
    chat_template: str | None
    """Jinja source; None: there is no template."""
    chat_fault: str | None
    """Why the template cannot be used; None: it can."""
    chat_tools: bool
    """Conversations may have tools."""
    chat_thinking: bool
    """The template reads ``enable_thinking``, which switches thinking off."""
    tool_template: str | None
    """Used for conversations with tools; None: ``chat_template`` is used."""


@dataclass(frozen=True)
class Encoded:
    """A text and its token ids."""

    text: str
    ids: list[int]


class Text(Closing):
    """The tokenizer and the chat template of a model.

    An engine has one (`Engine.text`). ``Text(model)`` opens the one of a file without an engine; it
    is fast, because it does not read the weights. Any number of threads may use one Text at the
    same time.
    """

    def __init__(self, model: str | os.PathLike[str]) -> None:
        """``model`` as in `find_model`. Raises FileError, DataError or UnsupportedError."""
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
        """The same tokenizer with another chat template (Jinja).

        Raises UnsupportedError if the template is empty, and DataError, with the line, if it has a
        fault.
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
        """Frees it. The text of an engine is freed with the engine."""
        if self._closes_owner:
            self._owner.close()

    def __del__(self) -> None:
        if hasattr(self, "_owner"):
            self.close()

    @property
    def info(self) -> TextInfo:
        """Its special tokens and the abilities of its chat template."""
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

        bos: begin with the beginning-of-text token if the model adds one.
        control: parse spellings of control tokens in the text (``"<|im_end|>"``). Otherwise they
            are plain text, which is right for text from outside.
        """
        data = c_bytes(text) if isinstance(text, str) else text
        return self._encoded(lib.fr_text_tokenize, data, len(data), _flags(bos, control)).ids

    def detokenize_bytes(self, ids: Sequence[int]) -> bytes:
        """The bytes of token ids, which need not be UTF-8. Raises ArgumentError for an unknown
        id."""
        with self._owner.held():
            out = ffi.new("fr_encoded **")
            array = c_ids("ids", ids)
            call(lib.fr_text_detokenize, self._pointer, array, len(array), out)
            try:
                return bytes(ffi.buffer(out[0].text, out[0].text_bytes))
            finally:
                lib.fr_encoded_free(out[0])

    def detokenize(self, ids: Sequence[int]) -> str:
        """The text of token ids, with spellings of control tokens; invalid UTF-8 becomes U+FFFD."""
        return self.detokenize_bytes(ids).decode("utf-8", "replace")

    def token(self, token: int) -> bytes | None:
        """The bytes of one token; None: there is no such token."""
        try:
            in_c = c_id("token", token)
        except ArgumentError:
            return None
        with self._owner.held():
            n = ffi.new("size_t *")
            data = lib.fr_text_token(self._pointer, in_c, n)
            return bytes(ffi.buffer(data, n[0])) if data else None

    def find(self, text: str | bytes) -> int | None:
        """The special token with this spelling; None: there is none."""
        data = c_bytes(text) if isinstance(text, str) else text
        with self._owner.held():
            token = int(lib.fr_text_find(self._pointer, data, len(data)))
        return None if token < 0 else token

    def is_control(self, token: int) -> bool:
        """True for a control token, which is structure and not text of an answer.

        Raises ArgumentError if the id has more than 32 bits.
        """
        with self._owner.held():
            return bool(lib.fr_text_is_control(self._pointer, c_id("token", token)))

    def is_end(self, token: int) -> bool:
        """True for a token that ends a generation.

        Raises ArgumentError if the id has more than 32 bits.
        """
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
        """Renders a conversation with the chat template. Returns its text and its ids.

        tools: as in the OpenAI API.
        add_generation_prompt: end with the beginning of the assistant's turn.
        template_kwargs: variables of the template, such as ``{"enable_thinking": False}``.
        bos: add the beginning-of-text token if the template did not write it.
        control: parse spellings of control tokens in messages, so that the author of a message can
            write in any role.

        Raises UnsupportedError if there is no template or it does not take tools, and ArgumentError
        if the template refuses the messages or they are malformed.
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
