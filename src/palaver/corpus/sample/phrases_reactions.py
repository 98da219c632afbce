"""How people react to advice in the synthetic help forum written for Palaver."""

from __future__ import annotations

from palaver.corpus.sample.text import lines

REACTIONS = {
    "worked": lines("""
        {remedying} [did it|did the trick|solved it|fixed it|was the answer]
        I {remedied} and [now|since then] it {well}
        [that|this] [did it|was it|worked|solved it|did the trick][, it {well}|]!
        it {well}, [so that was it|problem solved|case closed]
        [solved|fixed|it works|success]!
        {remedying} worked [at the first try|straight away|after the second go]
        [just|finally] {remedied}, and the {summary} is gone
        the {summary} is [gone|history|cured] [since|after] {remedying}
        [can confirm|I can report]: after {remedying}, it {well}
        [update|good news]: it {well}, [all thanks to|after] {remedying}
        {remedied} as you said, and {mine} {well}
        who would have thought that {remedying} [helps|would fix it|makes such a difference]
        no more {summary} [here|so far|on my side]!
    """),
    "worked polite": lines("""
        I'm happy to report that {mine} {well} after {remedying}
        your [advice|suggestion] was [spot on|exactly right]: I {remedied} and it {well}
    """),
    "worked grumpy": lines("""
        well, I'll be, {remedying} [actually|really] worked
        it {well}, [no idea why nobody tells you that|should be in the manual|about time too]
        [fine|okay], {remedying} helped, [I take it all back|happy now]
    """),
    "worked terse": lines("""
        works now.
        fixed, it {well}
        {remedied}, {well}
    """),
    "worked chatty": lines("""
        [hooray|woohoo|hallelujah], I {remedied} and it {well}!
        I {remedied}, held my breath, and what can I say: it {well}!
    """),
    "worked alone": lines("""
        [never mind|nevermind|scratch that], [found it|solved it myself]: I {remedied} and it {well}
        [answering my own question|for the record], {remedying} fixed it
        solved it [on my own|myself] {when} by {remedying}
        [please ignore|no need to answer], I {remedied} and the {summary} is gone
    """),
    "worked more": lines("""
        [been|I've been] testing it for {minutes} [now|already], [no complaints|so far so \
            good|not a single hiccup]
        even the {part} [seems happier|looks better] now
        no trace of the {summary} [any more|so far|at all]
        I never would have [found|guessed] that [on my own|myself]
        should have done that {long} ago
    """),
    "failed": lines("""
        I {remedied}, but it still {symptom}
        {remedying} [didn't help|made no difference|changed nothing|did nothing for me]
        [no luck|no joy|sadly no|no change]: I {remedied} and it still {symptom}
        [tried that|did that] [with care|twice|just now], [still the same|no change|same thing]
        unfortunately {remedying} [wasn't it|doesn't help|was not enough]
        the {summary} is still there [after|in spite of] {remedying}
        [that|this] didn't [help|work|do it], it still {symptom}
        {remedied} [twice|again and again], and it still {symptom}
        it [helped|worked] for {minutes}, then the {summary} was back
        [now|after that] I get "{error}" [instead|on top of it]
        after {remedying}, it's [even worse|as bad as before|exactly the same]
        [nope|hm, no], same {summary} as before
        I can't even {remedy}, {display} [just says|says] "{error}"
    """),
    "failed polite": lines("""
        I followed your [advice|suggestion] to the letter, but it still {symptom}
        I'm sorry to say that {remedying} didn't help
    """),
    "failed grumpy": lines("""
        [great|lovely|wonderful], I {remedied} for nothing, it still {symptom}
        that was a waste of {minutes}, the {summary} is still there
        {remedying} was [useless|no good], [surprise, surprise|as I expected]
    """),
    "failed terse": lines("""
        no change.
        {remedied}, no change
        didn't help, still {symptom}
        same as before, {known_error}
    """),
    "failed chatty": lines("""
        so I {remedied}, crossed my fingers, and guess what: it still {symptom}
        I was so hopeful, but after {remedying}, it still {symptom}
    """),
    "failed more": lines("""
        still the same "{known_error}" [as before|in {display}]
        [not even the message changed|nothing changed, not even the message]
        I [waited|gave it] {minutes} and tried [again|once more], [same result|nothing]
        [did it twice|tried it twice], [just|only] to be sure
        the {part} [doesn't seem to care|is as stubborn as before]
        [tried|did] it with and without the {hardware}, no difference
    """),
    "thanks": lines("""
        [thanks[| a lot| so much]|thank you[| so much| very much]|many thanks|cheers][, @{who}|]!
        thanks for [the quick answer|your help|your patience|taking the time|looking into it][, \
            @{who}|]!
        [thank you|thanks] [so|very] much for [your help|thinking about it|the quick reply][, \
            @{who}|, much appreciated|]!
        [much appreciated|really appreciated|very kind of you], @{who}!
        @{to} thank you, [that was quick|that's kind|that's good to know|I appreciate it]
        [big|huge] thanks for [bearing with me|the quick reply|the effort|thinking along][, \
            @{who}|]!
    """),
    "thanks grumpy": lines("""
        thanks, I suppose.
        thanks [anyway|all the same|for trying]
    """),
    "thanks terse": lines("""
        thanks.
        thx!
        ta!
        cheers!
    """),
    "thanks chatty": lines("""
        [oh|ah|wow], thank you [so much|ever so much|kindly] for [caring|answering so fast|all \
            the effort]!
        [this forum is|you people are] [wonderful|the best|a treasure], thank you [all|so much]!
    """),
    "thanks glad": lines("""
        [thanks[| a lot| so much]|thank you[| so much| very much]|many thanks|cheers][, @{who}|]!
        [thank you|thanks] [so|very] much for [your help|the advice|explaining that][, @{who}|]!
        you [saved|rescued] my [weekend|day|evening|week|sanity][, thank you|, thanks a million|, \
            @{who}]!
        [I owe you a {drink} for that|have a {drink} on me][, @{who}|], [thanks|thank you]!
        [big|huge] thanks to @{who} [and everyone else|for the tip|for the {menu} hint]
        [much appreciated|really appreciated|very kind of you], @{who}!
        @{to} thank you, [I'd never have found that|you're a star|that was brilliant]
        I could hug you all, [thank you|thanks a million]!
        thanks from me and {someone}, [who sends a {food}|we're both relieved]!
        [this forum is|you people are] [wonderful|the best|a treasure], thank you [all|so much]!
    """),
    "thanks ahead": lines("""
        [thanks|thank you|many thanks|thanks a lot] [in advance|for reading|for your time]!
        [thanks|thank you|many thanks|thanks a lot] for any [help|hint|idea|tip] [at all|you may \
            have|on the {summary}|about {mine}]!
        [thanks|thank you] for [reading this far|taking a look|bearing with me|your patience with \
            a beginner]!
        thanks [in advance to|to] [everyone|anyone] who [has an idea|takes the time|can help with \
            the {summary}]!
    """),
    "thanks back": lines("""
        thanks for [reporting back|the feedback|the details|the quick reply|checking][, @{who}|]!
        [thank you|thanks], that [helps|is useful|tells us a lot|is good to know]!
        [thanks|thank you] for letting us know, @{who}!
        [good|great] [information|details], thanks[, @{who}|]!
    """),
    "thanks more": lines("""
        I'll [try|test|do] that [{soon}|as soon as I'm home|when {someone} is off the computer]
        will [try it {soon}|report back {soon}|let you know {soon}]
    """),
    "me_too": lines("""
        [same here|me too|same problem here|same story here][, {mine_other} also {symptom}| with \
            {a_other}|]
        {mine_other} also {symptom}
        I have [exactly|] the same {summary} [with|on] {a_other}
        [count me in|add me to the list|you're not alone], {mine_other} also {symptom}
        +1[, {a_other} here| for the {summary}|]
        [also affected|another victim here], {a_other}, {since}
        I see the same {summary} [here|over here] {since}
        [following|subscribing], because I have the same {summary}
        [ours|mine] does [exactly|] [that|the same] too[, {since}|]
        me as well, [{since}|with version {version_other}|on {a_other}]
        you're [not the only one|not alone], {someone} and I [both have|share] this {summary}
        not just yours: {mine_other} {symptom}[|, {since}|, {often}]
    """),
    "me_too more": lines("""
        [in my case|with mine|over here] it's [mostly|usually] \
            [in the evening|in the morning|when I {use}]
        I'm on version {version_other}, so it isn't [only|just] yours
        {someone} has the same [model|one|setup], also with the {summary}
        [two|three] of my colleagues [see|have|report] this as well
        [I thought|here I was thinking] I was the only one
        in my case it happens {often}
    """),
}
