"""A function of one member of a batch, computed for all of them with the batch on the last axis of every array.

:func:`jax.vmap` moves the batch to the first axis wherever shapes differ, and XLA lays arrays out as they are written: then
vectors run over a few coordinates in place of many trials, loops copy their state from one order to the other, and sums over
actions are scalar. Here every array has the batch last, from the first operation to the last one, so all arithmetic is vector
instructions over the batch.

It is written as an interpreter of jaxprs, the way that JAX describes for transformations of one's own: elementwise operations,
reductions, changes of shape and loops have rules here; everything else goes through :func:`jax.vmap` one
operation at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal

from hrprob._core.types import PyTree
from hrprob.numerics.control_flow import run_one_by_one

__all__ = ["vmap_last"]

_ENTRY_BY_ENTRY = """
    abs add and atan2 cbrt ceil clamp convert_element_type copy cos cosh digamma div eq erf erf_inv erfc exp exp2 expm1
    floor ge gt integer_pow is_finite le lgamma log log1p logistic lt max min mul ne neg nextafter not or pow rem
    round rsqrt select_n shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt square stop_gradient
    sub tan tanh xor
"""
# Axes are counted from the first: one more at the end changes nothing.
_BY_AXES = """
    argmax argmin cumlogsumexp cummax cummin cumprod cumsum reduce_and reduce_max reduce_min reduce_or reduce_prod
    reduce_sum rev squeeze
"""
_ELEMENTWISE, _ALONG_AXES = frozenset(_ENTRY_BY_ENTRY.split()), frozenset(_BY_AXES.split())
# Functions within functions, by the parameter that holds them.
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr"}

Flags = tuple[bool, ...]


def vmap_last(function: Callable[..., PyTree], batched: PyTree, size: int) -> Callable[..., PyTree]:
    """Return ``function`` over a batch that is on the last axis of its arguments and its results.

    Parameters
    ----------
    function : callable
        A function of pytrees of arrays, for one member of the batch.
    batched : pytree of bool
        Which arguments have the batch on their last axis; a prefix of the arguments, as ``in_axes`` of :func:`jax.vmap`.
    size : int
        The members of the batch.

    Examples
    --------
    >>> product = vmap_last(lambda x, y: (x * y).sum(), (True, False), 3)
    >>> product(jnp.ones((2, 3)), jnp.array([1.0, 2.0])).tolist()
    [3.0, 3.0, 3.0]
    """

    def over_batch(*args: PyTree) -> PyTree:
        flags = jax.tree.flatten(
            jax.tree.map(
                lambda has, part: jax.tree.map(lambda _: has, part),
                tuple(batched),
                args,
                is_leaf=lambda part: isinstance(part, bool),
            )
        )[0]
        leaves, tree = jax.tree.flatten(args)
        members = [_member(leaf, has) for leaf, has in zip(leaves, flags, strict=True)]
        results: list[jax.Array] = []

        def flat(*leaves: PyTree) -> PyTree:
            found, results[:] = _flattened(function(*jax.tree.unflatten(tree, leaves)))
            return found

        closed = jax.make_jaxpr(flat)(*members)
        values, has = _evaluate(closed.jaxpr, closed.consts, leaves, tuple(flags), size)
        spread = [_spread(value, one, size) for value, one in zip(values, has, strict=True)]
        return jax.tree.unflatten(results[0], spread)

    return over_batch


def _flattened(result: PyTree) -> tuple[list[jax.Array], list[jax.Array]]:
    leaves, tree = jax.tree.flatten(result)
    return leaves, [tree]


def _member(leaf: PyTree, has: bool) -> PyTree:
    """Return the type of one member."""
    kind = jax.typeof(leaf)
    weak = bool(getattr(kind, "weak_type", False))
    return jax.ShapeDtypeStruct(kind.shape[:-1] if has else kind.shape, kind.dtype, weak_type=weak)


def _evaluate(
    jaxpr: Jaxpr, consts: Sequence[jax.Array], args: Sequence[jax.Array], flags: Flags, size: int
) -> tuple[list[jax.Array], Flags]:
    """Return the results of a jaxpr, and which of them have the batch on their last axis."""
    known: dict[PyTree, tuple[jax.Array, bool]] = {}

    def read(variable: PyTree) -> tuple[jax.Array, bool]:
        if isinstance(variable, Literal):
            return np.asarray(variable.val, variable.aval.dtype), False  # type: ignore[attr-defined, return-value]
        return known[variable]

    known.update({variable: (value, False) for variable, value in zip(jaxpr.constvars, consts, strict=True)})
    for variable, value, has in zip(jaxpr.invars, args, flags, strict=True):
        known[variable] = value, has
    for equation in jaxpr.eqns:
        given = [read(variable) for variable in equation.invars]
        found, of_found = _apply(equation, [one[0] for one in given], tuple(one[1] for one in given), size)
        known.update(zip(equation.outvars, zip(found, of_found, strict=True), strict=True))
    outs = [read(variable) for variable in jaxpr.outvars]
    return [out[0] for out in outs], tuple(out[1] for out in outs)


def _apply(
    equation: JaxprEqn, values: list[jax.Array], flags: Flags, size: int
) -> tuple[list[jax.Array], Flags]:
    name, params = equation.primitive.name, equation.params
    if name in _CALLS and _CALLS[name] in params:
        inner: ClosedJaxpr = params[_CALLS[name]]
        return _evaluate(inner.jaxpr, inner.consts, values, flags, size)
    if not any(flags):
        return _bound(equation, values, params)
    if name in _ELEMENTWISE:
        out: PyTree = equation.outvars[0].aval
        return _bound(equation, _aligned(values, flags, out.shape, size), params, True)
    if name in _ALONG_AXES:
        return _bound(equation, values, params, True)
    rule = _RULES.get(name)
    found = None if rule is None else rule(equation, values, flags, size)
    return _one_by_vmap(equation, values, flags) if found is None else found


def _bound(
    equation: JaxprEqn, values: Sequence[jax.Array], params: PyTree, has: bool = False
) -> tuple[list[jax.Array], Flags]:
    primitive = equation.primitive
    given = primitive.get_bind_params(params)
    # Earlier versions of JAX have functions beside the parameters.
    functions, rest = given if isinstance(given, tuple) else ((), given)
    found = primitive.bind(*functions, *values, **rest)
    outs = list(found) if primitive.multiple_results else [found]
    return outs, (has,) * len(outs)


def _one_by_vmap(equation: JaxprEqn, values: list[jax.Array], flags: Flags) -> tuple[list[jax.Array], Flags]:
    def one(*members: PyTree) -> PyTree:
        return tuple(_bound(equation, members, equation.params)[0])

    outs = jax.vmap(one, [-1 if has else None for has in flags], -1)(*values)
    return list(outs), (True,) * len(outs)


def _aligned(values: Sequence[jax.Array], flags: Flags, shape: tuple[int, ...], size: int) -> list[jax.Array]:
    """Return operands of one shape, the batch last."""
    full = (*shape, size)
    aligned = []
    for value, has in zip(values, flags, strict=True):
        rank = np.ndim(value)
        axes = (*range(rank - 1), len(shape)) if has else tuple(range(rank))
        aligned.append(value if has and np.shape(value) == full else lax.broadcast_in_dim(value, full, axes))
    return aligned


def _spread(value: jax.Array, has: bool, size: int) -> jax.Array:
    return value if has else jnp.broadcast_to(jnp.asarray(value)[..., None], (*np.shape(value), size))


def _spread_to(values: Sequence[jax.Array], flags: Flags, wanted: Flags, size: int) -> list[jax.Array]:
    """Return values of which some, that are the same for all members, are wanted for each."""
    return [
        _spread(value, has, size) if want else value
        for value, has, want in zip(values, flags, wanted, strict=True)
    ]


def _broadcast(equation: JaxprEqn, values: list[jax.Array], flags: Flags, size: int) -> PyTree:
    shape, axes = equation.params["shape"], equation.params["broadcast_dimensions"]
    if len(values) > 1:
        return None
    return [lax.broadcast_in_dim(values[0], (*shape, size), (*axes, len(shape)))], (True,)


def _reshape(equation: JaxprEqn, values: list[jax.Array], flags: Flags, size: int) -> PyTree:
    if equation.params["dimensions"] is not None or len(values) > 1:
        return None
    return [lax.reshape(values[0], (*equation.params["new_sizes"], size))], (True,)


def _transpose(equation: JaxprEqn, values: list[jax.Array], flags: Flags, size: int) -> PyTree:
    order = equation.params["permutation"]
    return [lax.transpose(values[0], (*order, len(order)))], (True,)


def _slice(equation: JaxprEqn, values: list[jax.Array], flags: Flags, size: int) -> PyTree:
    params = equation.params
    strides = None if params["strides"] is None else (*params["strides"], 1)
    start, limit = (*params["start_indices"], 0), (*params["limit_indices"], size)
    return [lax.slice(values[0], start, limit, strides)], (True,)


def _concatenate(equation: JaxprEqn, values: list[jax.Array], flags: Flags, size: int) -> PyTree:
    parts = [_spread(value, has, size) for value, has in zip(values, flags, strict=True)]
    return [lax.concatenate(parts, equation.params["dimension"])], (True,)


def _while(
    equation: JaxprEqn, values: list[jax.Array], flags: Flags, size: int
) -> tuple[list[jax.Array], Flags]:
    params = equation.params
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    for_cond, for_body = params["cond_nconsts"], params["body_nconsts"]
    both = for_cond + for_body
    (of_cond, cond_has), (of_body, body_has) = (
        (values[:for_cond], flags[:for_cond]),
        (values[for_cond:both], flags[for_cond:both]),
    )
    carry = values[both:]
    has, stops = _flags_of_while(params, flags)
    start = _spread_to(carry, flags[both:], has, size)

    def going(carry: list[jax.Array]) -> PyTree:
        return _evaluate(cond.jaxpr, cond.consts, [*of_cond, *carry], (*cond_has, *has), size)[0][0]

    def step(carry: list[jax.Array]) -> list[jax.Array]:
        new, found = _evaluate(body.jaxpr, body.consts, [*of_body, *carry], (*body_has, *has), size)
        new = _spread_to(new, found, has, size)
        if not stops:
            return new
        goes = going(carry)
        return [
            lax.select(jnp.broadcast_to(goes, np.shape(later)), later, before)
            for later, before in zip(new, carry, strict=True)
        ]

    outs = lax.while_loop(lambda carry: going(carry).any() if stops else going(carry), step, start)
    return list(outs), has


def _scan(
    equation: JaxprEqn, values: list[jax.Array], flags: Flags, size: int
) -> tuple[list[jax.Array], Flags]:
    params = equation.params
    inner, (n_consts, n_carry) = params["jaxpr"], _sizes_of_scan(params)
    consts, carry, xs = values[:n_consts], values[n_consts : n_consts + n_carry], values[n_consts + n_carry :]
    found = _flags_of_scan(params, flags)
    has, has_xs = found[:n_carry], flags[n_consts + n_carry :]
    start = _spread_to(carry, flags[n_consts : n_consts + n_carry], has, size)

    def step(carry: list[jax.Array], rows: list[jax.Array]) -> tuple[list[jax.Array], list[jax.Array]]:
        outs, of_outs = _evaluate(
            inner.jaxpr, inner.consts, [*consts, *carry, *rows], (*flags[:n_consts], *has, *has_xs), size
        )
        outs = _spread_to(outs, of_outs, (*has, *found[n_carry:]), size)
        return outs[:n_carry], outs[n_carry:]

    last, rows = lax.scan(
        step, start, xs, length=params["length"], reverse=params["reverse"], unroll=params["unroll"]
    )
    return [*last, *rows], (*has, *found[n_carry:])


def _members(
    equation: JaxprEqn, values: list[jax.Array], flags: Flags, size: int
) -> tuple[list[jax.Array], Flags]:
    axes = [np.ndim(value) - 1 if has else None for value, has in zip(values, flags, strict=True)]
    found = run_one_by_one(values, axes, size, **equation.params)
    return found, (True,) * len(found)


def _rows(equation: JaxprEqn, values: list[jax.Array], flags: Flags, size: int) -> PyTree:
    # Rows at a place of the first axes that is the same for all members.
    if any(flags[1:]):
        return None
    return _bound(equation, values, equation.params, True)


_RULES: dict[str, Callable[[JaxprEqn, list[jax.Array], Flags, int], PyTree]] = {
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "transpose": _transpose,
    "slice": _slice,
    "concatenate": _concatenate,
    "while": _while,
    "scan": _scan,
    "hrprob_one_by_one": _members,
    "hrprob_read_rows": _rows,
}


def _flags_of(closed: ClosedJaxpr, flags: Flags) -> Flags:
    """Return which results of a jaxpr depend on what is batched; nothing is computed."""
    jaxpr = closed.jaxpr
    known = dict(zip(jaxpr.invars, flags, strict=True))

    def read(variable: PyTree) -> bool:
        return not isinstance(variable, Literal) and known.get(variable, False)

    for equation in jaxpr.eqns:
        has, name, params = tuple(map(read, equation.invars)), equation.primitive.name, equation.params
        if name in _CALLS and _CALLS[name] in params:
            found = _flags_of(params[_CALLS[name]], has)
        elif name == "while" and any(has):
            found = _flags_of_while(params, has)[0]
        elif name == "scan" and any(has):
            found = _flags_of_scan(params, has)
        else:
            found = (any(has),) * len(equation.outvars)
        known.update(zip(equation.outvars, found, strict=True))
    return tuple(map(read, jaxpr.outvars))


def _flags_of_while(params: PyTree, flags: Flags) -> tuple[Flags, bool]:
    """Return what is batched in a loop, and whether some members may go on alone; then everything is."""
    for_cond, both = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    has = flags[both:]
    while True:
        after = _flags_of(params["body_jaxpr"], (*flags[for_cond:both], *has))
        stops = _flags_of(params["cond_jaxpr"], (*flags[:for_cond], *has))[0]
        # What becomes batched in one round is batched in the next.
        now = tuple(one or other or stops for one, other in zip(has, after, strict=True))
        if now == has:
            return has, stops
        has = now


def _flags_of_scan(params: PyTree, flags: Flags) -> Flags:
    n_consts, n_carry = _sizes_of_scan(params)
    has = flags[n_consts : n_consts + n_carry]
    while True:
        found = _flags_of(params["jaxpr"], (*flags[:n_consts], *has, *flags[n_consts + n_carry :]))
        now = tuple(one or other for one, other in zip(has, found[:n_carry], strict=True))
        if now == has:
            return (*has, *found[n_carry:])
        has = now


def _sizes_of_scan(params: PyTree) -> tuple[int, int]:
    """Return how many constants and how many carried arrays a scan has."""
    if "ft_in" in params:
        # Later versions of JAX have a tree of all arguments.
        consts, carry, _ = params["ft_in"].unpack()
        return len(consts), len(carry)
    return params["num_consts"], params["num_carry"]
