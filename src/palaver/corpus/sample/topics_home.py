"""Printers and routers of the synthetic help forum written for Palaver; all are invented."""

from __future__ import annotations

from palaver.corpus.sample.text import lines
from palaver.corpus.sample.topics import Problem, Question, Topic

PRINTER = Topic(
    name="printer",
    thing="printer",
    device=True,
    products=("BrightJet 410", "Inkwell Duo", "Papertrail X2", "Lumo 7100", "Quillmaster 90"),
    words={
        "use": ("[try|want] to print [a letter|the tickets|an invoice|anything at all]",),
        "check": ("print [a test page|two or three pages in a row]",),
        "prep": ("switch the printer off at the wall", "take all the paper out of the tray"),
        "part": ("feed roller", "paper tray", "cartridge", "print head", "duplex unit"),
        "data": ("settings", "waiting jobs"),
        "display": ("the little display", "the status window", "the panel"),
    },
    problems=(
        Problem(
            "paper jam message",
            (
                "reports a paper jam although nothing is stuck [in it|anywhere]",
                "stops after half a page and claims the paper is jammed",
                "insists on a paper jam that isn't there",
            ),
            (
                "a scrap of paper is [sitting on|covering] the sensor",
                "the feed roller has gone [smooth|hard with age]",
            ),
            (
                "take/took/taking the rear cover off and blow/blew/blowing the dust out",
                "clean/cleaned/cleaning the feed roller with a damp cloth",
                "pull/pulled/pulling the tray right out and push/pushed/pushing it back in",
            ),
            well="feeds [page after page|one page after the other] without [stopping|a murmur]",
        ),
        Problem(
            "stripe problem",
            (
                "prints pale stripes across [every|each] page",
                "leaves [white|thin white] lines through the text",
                "makes every page look as if someone had combed the ink",
            ),
            ("the nozzles have dried up", "the print head is [slightly|a hair] out of line"),
            (
                "run/ran/running the deep head cleaning @ Maintenance > Clean heads",
                "align/aligned/aligning the print head @ Maintenance > Alignment",
                "take/took/taking the cartridge out and wipe/wiped/wiping its contacts",
            ),
            well="prints [clean black text|without a single stripe|as crisp as new]",
        ),
        Problem(
            "stuck queue",
            (
                "leaves every job sitting in the queue",
                "takes the job and then does nothing [at all|whatsoever]",
                "shows the [first|same] job as printing for hours",
            ),
            (
                "one broken job is blocking [the rest|everything behind it]",
                "the spooler has [hung|given up]",
            ),
            (
                "clear/cleared/clearing the print queue @ Printers > Queue > Cancel all",
                "restart/restarted/restarting the spooler @ Services > Print Spooler",
                "delete/deleted/deleting the printer and add/added/adding it again "
                "@ Settings > Printers > Add",
            ),
            well="prints [job after job|everything I send it|at the first click]",
        ),
        Problem(
            "offline problem",
            (
                "shows up as offline although it is switched on",
                "disappears from the network [after a while|over night]",
                "cannot be found by any computer in the house",
            ),
            ("it gets a new address from the router", "it falls asleep and never wakes up"),
            (
                "give/gave/giving it a fixed address @ Network > Manual IP",
                "switch/switched/switching its deep sleep off @ Setup > Power > Sleep",
                "move/moved/moving it to the 2.4 GHz network @ Network > Wi-Fi setup",
            ),
            well="[stays|is] [online|reachable] [all day|from every computer]",
        ),
        Problem(
            "cartridge warning",
            (
                "refuses the new cartridge",
                "says the cartridge is empty [when|although] it is brand new",
                "calls [the black|a perfectly good] cartridge unknown",
            ),
            ("the chip on the cartridge is dirty", "the ink counter was never set back"),
            (
                "rub/rubbed/rubbing the cartridge chip with a dry cloth",
                "reset/reset/resetting the ink counter @ Maintenance > Ink levels > Reset",
                "peel/peeled/peeling the clear tape off the cartridge",
            ),
            well="[accepts|recognises] the cartridge [at once|without a grumble]",
        ),
    ),
    questions=(
        Question(
            "what [kind of|] paper is in the tray",
            "what [kind of|] paper you use",
            lines("""
                plain [80|90] gram paper[, nothing fancy|]
                recycled paper [from the supermarket|from the office], {always} the same brand
            """),
            about=("paper jam message", "stripe problem"),
        ),
        Question(
            "are those original cartridges",
            "whether you use original cartridges",
            lines("""
                [yes|yep], original ones, [bought|changed] {bought}
                no, refilled ones [from the shop round the corner|I ordered {bought}]
            """),
            about=("stripe problem", "cartridge warning"),
        ),
        Question(
            "[which|what sort of] computer do you print from",
            "[which|what sort of] computer you print from",
            lines("""
                [mostly|always] from [an old|a fairly new] [laptop|desktop], [bought|set up] \
                    {bought}
                from two laptops and a tablet, [and all three|which all] behave the same way
            """),
            about=("stuck queue", "offline problem"),
        ),
        Question(
            "how long had it been standing unused",
            "how long it had been standing unused",
            lines("""
                it stood unused for {long} [before that|or so]
                not at all, we print [a page or two|something] every [day|morning]
            """),
            about=("stripe problem", "paper jam message"),
        ),
    ),
    cures=(
        "update/updated/updating the firmware @ Setup > Tools > Update",
        "reinstall/reinstalled/reinstalling the driver",
        "unplug/unplugged/unplugging the printer for ten minutes",
        "swap/swapped/swapping the USB cable",
        "reset/reset/resetting it to factory settings @ Setup > Tools > Restore",
    ),
)

ROUTER = Topic(
    name="router",
    thing="router",
    device=True,
    products=("Halden R6", "Nestor Hub 3", "WaveBox 500", "Corvid AX", "Linkrose Mini"),
    words={
        "use": ("[start|join] a video call", "[try to|] stream [a film|the match|the news]"),
        "check": (
            "try it again with your [laptop|phone]",
            "watch the [lights|router] for {minutes}",
        ),
        "prep": ("unplug the router for a minute", "write down your login details"),
        "part": ("antenna", "WAN port", "power supply", "DSL cable", "5 GHz radio"),
        "data": ("Wi-Fi password", "port settings"),
        "display": ("the status page", "the admin page", "the event log"),
    },
    problems=(
        Problem(
            "dropout",
            (
                "drops the connection [in the middle of everything|for a minute or two]",
                "loses the line and [needs ages|takes forever] to find it again",
                "goes offline whenever the phone rings",
            ),
            ("the line filter is [worn out|missing]", "the DSL cable has a loose contact"),
            (
                "fit/fitted/fitting a new line filter",
                "replace/replaced/replacing the DSL cable",
                "lower/lowered/lowering the line speed a notch @ Internet > DSL > Stability",
            ),
            well="[holds|keeps] the connection [through the evening|without a break|even during \
                calls]",
        ),
        Problem(
            "slow Wi-Fi problem",
            (
                "crawls at [two|three] megabits over Wi-Fi",
                "gets [terribly|painfully] slow as soon as I leave the room",
                "gives me full speed by cable and [next to nothing|a trickle] over Wi-Fi",
            ),
            (
                "all your neighbours sit on the same channel",
                "your devices cling to the 2.4 GHz network",
            ),
            (
                "change/changed/changing the Wi-Fi channel @ Wireless > Advanced > Channel",
                "split/split/splitting the two bands into separate names @ Wireless > Bands",
                "put/put/putting the router on a shelf away from the wall",
            ),
            well="gives me [forty|sixty|a hundred] megabits [in every room|even in the kitchen]",
        ),
        Problem(
            "login problem",
            (
                "won't let me into the admin page [any more|]",
                "rejects the password that is printed on its own label",
                "logs me out of the admin page after every click",
            ),
            (
                "the browser keeps offering the old password",
                "somebody changed the admin password [long ago|at some point]",
            ),
            (
                "open/opened/opening the admin page in a private window",
                "hold/held/holding the reset pin down for ten seconds",
                "type/typed/typing the address by hand instead of using the bookmark",
            ),
            well="lets me [in|log in] [at the first try|without complaint]",
        ),
        Problem(
            "reboot loop",
            (
                "restarts [by itself|all on its own] several times a day",
                "blinks, goes dark and starts all over again",
                "reboots as soon as more than a few devices are connected",
            ),
            ("the power supply is [dying|too weak]", "it is simply getting too hot"),
            (
                "use/used/using another 12 volt power supply",
                "move/moved/moving the router out of the cupboard so that it can breathe",
                "switch/switched/switching the automatic restart off @ System > Schedule",
            ),
            well="stays [on|awake] [all day|through the night] without a restart",
        ),
        Problem(
            "guest network problem",
            (
                "hides the guest network from [every|any] phone in the house",
                "lets guests connect but not surf",
                "switches the guest network off [over night|without being asked]",
            ),
            (
                "the guest network has a timer",
                "the guest network hands out [the wrong|its own] name server",
            ),
            (
                "turn/turned/turning the guest timer off @ Wireless > Guests > Timer",
                "set/set/setting the name server by hand @ Internet > DNS",
                "give/gave/giving the guest network a new name @ Wireless > Guests",
            ),
            well="[lets guests in|shows the guest network] [again|on every phone]",
        ),
    ),
    questions=(
        Question(
            "which provider are you with",
            "which provider you are with",
            lines("""
                [I'm|we are] with [Fernline|Bluebell Net|Tidewater Telecom] {ages}
                [Fernline|Bluebell Net|Tidewater Telecom], the [small|middle|big] tariff
            """),
            about=("dropout",),
        ),
        Question(
            "which lights are on [when it happens|at the front]",
            "which lights are on [when it happens|at the front]",
            lines("""
                power is green and the globe [blinks|glows] [orange|red]
                all of them are green except the [third|last] one, which [blinks|is dark]
            """),
            about=("dropout", "reboot loop"),
        ),
        Question(
            "how many devices are connected",
            "how many devices are connected",
            lines("""
                [about|roughly|at most] [five|eight|ten|fifteen] devices, [mostly phones|telly \
                    included]
                only [two laptops and a phone|my laptop and the telly]
            """),
            about=("slow Wi-Fi problem", "reboot loop", "guest network problem"),
        ),
        Question(
            "how far away from the router do you sit",
            "how far away from the router you sit",
            lines("""
                [two|three|four] [metres|rooms] away, with [one thick wall|a brick wall] in between
                I sit right next to it, [less than a metre|an arm's length] away
            """),
            about=("slow Wi-Fi problem",),
        ),
    ),
    cures=(
        "update/updated/updating the router's firmware @ System > Update",
        "restore/restored/restoring the factory settings @ System > Reset",
        "unplug/unplugged/unplugging the router for half an hour",
        "ask/asked/asking the provider to measure the line",
        "use/used/using another network socket",
    ),
)
