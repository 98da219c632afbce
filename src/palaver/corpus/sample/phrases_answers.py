"""What people answer, advise and joke in the synthetic help forum written for Palaver."""

from __future__ import annotations

from palaver.corpus.sample.text import lines

ANSWERS = {
    "instruction": lines("""
        [try|you could try|I'd start with|I would begin by] {remedying}
        {remedy}, then {check}
        [please|first|first of all,|for a start,] {remedy} and [then|afterwards] {check}
        go to {menu}, [there you can|and] {remedy}
        {menu} is the place to {remedy}
        [under|in] {menu} you can {remedy}
        [sounds|looks] like {cause}, so {remedy}
        [most likely|probably|I bet] {cause}, in which case you should {remedy}
        [what helped here|what worked for me|the cure in my case] was {remedying}
        have you tried {remedying}?
        [do this|try these steps|step by step]:{nl}1. {Prep}{nl}2. {Remedy}{nl}3. {Check}
        [the quick way|the recipe|in short]:{nl}- {Prep}{nl}- {Remedy}{nl}- {Check}
        {prep}, then {remedy}
        you [need|will have] to {remedy}[, then {check}|]
        with {a_product} you should [always|really] {remedy} [first|before anything else]
        if {cause}, it helps to {remedy}
        {then}, {remedy}
        {then}, I would {remedy} [and {check}|next]
        {then}, try {remedying}
        open {menu}, {remedy} and {check}
    """),
    "instruction polite": lines("""
        perhaps you could {remedy}[, then {check}|, just to see what happens|]
        may I suggest {remedying}[ first| for a start|]?
        may I suggest {remedying}, which you'll find under {menu}?
        I'd suggest {remedying}, if you haven't already
        it might be worth {remedying} [first|before anything else]
    """),
    "instruction grumpy": lines("""
        it's in the [manual|handbook|help pages], [page {n}|chapter {n}]: {remedy}
        as I [say|write] in every [second|third] thread [about {thing}s|here]: {remedy}
        [stop|quit] [fiddling|playing] with the {part} and {remedy}
        for the [hundredth|umpteenth] time[, people|]: {remedy}
        nobody reads the manual, I know, but {remedy}
        [must I say it again|why does nobody search first]? Just {remedy}
        a {summary} has one cure only, {remedy}
    """),
    "instruction terse": lines("""
        {remedy}
        {remedy}, {check}
        {menu}, {remedy}
        try {remedying}
    """),
    "instruction chatty": lines("""
        I had the very same thing with {someone}'s {product}, and what cured it was {remedying}
        grab a [cup of tea|coffee], {remedy}, and then {check}
        my [trick|secret weapon|rule of thumb] for a {summary}: {remedy}
    """),
    "instruction more": lines("""
        if that [changes nothing|doesn't help|isn't enough], {fallback}
        [that|it] [takes|should take] [about|no more than] {minutes}
        [it's|that's] {harmless}, your {data} [stay|will stay] where they are
        [don't forget to|and remember to] [restart it|write down what you did] \
            [afterwards|when you're done]
        [make sure|check] that the {hardware} [is in place|sits tight|isn't loose] [before you \
            start|when you're done]
        [be patient|give it {minutes}], it [looks|may look] as if nothing happens
        it's [just|only] a guess, but [it fits the {summary}|a good one|I've seen it before]
        [report back|tell us what you see] [afterwards|when you're done|either way][, please|]
        leave the {part} alone [until then|for now]
        do it twice if [the first go does nothing|you have to]
        [take your time|no hurry], [it's easy to slip|one step after the other]
        you [won't|don't] need any [tools|special rights|extra software] for that
    """),
    "link_answer": lines("""
        [there's|we have] a [guide|page|walkthrough] [for exactly this|on the {summary}|about \
            that]: {url}
        see {url}
        [have a look at|take a look at|read] {url} [first|, it's all in there|, section {n}]
        [this|the following] [article|thread|page] [describes|covers] [it|the {summary}] [step by \
            step|well]: {url}
        [here is|here's] the [official|maker's] [page|notice|guide]: {url}
        [same question|same topic|this was discussed] [{when}|before|last year]: {url}
        the [download|tool|fixed version] is [here|at this address]: {url}
        [I wrote|somebody wrote] [it|this] up [in the wiki|for the {product}]: {url}
        [the known issues|the release notes] [list|mention] it too, see {url}
        [scroll down|go] to ["{summary}"|section {n}|answer {n}] on {url}
        [found|bookmarked] it {when}, [might help|fits your case]: {url}
    """),
    "link_answer polite": lines("""
        you may find this [page|article|guide] [useful|helpful]: {url}
        perhaps this [explains it better than I can|answers it]: {url}
    """),
    "link_answer grumpy": lines("""
        the search box would have [found|shown you] {url}
        [asked and answered|discussed to death] [a dozen times|before|every month], see {url}
        [one minute|ten seconds] of searching [gives|brings up] {url}
    """),
    "link_answer terse": lines("""
        {url}
        see {url}, section {n}
        this: {url}
    """),
    "link_answer more": lines("""
        the [pictures|screenshots] [there|on that page] are for an older version, but the \
            [steps|menus] are the same
        [section|part|chapter] {n} on that page is the one [you want|about the {part}]
        [it|the page] is [long|a long read], [but worth it|just skip to part {n}]
        the comments below the article [are worth reading|cover the {part} too]
    """),
    "correction": lines("""
        [careful|wait|hold on], {remedying} [won't help|is pointless|is the wrong end] [if|when] \
            {other_cause}
        I wouldn't {remedy} [just yet|at this point], [it only hides the {summary}|that can make \
            it worse]
        [sorry, but|with respect,] {remedying} has nothing to do with the {summary}
        [no|nope], that's not [right|it|quite right], [the {part} is not involved|it's more \
            likely that {other_cause}]
        [I disagree|not quite|actually, no], [I'd say|I think] {other_cause}
        @{to} that [was true|only applied] before version {version_other}, [it's different now|no \
            longer]
        [small|minor] correction: you don't [have to|need to] {remedy} [for that|to get rid of a \
            {summary}]
        [that's|this is] a [common|popular] [myth|mistake|misunderstanding], {remedying} doesn't \
            touch the {part}
        @{to} are you sure? [I think|My guess is that] {other_cause}
        [wrong|outdated] advice, I'm afraid: {remedying} stopped making sense [with|in] version \
            {version_other}
        I'd [rather|much rather] not {remedy}, [you may lose your {data}|there's a risk for your \
            {data}]
        [that|this] doesn't [explain|fit] [the {summary}|what we see], it [looks more|sounds \
            more] like {other_cause}
    """),
    "correction polite": lines("""
        if I may disagree, {remedying} [seldom helps|is rather drastic] [with a {summary}|here]
        I see it a little differently: I think {other_cause}
    """),
    "correction grumpy": lines("""
        nonsense, {remedying} never cured a {summary}
        please don't send people off to {remedy}, it's [wrong|useless] [here|for a {summary}]
    """),
    "joke": lines("""
        have you tried [threatening it with a {tool}|singing to it|offering it a {food}|turning \
            yourself off and on again]?
        my {animal} [knows|understands] more about {thing}s than [I do|any of us]
        a {thing} walks into a bar and the barman says: [not you again|we don't serve version \
            {version_other}|sorry, {error}]
        I think [it's|yours is] [haunted|homesick|teething|in love with the {animal}|on strike] :)
        perhaps it [misses|is afraid of] your [last {thing}|{animal}|{tool}] ;)
        [this is|that's] why I [still use carrier pigeons|went back to pen and paper|keep a \
            typewriter in the attic] :D
        sell it and buy [a {animal}|three {animal}s], [they don't need updates|much better support]
        [my horoscope|the {food} packet] said [{thing}s|the {part}] would be trouble [this \
            week|on a {day}] :)
        [old proverb|as my grandmother used to say]: he who trusts a {thing} on a {day} eats cold \
            {food}
        roses are red, violets are blue, my {thing} {symptom}[, how about you?|, and the {part} \
            is to blame too]
        in {town} we [bury|throw] {thing}s like that [under the apple tree|in the pond] [at full \
            moon|on a {day}]
        [plot twist|conspiracy theory]: the {animal} did it
        if it were a {animal} I'd say it needs a [walk|vet|biscuit]
        I [explained|read] this thread to my {animal}, [who left the room|who is now laughing|no \
            comments so far]
        next week in this theatre: the {part} strikes back!
        I'd [trade|swap] mine for a {food} [any day|right now] :D
        [somewhere|in another universe] a {thing} is [posting|complaining] about its owner right now
        how many {thing}s does it take to change a light bulb? [None, {error}|One, but it {symptom}]
        [the {part} just wants attention|have you said please to the {part}?|did you compliment \
            its {part} today?] ;)
        [it's not a bug|no fault there], it's [performance art|a cry for help|a lifestyle]
        wait until you meet the {product} [deluxe edition|for pets|with {food} dispenser] :)
        [kids today|back in the day], we had to [carry|walk] our [e-mails|megabytes] to {town} \
            [on foot|by mule]
    """),
    "joke asker": lines("""
        I [think|suspect] it's [haunted|homesick|teething|in love with my {animal}|on strike] :)
        my {animal} [knows|understands] more about {thing}s than I do [:D|, honestly]
        at this point I'd [trade|swap] it for a {food} [any day|right now] :D
        the {animal} [denies everything|is the prime suspect|has offered to help]
        I've [started singing to it|threatened it with a {tool}|offered it a {food}], \
            [no reaction|it was not amused]
        [this is|that's] why I [still keep a typewriter|dream of carrier pigeons|miss pen and \
            paper] :D
        {someone} says I should [marry it|read it a bedtime story|bury it in {town}] ;)
        [anyone|does anyone] want to swap [a {thing}|mine] for [a {animal}|two {animal}s]?
        [I blame|surely it's] the [full moon|ghost in the {part}|{animal}|stars] \
            [again|this time] :)
        if this goes on I'll [move to {town} and herd {animal}s|become a {animal} breeder|learn \
            to bake {food}s]
    """),
    "joke grumpy": lines("""
        a {tool} fixes any {thing}, [permanently|once and for all|ask me how I know]
        the only good {thing} is [one made of {food}|one that's switched off|the one in the museum]
        I'd [rather|sooner] [wrestle|argue with] a {animal} than own [another|a] {thing}
    """),
    "joke chatty": lines("""
        {someone} once tried to fix a {thing} with a {food}, [we still talk about it|don't ask] :D
        that reminds me of the day my {animal} [sat on|fell in love with|hid] the {part} :)
    """),
    "closing": lines("""
        [glad|great|happy] to hear [it|that it] {well}, [marking this as solved|closing this \
            one|I'll close the thread]
        [marked|marking this] as solved[, have a nice {day}|, enjoy your {product}|]
        [you're welcome|no problem|my pleasure|don't mention it][, @{who}|, enjoy the {product}|, \
            glad it's sorted]!
        glad [that's|it's] [sorted|solved|settled], [have a good {day}|see you around|until next \
            time]
        [solved, so I'm|I'm] [locking|closing] [this|the] thread [now|here]
        [another|one more] {summary} [laid to rest|off the list], closing
        [moving|filed] this to the solved section[, @{who}|]
        please [open|start] a new thread if the {summary} [comes back|returns]
        [glad I could help|always a pleasure|happy to help][, @{who}|, enjoy your {day}|]!
        that [wraps it up|settles it] then, [take care|bye for now|have a nice {day}]
    """),
    "closing polite": lines("""
        it was a pleasure, @{who}, [all the best|have a lovely {day}]!
        I'm [so|very] glad it's solved, [do come back any time|take care]!
    """),
    "closing terse": lines("""
        solved, closed.
        np!
        closing.
        you're welcome.
    """),
    "closing stale": lines("""
        no [answer|reply|news] for [weeks|two weeks|a fortnight], [closing|so I'm closing] this \
            thread
        [closing this|locking this] [for lack of news|for now], @{who} can [ask me|write to a \
            moderator] to reopen it
        this has gone [quiet|stale], I'm [closing|locking] it
        [thread closed|closed], please [open|start] a new one if the {summary} [is still \
            there|persists]
        [no feedback|nothing new] [since then|in two weeks], moving this to the archive
    """),
    "closing more": lines("""
        if the {summary} [comes back|returns], [open|start] a new thread [please|and link to this \
            one]
        [others|people] with the same {summary} [should|can] [start|open] their own thread
    """),
}
