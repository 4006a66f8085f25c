"""Options that do nothing beside others, which are refused rather than silently taken."""

from dataclasses import dataclass

from data_prep.errors import UserError

# Without these as they are some classes refuse the rest.
_NEEDED = ("dataset", "overlap_features", "objective")


@dataclass(frozen=True)
class _Rule:
    kind: str
    """The class of the configurations, by its name: the modules of the classes import this one's users."""
    option: str
    values: tuple[str, ...]
    """Where `option` has one of these values ..."""
    inert: tuple[str, ...]
    """... these options do nothing."""


_RULES = (
    _Rule("HyperQAConfig", "model", ("cosineqa",), ("eq9", "max_norm", "projection", "distance_form")),
    _Rule("CTRNConfig", "model", ("qrnn",), ("alignment",)),
    _Rule("CTRNConfig", "model", ("lstm",), ("kernel_size", "alignment")),
    _Rule(
        "CTRNConfig",
        "model",
        ("features",),
        ("filters", "kernel_size", "alignment", "projection", "embedding_dropout"),
    ),
    _Rule("AttentivePoolingConfig", "model", ("qa-bilstm", "ap-bilstm"), ("window",)),
    _Rule("CosinetConfig", "objective", ("pointwise",), ("max_candidates",)),
    _Rule("CosinetConfig", "across", ("none",), ("hidden",)),
    _Rule("CosinetConfig", "encoder", ("ca",), ("width",)),
    _Rule("CosinetConfig", "encoder", ("cosinet",), ("dimension",)),
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
        if rule.kind not in kinds or value not in rule.values:
            continue
        same = {name: getattr(config, name) for name in (rule.option, *_NEEDED) if hasattr(config, name)}
        usual = type(config)(**same)
        for name in rule.inert:
            if getattr(config, name) != getattr(usual, name):
                raise UserError(
                    f"{_flag(name)} does nothing with {_flag(rule.option)} {value}: leave one of the two out."
                )


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
