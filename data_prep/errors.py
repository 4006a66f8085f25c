"""The one exception that is the user's to mend."""


class UserError(Exception):
    """Something the user can mend: a missing file, a malformed row, an unknown option.

    The message names the file and the row where there is one, and says what to do. Command lines
    print it as `error: ...` and exit with code 2; a traceback would only hide it.

    Example:
        >>> raise UserError("faq.csv, line 7: label 'maybe' is not 0 or 1. Write 1 if correct.")
        Traceback (most recent call last):
        data_prep.errors.UserError: faq.csv, line 7: label 'maybe' is not 0 or 1. Write 1 if correct.
    """
