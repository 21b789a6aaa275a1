from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class InfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class InfoReply(_message.Message):
    __slots__ = ("set", "set_hash", "entries", "signal_bytes", "payload_bytes", "batch", "bulletins", "posts_left", "encoder", "steps")
    SET_FIELD_NUMBER: _ClassVar[int]
    SET_HASH_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_BYTES_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    BULLETINS_FIELD_NUMBER: _ClassVar[int]
    POSTS_LEFT_FIELD_NUMBER: _ClassVar[int]
    ENCODER_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    set: str
    set_hash: bytes
    entries: int
    signal_bytes: int
    payload_bytes: int
    batch: int
    bulletins: int
    posts_left: int
    encoder: str
    steps: int
    def __init__(self, set: _Optional[str] = ..., set_hash: _Optional[bytes] = ..., entries: _Optional[int] = ..., signal_bytes: _Optional[int] = ..., payload_bytes: _Optional[int] = ..., batch: _Optional[int] = ..., bulletins: _Optional[int] = ..., posts_left: _Optional[int] = ..., encoder: _Optional[str] = ..., steps: _Optional[int] = ...) -> None: ...

class PostRequest(_message.Message):
    __slots__ = ("header", "batch")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    header: PostHeader
    batch: Batch
    def __init__(self, header: _Optional[_Union[PostHeader, _Mapping]] = ..., batch: _Optional[_Union[Batch, _Mapping]] = ...) -> None: ...

class PostHeader(_message.Message):
    __slots__ = ("set_hash",)
    SET_HASH_FIELD_NUMBER: _ClassVar[int]
    set_hash: bytes
    def __init__(self, set_hash: _Optional[bytes] = ...) -> None: ...

class Batch(_message.Message):
    __slots__ = ("signals", "payloads")
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    PAYLOADS_FIELD_NUMBER: _ClassVar[int]
    signals: bytes
    payloads: bytes
    def __init__(self, signals: _Optional[bytes] = ..., payloads: _Optional[bytes] = ...) -> None: ...

class PostReply(_message.Message):
    __slots__ = ("number", "count", "chain")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    number: int
    count: int
    chain: bytes
    def __init__(self, number: _Optional[int] = ..., count: _Optional[int] = ..., chain: _Optional[bytes] = ...) -> None: ...

class BulletinsRequest(_message.Message):
    __slots__ = ("start",)
    START_FIELD_NUMBER: _ClassVar[int]
    start: int
    def __init__(self, start: _Optional[int] = ...) -> None: ...

class BulletinsReply(_message.Message):
    __slots__ = ("bulletins",)
    BULLETINS_FIELD_NUMBER: _ClassVar[int]
    bulletins: _containers.RepeatedCompositeFieldContainer[Bulletin]
    def __init__(self, bulletins: _Optional[_Iterable[_Union[Bulletin, _Mapping]]] = ...) -> None: ...

class Bulletin(_message.Message):
    __slots__ = ("number", "entries", "pads", "sealed", "digest")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    PADS_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    number: int
    entries: int
    pads: int
    sealed: bool
    digest: bytes
    def __init__(self, number: _Optional[int] = ..., entries: _Optional[int] = ..., pads: _Optional[int] = ..., sealed: bool = ..., digest: _Optional[bytes] = ...) -> None: ...

class RangeRequest(_message.Message):
    __slots__ = ("bulletin", "start", "stop")
    BULLETIN_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    bulletin: int
    start: int
    stop: int
    def __init__(self, bulletin: _Optional[int] = ..., start: _Optional[int] = ..., stop: _Optional[int] = ...) -> None: ...

class RangeReply(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: RangeHeader
    chunk: bytes
    def __init__(self, header: _Optional[_Union[RangeHeader, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class RangeHeader(_message.Message):
    __slots__ = ("total_bytes",)
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    total_bytes: int
    def __init__(self, total_bytes: _Optional[int] = ...) -> None: ...

class EncodingRequest(_message.Message):
    __slots__ = ("bulletin", "encoder", "step")
    BULLETIN_FIELD_NUMBER: _ClassVar[int]
    ENCODER_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    bulletin: int
    encoder: str
    step: int
    def __init__(self, bulletin: _Optional[int] = ..., encoder: _Optional[str] = ..., step: _Optional[int] = ...) -> None: ...
