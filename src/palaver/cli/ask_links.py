"""``palaver reconstruct --ask URL``: ask a language model about uncertain links."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from palaver.threads.asking import Asker


class Asking(NamedTuple):
    """What the options say about asking."""

    url: str
    model: str
    below: float
    calls: int
    seconds: float
    yes: bool


def asker_of(asking: Asking | None, out: Path) -> Asker | None:
    """Return who asks; answers are kept beside the output, as in ``rebuilt.answers.json``."""
    if asking is None:
        return None
    from palaver.cli.consent import consent
    from palaver.endpoint import Answers, Endpoint, key_from_environment
    from palaver.threads.asking import Asker

    endpoint = Endpoint(asking.url, asking.model, key_from_environment(), asking.seconds)

    def agree(question: list[dict[str, str]], n_links: int) -> None:
        if not asking.yes:
            most = min(n_links, asking.calls)
            consent(endpoint, question, f"Questions like this one: at most {most:,}.")

    answers = Answers(out.parent, f"{out.stem}.answers.json")
    return Asker(endpoint, answers, asking.below, asking.calls, agree)


@contextmanager
def bar_of(asker: Asker | None) -> Iterator[None]:
    """Show a bar while questions are asked; it begins when the user has agreed."""
    from palaver.cli.output import sharing

    with ExitStack() as bars:
        if asker is not None:
            agree, what = asker.agree, f"asking {asker.endpoint.model}"

            def agreed(question: list[dict[str, str]], n_links: int) -> None:
                agree(question, n_links)
                asker.progress = bars.enter_context(sharing(what))

            asker.agree = agreed
        yield


def asked_facts(asker: Asker) -> dict[str, int]:
    """Return what came of asking, as numbers."""
    return {"asked": asker.sent, "answered_before": asker.kept, "changed": asker.changed,
            "unusable": asker.unusable, "not_asked": asker.left}  # fmt: skip


def show_asked(asker: Asker) -> None:
    """Print what came of asking, and how to continue."""
    from palaver.cli.output import console, counted, errors

    console.print(
        f"Links below {asker.below:g}: {counted(asker.sent, 'question')} to "
        f"{asker.endpoint.model}, {counted(asker.kept, 'answer')} from before; "
        f"{counted(asker.changed, 'link')} changed, {asker.unusable} answers without a choice.",
        markup=False,
    )
    if asker.failure is not None:
        errors.print(f"Asking ended early: {asker.failure}", style="yellow", markup=False)
    if asker.left:
        console.print(f"Not asked about: {counted(asker.left, 'link')}; repeat the command to go "
                      "on (answers are kept).", markup=False)  # fmt: skip
