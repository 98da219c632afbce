"""Pictures of answers."""

from __future__ import annotations

import polars as pl

from palaver.draw.intervals import interval_chart
from palaver.draw.network import network as draw
from palaver.draw.svg import Svg
from palaver.questions.answers import network
from palaver.questions.talk import Talk

#: Most people and arrows in a picture.
MAX_PEOPLE, MAX_LINKS = 16, 40


def draw_changes(table: pl.DataFrame) -> Svg:
    """Draw the differences of :func:`palaver.questions.changes.changes`, a panel per comparison.

    Comparisons of groups that are too small to judge are left out.
    """
    panels = []
    for (first, second), own in table.group_by("first", "second", maintain_order=True):
        known = own.drop_nulls(["low", "high"])
        if known.height:
            values = known.select("difference", "low", "high").to_numpy()
            panels.append((f"{second} compared with {first}", known["name"].to_list(), values))
    return interval_chart(panels, label="Differences between groups, with 95% intervals")


def draw_network(talk: Talk) -> Svg:
    """Draw who answers whom among the people who answer and are answered most.

    People with a single message are left out, and so are rare pairs beyond the first
    :data:`MAX_LINKS`.
    """
    people = network(talk).with_columns(both=pl.col("given") + pl.col("received"))
    people = people.filter(pl.col("both") > 0).sort("both", "speaker", descending=[True, False])
    people = people.head(MAX_PEOPLE)
    place = {name: i for i, name in enumerate(people["speaker"])}
    links = [
        (place[helper], place[helped], number)
        for helper, helped, number in talk.helpers().select("helper", "helped", "answers").rows()
        if helper in place and helped in place
    ][:MAX_LINKS]
    return draw(list(place), people["given"].to_list(), links)
