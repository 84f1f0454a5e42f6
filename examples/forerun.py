"""forerun.h by ctypes: as much of it as the examples need."""

import ctypes as c
import json

lib = c.CDLL("libforerun.so.0")
TEXT_BOS = 1


class Error(c.Structure):
    _fields_ = [("code", c.c_int), ("text", c.c_char * 512)]


class Piece(c.Structure):
    _fields_ = [("text", c.c_void_p), ("bytes", c.c_size_t), ("token", c.c_int32),
                ("depth", c.c_int), ("drafter", c.c_int)]


class Encoded(c.Structure):
    _fields_ = [("text", c.c_void_p), ("text_bytes", c.c_size_t),
                ("ids", c.POINTER(c.c_int32)), ("n_ids", c.c_int)]


STREAM = c.CFUNCTYPE(c.c_bool, c.c_void_p, c.POINTER(Piece))


class Request(c.Structure):
    _fields_ = [("size", c.c_size_t), ("prompt", c.POINTER(c.c_int32)), ("n_prompt", c.c_int),
                ("n_predict", c.c_int), ("sampling", c.c_void_p), ("stop", c.c_void_p),
                ("ignore_eos", c.c_bool), ("logprobs", c.c_bool), ("top_logprobs", c.c_int),
                ("n_prediction", c.c_int), ("prediction", c.c_void_p), ("stream", STREAM),
                ("user", c.c_void_p)]


lib.fr_engine_text.restype = c.c_void_p
lib.fr_session_step.restype = c.c_bool


def call(function, *arguments):
    """Calls a function whose last argument is an fr_error."""
    error = Error()
    if function(*arguments, c.byref(error)):
        raise RuntimeError(error.text.decode(errors="replace"))


class Model:
    def __init__(self, path):
        self.engine, self.session = c.c_void_p(), c.c_void_p()
        call(lib.fr_engine_open, c.byref(self.engine), path.encode(), None)
        call(lib.fr_session_open, c.byref(self.session), self.engine, None)
        self.text = c.c_void_p(lib.fr_engine_text(self.engine))

    def close(self):
        lib.fr_session_close(self.session)
        lib.fr_engine_close(self.engine)

    def _ids(self, function, data):
        out = c.POINTER(Encoded)()
        call(function, self.text, data, c.c_size_t(len(data)), TEXT_BOS, c.byref(out))
        ids = out.contents.ids[:out.contents.n_ids]
        lib.fr_encoded_free(out)
        return ids

    def tokenize(self, text):
        return self._ids(lib.fr_text_tokenize, text.encode())

    def chat(self, messages, **more):
        """Ids of a conversation; `more`: tools, chat_template_kwargs and so on."""
        return self._ids(lib.fr_text_chat_json, json.dumps({"messages": messages, **more}).encode())

    def generate(self, ids, n_predict=-1):
        """Gives the pieces of the answer, as they come."""
        pieces = []

        def hear(_user, piece):
            pieces.append(c.string_at(piece.contents.text, piece.contents.bytes))
            return True

        request = Request(size=c.sizeof(Request), prompt=(c.c_int32 * len(ids))(*ids),
                          n_prompt=len(ids), n_predict=n_predict, stream=STREAM(hear))
        call(lib.fr_session_begin, self.session, c.byref(request))
        try:
            more = True
            while more:
                more = lib.fr_session_step(self.session)
                yield b"".join(pieces).decode()
                pieces.clear()
        finally:
            call(lib.fr_session_end, self.session)
        yield b"".join(pieces).decode()
