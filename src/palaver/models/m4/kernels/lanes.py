"""One categorical draw over two parts with scales of their own, eight outcomes at a time.

The draw of :mod:`palaver.kernels.simd.lanes` for (a) of :mod:`palaver.models.m4.kernels.sweep`,
Paul (2012), equation (2), without the replies. The outcomes are classes and topics: each part has
masses, by which the inverse totals of its words are multiplied, and the topics a scale that changes
with every token. All of it happens in registers while the row is read; to write such factors into
memory first costs half as much as the draw.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from palaver.kernels.compiled import kernel
from palaver.kernels.simd.instructions import (
    DOUBLE,
    INT64,
    LANES,
    POINTER,
    cgutils,
    load,
    repeated,
    whole,
)
from palaver.kernels.simd.lanes import Draw, n_lane_blocks


class _PartsDraw(Draw):
    """Writes the LLVM function behind :func:`choose_of_parts` for one type of rows.

    Slots are those of the classes, padded to whole blocks, then those of the topics.
    """

    name = "choose_of_parts"

    def _arguments(self, row: Any) -> list[Any]:
        return [row, row, DOUBLE, POINTER, POINTER, INT64, INT64, DOUBLE, INT64, POINTER,
                DOUBLE, DOUBLE, DOUBLE]  # fmt: skip

    def _draw(self, *arguments: Any) -> Any:
        (class_row, topic_row, offset, masses, inverses, n_class_blocks, n_blocks, topic_scale,
         skipped, running, *weights) = arguments  # fmt: skip
        builder = self.builder
        self._masses, self._inverses, self._running = masses, inverses, running
        self._offsets, self._skipped = repeated(builder, offset), repeated(builder, skipped)
        self._row, self._scales = class_row, None
        sums = cgutils.alloca_once_value(builder, self._add_blocks(n_class_blocks))
        # the row of topics is shifted, so that slots count on where those of the classes end
        first_topic = builder.mul(n_class_blocks, whole(LANES))
        self._row = builder.gep(topic_row, [builder.neg(first_topic)])
        self._scales = repeated(builder, topic_scale)
        with cgutils.for_range(builder, builder.sub(n_blocks, n_class_blocks)) as loop:
            block = builder.add(loop.index, n_class_blocks)
            first = builder.mul(block, whole(LANES))
            builder.store(self._add_block(first, builder.load(sums)), sums)
        return self._rank(builder.load(sums), n_blocks, *weights)

    def _factor(self, first: Any) -> Any:
        builder = self.builder
        mass, inverse = (load(builder, array, first) for array in (self._masses, self._inverses))
        factor = builder.fmul(mass, inverse)
        return factor if self._scales is None else builder.fmul(factor, self._scales)


def _choose_of_parts(  # type: ignore[no-untyped-def]
    context, rows, start, spare, offset, masses, inverses, n_class_blocks, topic_column, n_blocks,
    topic_scale, skipped, running, background_weight, old_weight, uniform,
):  # fmt: skip
    """Draw a class or a topic, the background or the old outcome; return the rank of its slot.

    As :func:`palaver.kernels.simd.lanes.choose_outcome` with the factors ``masses * inverses`` for
    the slots of the classes, and ``masses * inverses * topic_scale`` for those of the topics, whose
    part of the row starts at ``rows[start + topic_column]``. Map the rank by :func:`parts_order`.

    Parameters
    ----------
    rows, start, spare, offset, skipped, running, background_weight, old_weight, uniform
        As there; the spare is read where any block would end beyond the rows.
    masses, inverses : array of float64, shape (>= 8 * n_blocks,). IN
        Masses of padding are zero.
    n_class_blocks, n_blocks : int. IN
        Blocks of classes, and of both.
    topic_column : int; topic_scale : float. IN

    O(n_blocks).
    """
    signature = types.uint64(
        rows, types.int64, spare, types.float64, masses, inverses, types.int64, types.int64,
        types.int64, types.float64, types.int64, running, types.float64, types.float64,
        types.float64,
    )  # fmt: skip

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        (_, start, _, offset, _, _, n_class_blocks, topic_column, n_blocks, topic_scale, skipped,
         _, *weights) = arguments  # fmt: skip
        rows, spare, masses, inverses, running = (
            target.make_array(signature.args[i])(target, builder, arguments[i])
            for i in (0, 2, 4, 5, 11)
        )
        n_topics = builder.mul(builder.sub(n_blocks, n_class_blocks), whole(LANES))
        end = builder.add(topic_column, n_topics)
        class_end = builder.mul(n_class_blocks, whole(LANES))
        end = builder.select(builder.icmp_signed(">", end, class_end), end, class_end)
        fits = builder.icmp_signed("<=", builder.add(start, end), rows.nitems)
        row = builder.select(fits, builder.gep(rows.data, [start]), spare.data)
        draw = _PartsDraw(builder.module, target.get_data_type(signature.args[0].dtype)).write()
        return builder.call(
            draw,
            [row, builder.gep(row, [topic_column]), offset, masses.data, inverses.data,
             n_class_blocks, n_blocks, topic_scale, skipped, running.data, *weights],
        )  # fmt: skip

    return signature, codegen


choose_of_parts: Any = intrinsic(_choose_of_parts)


@kernel
def parts_order(n_classes, n_topics):  # type: ignore[no-untyped-def]
    """Return the table from a rank of :func:`choose_of_parts` to an outcome.

    Outcomes are classes, the background as ``n_classes``, then topics; ranks without an outcome,
    and the last one, give ``n_classes + 1 + n_topics``: the old outcome.

    Returns
    -------
    array of int64, shape (8 * n_blocks + 2,)
    """
    n_class_blocks = n_lane_blocks(n_classes)
    n_blocks = n_class_blocks + n_lane_blocks(n_topics)
    order = np.full(LANES * n_blocks + 2, n_classes + 1 + n_topics, np.int64)
    for lane in range(LANES):
        for block in range(n_blocks):
            slot = LANES * block + lane
            topic = slot - LANES * n_class_blocks
            if slot < n_classes:
                order[lane * n_blocks + block] = slot
            elif 0 <= topic < n_topics:
                order[lane * n_blocks + block] = n_classes + 1 + topic
    order[LANES * n_blocks] = n_classes
    return order
