"""Questions that fit every topic of the synthetic help forum written for Palaver."""

from __future__ import annotations

from palaver.corpus.sample.text import lines
from palaver.corpus.sample.topics import Question

HELPER_QUESTIONS = (
    Question(
        "which version [are you on|do you have|is it running]",
        "which version [you are on|you have|it is running]",
        lines("""
            version {version}[, installed {bought}|, the newest on offer|, if I read it right]
            it says {version} [in the menu|on the info page|under About]
            {version}, [updated {when}|never updated so far|updates are automatic]
        """),
        fact="version",
    ),
    Question(
        "[does it show|do you get|is there] an error [code|message]",
        "whether there is an error [code|message]",
        lines("""
            [yes|yep], {display} says "{error}"
            it's always "{error}"[, nothing else| and then nothing|]
            there is one, but only for a second: {error}
        """),
        fact="error",
    ),
    Question(
        "which {thing} is it [exactly|]",
        "which {thing} you have",
        lines("""
            it's {a_product}, [the basic version|the big version|{got} {bought}]
            {a_product}, {got} {bought}[, if I remember right|]
        """),
        fact="product",
    ),
    Question(
        "when did [this|it|that] start",
        "when [this|it|that] started",
        lines("""
            it started {began}, [around noon|in the evening|just like that]
            {began}[, I think|, I believe|, give or take a day], [out of nowhere|without warning]
            the first time was {began}, [when I wanted to {use}|out of nowhere]
        """),
        fact="onset",
    ),
    Question(
        "[did you change|have you changed] anything [recently|before that]",
        "whether anything was changed [recently|before that]",
        lines("""
            nothing [at all|that I know of], though {someone} [used it|tidied up] [around \
                then|shortly before]
            [only|just] [the furniture|my desk|the socket], [a day or two before|on the same day]
            not that I [remember|know of], [it just started {began}|{someone} says the same]
        """),
    ),
    Question(
        "does it happen every time or only now and then",
        "whether it happens every time or only now and then",
        lines("""
            {often}, [I'd say|roughly|I kept a list]{whim}
            [every|each] time I {use}, [without fail|no exception]
            [only|mostly] [in the evening|in the morning|on {day}s], [strangely enough|don't ask \
                me why]
        """),
    ),
    Question(
        "have you got another {thing} to compare with",
        "whether another {thing} behaves the same way",
        lines("""
            no, this is the only one [I have|in the house]{whim}
            {someone}'s {other} is fine, [in the same room|I tried it {when}]
        """),
    ),
)

ASKER_QUESTIONS = (
    Question(
        "where [exactly|] do I find that",
        "where [exactly|] to find that",
        lines("""
            you'll find it under {menu}
            it's in {menu}, [right at the bottom|second entry|you may have to scroll]
            [look|go] under {menu}[, it's easy to miss|, top right|]
        """),
        fact="menu",
    ),
    Question(
        "will I lose my {data} [if I do that|that way]",
        "whether I'd lose my {data} [that way|then]",
        lines("""
            no, it's {harmless}, your {data} [stay|are kept|won't be touched]
            it's {harmless}, nothing [gets lost|happens to your {data}]
        """),
        fact="harmless",
    ),
    Question(
        "how long [should|does|will] that take",
        "how long that [should take|takes]",
        lines("""
            [about|roughly|at most] {minutes}, [depends on the {thing}|sometimes less]
            [usually|for me it was] {minutes}[, don't interrupt it|]
        """),
    ),
    Question(
        "is there anything I should [save|do|prepare] [first|before that]",
        "whether I should [save|do|prepare] anything [first|before that]",
        lines("""
            no, [that's not necessary|there's nothing to prepare], [go ahead|just do it]
            [yes|yep], {prep} first[, better safe than sorry|]
            [you could|maybe] {prep}, [but I never do|to be on the safe side]
        """),
    ),
    Question(
        "is that safe [with|for] {a_product}",
        "whether that's safe [with|for] {a_product}",
        lines("""
            [perfectly|quite] safe, I've done it {often} [for years|myself]
            yes, a {thing} [can take it|doesn't mind that], [only|just] be gentle with the {part}
        """),
    ),
)
