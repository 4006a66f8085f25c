"""Frequent forms of words, split as spaCy's rules for English do: spaCy takes twenty times as long."""

import re

_UPPER, _LOWER = "A-ZÀ-ÖØ-Þ", "a-zß-öø-ÿ"
_LETTERS = f"[{_UPPER}{_LOWER}]{{1,40}}"
# A full stop behind one letter is part of an abbreviation.
_END = f"(?:(?<=[{_UPPER}{_LOWER}][{_LOWER}])|(?<=[{_UPPER}]{{2}})|(?<=[0-9]))\\."
_SIMPLE = re.compile(
    rf"""(["(\[]?)({_LETTERS}(?:[-–—]{_LETTERS}){{0,3}}|[0-9]{{1,40}}(?:[.,][0-9]{{1,40}}){{0,3}})('s)?"""
    rf"""((?:{_END}|[?!,])?["')\]]?(?:(?<=[")])\.|[?!,;])?|:)"""
)
_PART = re.compile("[-–—]|[^-–—]+")
# Contractions without their apostrophes, which spaCy splits, and what is left of the faces 8) and (o:
_CONTRACTIONS = """
8 o
aint arent cannot cant cantve couldnt couldntve couldve darent didnt didntve doesnt doesntve doin dont
dontve em goin gonna gotta hadnt hadntve hasnt havent havin hed hedve hellve hes howd howdve howll howllve
howre hows howve id idve illve im ima isnt itd itdve itll itllve ive ll lovin maynt mayntve mightnt
mightntve mightve mustnt mustntve mustve neednt needntve nothin notve nuff nuthin ol oughtnt oughtntve
shant shantve shedve shellve shes shouldnt shouldntve shouldve somethin thatd thatdve thatll thatllve
thats thered theredve therell therellve therere theres thereve thesed thesedve thesell thesellve thesere
theseve theyd theydve theyll theyllve theyre theyve thisd thisdve thisll thisllve thiss thosed thosedve
thosell thosellve thosere thoseve wasnt wed wedve wellve werent weve whatd whatdve whatll whatllve whatre
whats whatve whend whendve whenll whenllve whenre whens whenve whered wheredve wherell wherellve wherere
wheres whereve whod whodve wholl whollve whos whove whyd whydve whyll whyllve whyre whys whyve wont wontve
wouldnt wouldntve wouldve xd xdd yall youd youdve youll youllve youre youve
"""
_ABBREVIATIONS = """
adm ak ala apr ariz ark aug bros calif co colo conn corp dec del dr feb fla ga gen gov ia id ill inc ind
jan jr jul jun kan kans ky la ltd mar mass md messrs mich minn miss mo mont mr mrs ms mt neb nebr nev nov
oct okla ore pa prof rep rev sen sep sept st tenn va vs wash wis
"""
_SPLIT, _ENDS_IN_DOT = frozenset(_CONTRACTIONS.split()), frozenset(_ABBREVIATIONS.split())


def simple_tokens(word: str) -> list[str] | None:
    """Split a word of letters, with hyphens or 's, or a number, and the signs around it; None for all others.

    Example:
        >>> simple_tokens("Why?"), simple_tokens("dont"), simple_tokens("U.S.")
        (['Why', '?'], None, None)
        >>> simple_tokens('(well-known).')
        ['(', 'well', '-', 'known', ')', '.']
    """
    found = _SIMPLE.fullmatch(word)
    if found is None:
        return None
    opening, body, genitive, signs = found.groups(default="")
    parts = _PART.findall(body)
    last = parts[-1].lower()
    if last in _SPLIT or ("." in signs and last in _ENDS_IN_DOT):
        return None
    return [*opening, *parts, *filter(None, [genitive]), *signs]
