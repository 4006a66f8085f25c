"""Options that do nothing beside others, which are refused rather than silently taken."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from data_prep.errors import UserError

# Without these as they are some classes refuse the rest.
_NEEDED = ("dataset", "overlap_features", "objective")


@dataclass(frozen=True)
class _Rule:
    kind: str
    """The class of the configurations, by its name: the modules of the classes import this one's users."""
    option: str
    holds: Callable[[Any], bool]
    """For which values of `option` ..."""
    inert: tuple[str, ...]
    """... these options do nothing."""


def _is(*values: Any) -> Callable[[Any], bool]:
    return lambda value: value in values


_RULES = (
    # First, since both models are trained then.
    _Rule("HyperQAConfig", "dimensions", bool, ("model", "dimension")),
    # What else there is of the ball has its part beside raw embeddings; --eq9 is refused by the class itself.
    _Rule("HyperQAConfig", "model", _is("cosineqa"), ("distance_form",)),
    _Rule("CTRNConfig", "model", _is("qrnn"), ("alignment",)),
    _Rule("CTRNConfig", "model", _is("lstm"), ("kernel_size", "alignment")),
    _Rule(
        "CTRNConfig",
        "model",
        _is("features"),
        ("filters", "kernel_size", "alignment", "projection", "embedding_dropout"),
    ),
    _Rule("AttentivePoolingConfig", "model", _is("qa-bilstm", "ap-bilstm"), ("window",)),
    _Rule("CosinetConfig", "objective", _is("pointwise"), ("max_candidates",)),
    _Rule("CosinetConfig", "objective", _is("listwise"), ("answerable_only",)),
    _Rule("CosinetConfig", "across", _is("none"), ("hidden",)),
    _Rule("CosinetConfig", "encoder", _is("ca"), ("width",)),
    _Rule("CosinetConfig", "encoder", _is("cosinet"), ("dimension",)),
    _Rule("CosinetConfig", "rate_ratio", _is(1), ("cut_fraction",)),
)


def refuse_options_without_effect(config: object) -> None:
    """Refuse a configuration with an option that was set and does nothing there.

    An option counts as set where it has another value than a configuration of the same class that was told
    nothing but the option that makes it idle.

    Args:
        config: the configuration of an experiment, a dataclass.

    Raises:
        UserError: an option does nothing; the message names it and what makes it idle.

    Example:
        >>> from reproduce.ctrn_trecqa import Config
        >>> refuse_options_without_effect(Config(model="lstm", filters=256))
        >>> refuse_options_without_effect(Config(model="lstm", kernel_size=2))
        Traceback (most recent call last):
        ...
        data_prep.errors.UserError: --kernel-size does nothing with --model lstm: leave one of the two out.
    """
    kinds = [each.__name__ for each in type(config).__mro__]
    for rule in _RULES:
        value = getattr(config, rule.option, None)
        if rule.kind not in kinds or not rule.holds(value):
            continue
        same = {name: getattr(config, name) for name in (rule.option, *_NEEDED) if hasattr(config, name)}
        usual = type(config)(**same)
        for name in rule.inert:
            if getattr(config, name) != getattr(usual, name):
                given, cause = _flag(name, getattr(config, name)), _flag(rule.option)
                shown = " ".join(map(str, value)) if isinstance(value, tuple) else value
                (default,) = (each.default for each in fields(config) if each.name == rule.option)
                cure = f"leave it out, or change {cause}" if value == default else "leave one of the two out"
                raise UserError(f"{given} does nothing with {cause} {shown}: {cure}.")


def _flag(name: str, value: Any = None) -> str:
    return ("--no-" if value is False else "--") + name.replace("_", "-")
