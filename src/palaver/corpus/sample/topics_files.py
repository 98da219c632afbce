"""Backup and spreadsheet programs of the synthetic help forum written for Palaver."""

from __future__ import annotations

from palaver.corpus.sample.text import lines
from palaver.corpus.sample.topics import Problem, Question, Topic

BACKUP = Topic(
    name="backup",
    thing="backup program",
    device=False,
    products=("Vaultkeeper", "SafeSquirrel", "Archivist Home", "TwiceSaved", "Hoarder Lite"),
    words={
        "use": (
            "[run|start] [a full backup|the weekly backup|it by hand]",
            "[try to|want to|] [restore|get back] [a folder|my photos]",
        ),
        "check": ("run a small test backup", "restore a single file to see that it works"),
        "prep": ("copy your most important files to a stick", "stop the running job"),
        "part": ("schedule", "catalogue", "log file", "backup drive", "exclusion list"),
        "data": ("old backups", "files", "job settings"),
        "display": ("the log", "the report", "the tray icon"),
    },
    problems=(
        Problem(
            "stalled job",
            (
                "stops at [99|97|98] percent [and stays there|for ever]",
                "needs [eleven|fourteen|twenty] hours for a few files",
                "hangs on the same folder in every run",
            ),
            (
                "a cloud folder is part of the job",
                "one job is trying to do everything at once",
            ),
            (
                "exclude/excluded/excluding the cloud folder @ Job > Files > Exclude",
                "split/split/splitting the job into two smaller ones",
                "turn/turned/turning compression off @ Job > Options > Compression",
            ),
            well="[finishes|gets to 100 percent] [in an hour|overnight|in one go]",
        ),
        Problem(
            "full drive",
            (
                "says the drive is full although half of it is free",
                "never deletes an old backup",
                "fills a two terabyte drive within a week",
            ),
            (
                "old versions are kept for ever",
                "the drive still carries a hidden partition",
            ),
            (
                "lower/lowered/lowering the number of kept versions @ Job > Retention",
                "format/formatted/formatting the drive with one big partition",
                "run/ran/running the clean-up by hand @ Tools > Clean up",
            ),
            well="[tidies up after itself|has plenty of space] [again|on the drive]",
        ),
        Problem(
            "missed schedule",
            (
                "never starts [on time|by itself]",
                "skips the nightly run without telling anyone",
                "claims it ran last night [and|but] did nothing",
            ),
            (
                "the computer is asleep at that hour",
                "the job runs under an account without rights",
            ),
            (
                "tick/ticked/ticking the box that wakes the computer @ Job > Schedule > Wake",
                "run/ran/running the job as administrator @ Job > Options > Account",
                "move/moved/moving the schedule to lunchtime @ Job > Schedule",
            ),
            well="[starts|runs] [on the dot|every night] [again|all by itself]",
        ),
        Problem(
            "failed restore",
            (
                "restores empty folders",
                "asks for a password I never set",
                "cannot read its own backup",
            ),
            (
                "the catalogue doesn't match the files any more",
                "part of the backup is damaged",
            ),
            (
                "rebuild/rebuilt/rebuilding the catalogue @ Tools > Catalogue > Rebuild",
                "verify/verified/verifying the backup @ Tools > Verify",
                "restore/restored/restoring to an empty folder instead of the old place",
            ),
            well="[restored|brought back] [all my files|every single file] [intact|unharmed]",
        ),
        Problem(
            "missing drive",
            (
                "doesn't see the external drive",
                "calls the drive unknown every other day",
                "loses the drive halfway through",
            ),
            (
                "the drive gets a different letter each time",
                "the USB hub doesn't give the drive enough power",
            ),
            (
                "give/gave/giving the drive a fixed letter @ Disk tool > Drive > Letter",
                "plug/plugged/plugging the drive straight into the computer",
                "turn/turned/turning USB power saving off @ Settings > Power > USB",
            ),
            well="[sees|finds] the drive [at once|every time|again]",
        ),
    ),
    questions=(
        Question(
            "how much data do you back up",
            "how much data you back up",
            lines("""
                [about|nearly|a bit over] [80|300|450|700] gigabytes, mostly [photos|music|old \
                    projects]
                not much, [two|three|five] gigabytes of [documents|spreadsheets|scans]
            """),
            about=("stalled job", "full drive"),
        ),
        Question(
            "what sort of drive does the backup go to",
            "what sort of drive the backup goes to",
            lines("""
                a [one|two|four] terabyte USB drive, [bought|formatted] {bought}
                an old [laptop|desktop] disk in a USB case{whim}
            """),
            about=("full drive", "missing drive", "stalled job"),
        ),
        Question(
            "what does the last line of the log say",
            "what the last line of the log says",
            lines("""
                the last line is "{error}"
                it ends with "{error}" and a time stamp from {when}
            """),
            fact="error",
        ),
    ),
    cures=(
        "update/updated/updating to the current release @ Help > Updates",
        "create/created/creating a new job from scratch @ Job > New",
        "check/checked/checking the drive for errors",
        "shorten/shortened/shortening the folder names",
        "switch/switched/switching off the virus scanner while it runs",
    ),
)

SPREADSHEET = Topic(
    name="spreadsheet",
    thing="spreadsheet program",
    device=False,
    products=("Gridleaf", "Tallyman", "Sheetwise", "Columna", "Abacus Office"),
    words={
        "use": (
            "[open|edit] [the budget|our club accounts|the shift plan|my grade list]",
            "[paste|import] [figures|a bank statement|an address list]",
        ),
        "check": ("recalculate the sheet", "save it under a new name and open it again"),
        "prep": ("make a copy of the file", "close all other sheets"),
        "part": ("formula bar", "pivot table", "template", "number format", "print area"),
        "data": ("figures", "formulas", "old sheets"),
        "display": ("a yellow bar", "the cell", "a small box"),
    },
    problems=(
        Problem(
            "date problem",
            (
                "turns part numbers into dates",
                "swaps day and month in every date",
                "shows a five-digit number where the date should be",
            ),
            (
                "the column has the wrong format",
                "the file comes from a computer with other regional settings",
            ),
            (
                "format/formatted/formatting the column as text before pasting "
                "@ Format > Cells > Text",
                "change/changed/changing the locale of the sheet @ File > Properties > Locale",
                "import/imported/importing the file instead of opening it @ Data > Import",
            ),
            well="[shows|keeps] [every date|the dates] [as it should|the right way round]",
        ),
        Problem(
            "formula problem",
            (
                "shows the formula instead of the result",
                "adds up everything to zero",
                "doesn't update the totals when I change a number",
            ),
            ("automatic calculation is switched off", "the numbers are stored as text"),
            (
                "switch/switched/switching automatic calculation on @ Tools > Calculation",
                "convert/converted/converting the text cells to numbers @ Data > Convert",
                "remove/removed/removing the apostrophe in front of the formula",
            ),
            well="[adds up|calculates] [correctly|to the cent] [again|at once]",
        ),
        Problem(
            "locked file",
            (
                "opens my own file read-only",
                "says the file is locked by [another user|me]",
                "refuses to save under the same name",
            ),
            (
                "a crashed session left a lock file behind",
                "the cloud client holds on to the file",
            ),
            (
                "delete/deleted/deleting the hidden lock file next to it",
                "pause/paused/pausing the cloud client",
                "clear/cleared/clearing the read-only flag @ File > Properties > General",
            ),
            well="[opens|saves] the file [normally|without a complaint]",
        ),
        Problem(
            "page break problem",
            (
                "spreads a small table over nine pages",
                "cuts off the last column on paper",
                "puts a single row on a second page",
            ),
            (
                "a stray cell far to the right counts as content",
                "the scaling is set to 100 percent",
            ),
            (
                "delete/deleted/deleting the empty columns on the right",
                "fit/fitted/fitting the sheet to one page wide @ Page > Scaling",
                "set/set/setting the print area @ Format > Print area",
            ),
            well="[fits|prints] everything [on one page|onto a single page]",
        ),
        Problem(
            "freezing file",
            (
                "freezes for a minute after every entry",
                "grinds to a halt when I scroll",
                "takes [five|ten] minutes to open one file",
            ),
            (
                "there are thousands of leftover format rules",
                "every row looks up the whole sheet",
            ),
            (
                "delete/deleted/deleting the leftover format rules @ Format > Rules > Manage",
                "replace/replaced/replacing the lookup formulas with plain values",
                "copy/copied/copying the sheet into a new file",
            ),
            well="[scrolls|reacts|opens] [smoothly|in no time] [again|even with all the rows]",
        ),
    ),
    questions=(
        Question(
            "where is the file stored",
            "where the file is stored",
            lines("""
                on [a network drive|my desktop|a USB stick] {ages}
                in a [cloud|shared] folder, together with [thirty|a hundred] others
            """),
            about=("locked file", "freezing file"),
        ),
        Question(
            "how many rows does the sheet have",
            "how many rows the sheet has",
            lines("""
                [about|roughly|just over] [two|twelve|forty] [hundred|thousand] rows, \
                    [six|nine|twenty] columns
                [only|not even] [fifty|eighty] rows[, it's a tiny thing|]{whim}
            """),
            about=("freezing file", "formula problem"),
        ),
        Question(
            "where do the figures come from",
            "where the figures come from",
            lines("""
                from [a bank statement|our till|the accountant|a measuring device], as a text file
                {someone} types them in by hand every [week|month|{day}]
            """),
            about=("date problem", "formula problem"),
        ),
        Question(
            "which paper size is set",
            "which paper size is set",
            lines("""
                A4, [upright|landscape], with [narrow|the usual] margins
                [Letter|A5], [no idea why|it has always been like that]
            """),
            about=("page break problem",),
        ),
        Question(
            "does anybody else work on the same file",
            "whether anybody else works on the same file",
            lines("""
                [yes|yep], {someone} [edits it too|has it open most of the day]
                no, [it's only me|nobody else touches it]{whim}
            """),
            about=("locked file",),
        ),
    ),
    cures=(
        "update/updated/updating to the current release @ Help > Updates",
        "save/saved/saving the file in the other format @ File > Save as",
        "start/started/starting it with a clean profile @ Help > Safe start",
        "open/opened/opening the file on another computer",
        "switch/switched/switching off the add-ons @ Tools > Add-ons",
    ),
)
