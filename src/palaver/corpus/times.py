"""Parsing times: seconds, milliseconds, ISO strings, clock times."""

from __future__ import annotations

import polars as pl

TIME = pl.Datetime("us", "UTC")

#: A number at or above this is in the next finer unit: 1e11 seconds is the year 5138, while
#: 1e11 milliseconds is 1973.
_MILLISECONDS, _MICROSECONDS, _NANOSECONDS = 1e11, 1e14, 1e17
_FIRST_MICROSECOND, _LAST_MICROSECOND = -62_135_596_800_000_000, 253_402_300_799_999_999

_ISO = (
    r"^(\d{4}-\d{2}-\d{2})"
    r"(?:[Tt ](\d{2}:\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?"
    r"\s*([Zz]|UTC|[+-]\d{2}(?::?\d{2})?)?$"
)
_LOCAL = (
    r"^(\d{1,2})([./-])(\d{1,2})[./-](\d{4})"
    r"(?:,?\s+(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([AaPp])?\.?(?:[Mm]\.?)?)?$"
)
_CLOCK = r"^(?:(\d{1,3}):)?(\d{1,3}):([0-5]\d)(?:[.,](\d{1,6}))?$"


def parse_times(values: pl.Series) -> pl.Series:
    """Turn a column of times into UTC date-times; what cannot be parsed becomes null.

    Numbers are seconds since 1970, or milli-, micro- or nanoseconds, depending on their size;
    small ones (a transcript's seconds) also count from 1970-01-01, which preserves order and
    gaps. Strings are such numbers, ISO 8601 (UTC if there is no offset), ``hh:mm`` clock times, or
    dates such as ``13.01.2024 09:15`` and ``1/13/2024 9:15 PM``.

    Parameters
    ----------
    values : Series of any type

    Returns
    -------
    Series of Datetime("us", "UTC")
    """
    if values.dtype == TIME:
        return _within_calendar(values)
    if isinstance(values.dtype, pl.Datetime):
        zoned = values if values.dtype.time_zone else values.dt.replace_time_zone("UTC")
        return _within_calendar(zoned.dt.convert_time_zone("UTC").cast(TIME))
    if values.dtype == pl.Date:
        return _within_calendar(values.cast(pl.Datetime("us")).dt.replace_time_zone("UTC"))
    if values.dtype == pl.Duration:
        return _from_seconds(values.dt.total_microseconds() / 1e6)
    if values.dtype == pl.Time:
        return _from_seconds(values.cast(pl.Int64) / 1e9)
    if values.dtype.is_numeric():
        return _from_seconds(values)
    if values.dtype != pl.String:
        return pl.Series(values.name, [None] * len(values), dtype=TIME)
    return _from_strings(values)


def _from_seconds(values: pl.Series) -> pl.Series:
    """Read numbers as times since 1970, in the unit that their size suggests."""
    number = pl.col("n")
    size = number.abs()
    parts = values.cast(pl.Float64, strict=False).to_frame("n").select(
        seconds=pl.when(size < _MILLISECONDS).then(number.floor()),
        micros=pl.when(size >= _NANOSECONDS).then(number / 1e3)
        .when(size >= _MICROSECONDS).then(number)
        .when(size >= _MILLISECONDS).then(number * 1e3)
        .otherwise((number - number.floor()) * 1e6),  # separately, since together they lose digits
    )  # fmt: skip
    whole = pl.col("seconds").cast(pl.Int64, strict=False).fill_null(0) * 1_000_000
    micros = parts.select(pl.col("micros").round().cast(pl.Int64, strict=False) + whole)
    legal = pl.first().is_between(_FIRST_MICROSECOND, _LAST_MICROSECOND)
    times = micros.select(pl.when(legal).then(pl.first()).cast(pl.Datetime("us")))
    return times.to_series().dt.replace_time_zone("UTC").alias(values.name)


def _within_calendar(times: pl.Series) -> pl.Series:
    """Turn times in years that ISO 8601 and Python cannot write into null."""
    legal = times.dt.year().is_between(1, 9999)
    return times if legal.all() else times.set(~legal.fill_null(False), None)


def _from_strings(values: pl.Series) -> pl.Series:
    """Parse each string as what it is: a number, ISO 8601, a clock time, or a local date."""
    text = values.str.strip_chars()
    numbers = _from_seconds(text.cast(pl.Float64, strict=False))
    if numbers.null_count() == text.null_count():
        return numbers
    times = numbers.zip_with(numbers.is_not_null(), _iso(text))
    for parse in (_clock, _local):
        if times.null_count() == text.null_count():
            return times
        times = times.zip_with(times.is_not_null(), parse(text))
    return times


def _iso(text: pl.Series) -> pl.Series:
    """Parse ISO 8601; real files mix offsets freely."""
    parts = text.to_frame("t").select(
        pl.concat_str(
            pl.col("t").str.extract(_ISO, 1),
            pl.lit("T"),
            pl.col("t").str.extract(_ISO, 2).fill_null("00:00"),
            pl.lit(":"),
            pl.col("t").str.extract(_ISO, 3).fill_null("00"),
            pl.lit("."),
            pl.col("t").str.extract(_ISO, 4).fill_null("0").str.pad_end(6, "0").str.head(6),
        ).str.to_datetime("%Y-%m-%dT%H:%M:%S%.6f", time_unit="us", strict=False).alias("local"),
        pl.col("t").str.extract(_ISO, 5).str.replace(":", "").alias("zone"),
    )  # fmt: skip
    offset = pl.col("zone").str.extract(r"^([+-]\d{2})", 1).cast(pl.Int64).fill_null(0) * 60
    minutes = pl.col("zone").str.extract(r"^[+-]\d{2}(\d{2})$", 1).cast(pl.Int64).fill_null(0)
    signed = pl.when(pl.col("zone").str.starts_with("-")).then(-minutes).otherwise(minutes)
    times = parts.select(
        (pl.col("local") - pl.duration(minutes=offset + signed)).dt.replace_time_zone("UTC")
    ).to_series()
    return _within_calendar(times)


def _clock(text: pl.Series) -> pl.Series:
    """Parse ``hh:mm``, ``hh:mm:ss`` and the ``mm:ss.mmm`` of subtitles as time since 1970-01-01.

    Two parts are hours and minutes, unless a fraction shows that they are minutes and seconds.
    """
    column = pl.col("t")
    first = column.str.extract(_CLOCK, 1).cast(pl.Float64)
    second = column.str.extract(_CLOCK, 2).cast(pl.Float64)
    third = column.str.extract(_CLOCK, 3).cast(pl.Float64)
    fraction = pl.concat_str(pl.lit("0."), column.str.extract(_CLOCK, 4)).cast(pl.Float64)
    seconds = (
        pl.when(first.is_not_null())
        .then(first * 3600 + second * 60 + third + fraction.fill_null(0))
        .when(fraction.is_not_null())
        .then(second * 60 + third + fraction)
        .otherwise(second * 3600 + third * 60)
    )
    return _from_seconds(text.to_frame("t").select(seconds.alias("t")).to_series())


def _local(text: pl.Series) -> pl.Series:
    """Parse dates with the year last; the whole column decides whether days or months are first.

    A first number above 12 anywhere means days first, a second number above 12 months first. If
    neither occurs, days come first, unless times have AM or PM and dates have slashes.
    """
    column = pl.col("t")
    names = ("first", "mark", "second", "year", "hour", "minute", "sec", "half")
    parts = text.to_frame("t").select(
        column.str.extract(_LOCAL, i).alias(name) for i, name in enumerate(names, 1)
    )
    numbers = parts.with_columns(pl.exclude("mark", "half").cast(pl.Int32, strict=False))
    american = bool((parts["half"].is_not_null() & (parts["mark"] == "/")).any())
    above = [bool((numbers[name] > 12).any()) for name in ("first", "second")]
    month_first = above[1] if above[0] != above[1] else american and not above[0]
    day, month = ("second", "first") if month_first else ("first", "second")
    hour = pl.col("hour").fill_null(0)
    half_day = (
        pl.when(pl.col("half").is_null()).then(hour)
        .when(pl.col("half").str.to_lowercase() == "p").then(hour % 12 + 12)
        .otherwise(hour % 12)
    )  # fmt: skip
    written = pl.format(
        "{}-{}-{} {}:{}:{}", "year", month, day, half_day, pl.col("minute").fill_null(0),
        pl.col("sec").fill_null(0),
    )  # fmt: skip
    times = numbers.select(
        written.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False)
    ).to_series()
    return _within_calendar(times.dt.replace_time_zone("UTC"))
