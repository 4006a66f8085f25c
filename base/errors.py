"""The exception for errors that the user can fix."""


class UserError(Exception):
    """Something the user can fix: a missing file, a malformed row, an unknown option.

    The message names the file and the row where there is one, and says what to do. Command lines
    print it as `error: ...` and exit with code 2, without a traceback.
    """


class DamagedFileError(UserError):
    """A file of an index that cannot be read."""
