"""Questions of two lists of words, for small files in the formats of data sets."""

from itertools import product

NAMES = ("river", "bridge", "castle", "garden", "kitchen", "window", "teacher", "doctor", "engine", "ladder")
PLACES = ("hill", "valley", "harbour", "village", "island", "desert", "forest")


def made_up_questions(first, count):
    """Questions with a correct and three wrong answers each, made of two lists of words."""
    for name, place in list(product(NAMES, PLACES))[first : first + count]:
        wrong = [other for other in PLACES if other != place][:3]
        question = f"where is the {name} ?"
        yield (
            f"{question} {place}",
            [(f"the {name} is at the {each} .", each == place) for each in (place, *wrong)],
        )
