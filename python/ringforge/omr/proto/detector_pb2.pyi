from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class InfoRequest(_message.Message):
    __slots__ = ("first_bulletin",)
    FIRST_BULLETIN_FIELD_NUMBER: _ClassVar[int]
    first_bulletin: int
    def __init__(self, first_bulletin: _Optional[int] = ...) -> None: ...

class InfoReply(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: Header
    chunk: bytes
    def __init__(self, header: _Optional[_Union[Header, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class Header(_message.Message):
    __slots__ = ("total_bytes",)
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    total_bytes: int
    def __init__(self, total_bytes: _Optional[int] = ...) -> None: ...

class PutKeyRequest(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: KeyHeader
    chunk: bytes
    def __init__(self, header: _Optional[_Union[KeyHeader, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class KeyHeader(_message.Message):
    __slots__ = ("sha256", "total_bytes")
    SHA256_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    sha256: bytes
    total_bytes: int
    def __init__(self, sha256: _Optional[bytes] = ..., total_bytes: _Optional[int] = ...) -> None: ...

class PutKeyReply(_message.Message):
    __slots__ = ("key",)
    KEY_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    def __init__(self, key: _Optional[bytes] = ...) -> None: ...

class DropKeyRequest(_message.Message):
    __slots__ = ("key",)
    KEY_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    def __init__(self, key: _Optional[bytes] = ...) -> None: ...

class DropKeyReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SubmitRequest(_message.Message):
    __slots__ = ("key", "bulletin", "digest", "mode", "capacity", "first", "last")
    KEY_FIELD_NUMBER: _ClassVar[int]
    BULLETIN_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    bulletin: int
    digest: bytes
    mode: str
    capacity: int
    first: int
    last: int
    def __init__(self, key: _Optional[bytes] = ..., bulletin: _Optional[int] = ..., digest: _Optional[bytes] = ..., mode: _Optional[str] = ..., capacity: _Optional[int] = ..., first: _Optional[int] = ..., last: _Optional[int] = ...) -> None: ...

class SubmitReply(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: bytes
    def __init__(self, job: _Optional[bytes] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: bytes
    def __init__(self, job: _Optional[bytes] = ...) -> None: ...

class WatchReply(_message.Message):
    __slots__ = ("state", "waiting", "stage", "done", "steps", "permille", "seconds_left", "error", "text")
    STATE_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    PERMILLE_FIELD_NUMBER: _ClassVar[int]
    SECONDS_LEFT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    state: str
    waiting: int
    stage: str
    done: int
    steps: int
    permille: int
    seconds_left: int
    error: str
    text: str
    def __init__(self, state: _Optional[str] = ..., waiting: _Optional[int] = ..., stage: _Optional[str] = ..., done: _Optional[int] = ..., steps: _Optional[int] = ..., permille: _Optional[int] = ..., seconds_left: _Optional[int] = ..., error: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class FetchRequest(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: bytes
    def __init__(self, job: _Optional[bytes] = ...) -> None: ...

class FetchReply(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: Header
    chunk: bytes
    def __init__(self, header: _Optional[_Union[Header, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class CancelRequest(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: bytes
    def __init__(self, job: _Optional[bytes] = ...) -> None: ...

class CancelReply(_message.Message):
    __slots__ = ("found",)
    FOUND_FIELD_NUMBER: _ClassVar[int]
    found: bool
    def __init__(self, found: bool = ...) -> None: ...
