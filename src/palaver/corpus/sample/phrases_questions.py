"""What people ask and explain in the synthetic help forum written for Palaver."""

from __future__ import annotations

from palaver.corpus.sample.text import lines

QUESTIONS = {
    "greeting": lines("""
        [hi|hello|hey] [all|everyone|there|folks|everybody]!
        hi.
        hello!
        good [morning|evening|afternoon] [all|everyone|from {town}]!
        [hi|hello] @{who}!
        hey @{who}.
    """),
    "greeting ask": lines("""
        [hi|hello|hey] [all|everyone|there|folks|everybody|forum]!
        hi.
        good [morning|evening|afternoon] [all|everyone|from {town}]!
        greetings from [rainy|sunny|windy] {town}!
    """),
    "greeting newcomer": lines("""
        [hi|hello|hey] [all|everyone|there|folks|everybody|forum]!
        [hello|hi], [new here|still new here|beginner here|not an expert here]!
        [hello|hi], I hope this is the right [place|section] for [{thing} questions|my {thing}]!
        greetings from [rainy|sunny|windy] {town}!
    """),
    "greeting chatty": lines("""
        [hello|hi] [from {town}|everyone], hope you're all having a [lovely|decent|good] [day|week]!
        a very good [morning|evening] to [all of you|everyone in here]!
        [hey|hi] [everyone|folks], [me again|it's me again|long time no see]!
    """),
    "problem_report": lines("""
        {mine} {symptom}
        {since}, {mine} {symptom}
        for [a while|some time|quite a while] now, {mine} {symptom}
        I have {a_product} [here|at home|at work|in the office], and it {symptom}
        I {got} {a_product} {bought}, and [now|already|{since}] it {symptom}
        [my problem|the problem|here's the thing|trouble with the {thing}]: {mine} {symptom}
        whenever {busy}, {mine} {symptom}
        it {symptom} ({product}[, {since}|, version {version}]), and I don't know why
        I've got a [strange|weird|funny] {summary}: {mine} {symptom}
        [something is wrong|there's something odd] with {mine}, it {symptom}
        I'm [struggling|stuck|fighting] with {a_product} that {symptom}
        [got|have] a {summary} here {since}: {mine} {symptom}
        {someone} [asked me to look at|left me alone with] {a_product} that {symptom}
        [out of the blue|for no reason I can see], {mine} {symptom}
    """),
    "problem_report polite": lines("""
        I'm having [some|a bit of] trouble with {mine}: it {symptom}
        I'm afraid {mine} {symptom}, and I [can't see why|don't understand why]
        perhaps I'm doing something wrong, but {mine} {symptom}
    """),
    "problem_report grumpy": lines("""
        [once again|yet again|of course] {mine} {symptom}
        I paid good money for {a_product} and it {symptom}
        {mine} {symptom}, and I'm [sick of it|at the end of my patience|fed up]
        the {product} is a [nightmare|disaster|bad joke], it {symptom}
    """),
    "problem_report terse": lines("""
        {product}, version {version}, {symptom}
        {mine} {symptom}
        {summary} with {a_product}, {since}
        {product} {symptom}, {error}
    """),
    "problem_report chatty": lines("""
        so there I was [one evening|the other day|with a cup of tea], wanting to [relax|get some \
            work done], and {mine} {symptom}
        [long story short|to cut a long story short], {mine} {symptom}, and [I'm lost|{someone} \
            is no help]
        I was [so|really] happy with {mine}, but [now|{since}] it {symptom}
        [picture this|imagine]: I [want|sit down] to {purpose}, and {mine} {symptom}
        you won't believe it, but {mine} {symptom}, [and that on a {day}|of all things]
        {someone} [swears|says] it's my fault, but {mine} {symptom}
    """),
    "problem_report more": lines("""
        it [was fine|worked without any trouble|behaved perfectly] until {onset}
        {display} [shows "{error}"|says "{error}"|says:{nl}> {error}{nl}and that's all I get]
        I've already tried {attempt}, [to no effect|without success|no change]
        this [started|began] {began}, and [nothing|no setting] was changed before that
        I'm on version {version}[, if that matters|, the newest as far as I know|]
        {someone} has looked at it and [has no idea either|gave up|found nothing]
        it also {further}, [but not always|at least now and then|which may be related]
        it happens {often}[, no matter what I do|, usually when I {use}|]
        sometimes it's fine for {minutes}, then the {summary} is back
        I need it [on {day}|by {day}|next week] [for work|for a presentation|for school|for the \
            club]
        the {hardware} looks [fine|normal|clean] to me
        after a restart it [works|is quiet] for {minutes} and then the same thing happens
        [lately|these days] it happens {often}, [and it's getting worse|now I stopped counting]
        the manual [doesn't mention it|says nothing about it|was no help at all]
    """),
    "help_request": lines("""
        [any ideas|any idea what this could be|any thoughts]?
        [can|could] [anybody|anyone|someone] help[ me| me out|]?
        what can I do about [this|the {summary}|it]?
        how do I get rid of [this|the|that] {summary}?
        does [anybody|anyone] know how to [fix this|stop that|make it behave]?
        has [anybody|anyone] [solved|cured|got rid of] [this|such a thing|a {summary} like this]?
        what [should I|would you] try [first|next|before taking it to a shop]?
        is there a way to [fix|cure|stop] [a {summary} like this|the {summary}|this]?
        any [hint|tip|pointer] [would be|is] welcome, even [a wild guess|a long shot|one about \
            the {part}]
        where [do|should] I [start|begin] [looking|searching]?
        [how|where] would you [start|begin] with a {summary} [on {a_product}|like this]?
        what am I [missing|doing wrong|overlooking] here?
    """),
    "help_request polite": lines("""
        [could|would] [anyone|somebody] please [point me in the right direction|tell me where to \
            look]?
        I would be grateful for any [advice|hint|suggestion] [on the {summary}|you may have]
        if anyone has [an idea|a suggestion|met this {summary}], please let me know
    """),
    "help_request grumpy": lines("""
        [does anyone here actually know how to fix this|has anyone here actually found a fix]?
        is there a fix for [this|the {summary}], or [do I throw it out of the window|is it time \
            for the bin]?
        what on earth [is going on with {mine}|am I supposed to do about the {summary}|is wrong \
            with the {part}]?
        [come on|so], who [can tell me|knows] how to [get rid of|live without] [the|this] {summary}?
        [is that normal|is that supposed to happen] with {a_product}, and if not, what now?
    """),
    "help_request bump": lines("""
        bump.
        [anyone|anybody|no one]?
        [still|I'm still] [looking for|hoping for|in need of] [a fix|help|ideas] [here|with the \
            {summary}]
        [pushing|moving] this up [once|again], [does nobody have|has really nobody] an idea \
            [about the {summary}|for my {product}]?
        does really nobody know [a fix for the {summary}|what to do about the {summary}]?
    """),
    "clarifying_question": lines("""
        {ask}?
        [first|before we guess|one question first|quick question]: {ask}?
        [just to be sure|out of interest|to narrow it down], {ask}?
        @{to} {ask}?
        can you tell us {indirect}?
        [could|can] you [say|check|find out] {indirect}?
        it would help to know {indirect}
        I'd [like|need] to know {indirect}, [otherwise it's guesswork|before I say anything]
        you don't say {indirect}, do you?
        [hm|hmm|interesting], {ask}?
        and {ask}?
    """),
    "clarifying_question polite": lines("""
        would you mind telling us {indirect}?
        may I ask {indirect}?
        sorry to ask, but {ask}?
    """),
    "clarifying_question grumpy": lines("""
        how about telling us {indirect}?
        we can't read minds: {ask}?
        you forgot the most important thing, {ask}?
    """),
    "clarifying_question terse": lines("""
        {ask}?
        {ask}?
    """),
    "clarifying_question asker": lines("""
        {ask}?
        [stupid|silly|beginner's] question, but {ask}?
        [sorry|before I break something], {ask}?
        one more thing, {ask}?
        can you tell me {indirect}?
        I'm not sure {indirect}, can you [explain|help me with that]?
        @{to} {ask}?
    """),
    "clarification": lines("""
        {reply}
        {reply}
        [sure|right|good question], {reply}
        @{to} {reply}
        [to answer your question|about your question|as you asked]: {reply}
        [I just looked|just checked|had to look it up]: {reply}
        [as far as I can tell|if I see that right|I think]: {reply}
    """),
    "clarification polite": lines("""
        of course, {reply}
        [sorry|apologies], I should have said that: {reply}
    """),
    "clarification grumpy": lines("""
        not that it matters, but {reply}
        [fine|well], if you must know: {reply}
    """),
    "clarification more": lines("""
        [what I forgot|forgot to mention|what may matter]: {detail}
        [also|and] {detail}
        [oh, and|and] {display} once showed "{error}" [for a second|too]
        [by the way|oh, and], {detail}
        [tell me if|say so if] you need [more details|the full log|a screenshot|anything else]
        I can [send|post|add] [a photo|the log|a screenshot] [tonight|later|tomorrow] [if that \
            helps|if needed]
    """),
    "clarification helper": lines("""
        {reply}
        {reply}
        [sure|right|good question|no worries], {reply}
        @{to} {reply}
        don't worry, {reply}
        [sorry, that was short|should have said that]: {reply}
    """),
}
