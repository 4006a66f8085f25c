"""Checks of the layers' arguments."""


def check_option(name: str, value: str, options: tuple[str, ...]) -> None:
    """Refuses a value that is not among the options.

    Args:
        name: str. The argument's name, for the message.
        value: str. The value to check.
        options: tuple of str. The allowed values.

    Raises:
        ValueError: If `value` is not one of `options`.

    Example:
    >>> check_option("form", "asinh", ("asinh", "released"))
    """
    if value not in options:
        raise ValueError(f"`{name}` must be one of {options}. Received: {name}={value!r}")
