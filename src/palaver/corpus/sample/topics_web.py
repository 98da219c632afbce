"""Browsers and mail programs of the synthetic help forum written for Palaver; all are invented."""

from __future__ import annotations

from palaver.corpus.sample.text import lines
from palaver.corpus.sample.topics import Problem, Question, Topic

BROWSER = Topic(
    name="browser",
    thing="browser",
    device=False,
    products=("Foxglove", "Meridian", "Skiff Browser", "Ternlight", "Pagewright"),
    words={
        "use": (
            "[open|go to] [my bank's site|the library catalogue|the timetable|a video page]",
            "[try to|] [buy|book] train tickets",
        ),
        "check": ("open the page once more", "close it and start it again"),
        "prep": ("export your bookmarks", "close all windows"),
        "part": ("cache", "profile", "start page", "ad blocker", "password store"),
        "data": ("bookmarks", "passwords", "open tabs"),
        "display": ("the page", "a grey box"),
    },
    problems=(
        Problem(
            "blank page problem",
            (
                "shows nothing but a [white|blank] page",
                "loads the frame of the page and [no content|leaves the rest empty]",
                "gives me an empty page where the login form should be",
            ),
            ("the cache holds a half-loaded copy", "the ad blocker swallows a script"),
            (
                "clear/cleared/clearing the cache @ Menu > Privacy > Clear data",
                "pause/paused/pausing the ad blocker for that site",
                "open/opened/opening the site in a private window",
            ),
            well="[shows|loads] [every page|the whole page] [again|within a second]",
        ),
        Problem(
            "lost session",
            (
                "forgets all my tabs [over night|whenever it closes]",
                "logs me out of every site [when|as soon as] I close it",
                "starts with an empty window instead of my tabs",
            ),
            (
                "it is told to wipe everything on exit",
                "a cleaning program deletes its session file",
            ),
            (
                "allow/allowed/allowing cookies to stay @ Menu > Privacy > Cookies",
                "exclude/excluded/excluding its folder from the cleaning program",
                "set/set/setting it to reopen the last tabs @ Menu > Start-up",
            ),
            well="[opens with all my tabs|keeps me logged in] [again|after every restart]",
        ),
        Problem(
            "failed download",
            (
                "breaks off every download at the end",
                "saves files with [zero bytes|nothing in them]",
                "says a download failed although the file is there",
            ),
            (
                "the download folder [is on a drive that no longer exists|was moved]",
                "the virus scanner grabs the file first",
            ),
            (
                "choose/chose/choosing another download folder @ Menu > Downloads > Location",
                "switch/switched/switching off the scanner's download check",
                "turn/turned/turning parallel downloads off @ Menu > Advanced > Network",
            ),
            well="[finishes|completes] every download [again|without a fuss]",
        ),
        Problem(
            "crash",
            (
                "closes itself without a word",
                "crashes the moment I [scroll|print|upload a picture]",
                "freezes and [turns grey|takes the other windows with it]",
            ),
            (
                "one of the add-ons misbehaves",
                "it doesn't get along with the graphics driver",
            ),
            (
                "start/started/starting it without add-ons @ Menu > Help > Safe start",
                "turn/turned/turning hardware acceleration off @ Menu > Advanced > System",
                "create/created/creating a new profile @ Menu > Profiles > New",
            ),
            well="[stays open|has been running] [all afternoon|without a crash]",
        ),
        Problem(
            "redirected search",
            (
                "sends every search to a page I have never heard of",
                "opens a second tab full of adverts [with every click|now and then]",
                "puts a strange toolbar under the address line",
            ),
            (
                "a free converter brought an unwanted add-on along",
                "an installer changed the search engine",
            ),
            (
                "remove/removed/removing the add-on you don't recognise @ Menu > Add-ons",
                "reset/reset/resetting the search engine @ Menu > Search > Default",
                "revoke/revoked/revoking all notification permissions "
                "@ Menu > Privacy > Permissions",
            ),
            well="searches [where it should|with my own search engine again]",
        ),
    ),
    questions=(
        Question(
            "which add-ons are installed",
            "which add-ons are installed",
            lines("""
                [just|only] an ad blocker and [a dictionary|a dark theme|a translator]
                [five|six|nine] of them, mostly [for shopping|from my old computer]
            """),
            about=("blank page problem", "crash", "redirected search", "lost session"),
        ),
        Question(
            "is a private window any different",
            "whether a private window is any different",
            lines("""
                no difference in a private window, [I just tried|tried it {when}]
                a private window is [a bit better|fine for a while], then the same thing
            """),
            about=("blank page problem", "crash"),
        ),
        Question(
            "how many tabs do you keep open",
            "how many tabs you keep open",
            lines("""
                [about|around|at least] [five|twelve|forty|ninety] tabs[, I know, I know|]
                never more than [three|four|five], I'm a tidy person
            """),
            about=("crash", "lost session"),
        ),
    ),
    cures=(
        "update/updated/updating to the newest release @ Menu > Help > About",
        "reinstall/reinstalled/reinstalling it from scratch",
        "refresh/refreshed/refreshing the profile @ Menu > Help > Refresh",
        "check/checked/checking the computer's date and time",
        "flush/flushed/flushing the name server cache",
    ),
)

EMAIL = Topic(
    name="e-mail",
    thing="mail program",
    device=False,
    products=("Quillmail", "Postbird", "Letterbox Plus", "Mailwright", "Dovecote"),
    words={
        "use": (
            "[try to|want to|] [write to|answer] {someone}",
            "[send|forward] [a photo|the minutes|an invoice]",
        ),
        "check": ("send yourself a test mail", "fetch your mail by hand"),
        "prep": ("export your address book", "note down the server names"),
        "part": ("outbox", "signature", "address book", "junk filter", "search index"),
        "data": ("mails", "folders", "contacts"),
        "display": ("a little window", "the status line"),
    },
    problems=(
        Problem(
            "stuck outbox",
            (
                "leaves my mails in the outbox",
                "tries to send the same mail over and over",
                "never gets past sending [one|the first] of three mails",
            ),
            (
                "the outgoing server wants another port",
                "the attachment is too big for the server",
            ),
            (
                "change/changed/changing the outgoing port to 587 @ Accounts > Outgoing > Port",
                "drag/dragged/dragging the stuck mail to the drafts",
                "switch/switched/switching to offline mode and back @ File > Work offline",
            ),
            well="sends [everything|my mails] [at once|within seconds|again]",
        ),
        Problem(
            "password prompt",
            (
                "asks for my password [all day|every few minutes]",
                "rejects a password that works on the website",
                "forgets the password [over night|as soon as I close it]",
            ),
            (
                "your provider now wants an app password",
                "the stored password is damaged",
            ),
            (
                "create/created/creating an app password on the provider's site",
                "delete/deleted/deleting the stored password @ Settings > Security > Passwords",
                "change/changed/changing the sign-in method @ Accounts > Security > Method",
            ),
            well="hasn't asked for the password [since|again|all day]",
        ),
        Problem(
            "junk folder problem",
            (
                "puts mails from {someone} into the junk folder",
                "treats every invoice as junk",
                "lets real junk through and hides the mails I want",
            ),
            (
                "the junk filter was trained the wrong way round",
                "an old filter rule is still active",
            ),
            (
                "reset/reset/resetting the junk filter @ Settings > Junk > Training",
                "sort/sorted/sorting out the old filter rules @ Tools > Rules",
                "add/added/adding the sender to the address book",
            ),
            well="[sorts|files] my mails [correctly|where they belong] [again|at last]",
        ),
        Problem(
            "duplicate problem",
            (
                "shows every mail [twice|three times]",
                "fetches all the old mails again",
                "brings back mails that I deleted {when}",
            ),
            (
                "the account is set up twice",
                "fetched mails are left on the server",
            ),
            (
                "remove/removed/removing the second copy of the account @ Accounts > Manage",
                "untick/unticked/unticking the box that leaves mails on the server "
                "@ Accounts > Incoming",
                "compact/compacted/compacting the folders @ File > Compact",
            ),
            well="shows [each|every] mail [exactly once|only once again]",
        ),
        Problem(
            "broken search",
            (
                "finds nothing when I search",
                "only finds mails from [last|this] year",
                "shows a spinning wheel instead of search results",
            ),
            (
                "the search index is damaged",
                "the older folders are not kept on your computer",
            ),
            (
                "rebuild/rebuilt/rebuilding the search index @ Settings > Search > Rebuild",
                "download/downloaded/downloading the older mails @ Accounts > Storage",
                "tick/ticked/ticking all folders for the search @ Settings > Search > Folders",
            ),
            well="finds [everything|even mails from 2012] [again|within a second]",
        ),
    ),
    questions=(
        Question(
            "did you set up any filter rules",
            "whether you have set up filter rules",
            lines("""
                [two or three|a handful|a dozen] rules, [all of them|most of them] from {bought}
                no rules [at all|as far as I know]{whim}
            """),
            about=("junk folder problem",),
        ),
        Question(
            "who is your mail provider",
            "who your mail provider is",
            lines("""
                [Larkpost|Fernline|Inboxia], the [free|paid] [plan|one]{whim}
                my own address, hosted at [Larkpost|Inboxia] {ages}
            """),
            about=("stuck outbox", "password prompt"),
        ),
        Question(
            "is the account set up with IMAP or POP",
            "whether the account uses IMAP or POP",
            lines("""
                IMAP, [it says|if I read that right|according to the settings]{whim}
                POP[, I believe|], {someone} set it up {bought}
            """),
            about=("duplicate problem", "broken search"),
        ),
        Question(
            "how big is your mailbox",
            "how big your mailbox is",
            lines("""
                [about|nearly|over] [two|six|thirty] gigabytes, [going back to 2009|never tidied up]
                [tiny|not big], [four|eight] hundred mails [at most|in all]
            """),
            about=("broken search", "duplicate problem"),
        ),
    ),
    cures=(
        "update/updated/updating the program @ Help > Check for updates",
        "remove/removed/removing the account and set/set/setting it up again @ Accounts > Manage",
        "switch/switched/switching off the virus scanner's mail check",
        "start/started/starting it without add-ons @ Help > Safe start",
        "move/moved/moving the old mails to an archive folder",
    ),
)
