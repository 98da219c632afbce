"""Headsets of the synthetic help forum written for Palaver; all are invented."""

from __future__ import annotations

from palaver.corpus.sample.text import lines
from palaver.corpus.sample.topics import Problem, Question, Topic

HEADSET = Topic(
    name="headset",
    thing="headset",
    device=True,
    products=("Murmur 2", "Sono Cloud", "Earwig Pro", "Lark 300", "Boomer Lite"),
    words={
        "use": ("[start|join] a [call|meeting]", "listen to [music|a podcast|the radio]"),
        "check": ("make a test call", "record [a sentence or two|yourself] and listen to it"),
        "prep": ("charge it to the brim", "forget it on your phone"),
        "part": ("boom microphone", "ear cushion", "USB dongle", "mute switch", "left speaker"),
        "data": ("pairings", "sound profile"),
        "display": ("the app", "the sound panel"),
    },
    problems=(
        Problem(
            "missing microphone",
            (
                "plays sound but has no microphone as far as my computer is concerned",
                "leaves me mute in every meeting",
                "is listed as headphones only",
            ),
            ("it is connected in music mode", "the mute switch is stuck halfway"),
            (
                "choose/chose/choosing the hands-free profile @ Sound > Input > Profile",
                "push/pushed/pushing the mute switch back and forth a few times",
                "pick/picked/picking it as input in the call program @ Options > Audio > Input",
            ),
            well="[carries my voice into every meeting|is listed with its microphone]",
        ),
        Problem(
            "crackle problem",
            (
                "crackles like an old record",
                "hisses and pops as soon as somebody speaks",
                "adds a [hum|rattle] to everything I listen to",
            ),
            (
                "the dongle sits right next to a USB disk",
                "the sample rate doesn't match",
            ),
            (
                "plug/plugged/plugging the dongle into a port at the front",
                "set/set/setting the sample rate to 48 kHz @ Sound > Output > Format",
                "turn/turned/turning the sound effects off @ Sound > Output > Effects",
            ),
            well="sounds [clean|clear] [again|on both sides|from start to end]",
        ),
        Problem(
            "pairing problem",
            (
                "loses the connection when I stand up",
                "pairs once and never again",
                "jumps back to my phone in the middle of a meeting",
            ),
            (
                "the pairing list is full",
                "it tries to serve two devices at once",
            ),
            (
                "clear/cleared/clearing its pairing list by holding both volume keys",
                "turn/turned/turning multipoint off @ App > Connections > Multipoint",
                "remove/removed/removing it from the phone and pair/paired/pairing it anew",
            ),
            well="stays connected [all day|all over the house|through every meeting]",
        ),
        Problem(
            "dead left side",
            (
                "is silent on the left side",
                "plays everything on one ear only",
                "gets quieter on the left until nothing is left",
            ),
            ("the balance slider has moved", "ear wax blocks the little grille"),
            (
                "put/put/putting the balance slider back in the middle @ Sound > Output > Balance",
                "clean/cleaned/cleaning the grille with a dry toothbrush",
                "turn/turned/turning mono sound off @ Settings > Accessibility > Mono",
            ),
            well="plays on both sides [again|equally loud]",
        ),
    ),
    questions=(
        Question(
            "which program do you use for the calls",
            "which program you use for the calls",
            lines("""
                [Chatterbox|Roundtable|Huddleroom] [at work|mostly], [the desktop version|in the \
                    browser]
                it's the same in [Chatterbox and Roundtable|Roundtable and Huddleroom]
            """),
            about=("missing microphone", "crackle problem"),
        ),
        Question(
            "is it paired with anything else",
            "whether it is paired with anything else",
            lines("""
                [yes|yep], with my phone [and the tablet|as well]{whim}
                no, [only|just] with [this computer|my work laptop] {ages}
            """),
            about=("missing microphone", "pairing problem"),
        ),
        Question(
            "is the battery charged",
            "whether the battery is charged",
            lines("""
                fully charged, I [just checked|checked an hour ago|looked it up in the app]
                the app says [eighty|ninety|seventy] percent{whim}
            """),
            about=("pairing problem", "crackle problem"),
        ),
    ),
    cures=(
        "update/updated/updating its firmware with the app @ App > Device > Firmware",
        "reset/reset/resetting the headset by holding power for fifteen seconds",
        "test/tested/testing it on a different computer",
        "delete/deleted/deleting the device and pair/paired/pairing it again "
        "@ Settings > Bluetooth > Devices",
        "close/closed/closing every other program that uses sound",
    ),
)
