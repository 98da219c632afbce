"""What verbs print: tables of any width, bars that keep the time left."""

import io
import re
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import typer
from rich.console import Console
from rich.progress import Progress
from support.planted import plant
from support.verbs import fails
from typer.testing import CliRunner

from palaver.cli import app, output
from palaver.errors import ParameterError, StoreError
from palaver.fit.fold import has_listener, map_shards_with_progress, progress_listener
from palaver.fit.progress import columns, fold_progress

ROWS = pl.DataFrame(
    {
        "kind": ["missing_parent", "bad_line"],
        "count": [1, 12345],
        "what": ["parent that is not in the file; became a start", "cannot be read"],
        "places": ["line 2, line 3", "[/] [bold]line 7[/bold]"],
    }
)


@pytest.fixture
def printed(monkeypatch):
    def print_at(width, call):
        stream = io.StringIO()
        monkeypatch.setattr(output, "console", Console(file=stream, width=width))
        call()
        return stream.getvalue()

    return print_at


@pytest.mark.parametrize("width", range(24, 100, 4))
def test_no_word_of_a_table_breaks_and_no_line_is_too_long(printed, width):
    text = printed(width, lambda: output.print_table(ROWS, "What reading found"))
    assert max(map(len, text.splitlines())) <= width
    words = {word for row in ROWS.iter_rows() for cell in row for word in str(cell).split()}
    words = (words - {"12345"}) | {"12,345", "kind" if "┃" in text else "count"}
    assert words <= set(re.findall(r"[^\s│┃]+", text))


def test_what_users_wrote_is_no_markup(printed):
    text = printed(200, lambda: output.print_table(ROWS))
    assert "[/] [bold]line 7[/bold]" in text
    facts = printed(80, lambda: output.print_facts({"source": "[/red] x", "n": 3}))
    assert "[/red] x" in facts
    marked = pl.DataFrame({"value": ["[bold]12[/]"]})
    assert "[bold]" not in printed(80, lambda: output.print_table(marked, markup=True))


def test_texts_of_users_are_printed_as_they_are(capsys):
    odd = "Ship it :rocket: [/bold] [red]now[/red]"
    for where in (output.console, output.errors):
        with where.capture() as capture:
            where.print(odd)
        assert capture.get() == f"{odd}\n"


def test_tables_are_written_into_new_folders(tmp_path):
    for name in ("new/x.csv", "other/x.parquet"):
        output.write_table(ROWS, tmp_path / name)
    assert pl.read_csv(tmp_path / "new" / "x.csv").equals(ROWS)
    assert pl.read_parquet(tmp_path / "other" / "x.parquet").equals(ROWS)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        output.write_table(ROWS, tmp_path / "file" / "x.csv")
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    with pytest.raises(ParameterError, match="is a folder"):
        output.check_table_file(folder)


def test_tables_without_rows(printed):
    assert "kind" in printed(80, lambda: output.print_table(ROWS.head(0)))


@pytest.mark.parametrize("width", [30, 45, 60, 84, 110, 140])
def test_bars_keep_the_time_left(width):
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=True, color_system=None)
    clock = iter(float(i) for i in range(1000))
    with Progress(*columns(width), console=console, get_time=lambda: next(clock)) as bar:
        task = bar.add_task("BlockHMM", total=2000, speed="123.4 sweeps/s", score="log joint -9")
        for done in range(1, 5):
            bar.update(task, completed=100 * done)
        line = console.render_lines(bar.get_renderable())[0]
    text = "".join(segment.text for segment in line)
    assert len(text) <= width
    assert re.search(r"\d:\d\d:\d\d\s*$", text), text
    assert "400/2000" in text


def test_fold_ins_tell_how_far_they_are():
    model = plant("lda", np.random.default_rng(1))
    model.seed_ = 1
    corpus = model.simulate((20, 3, 5), random_state=1)
    shares = []
    with progress_listener(shares.append):
        model.transform(corpus, 10)
    assert len(shares) >= 10
    assert sum(shares) == pytest.approx(1)
    model.transform(corpus, 10)
    assert sum(shares) == pytest.approx(1)  # nobody listens any more


def test_bar_of_fold_ins_is_shown_once_and_only_to_those_who_look(capsys):
    told = []
    with progress_listener(told.append), fold_progress("rebuilding", show=True):
        map_shards_with_progress(
            lambda shard: None, [SimpleNamespace(n_tokens=n) for n in (1, 3)], 1
        )
    assert told == [0.25, 0.75]  # who listened before still hears it
    with fold_progress("rebuilding", show=False):
        assert not has_listener()
    assert capsys.readouterr().err == ""
    with fold_progress("rebuilding", 2, show=True):
        assert has_listener()
        for _ in range(3):  # one more than was said
            map_shards_with_progress(lambda shard: None, [SimpleNamespace(n_tokens=1)], 1)
    assert capsys.readouterr().err
    assert not has_listener()


def test_an_excerpt_is_one_line_and_says_that_more_follows():
    assert output.excerpt("Hello,\n\n  how are\tyou?") == "Hello, how are you?"
    assert output.excerpt("word " * 40, 20) == "word word word word…"
    assert output.excerpt("a" + " " * 500 + "b", 20) == "a…"


@pytest.mark.parametrize("name", [command.name for command in app.registered_commands])
def test_help_fits_a_narrow_terminal(name):
    """No name of an option is cut, and no word of a text."""
    shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "60"}).output
    assert max(map(len, shown.splitlines())) <= 60
    assert "…" not in shown
    verb = typer.main.get_command(app).commands[name]
    for parameter in verb.params:
        assert all(option in shown for option in parameter.opts if option.startswith("--"))


def test_threads_are_at_least_one():
    assert "--jobs must be at least 1" in fails("fit", "lda", "x.jsonl", "--out", "x", "--jobs", 0)
