"""One registry for every family of kinds, hrprob's own and yours.

A *family* is a set of classes that do the same job: policies, models, priors, engines, noises, contexts, levels,
objectives, links, diagnostics. A configuration names a class by its *kind*, such as ``"hr-ucb"`` or ``"student-t"``.

**Adding a kind.** Write a class in one file and decorate it with the family's ``register``::

    from hrprob.noise import Tailed, register

    @register("logistic")
    class Logistic(Tailed):
        scale: float = 0.5513                       # a parameter and its default

        def __post_init__(self) -> None: ...        # check it; raise InvalidInput

        def log_density(self, z): ...               # the methods of the family

The first line of the class's docstring is its description in listings; its section ``Parameters`` (type and
meaning of each, numpydoc style) and its references are shown by ``hrprob describe`` and in the documentation.

``register`` makes the class a *record* (:mod:`hrprob._core.records`): a frozen dataclass and a JAX pytree, whose
numbers are arguments of compiled programs. Parameters that are names, switches or shapes are part of the program
instead; list them in ``register("logistic", static=("switch",))``. What methods a family needs is said by its
protocol or base class:

================  ============================================  ==========================================
family            base or protocol                              register with
================  ============================================  ==========================================
``policies``      :class:`hrprob.policies.Policy`               :func:`hrprob.policies.register`
``models``        :class:`hrprob.models.Model`                  :func:`hrprob.models.register`
``priors``        :class:`hrprob.models.priors.Prior`           :func:`hrprob.models.priors.register`
``engines``       ``BatchEngine``, ``StreamingEngine`` of       ``register`` of
                  :mod:`hrprob.estimation.posterior.base`       :mod:`hrprob.estimation.posterior.engines`
``noises``        :class:`hrprob.noise.base.Tailed`             :func:`hrprob.noise.register`
``contexts``      :class:`hrprob.problem.contexts.Contexts`     :func:`hrprob.problem.contexts.register`
``levels``        :class:`hrprob.problem.levels.SeenLevels`     :func:`hrprob.problem.levels.register`
``drifts``        ``Drift`` of :mod:`hrprob.problem.drift`      ``register`` of that package
``objectives``    :class:`hrprob.problem.objectives.Objective`  :func:`hrprob.problem.objectives.register`
``links``         :class:`hrprob.problem.links.Link`            :func:`hrprob.problem.links.register`
``diagnostics``   :class:`hrprob.diagnostics.Diagnostic`        :func:`hrprob.diagnostics.register`
``checks``        ``Check`` of                                  ``register`` of that module
                  :mod:`hrprob.fitting.checks.base`
``radii``         ``Radius`` of :mod:`hrprob.policies.radii`    ``register`` of that package
``predictives``   ``Predictive`` of                             ``register`` of
                  :mod:`hrprob.estimation.likelihood_ratio`     ``likelihood_ratio.predictives``
================  ============================================  ==========================================

**Making it known.** The file must be imported before its kind is used:

==============================  ===========================================================================
where                           how
==============================  ===========================================================================
in a program or a notebook      import it, or define the class there
on the command line             ``hrprob run ... --import MODULE``
in an installed distribution    an entry point of the group ``hrprob.<family>`` whose value is the module::

                                    [project.entry-points."hrprob.noises"]
                                    logistic = "my_package.logistic"
==============================  ===========================================================================

**Making an instance.** :meth:`Registry.make` takes what a user wrote: an instance, a kind, or a table with a kind
and parameters, ``{ kind = "logistic", scale = 0.6 }``. Unknown kinds and parameters are reported with the nearest
known name. Three class attributes say what it cannot guess:

=============  ==========================================================================================
``RENAMED``    earlier names of fields, and what they are called now: older configurations stay valid
``FILES``      fields that hold numbers, or the path of a file with them; paths start at the configuration
``PARTS``      fields that are members of a family themselves, with the registry of that family
=============  ==========================================================================================
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar, cast

from hrprob._core.descriptions import Description, describe_class
from hrprob._core.docstrings import complete_docstring
from hrprob._core.errors import InvalidInput
from hrprob._core.records import record
from hrprob._core.tables import (
    NOTHING,
    check_keys,
    check_numbers,
    given,
    names_of,
    nearest,
    required_of,
    within,
)

__all__ = ["Registry"]

T_co = TypeVar("T_co", covariant=True)
C = TypeVar("C", bound=type)


class Registry(Generic[T_co]):
    """The kinds of one family.

    Parameters
    ----------
    family : str
        Its name in the plural; ``hrprob.<family>`` is its entry-point group.
    field : str
        The name of a member's field in a configuration, for error messages.
    package : str
        The package whose modules register hrprob's own kinds, each in a module named like the kind
        (``"hr-ucb"`` in ``hr_ucb``). They are imported when a kind is looked up.
    requires : tuple of str
        Attributes that every member has, by which an instance is recognised.
    remedy : str
        What an error message advises if a kind does not exist and no known kind is similar.
    modules : mapping of str to str
        The modules of hrprob's own kinds that are not named like their kind.

    Examples
    --------
    >>> shapes = Registry("shapes", field="shape", package="", requires=("area",))
    >>> @shapes.register("square")
    ... class Square:
    ...     side: float = 1.0
    ...     area = property(lambda self: self.side**2)
    >>> shapes.make({"kind": "square", "side": 3.0}).area
    9.0
    >>> shapes.make("sqare")
    Traceback (most recent call last):
    ...
    hrprob._core.errors.InvalidInput: `shape` must be one of 'square', got 'sqare': did you mean `square`?
    """

    def __init__(
        self,
        family: str,
        *,
        field: str,
        package: str,
        requires: tuple[str, ...],
        remedy: str = "",
        modules: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.family, self.field, self.requires = family, field, requires
        self._package, self._modules = package, modules
        self._given_remedy = remedy
        self._classes: dict[str, type[T_co]] = {}

    def register(self, kind: str, *, static: tuple[str, ...] = ()) -> Callable[[C], C]:
        """Return a decorator that makes a class a record known as ``kind``.

        ``static`` fields are part of a compiled program, not arguments of it. A class of the same module and name
        replaces the earlier one, as when a cell of a notebook is run again.
        """

        def decorate(cls: C) -> C:
            if not cls.__module__.startswith("hrprob."):
                # So that no kind of hrprob's own, not yet imported, is replaced unnoticed.
                self._load_one(kind)
            self._check_members(cls)
            other = self._classes.get(kind)
            if other is not None and _address(other) != _address(cls):
                remedy = f"it belongs to {other.__qualname__} of {other.__module__}"
                raise InvalidInput("kind", "must not be in use", kind, remedy)
            made: Any = record(static=static)(cls)
            made.kind = kind
            complete_docstring(made)
            self._classes[kind] = made
            return made

        return decorate

    def kinds(self) -> dict[str, type[T_co]]:
        """Return all classes by kind: hrprob's own, those of entry points, those registered by hand."""
        self._load_all()
        # Sorted, so that the order does not depend on what was imported first.
        return dict(sorted(self._classes.items()))

    def __iter__(self) -> Iterator[str]:
        return iter(self.kinds())

    def get(self, kind: object, field: str | None = None) -> type[T_co]:
        """Return the class of a kind, or raise and name the nearest known kind."""
        if isinstance(kind, str) and kind not in self._classes:
            self._load_one(kind)
            if kind not in self._classes:
                self._load_all()
        if isinstance(kind, str) and kind in self._classes:
            return self._classes[kind]
        field, known = field or self.field, list(self.kinds())
        must = f"must be one of {', '.join(map(repr, known))}"
        remedy = nearest(kind, known) or self._remedy(field)
        if isinstance(kind, str) and not nearest(kind, known):
            remedy += "; one of your own is known once its module is imported (`--import MODULE`)"
        raise InvalidInput(field, must, NOTHING if kind is None else kind, remedy)

    def is_instance(self, value: object) -> bool:
        """Return whether a value is a member of the family; a class is not."""
        return not isinstance(value, type) and all(hasattr(value, name) for name in self.requires)

    def make(self, written: object, *, field: str | None = None, folder: Path | None = None) -> T_co:
        """Return a member of the family from what a user wrote.

        Parameters
        ----------
        written : instance, str or mapping
            A member itself, its kind, or a table with its kind and parameters.
        field : str, optional
            The name of its field, for error messages; the family's own by default.
        folder : Path, optional
            The folder at which relative paths start; the current one by default.
        """
        field = field or self.field
        if isinstance(written, Mapping):
            kind = written.get("kind")
            return self._build(self.get(kind, f"{field}.kind"), str(kind), written, field, folder)
        if isinstance(written, str):
            return self._build(self.get(written, field), written, {}, field, folder)
        if self.is_instance(written):
            return cast(T_co, written)
        if isinstance(written, type) and all(hasattr(written, name) for name in self.requires):
            must, remedy = f"must be one of the {self.family}", f"call it: {written.__name__}()"
            raise InvalidInput(field, must, written, remedy)
        raise InvalidInput(
            field, f"must be one of the {self.family}, or name one", written, self._remedy(field)
        )

    def make_several(self, written: Sequence[object] | None = None) -> list[T_co]:
        """Return members of different kinds from a list of what users write for one, or one of every kind."""
        if isinstance(written, str) or (written is not None and not written):
            remedy = "give a list of kinds, or nothing for all of them"
            raise InvalidInput(self.family, f"must be one or more {self.family}", written, remedy)
        made = [self.make(one) for one in (self if written is None else written)]
        kinds = [cast(Any, one).kind for one in made]
        for kind in kinds:
            if kinds.count(kind) > 1:
                raise InvalidInput(self.family, "must name each kind once", kind, "drop one of them")
        return made

    def describe(self, kind: object = None) -> list[Description]:
        """Return what every kind, or this one, says of itself: summary, parameters, references.

        Examples
        --------
        >>> from hrprob.noise import NOISES
        >>> noise = NOISES.describe("student-t")[0]
        >>> noise.description
        'The t distribution, standardised.'
        >>> noise.parameters[0].name, noise.parameters[0].type, noise.parameters[0].default
        ('df', 'float', 5.0)
        """
        chosen = self.kinds() if kind is None else {str(kind): self.get(kind, "kind")}
        return [describe_class(self.family, kind, cls) for kind, cls in chosen.items()]

    def _remedy(self, field: str) -> str:
        first = next(iter(self.kinds()))
        name = field.removesuffix(".kind").rpartition(".")[2].lstrip("-")
        return self._given_remedy or f'write {name} = "{first}", or a table {{ kind = "{first}", ... }}'

    def _build(
        self, cls: type[T_co], kind: str, table: Mapping[str, object], field: str, folder: Path | None
    ) -> T_co:
        # A table with both names keeps the earlier one, which is then reported as unknown.
        earlier = {old: new for old, new in getattr(cls, "RENAMED", {}).items() if new not in table}
        table = {earlier.get(name, name): value for name, value in table.items()}
        check_keys(field, table, ("kind", *names_of(cls)))
        parameters = {name: value for name, value in given(table).items() if name != "kind"}
        for name in required_of(cls):
            if name not in parameters:
                raise InvalidInput(
                    f"{field}.{name}", "must be given", NOTHING, f"{kind!r} has no default for it"
                )
        for name in getattr(cls, "FILES", ()):
            if name in parameters:
                parameters[name] = _numbers(f"{field}.{name}", parameters[name], folder or Path())
        for name, registry in getattr(cls, "PARTS", {}).items():
            if name in parameters:
                parameters[name] = registry.make(parameters[name], field=f"{field}.{name}", folder=folder)
        return within(field, lambda: cls(**parameters))

    def _check_members(self, cls: type) -> None:
        declared = {name for base in cls.__mro__ for name in vars(base).get("__annotations__", {})}
        missing = [name for name in self.requires if not (hasattr(cls, name) or name in declared)]
        if missing:
            must = f"must have {', '.join(f'`{name}`' for name in missing)}"
            raise InvalidInput(
                self.field, must, cls.__name__, f"all {self.family} do; inherit from their base class"
            )

    def _load_one(self, kind: str) -> None:
        """Import hrprob's own module of the kind, if there is one, to spare importing all."""
        module = self.own_module(kind)
        if module is not None:
            importlib.import_module(module)

    def own_module(self, kind: str) -> str | None:
        """Return which of hrprob's own modules would register ``kind``, by its name and without importing it."""
        name = self._modules.get(kind, kind.replace("-", "_"))
        if not (self._package and name.isidentifier()):
            return None
        module = f"{self._package}.{name}"
        return module if importlib.util.find_spec(module) else None

    def _load_own(self) -> None:
        if self._package:
            package = importlib.import_module(self._package)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{self._package}.{module.name}")

    def _load_all(self) -> None:
        self._load_own()
        _load_entry_points(f"hrprob.{self.family}")


@functools.cache
def _load_entry_points(group: str) -> None:
    for entry in importlib.metadata.entry_points(group=group):
        try:
            entry.load()
        except InvalidInput:
            raise
        except (Exception, SystemExit) as error:
            # Whatever goes wrong while it is imported must be fixed in that distribution.
            remedy = f"{type(error).__name__}: {error}; fix or uninstall the distribution that has it"
            raise InvalidInput(f"entry point {group}", "must be importable", entry.value, remedy) from error


def _address(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def _numbers(field: str, written: object, folder: Path) -> object:
    """Return numbers as they were written, or the path of the file that holds them."""
    if isinstance(written, str):
        if not (written and written.isprintable()):
            remedy = (
                "it has a control character, and no path has one"
                if written
                else "name a CSV file, or give the numbers"
            )
            raise InvalidInput(field, "must be the path of a file", written, remedy)
        return folder / written
    if isinstance(written, list | int | float | bool):
        check_numbers(field, written)
    return written
