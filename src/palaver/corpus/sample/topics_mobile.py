"""Phones and laptops of the synthetic help forum written for Palaver; all are invented."""

from __future__ import annotations

from palaver.corpus.sample.text import lines
from palaver.corpus.sample.topics import Problem, Question, Topic

PHONE = Topic(
    name="phone",
    thing="phone",
    device=True,
    products=("Tamarin 8", "Orbit Slim", "Pebbleton 5G", "Juno Note 4", "Marlo Fold"),
    words={
        "use": ("[try to|want to|] [call|ring] {someone}", "take it [on a walk|to work]"),
        "check": ("restart it [once|once more]", "use it normally for [a day|an hour]"),
        "prep": ("copy your photos to a computer", "take the case off"),
        "part": ("charging port", "SIM card", "battery", "microphone", "screen protector"),
        "data": ("photos", "contacts", "messages"),
        "display": ("the screen", "the notification bar"),
    },
    problems=(
        Problem(
            "battery drain",
            (
                "is down to ten percent by [noon|lunchtime]",
                "eats the battery even when it just lies there",
                "gets warm in my pocket and empties itself",
            ),
            (
                "some app keeps the phone awake",
                "the location service never sleeps",
            ),
            (
                "stop/stopped/stopping background activity for the hungriest app "
                "@ Settings > Battery > Usage",
                "turn/turned/turning the location service off @ Settings > Location",
                "remove/removed/removing the weather widget from the home screen",
            ),
            well="[lasts|makes it] [until the evening|through the whole day]",
        ),
        Problem(
            "charging problem",
            (
                "only charges if I hold the cable at [an angle|a funny angle]",
                "stops charging at [sixty|eighty] percent",
                "says it is charging and [gets emptier|loses power] all the same",
            ),
            ("there is pocket fluff in the charging port", "the charger is too weak"),
            (
                "pick/picked/picking the fluff out of the charging port with a toothpick",
                "use/used/using the charger that came with it",
                "switch/switched/switching the battery protection off "
                "@ Settings > Battery > Protection",
            ),
            well="charges [right up to the top|to 100 percent] [again|in an hour]",
        ),
        Problem(
            "muffled microphone",
            (
                "makes me sound as if I were under water",
                "lets me hear everybody while nobody hears me",
                "turns my voice into [a mumble|mush] on every call",
            ),
            (
                "the noise filter mistakes your voice for noise",
                "the microphone hole is [clogged|full of dust]",
            ),
            (
                "turn/turned/turning the noise filter off @ Settings > Calls > Sound",
                "clean/cleaned/cleaning the microphone hole with a soft brush",
                "allow/allowed/allowing the phone app to use the microphone "
                "@ Settings > Apps > Permissions",
            ),
            well="[carries my voice|sounds] [loud and clear|crystal clear]",
        ),
        Problem(
            "storage warning",
            (
                "claims the storage is full although I deleted [half my photos|nearly everything]",
                "won't take pictures because of missing storage",
                "nags me about storage [all day long|whenever I look at it]",
            ),
            ("the deleted photos are still in the bin", "a messenger keeps a copy of every video"),
            (
                "empty/emptied/emptying the photo bin @ Gallery > Menu > Bin",
                "clear/cleared/clearing the messenger's cache @ Settings > Apps > Storage",
                "move/moved/moving the old videos to the memory card",
            ),
            well="[has|shows] [nine|twelve|twenty] gigabytes [free again|of free space]",
        ),
        Problem(
            "silent ringer",
            (
                "doesn't ring when somebody calls",
                "shows missed calls without having made a sound",
                "stays silent [no matter what|whatever] I do with the volume",
            ),
            (
                "a quiet-hours rule is still active",
                "the calls go to a watch or headset that is paired with it",
            ),
            (
                "delete/deleted/deleting the quiet-hours rule @ Settings > Sounds > Quiet hours",
                "unpair/unpaired/unpairing everything under Bluetooth @ Settings > Bluetooth",
                "pick/picked/picking a different ringtone @ Settings > Sounds > Ringtone",
            ),
            well="rings [again|loud and clear|so loudly that the {animal} fled]",
        ),
    ),
    questions=(
        Question(
            "which charger do you use",
            "which charger you use",
            lines("""
                the one [from the box|that came with it], [same cable too|with the original cable]
                a cheap one [from the petrol station|I bought {bought}]
            """),
            about=("charging problem", "battery drain"),
        ),
        Question(
            "is there a case on it",
            "whether there is a case on it",
            lines("""
                [yes|yep], a [thick rubber|leather|magnetic] one{whim}
                no case, [just a screen protector|never had one]{whim}
            """),
            about=("charging problem", "muffled microphone"),
        ),
        Question(
            "how much storage is [left|free]",
            "how much storage is [left|free]",
            lines("""
                [about|roughly] [two|five|eleven|forty] gigabytes, [it says|out of 128]
                [less than|just over] a gigabyte, [if I read it right|the bar is red]
            """),
            about=("storage warning",),
        ),
        Question(
            "do you have one SIM card in it or two",
            "whether there are one or two SIM cards in it",
            lines("""
                just one SIM, from [Fernline|Bluebell Net|Tidewater Telecom]
                two, [one for work and a private one|the second one {ages}]
            """),
            about=("silent ringer", "battery drain"),
        ),
    ),
    cures=(
        "restart/restarted/restarting it in safe mode",
        "install/installed/installing the latest system update @ Settings > System > Update",
        "reset/reset/resetting the app preferences @ Settings > Apps > Menu > Reset",
        "take/took/taking the SIM card out and put/put/putting it back in",
        "hold/held/holding power and volume down for twenty seconds",
    ),
)

LAPTOP = Topic(
    name="laptop",
    thing="laptop",
    device=True,
    products=("Arden 14", "Kestrel Pro 15", "Slatebook Air", "Minnow 11", "Thornfield X"),
    words={
        "use": (
            "[try to|want to|] [write an essay|edit a video|do my taxes]",
            "[open|close] the lid",
        ),
        "check": ("[use|run] it for an hour", "close the lid and open it again"),
        "prep": ("shut it down completely", "unplug everything including the mouse"),
        "part": ("fan", "battery", "keyboard", "trackpad", "memory module"),
        "data": ("files", "documents"),
        "display": ("the screen", "the start-up screen"),
    },
    problems=(
        Problem(
            "fan noise",
            (
                "sounds like a hair dryer [even when idle|although I only write e-mails]",
                "gets so hot that I can't keep it on my knees",
                "blows at full speed and slows to a crawl",
            ),
            ("the vents are [full of|clogged with] dust", "something eats the processor"),
            (
                "blow/blew/blowing the dust out of the vents",
                "end/ended/ending the busiest task @ Task list > Processes",
                "set/set/setting the fan profile to quiet @ Settings > Power > Cooling",
            ),
            well="runs [cool and quiet|without a sound|as quiet as a mouse]",
        ),
        Problem(
            "black screen",
            (
                "shows a black screen after sleep",
                "wakes up with the fan on and the screen dark",
                "only gives me a picture after [three|four|several] tries",
            ),
            (
                "the graphics driver [trips over|doesn't survive] sleep",
                "fast start keeps a broken state alive",
            ),
            (
                "roll/rolled/rolling the graphics driver back @ Device list > Display > Driver",
                "turn/turned/turning fast start off @ Settings > Power > Advanced",
                "hold/held/holding the power button for thirty seconds",
            ),
            well="wakes up [every time|in a second|with a picture]",
        ),
        Problem(
            "double letter problem",
            (
                "types some letters twice",
                "swallows every other space I type",
                "writes two or three letters at one press of a key",
            ),
            ("there are crumbs under the keys", "the repeat delay is set far too short"),
            (
                "blow/blew/blowing out the keyboard with canned air",
                "raise/raised/raising the repeat delay @ Settings > Keyboard > Repeat",
                "test/tested/testing with an external keyboard",
            ),
            well="types [every letter once|what I mean] [again|at last|like before]",
        ),
        Problem(
            "jumping cursor",
            (
                "sends the cursor [all over the page|to the other end of the page] while I type",
                "clicks on things I never touched",
                "lets the pointer drift into the corner",
            ),
            (
                "your palms brush the trackpad",
                "the charger isn't earthed and upsets the trackpad",
            ),
            (
                "turn/turned/turning tap-to-click off @ Settings > Trackpad > Taps",
                "plug/plugged/plugging the charger into an earthed socket",
                "reinstall/reinstalled/reinstalling the trackpad driver",
            ),
            well="keeps the pointer [where it belongs|still while I type]",
        ),
        Problem(
            "boot problem",
            (
                "stops at the logo and [goes no further|sits there]",
                "asks for a boot device every morning",
                "needs [twenty|ten] minutes to start",
            ),
            ("the start-up order is wrong", "the disk is on its last legs"),
            (
                "move/moved/moving the internal disk to the top @ Firmware setup > Boot > Order",
                "run/ran/running the disk check from a rescue stick",
                "unplug/unplugged/unplugging every USB stick before starting",
            ),
            well="starts [in half a minute|at the first try|without asking anything]",
        ),
    ),
    questions=(
        Question(
            "is it on battery or on mains when it happens",
            "whether it is on battery or on mains when it happens",
            lines("""
                [only|mostly] on mains, [on battery it is a little better|with the original charger]
                both, [it makes no difference|I tried each for an hour]{whim}
            """),
            about=("fan noise", "black screen", "jumping cursor"),
        ),
        Question(
            "is anything plugged into the USB ports",
            "whether anything is plugged into the USB ports",
            lines("""
                just a mouse and [a USB stick|a small lamp|the receiver for a keyboard]
                nothing [at all|at the moment], I pulled everything out {when}
            """),
            about=("black screen", "boot problem"),
        ),
        Question(
            "how much memory does it have",
            "how much memory it has",
            lines("""
                [eight|sixteen|four] gigabytes, [never upgraded|upgraded {bought}]
                [eight|sixteen] gigabytes of memory and a [256|512] gigabyte disk
            """),
            about=("fan noise", "boot problem"),
        ),
        Question(
            "[how old is it|when did you buy it]",
            "how old it is",
            lines("""
                I bought it {bought}, [second hand|new|refurbished]
                [two|three|four|six] years old, [second hand|but hardly used|used every day]
            """),
        ),
    ),
    cures=(
        "install/installed/installing the pending updates @ Settings > Update",
        "update/updated/updating the firmware @ Firmware setup > Tools > Flash",
        "start/started/starting it in safe mode",
        "create/created/creating a fresh user account @ Settings > Accounts > Add",
        "reset/reset/resetting the power controller",
    ),
)
