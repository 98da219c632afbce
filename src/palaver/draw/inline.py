"""Style rules written into the elements of a picture: few programs but browsers read variables."""

from __future__ import annotations

import re
from xml.etree import ElementTree

_SPACE = "http://www.w3.org/2000/svg"
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_VARIABLE = re.compile(r"var\((--[\w-]+)\)")
_PIXELS = re.compile(r"(\d+(?:\.\d+)?)px")
_PART = re.compile(r"[.]?[\w-]+")

#: A rule: what each step of its selector asks for (tag or .class), and what it declares.
Rule = tuple[list[list[str]], dict[str, str]]


def with_plain_styles(svg: str, style: str, background: str) -> str:
    """Return a picture whose styles are attributes of its elements, on a background.

    Selectors of tags and classes are understood, and variables; later rules win, as do those of
    more classes.
    """
    ElementTree.register_namespace("", _SPACE)
    root = ElementTree.fromstring(svg)
    rules = sorted(_rules(style), key=lambda rule: sum(part.startswith(".") for step in rule[0]
                                                       for part in step))  # fmt: skip
    _apply(root, [], {}, rules)
    _, _, width, height = (root.get("viewBox") or "0 0 100% 100%").split()
    paper = ElementTree.Element(f"{{{_SPACE}}}rect", width=width, height=height, fill=background)
    root.insert(0, paper)
    return ElementTree.tostring(root, encoding="unicode")


def _rules(style: str) -> list[Rule]:
    found: list[Rule] = []
    for selectors, body in _RULE.findall(style):
        lines = [line.partition(":") for line in body.split(";") if ":" in line]
        declared = {name.strip(): value.strip() for name, _, value in lines}
        for selector in selectors.split(","):
            found.append(([_PART.findall(step) for step in selector.split()], declared))
    return found


def _apply(
    element: ElementTree.Element,
    above: list[set[str]],
    variables: dict[str, str],
    rules: list[Rule],
) -> None:
    """Set the attributes of an element and of all below it."""
    own = {element.tag.removeprefix(f"{{{_SPACE}}}")}
    own |= {f".{name}" for name in element.get("class", "").split()}
    line = [*above, own]
    declared: dict[str, str] = {}
    for steps, values in rules:
        if _matches(steps, line):
            declared |= values
    variables = variables | {k: v for k, v in declared.items() if k.startswith("--")}
    for name, value in declared.items():
        known = _VARIABLE.sub(lambda found: variables.get(found[1], "#000"), value)
        if name == "dominant-baseline":  # not known to all; this is
            element.set("dy", "0.35em")
        elif known == "transparent":
            element.set(name, "none")
        elif not name.startswith("--") and name not in ("background", "cursor"):
            element.set(name, _PIXELS.sub(r"\1", known))
    for child in element:
        _apply(child, line, variables, rules)


def _matches(steps: list[list[str]], line: list[set[str]]) -> bool:
    """Whether the last step is about the last element, and the others about some above it."""
    if not line[-1].issuperset(steps[-1]):
        return False
    place = len(line) - 2
    for step in reversed(steps[:-1]):
        while place >= 0 and not line[place].issuperset(step):
            place -= 1
        if place < 0:
            return False
        place -= 1
    return True
