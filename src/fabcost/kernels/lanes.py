"""Eight numbers side by side, so that a sum has one order and is still fast.

A compiler may use vector registers for a sum only if it may change its order, and then it chooses
differently when it inlines, links a cached object or builds for another processor.  Here the
source says which number meets which: `Lanes` are LLVM's ``<8 x double>``, which every processor
computes alike, in one register or in four.

Products and sums are rounded one after the other.  A fused multiply-add would be no faster in
these loops, which wait for memory, and very slow where a processor has none.

Kernels see arrays through `pointer`: a view that counts its references costs more than what is
done with it.  Whoever takes a pointer calls `hold` on the array behind it when done.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, overload, register_model

WIDTH = 8
DOUBLE = ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, WIDTH)
INTEGER = ir.IntType(32)
LONG = ir.IntType(64)
LONGS = ir.VectorType(LONG, WIDTH)
POINTER = types.CPointer(types.float64)
ONE_BITS = 0x3FF0000000000000
ROOT_HALF_BITS = 0x3FE6A09E667F3BCD


class Lanes(types.Type):
    """Numba's name for eight float64 numbers in registers."""

    def __init__(self) -> None:
        super().__init__(name="fabcost.Lanes")


LANES = Lanes()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, VECTOR)


@intrinsic
def pointer(_, array):
    """Where the numbers of a C-ordered array begin; read and written by ``p[i]``."""
    if array.layout != "C" or array.dtype != types.float64:
        raise TypingError(f"a pointer needs float64 numbers in C order, not {array}")

    def build(context, builder, signature, args):
        return context.make_array(signature.args[0])(context, builder, args[0]).data

    return POINTER(array), build


@intrinsic
def hold(_, array):
    """Keep an array alive up to here, for a pointer into it."""

    def build(context, builder, signature, args):
        return context.get_dummy_value()

    return types.none(array), build


@intrinsic
def skip(_, start, count):
    """The pointer that is ``count`` numbers further on."""

    def build(context, builder, signature, args):
        return builder.gep(args[0], [args[1]])

    return POINTER(POINTER, types.intp), build


@intrinsic
def load(_, start, offset):
    """The eight numbers from ``offset`` on."""

    def build(context, builder, signature, args):
        return builder.load(_address(builder, *args), align=8, typ=VECTOR)

    return LANES(POINTER, types.intp), build


@intrinsic
def fetch(_, start, offset):
    """Ask for the line of memory of ``offset``, which is read some time later."""

    def build(context, builder, signature, args):
        address = builder.bitcast(builder.gep(args[0], [args[1]]), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [address.type, INTEGER, INTEGER, INTEGER])
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(ask, [address, INTEGER(0), INTEGER(3), INTEGER(1)])
        return context.get_dummy_value()

    return types.none(POINTER, types.intp), build


@intrinsic
def load_some(_, start, offset, count):
    """The ``count`` numbers from ``offset`` on, and zeros in the lanes beyond."""

    def build(context, builder, signature, args):
        start, offset, count = args
        within = _first(builder, count)
        address = _address(builder, start, offset)
        kind = ir.FunctionType(VECTOR, [address.type, INTEGER, within.type, VECTOR])
        masked = cgutils.get_or_insert_function(builder.module, kind, "llvm.masked.load.v8f64.p0")
        nothing = ir.Constant(VECTOR, [0.0] * WIDTH)
        return builder.call(masked, [address, INTEGER(8), within, nothing])

    return LANES(POINTER, types.intp, types.intp), build


@intrinsic
def store(_, start, offset, lanes):
    """Write eight numbers from ``offset`` on."""

    def build(context, builder, signature, args):
        builder.store(args[2], _address(builder, args[0], args[1]), align=8)
        return context.get_dummy_value()

    return types.none(POINTER, types.intp, LANES), build


@intrinsic
def store_some(_, start, offset, count, lanes):
    """Write the first ``count`` of eight numbers from ``offset`` on."""

    def build(context, builder, signature, args):
        start, offset, count, lanes = args
        address = _address(builder, start, offset)
        within = _first(builder, count)
        kind = ir.FunctionType(ir.VoidType(), [VECTOR, address.type, INTEGER, within.type])
        masked = cgutils.get_or_insert_function(builder.module, kind, "llvm.masked.store.v8f64.p0")
        builder.call(masked, [lanes, address, INTEGER(8), within])
        return context.get_dummy_value()

    return types.none(POINTER, types.intp, types.intp, LANES), build


@intrinsic
def spread(_, number):
    """One number in every lane."""

    def build(context, builder, signature, args):
        return _spread(builder, args[0], VECTOR)

    return LANES(types.float64), build


@intrinsic
def counted(_):
    """1, 2, …, 8."""

    def build(context, builder, signature, args):
        return ir.Constant(VECTOR, [float(k + 1) for k in range(WIDTH)])

    return LANES(), build


@intrinsic
def pick(_, lanes, place):
    """The number in one of the lanes, which are counted from 0."""

    def build(context, builder, signature, args):
        return builder.extract_element(*args)

    return types.float64(LANES, types.intp), build


@intrinsic
def put(_, lanes, place, number):
    """The lanes with one of them replaced."""

    def build(context, builder, signature, args):
        return builder.insert_element(args[0], args[2], args[1])

    return LANES(LANES, types.intp, types.float64), build


@intrinsic
def total(_, lanes):
    """The sum of the lanes: halves are added until one number is left."""

    def build(context, builder, signature, args):
        lanes, width = args[0], WIDTH
        while width > 1:
            width //= 2
            kind = ir.VectorType(INTEGER, width)
            low = ir.Constant(kind, list(range(width)))
            high = ir.Constant(kind, list(range(width, 2 * width)))
            lanes = builder.fadd(
                builder.shuffle_vector(lanes, lanes, low),
                builder.shuffle_vector(lanes, lanes, high),
            )
        return builder.extract_element(lanes, INTEGER(0))

    return types.float64(LANES), build


@intrinsic
def totals(_, a, b, c, d, e, f, g, h):
    """The `total` of each of eight, in their order: halves of two are added at once."""

    def build(context, builder, signature, args):
        lanes, kind = list(args), ir.VectorType(INTEGER, WIDTH)
        for size in (4, 2, 1):
            first = [k if k & size == 0 else k - size + WIDTH for k in range(WIDTH)]
            low = ir.Constant(kind, first)
            high = ir.Constant(kind, [place + size for place in first])
            pairs = zip(lanes[:size], lanes[size:], strict=True)
            lanes = [
                builder.fadd(
                    builder.shuffle_vector(one, other, low),
                    builder.shuffle_vector(one, other, high),
                )
                for one, other in pairs
            ]
        return lanes[0]

    return LANES(a, b, c, d, e, f, g, h), build


@intrinsic
def transposed(_, a, b, c, d, e, f, g, h):
    """Eight rows of eight numbers become the columns: blocks of 1, 2 and 4 change places."""

    def build(context, builder, signature, args):
        rows = list(args)
        for size in (1, 2, 4):
            first = [k + (WIDTH - size if k & size else 0) for k in range(WIDTH)]
            second = [k + (WIDTH if k & size else size) for k in range(WIDTH)]
            kind = ir.VectorType(INTEGER, WIDTH)
            for i in range(WIDTH):
                if not i & size:
                    pair = rows[i], rows[i + size]
                    rows[i] = builder.shuffle_vector(*pair, ir.Constant(kind, first))
                    rows[i + size] = builder.shuffle_vector(*pair, ir.Constant(kind, second))
        return context.make_tuple(builder, signature.return_type, rows)

    return types.UniTuple(LANES, 8)(a, b, c, d, e, f, g, h), build


@intrinsic
def within(_, x, low, high):
    """x, but at least ``low`` and at most ``high``; NaN stays."""

    def build(context, builder, signature, args):
        x, low, high = (_alike(builder, each, args[0].type) for each in args)
        x = builder.select(builder.fcmp_ordered("<", x, low), low, x)
        return builder.select(builder.fcmp_ordered(">", x, high), high, x)

    return x(x, types.float64, types.float64), build


@intrinsic
def choose_at(_, x, limit, otherwise, value):
    """``value`` where x is above ``limit``, else ``otherwise``; NaN where x is NaN."""

    def build(context, builder, signature, args):
        x, limit, otherwise, value = (_alike(builder, each, args[0].type) for each in args)
        chosen = builder.select(builder.fcmp_ordered(">", x, limit), value, otherwise)
        return builder.select(builder.fcmp_unordered("uno", x, x), x, chosen)

    return x(x, types.float64, _kind(otherwise), _kind(value)), build


@intrinsic
def further(_, worst, lanes):
    """|x|, or ``worst`` where that is larger; NaN is larger than any number."""

    def build(context, builder, signature, args):
        worst, x = (builder.bitcast(each, LONGS) for each in args)
        size = builder.and_(x, _whole(2**63 - 1))  # in the order of these bits as whole numbers
        larger = builder.select(builder.icmp_signed(">", size, worst), size, worst)
        return builder.bitcast(larger, VECTOR)

    return LANES(LANES, LANES), build


@intrinsic
def raced(_, lanes, place, best, where, ties):
    """The best so far, its ``place`` and how often it was met, of each lane, after these."""

    def build(context, builder, signature, args):
        x, place, best, where, ties = (_alike(builder, each, VECTOR) for each in args)
        ahead, level = (builder.fcmp_ordered(sign, x, best) for sign in (">", "=="))
        one = ir.Constant(VECTOR, [1.0] * WIDTH)
        again = builder.select(level, builder.fadd(ties, one), ties)
        after = (ahead, x, best), (ahead, place, where), (ahead, one, again)
        found = [builder.select(*each) for each in after]
        return context.make_tuple(builder, signature.return_type, found)

    return types.UniTuple(LANES, 3)(LANES, types.float64, LANES, LANES, LANES), build


@intrinsic
def overtaken(_, lanes, place, best, where):
    """The best so far and its ``place``, of each lane, after these."""

    def build(context, builder, signature, args):
        x, place, best, where = (_alike(builder, each, VECTOR) for each in args)
        ahead = builder.fcmp_ordered(">", x, best)
        found = builder.select(ahead, x, best), builder.select(ahead, place, where)
        return context.make_tuple(builder, signature.return_type, found)

    return types.UniTuple(LANES, 2)(LANES, types.float64, LANES, LANES), build


@intrinsic
def times_power(_, x, shifted):
    """x times 2ᵏ, for ``shifted`` = k + 3·2⁵¹, which has k in its last bits."""

    def build(context, builder, signature, args):
        x, shifted = args
        bits = LONGS if isinstance(x.type, ir.VectorType) else LONG
        places = ir.Constant(bits, [52] * WIDTH) if bits is LONGS else LONG(52)
        exponent = builder.shl(builder.bitcast(shifted, bits), places)
        return builder.bitcast(builder.add(builder.bitcast(x, bits), exponent), x.type)

    return x(x, x), build


@intrinsic
def square_root(_, lanes):
    """The square root of each lane."""

    def build(context, builder, signature, args):
        kind = ir.FunctionType(VECTOR, [VECTOR])
        root = cgutils.get_or_insert_function(builder.module, kind, "llvm.sqrt.v8f64")
        return builder.call(root, args)

    return LANES(LANES), build


@intrinsic
def parted(_, lanes):
    """m and k with x = 2ᵏ m and √½ ≤ m < √2, for positive x that are not subnormal."""

    def build(context, builder, signature, args):
        bits, places = builder.bitcast(args[0], LONGS), _whole(52)
        exponent = builder.ashr(builder.sub(bits, _whole(ROOT_HALF_BITS)), places)
        mantissa = builder.bitcast(builder.sub(bits, builder.shl(exponent, places)), VECTOR)
        found = mantissa, builder.sitofp(exponent, VECTOR)
        return context.make_tuple(builder, signature.return_type, found)

    return types.UniTuple(LANES, 2)(LANES), build


@intrinsic
def stirred(_, a, b, c, counter):
    """The next state of the generator SFC64, and numbers in [1, 2) of 52 random bits.

    Each lane is a generator of its own; the bits of its words are passed as if they were numbers.
    """

    def build(context, builder, signature, args):
        a, b, c, counter = (builder.bitcast(each, LONGS) for each in args)
        word = builder.add(builder.add(a, b), counter)
        turned = builder.or_(builder.shl(c, _whole(24)), builder.lshr(c, _whole(40)))
        state = (
            builder.xor(b, builder.lshr(b, _whole(11))),
            builder.add(c, builder.shl(c, _whole(3))),
            builder.add(turned, word),
            builder.add(counter, _whole(1)),
        )
        number = builder.or_(builder.lshr(word, _whole(12)), _whole(ONE_BITS))
        found = [builder.bitcast(each, VECTOR) for each in (*state, number)]
        return context.make_tuple(builder, signature.return_type, found)

    return types.UniTuple(LANES, 5)(LANES, LANES, LANES, LANES), build


def _register(symbol: Any, instruction: str) -> None:
    """Let an operator of Python work on lanes, or on lanes and a number."""

    @intrinsic
    def apply(_, a, b):
        def build(context, builder, signature, args):
            left, right = (_alike(builder, each, VECTOR) for each in args)
            return getattr(builder, instruction)(left, right)

        return LANES(_kind(a), _kind(b)), build

    @overload(symbol)
    def operate(a, b):
        if isinstance(a, Lanes) or isinstance(b, Lanes):
            return lambda a, b: apply(a, b)  # noqa: PLW0108  # Numba overloads by functions
        return None


for _symbol, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _register(_symbol, _instruction)


def _kind(given: Any) -> Any:
    return LANES if isinstance(given, Lanes) else types.float64


def _whole(number: int) -> Any:
    return ir.Constant(LONGS, [number] * WIDTH)


def _first(builder: Any, count: Any) -> Any:
    """Which lanes are among the first ``count``."""
    places = ir.Constant(LONGS, list(range(WIDTH)))
    return builder.icmp_signed("<", places, _spread(builder, count, LONGS))


def _address(builder: Any, start: Any, offset: Any) -> Any:
    return builder.bitcast(builder.gep(start, [offset]), VECTOR.as_pointer())


def _alike(builder: Any, value: Any, kind: Any) -> Any:
    return value if value.type == kind else _spread(builder, value, kind)


def _spread(builder: Any, value: Any, kind: Any) -> Any:
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, value, INTEGER(0))
    everywhere = ir.Constant(ir.VectorType(INTEGER, WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(first, nothing, everywhere)
