"""Shapes of pairs whose leading dimensions broadcast."""

from collections.abc import Sequence

Shape = tuple[int | None, ...]


def broadcast_leading(input_shape: Sequence[Shape], trailing: int) -> Shape:
    """Broadcasts the leading dimensions of a pair of shapes, of which some sizes may be unknown.

    Args:
        input_shape: Pair of shapes, with `None` for unknown sizes.
        trailing: int. How many last dimensions take no part, at least 1.

    Returns:
        Tuple, the broadcast leading dimensions; a size is `None` where it depends on unknown ones.

    Raises:
        ValueError: If the leading dimensions do not broadcast.

    Example:
    >>> broadcast_leading([(None, 1, 300), (None, 7, 300)], trailing=1)
    (None, 7)
    """
    leading = [tuple(shape[:-trailing]) for shape in input_shape]
    rank = max(map(len, leading))
    output_shape = []
    for sizes in zip(*((1,) * (rank - len(shape)) + shape for shape in leading), strict=True):
        known = set(sizes) - {1, None}
        if len(known) > 1:
            raise ValueError(
                "The leading dimensions of question and answer do not broadcast. "
                f"Received: input_shape={input_shape}"
            )
        output_shape.append(known.pop() if known else None if None in sizes else 1)
    return tuple(output_shape)
