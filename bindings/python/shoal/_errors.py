"""Exceptions: one class for each code that the library fails with."""


class Error(Exception):
    """What the library refused or failed at.

    The message says what was wrong and where; ``code`` says which kind of failure it was, in the
    words of the C++ library. Every subclass is also the built-in exception that a Python programmer
    would expect:

    >>> import shoal
    >>> try:
    ...     shoal.Session("zoo:none")
    ... except shoal.Error as error:
    ...     error.code
    'not_found'
    """

    code: str = "internal"

    # OSError and KeyError print their arguments in ways of their own.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class InvalidArgument(Error, ValueError):
    """The caller's mistake: calling again cannot help."""

    code = "invalid_argument"


class NotFound(Error, FileNotFoundError, KeyError):
    """There is no such file, model, device or name."""

    code = "not_found"


class Unsupported(Error, NotImplementedError):
    """Valid, but this build or this device cannot do it."""

    code = "unsupported"


class Corrupt(Error, ValueError):
    """A file or a message from a peer does not parse."""

    code = "corrupt"


class Exhausted(Error, MemoryError):
    """No memory, disk space or slot is left."""

    code = "exhausted"


class Unavailable(Error, ConnectionError):
    """A worker is gone."""

    code = "unavailable"


class DeadlineExceeded(Error, TimeoutError):
    """The answer did not come in time."""

    code = "deadline"


class Cancelled(Error):
    """The caller took the request back."""

    code = "cancelled"


class Internal(Error, RuntimeError):
    """The library's own mistake."""

    code = "internal"
