from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class InfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class InfoReply(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: InfoHeader
    chunk: bytes
    def __init__(self, header: _Optional[_Union[InfoHeader, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class InfoHeader(_message.Message):
    __slots__ = ("total_bytes", "prf_left", "bins_left")
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    PRF_LEFT_FIELD_NUMBER: _ClassVar[int]
    BINS_LEFT_FIELD_NUMBER: _ClassVar[int]
    total_bytes: int
    prf_left: int
    bins_left: int
    def __init__(self, total_bytes: _Optional[int] = ..., prf_left: _Optional[int] = ..., bins_left: _Optional[int] = ...) -> None: ...

class PrfRequest(_message.Message):
    __slots__ = ("table", "blinded")
    TABLE_FIELD_NUMBER: _ClassVar[int]
    BLINDED_FIELD_NUMBER: _ClassVar[int]
    table: bytes
    blinded: bytes
    def __init__(self, table: _Optional[bytes] = ..., blinded: _Optional[bytes] = ...) -> None: ...

class PrfReply(_message.Message):
    __slots__ = ("evaluated",)
    EVALUATED_FIELD_NUMBER: _ClassVar[int]
    evaluated: bytes
    def __init__(self, evaluated: _Optional[bytes] = ...) -> None: ...

class OpenRequest(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: OpenHeader
    chunk: bytes
    def __init__(self, header: _Optional[_Union[OpenHeader, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class OpenHeader(_message.Message):
    __slots__ = ("table", "total_bytes")
    TABLE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    table: bytes
    total_bytes: int
    def __init__(self, table: _Optional[bytes] = ..., total_bytes: _Optional[int] = ...) -> None: ...

class OpenReply(_message.Message):
    __slots__ = ("session", "idle_seconds")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    IDLE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    session: bytes
    idle_seconds: int
    def __init__(self, session: _Optional[bytes] = ..., idle_seconds: _Optional[int] = ...) -> None: ...

class QueryRequest(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: QueryHeader
    chunk: bytes
    def __init__(self, header: _Optional[_Union[QueryHeader, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class QueryHeader(_message.Message):
    __slots__ = ("table", "session", "total_bytes")
    TABLE_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    table: bytes
    session: bytes
    total_bytes: int
    def __init__(self, table: _Optional[bytes] = ..., session: _Optional[bytes] = ..., total_bytes: _Optional[int] = ...) -> None: ...

class QueryReply(_message.Message):
    __slots__ = ("progress", "header", "chunk")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    progress: Progress
    header: ReplyHeader
    chunk: bytes
    def __init__(self, progress: _Optional[_Union[Progress, _Mapping]] = ..., header: _Optional[_Union[ReplyHeader, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("waiting", "done", "steps")
    WAITING_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    waiting: int
    done: int
    steps: int
    def __init__(self, waiting: _Optional[int] = ..., done: _Optional[int] = ..., steps: _Optional[int] = ...) -> None: ...

class ReplyHeader(_message.Message):
    __slots__ = ("total_bytes",)
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    total_bytes: int
    def __init__(self, total_bytes: _Optional[int] = ...) -> None: ...

class CloseRequest(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: bytes
    def __init__(self, session: _Optional[bytes] = ...) -> None: ...

class CloseReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
