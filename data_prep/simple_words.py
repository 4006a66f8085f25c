"""Words that spaCy's rules for English leave whole, without spaCy, which takes a second to import."""

import re

_SIMPLE = re.compile(r"([A-Za-z]{1,40}|[0-9]{1,40})([?!,;]?)")
# Contractions without their apostrophes, which spaCy splits.
_CONTRACTIONS = """
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
_SPLIT = frozenset(_CONTRACTIONS.split())


def simple_tokens(word: str) -> list[str] | None:
    """Split a word of letters or digits alone, and the sign behind it, as spaCy does; None for all others.

    Example:
        >>> simple_tokens("Why?"), simple_tokens("dont"), simple_tokens("U.S.")
        (['Why', '?'], None, None)
    """
    found = _SIMPLE.fullmatch(word)
    if found is None or found[1].lower() in _SPLIT:
        return None
    return [part for part in found.groups() if part]
