from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Header(_message.Message):
    __slots__ = ("total_bytes",)
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    total_bytes: int
    def __init__(self, total_bytes: _Optional[int] = ...) -> None: ...

class InfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class InfoReply(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: Header
    chunk: bytes
    def __init__(self, header: _Optional[_Union[Header, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class File(_message.Message):
    __slots__ = ("name", "sha256", "bytes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    name: str
    sha256: bytes
    bytes: int
    def __init__(self, name: _Optional[str] = ..., sha256: _Optional[bytes] = ..., bytes: _Optional[int] = ...) -> None: ...

class OfferRequest(_message.Message):
    __slots__ = ("kind", "files")
    KIND_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    kind: str
    files: _containers.RepeatedCompositeFieldContainer[File]
    def __init__(self, kind: _Optional[str] = ..., files: _Optional[_Iterable[_Union[File, _Mapping]]] = ...) -> None: ...

class OfferReply(_message.Message):
    __slots__ = ("set", "missing")
    SET_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    set: bytes
    missing: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, set: _Optional[bytes] = ..., missing: _Optional[_Iterable[str]] = ...) -> None: ...

class PutFileRequest(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: FileHeader
    chunk: bytes
    def __init__(self, header: _Optional[_Union[FileHeader, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class FileHeader(_message.Message):
    __slots__ = ("set", "name")
    SET_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    set: bytes
    name: str
    def __init__(self, set: _Optional[bytes] = ..., name: _Optional[str] = ...) -> None: ...

class PutFileReply(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class DropRequest(_message.Message):
    __slots__ = ("set",)
    SET_FIELD_NUMBER: _ClassVar[int]
    set: bytes
    def __init__(self, set: _Optional[bytes] = ...) -> None: ...

class DropReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SubmitRequest(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: JobHeader
    chunk: bytes
    def __init__(self, header: _Optional[_Union[JobHeader, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class JobHeader(_message.Message):
    __slots__ = ("evaluation", "round_keys", "kind", "compute", "sha256", "total_bytes")
    EVALUATION_FIELD_NUMBER: _ClassVar[int]
    ROUND_KEYS_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    COMPUTE_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    evaluation: bytes
    round_keys: bytes
    kind: str
    compute: str
    sha256: bytes
    total_bytes: int
    def __init__(self, evaluation: _Optional[bytes] = ..., round_keys: _Optional[bytes] = ..., kind: _Optional[str] = ..., compute: _Optional[str] = ..., sha256: _Optional[bytes] = ..., total_bytes: _Optional[int] = ...) -> None: ...

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
