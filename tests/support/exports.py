"""What the readers must make of the fixtures of exports: rows and notes, checked by hand."""

from __future__ import annotations

from typing import Any

#: By path below tests/fixtures: conversation, id, reply_to, speaker and text of every message, and
#: how often each kind of note was counted.
EXPECTED: dict[str, tuple[list[tuple[Any, ...]], dict[str, int]]] = {
    "telegram/result.json": (
        [
            ("2", "2", None, "Noor", "My dough does not rise. What now?"),
            ("2", "3", "2", "Mia", "Try warmer water, see https://example.org/dough"),
            ("2", "7", "3", "Noor", "thanks, it worked"),
            ("4400/2031-03-01", "4", None, "Noor", "Привет всем!"),
            ("4400/2031-03-01", "5", None, "Mia", ""),
            ("4400/2031-03-01", "6", None, "Mia", ""),
            ("4400/2031-03-02", "8", None, "user99", "who are you?"),
        ],
        {
            "system_message": 1,
            "media_omitted": 1,
            "quote_cut": 1,
            "empty_text": 2,
            "no_conversation": 3,
        },
    ),
    "telegram_account/result.json": (
        [
            ("71", "71/2", None, "Mia", "hi!"),
            ("71", "71/3", "71/2", "Noor", "hello"),
            ("4400/2", "4400/2", None, "Noor", "My dough does not rise. What now?"),
            (
                "4400/2",
                "4400/3",
                "4400/2",
                "Mia",
                "Try warmer water, see https://example.org/dough",
            ),
            ("4400/2", "4400/7", "4400/3", "Noor", "thanks, it worked"),
            ("4400/2031-03-01", "4400/4", None, "Noor", "Привет всем!"),
            ("4400/2031-03-01", "4400/5", None, "Mia", ""),
            ("4400/2031-03-01", "4400/6", None, "Mia", ""),
            ("4400/2031-03-02", "4400/8", None, "user99", "who are you?"),
            ("4", "4/2", None, "Noor", "buy flour"),
        ],
        {
            "system_message": 1,
            "media_omitted": 1,
            "quote_cut": 1,
            "empty_text": 2,
            "no_conversation": 3,
        },
    ),
    "messenger/inbox": (
        [
            ("zoemueller_17", "#1", None, "Ann Lee", "Where is the key?"),
            ("zoemueller_17", "#2", None, "Zoë Müller", "The key is under the mat."),
            ("zoemueller_17", "#3", None, "Zoë Müller", ""),
            ("zoemueller_17", "#4", None, "Ann Lee", "Danke schön 🙂"),
            ("team_18", "#5", None, "Bo", "lunch?"),
        ],
        {
            "mojibake": 1,
            "media_omitted": 1,
            "system_message": 1,
            "empty_text": 1,
            "generated_id": 5,
        },
    ),
    "messenger/Ann Lee_5.json": (
        [
            ("Ann Lee_5", "#1", None, "Bo", "Grüße aus Köln"),
            ("Ann Lee_5", "#2", None, "Ann Lee", ""),
            ("Ann Lee_5", "#3", None, "Ann Lee", "same to you"),
        ],
        {"empty_text": 1, "generated_id": 3},
    ),
    "google-chat/Google Chat": (
        [
            ("DM BBB", "AAA/t5/m5", None, "Ann Lee", "hi"),
            ("DM BBB", "AAA/t6/m6", None, "Bo Chan", "hello"),
            ("AAA/t1/m1", "AAA/t1/m1", None, "Ann Lee", "Who has the projector?"),
            ("AAA/t1/m1", "AAA/t1/m2", "AAA/t1/m1", "Bo Chan", "Room 4."),
            ("Space AAA/2031-03-04", "AAA/t2/m3", None, "Builder", "build 7 failed"),
            ("Space AAA/2031-03-04", "AAA/t3/m4", None, "Bo Chan", ""),
        ],
        {"media_omitted": 1, "empty_text": 1, "no_conversation": 2},
    ),
    "signal/received.jsonl": (
        [
            ("Z3JvdXA=", "1930122000123", None, "Mia", "Is the shop open?"),
            ("Z3JvdXA=", "1930122060000", "1930122000123", "Bo", "Until six."),
            ("+4901", "1930122070000", None, "Me", "thanks"),
            ("+4901", "1930122080000", None, "Mia", ""),
        ],
        {"system_message": 1, "media_omitted": 1, "empty_text": 1},
    ),
    "signal/main.jsonl": (
        [
            ("Family", "1930122000123", None, "Mia Berg", "Dinner at seven?"),
            ("Family", "1930122100000", "1930122000123", "me", "yes please"),
        ],
        {"system_message": 1},
    ),
    "signal/export": (
        [
            ("Mia", "#1", None, "Mia", "Are you coming?"),
            ("Mia", "#2", None, "Me", "On my way"),
        ],
        {"generated_id": 2},
    ),
    "signal/chat.md": (
        [
            ("chat", "#1", None, "Me", "How is everyone?"),
            ("chat", "#2", None, "Aya", "We're great!\nand you?"),
            ("chat", "#3", None, "Jim", "I'm not."),
            ("chat", "#4", None, "Aya", ""),
        ],
        {"quote_cut": 1, "media_omitted": 1, "empty_text": 1, "generated_id": 4},
    ),
    "teams/channel.json": (
        [
            ("1616990032035", "1616990032035", None, "Ann Lee", "The printer is dead."),
            ("1616990032035", "1616990417393", "1616990032035", "Bo Chan", "Restart it, Ann Lee."),
            ("1616990032035", "1616990500000", "1616990032035", "Ticket bot", "Ticket 12 opened"),
        ],
        {"system_message": 1},
    ),
    "teams/chats.json": (
        [
            ("19:x", "1", None, "Ann Lee", "lunch?"),
            ("19:x", "2", "1", "Bo Chan", "yes"),
        ],
        {},
    ),
    "teams/messages.json": (
        [
            ("8:bo", "1930122000000", None, "Ann Lee", 'Is it "done"?'),
            ("8:bo", "1930122050000", None, "Ann Lee", ""),
            ("8:bo", "1930122100000", "1930122000000", "Bo Chan", "nearly"),
        ],
        {"media_omitted": 1, "quote_cut": 1, "system_message": 1, "empty_text": 1},
    ),
    "github/both.json": (
        [
            ("ann/oven#12", "post ann/oven#12", None, "bo", "Crash at 250°\n\nIt stops."),
            ("ann/oven#12", "71", "post ann/oven#12", "ann", "Which version?"),
            ("ann/oven#12", "72", "post ann/oven#12", "stale[bot]", "This issue is stale."),
            ("ann/oven#13", "81", None, "ann", "Why?"),
            ("ann/oven#13", "82", "81", None, "It was slow."),
        ],
        {"code_cut": 1, "quote_cut": 1},
    ),
    "github/gh.json": (
        [
            ("ann/oven#5", "post ann/oven#5", None, "bo", "Add timer\n\nPlease."),
            ("ann/oven#5", "IC_1", "post ann/oven#5", "ann", "Done in 2.0"),
        ],
        {},
    ),
    "github/discussions.json": (
        [
            ("ann/oven#3", "post ann/oven#3", None, "bo", "Which flour?\n\nRye or wheat?"),
            ("ann/oven#3", "DC_1", "post ann/oven#3", "ann", "Rye."),
            ("ann/oven#3", "DC_3", "post ann/oven#3", None, "Wheat!"),
            ("ann/oven#3", "DC_2", "DC_1", "bo", "Why rye?"),
        ],
        {},
    ),
    "stackexchange/bread": (
        [
            ("1", "1", None, "8", "Why is my dough flat?\n\nMy dough is flat.\n\nWhy?"),
            ("1", "comment 1", "1", "9", "How old is the yeast?"),
            ("1", "3", "1", "user31", "Old yeast & cold water."),
            ("1", "comment 2", "3", "8", "That was it, thanks <3"),
        ],
        {"code_cut": 1, "system_message": 1},
    ),
    "hackernews/items.jsonl": (
        [
            ("100", "100", None, "ann", "Ask HN: Which oven?\n\nI bake a lot."),
            ("100", "101", "100", "bo", "I'd buy a used one.\nSee https://example.org"),
            ("100", "102", "101", "ann", "Thanks!"),
            ("100", "103", "100", None, ""),
        ],
        {"code_cut": 1, "system_message": 1, "empty_text": 1, "no_conversation": 3},
    ),
    "hackernews/hits.json": (
        [
            ("200", "200", None, "ann", "Is it done?"),
            ("200", "201", "200", "bo", "No."),
        ],
        {},
    ),
    "hackernews/tree.json": (
        [
            ("300", "300", None, "ann", "Show HN: Loaf"),
            ("300", "301", "300", "bo", "Nice."),
            ("300", "302", "301", "ann", "Thank you"),
        ],
        {},
    ),
    "mastodon/context.json": (
        [
            ("110", "110", None, "ann@m.example", "Wer backt heute?"),
            ("110", "112", "110", "bo@m.example", "@ann ich!\nUm 8"),
            ("113", "113", None, "ann@m.example", ""),
        ],
        {"media_omitted": 1, "empty_text": 1, "no_conversation": 3},
    ),
    "mastodon/statuses.json": (
        [
            ("111", "111", None, "bo@m.example", "second"),
            ("111", "113", "111", "ann@m.example", "third & last"),
            ("114", "114", None, "feed@m.example", ""),
        ],
        {"quote_cut": 1, "empty_text": 1, "no_conversation": 3},
    ),
    "mastodon/outbox.json": (
        [
            (
                "https://m.example/users/ann/statuses/1",
                "https://m.example/users/ann/statuses/1",
                None,
                "ann",
                "cooking\n\nFirst loaf",
            ),
            (
                "https://m.example/users/ann/statuses/1",
                "https://m.example/users/ann/statuses/2",
                "https://m.example/users/ann/statuses/1",
                "ann",
                "It is good",
            ),
            (
                "https://m.example/users/ann/statuses/3/activity",
                "https://m.example/users/ann/statuses/3/activity",
                None,
                "ann",
                "",
            ),
        ],
        {"quote_cut": 1, "empty_text": 1, "no_conversation": 3},
    ),
    "bluesky/thread.json": (
        [
            (
                "at://did:plc:ann/app.bsky.feed.post/3a",
                "at://did:plc:ann/app.bsky.feed.post/3a",
                None,
                "ann.example",
                "Which flour do you use?",
            ),
            (
                "at://did:plc:ann/app.bsky.feed.post/3a",
                "at://did:plc:bo/app.bsky.feed.post/3b",
                "at://did:plc:ann/app.bsky.feed.post/3a",
                "bo.example",
                "Rye, always.",
            ),
            (
                "at://did:plc:ann/app.bsky.feed.post/3a",
                "at://did:plc:ann/app.bsky.feed.post/3c",
                "at://did:plc:bo/app.bsky.feed.post/3b",
                "ann.example",
                "Thanks!",
            ),
        ],
        {},
    ),
    "bluesky/feed.json": (
        [
            (
                "at://did:plc:ann/app.bsky.feed.post/3a",
                "at://did:plc:ann/app.bsky.feed.post/3a",
                None,
                "ann.example",
                "Which flour do you use?",
            ),
            (
                "at://did:plc:ann/app.bsky.feed.post/3a",
                "at://did:plc:bo/app.bsky.feed.post/3b",
                "at://did:plc:ann/app.bsky.feed.post/3a",
                "bo.example",
                "Rye, always.",
            ),
            (
                "at://did:plc:ann/app.bsky.feed.post/3a",
                "at://did:plc:ann/app.bsky.feed.post/3c",
                "at://did:plc:bo/app.bsky.feed.post/3b",
                "ann.example",
                "Thanks!",
            ),
        ],
        {},
    ),
    "bluesky/events.jsonl": (
        [
            (
                "at://did:plc:ann/app.bsky.feed.post/3a",
                "at://did:plc:ann/app.bsky.feed.post/3a",
                None,
                "did:plc:ann",
                "Which flour do you use?",
            ),
            (
                "at://did:plc:ann/app.bsky.feed.post/3a",
                "at://did:plc:bo/app.bsky.feed.post/3b",
                "at://did:plc:ann/app.bsky.feed.post/3a",
                "did:plc:bo",
                "Rye, always.",
            ),
        ],
        {"system_message": 1},
    ),
    "youtube/threads.json": (
        [
            ("UgB", "UgB", None, "@cy", "First!"),
            ("UgA", "UgA", None, "@ann", "What's the song?"),
            ("UgA", "UgA.1", "UgA", "@bo", "Bread by Butter"),
        ],
        {},
    ),
    "youtube/Loaf [v1].info.json": (
        [
            ("UgA", "UgA", None, "@ann", "What's the song?"),
            ("UgA", "UgA.1", "UgA", "@bo", "Bread by Butter"),
        ],
        {},
    ),
    "youtube/comments.jsonl": (
        [
            ("UgA", "UgA", None, "@ann", "What's the song?"),
            ("UgA", "UgA.1", "UgA", "@bo", "Bread by Butter"),
        ],
        {},
    ),
    "zendesk/tickets.jsonl": (
        [
            ("35436", "1", None, "5", "Where is my invoice?"),
            ("35436", "2", "1", "9", "billing lost it again"),
            ("35436", "3", "2", "9", "Here it is."),
            ("35437", "line 2 comment 1", None, "6", "Great service"),
        ],
        {"signature_cut": 1, "system_message": 1},
    ),
    "zendesk/comments.json": (
        [
            ("comments", "11", None, "Zoë Müller", "It broke."),
            ("comments", "12", "11", "Ann Lee", "Sorry! A new one is on its way."),
        ],
        {},
    ),
    "zendesk/chats.json": (
        [
            ("2403.1", "2", None, "Bo", "Do you ship to Peru?"),
            ("2403.1", "3", "2", "Ann Lee", "We do."),
        ],
        {"system_message": 1},
    ),
    "intercom/conversation.json": (
        [
            ("471", "s471", None, "Zoë Müller", "How do I cancel?"),
            ("471", "p1", "s471", "Fin", "Let me look that up."),
            ("471", "p3", "p1", "Ann Lee", "long-time customer"),
            ("471", "p4", "p3", "Ann Lee", "Under Settings > Plan."),
            ("471", "p5", "p4", "Zoë Müller", ""),
        ],
        {"system_message": 1, "media_omitted": 1, "empty_text": 1},
    ),
    "intercom/conversations.json": (
        [
            ("1", "s1", None, "Zoë Müller", "How do I cancel?"),
            ("1", "p1", "s1", "Fin", "Let me look that up."),
            ("1", "p3", "p1", "Ann Lee", "long-time customer"),
            ("1", "p4", "p3", "Ann Lee", "Under Settings > Plan."),
            ("1", "p5", "p4", "Zoë Müller", ""),
            ("2", "s2", None, "Zoë Müller", "How do I cancel?"),
            ("2", "p1", "s2", "Fin", "Let me look that up."),
            ("2", "p3", "p1", "Ann Lee", "long-time customer"),
            ("2", "p4", "p3", "Ann Lee", "Under Settings > Plan."),
            ("2", "p5", "p4", "Zoë Müller", ""),
        ],
        {"system_message": 2, "media_omitted": 2, "empty_text": 2},
    ),
    "transcript/teams.txt": (
        [
            ("teams", "1", None, "Ann Lee", "Good morning. Shall we start?"),
            ("teams", "2", None, "Bo Chan", "Yes. One second, I share my screen."),
            ("teams", "3", None, "Ann Lee", "Thanks, that was all."),
        ],
        {"system_message": 2},
    ),
    "transcript/teams-old.txt": (
        [
            ("teams-old", "1", None, "Ann Lee", "Good morning. Shall we start?"),
            ("teams-old", "2", None, "Bo Chan", "Yes."),
        ],
        {},
    ),
    "transcript/teams.docx": (
        [
            ("teams", "1", None, "Ann Lee", "Good morning & welcome."),
            ("teams", "2", None, "Bo Chan", "Yes."),
            ("teams", "3", None, "Ann Lee", "Let us start."),
        ],
        {},
    ),
    "transcript/meet.txt": (
        [
            ("meet", "1", None, "Ann Lee", "Good morning. Shall we start?"),
            ("meet", "2", None, "Bo Chan", "Yes: let's."),
            ("meet", "3", None, "Ann Lee", "Thanks, that was all."),
        ],
        {"system_message": 1},
    ),
    "transcript/meet.sbv": (
        [
            ("meet", "1", None, "Ann Lee", "where is it"),
            ("meet", "2", None, "Bo", "here"),
        ],
        {},
    ),
    "transcript/zoom-chat.txt": (
        [
            ("zoom-chat", "1", None, "Ann Lee", "Where are the slides?"),
            ("zoom-chat", "2", None, "Bo Chan", "In the folder of the team"),
            ("zoom-chat", "3", None, "Ann Lee", "thank you"),
        ],
        {},
    ),
    "transcript/zoom-captions.txt": (
        [
            ("zoom-captions", "1", None, "Ann Lee", "Good morning."),
            ("zoom-captions", "2", None, "Bo Chan", "Hi all."),
        ],
        {},
    ),
    "transcript/stamped.txt": (
        [
            ("stamped", "1", None, "Ann Lee", "Good morning."),
            ("stamped", "2", None, "Bo", "Yes? and so on"),
        ],
        {},
    ),
    "claude-code/session.jsonl": (
        [
            ("5b6b1c1e-0000-4000-8000-000000000001", "u22", None, "user", "Why does my test fail?"),
            ("5b6b1c1e-0000-4000-8000-000000000001", "u333", "u22", "assistant", "I will run it."),
            (
                "5b6b1c1e-0000-4000-8000-000000000001",
                "u55555",
                "u333",
                "assistant",
                "The yeast is missing.\n\nAdd it in line 3.",
            ),
            (
                "5b6b1c1e-0000-4000-8000-000000000001",
                "u666666",
                "u55555",
                "user",
                "thanks, that works",
            ),
        ],
        {"system_message": 1, "tool_output": 1},
    ),
    "codex/rollout-2031-03-01T09-00-00-abc.jsonl": (
        [
            ("sess-1", "3", None, "user", "Why does the test fail?"),
            ("sess-1", "4", "3", "assistant", "The oven is cold."),
            ("sess-1", "5", "4", "user", "that is wrong, look again"),
        ],
        {"system_message": 4, "tool_output": 3},
    ),
    "gemini-cli/session-2031-03-01T09-00-abc.json": (
        [
            ("g-1", "1", None, "user", "List the files"),
            ("g-1", "3", "1", "assistant", "There are two."),
            ("g-1", "5", "3", "user", "thanks"),
        ],
        {"tool_output": 1, "system_message": 1},
    ),
    "claude/conversations.json": (
        [
            ("c-1", "m1", None, "user", "How long does bread bake?"),
            ("c-1", "m2", "m1", "assistant", "About an hour."),
            ("c-1", "m3", "m2", "user", "No, I meant rye."),
            ("c-1", "m4", "m2", "user", "Thanks!"),
            ("c-1", "m5", "m3", "assistant", "Ninety minutes."),
            ("c-2", "m6", None, "user", ""),
            ("c-2", "m7", "m6", "assistant", "A loaf."),
        ],
        {"code_cut": 1, "media_omitted": 1, "empty_text": 1},
    ),
    "chatgpt/conversations.json": (
        [
            ("c-bread", "u1", None, "user", "How long does this bread bake?"),
            ("c-bread", "a1", "u1", "assistant", "An hour."),
            ("c-bread", "u2", "a1", "user", "Thanks!"),
        ],
        {"system_message": 2, "tool_output": 1},
    ),
    "langsmith/runs.jsonl": (
        [
            ("th-1", "a1/input", None, "user", "How long?"),
            ("th-1", "a1/output", "a1/input", "assistant", "An hour."),
            ("th-1", "b1/input", "a1/output", "user", "And rye?"),
            ("th-1", "b1/output", "b1/input", "assistant", "Longer."),
            ("tr-c", "c1/input", None, "user", "What is new?"),
        ],
        {"system_message": 1, "tool_output": 1},
    ),
    "langsmith/runs.parquet": (
        [
            ("th-1", "a1/input", None, "user", "How long?"),
            ("th-1", "a1/output", "a1/input", "assistant", "An hour."),
            ("th-1", "b1/input", "a1/output", "user", "And rye?"),
            ("th-1", "b1/output", "b1/input", "assistant", "Longer."),
            ("tr-c", "c1/input", None, "user", "What is new?"),
        ],
        {"system_message": 1, "tool_output": 1},
    ),
    "langfuse/traces.jsonl": (
        [
            ("s1", "tr1/input", None, "user", "How long does bread rise?"),
            ("s1", "tr1/output", "tr1/input", "assistant", "About an hour."),
            ("s1", "tr2/input", "tr1/output", "user", "And rye?"),
            ("s1", "tr2/output", "tr2/input", "assistant", "Longer: three hours."),
            ("tr3", "tr3/input", None, "user", "summarise"),
            ("tr3", "tr3/output", "tr3/input", "assistant", "Done."),
        ],
        {"system_message": 1},
    ),
    "sdialog/dialog.json": (
        [
            ("711", "1", None, "Doctor", "What brings you here?"),
            ("711", "2", "1", "Patient", "A cough."),
            ("711", "3", "2", "Doctor", "Since when?"),
        ],
        {},
    ),
    "sdialog/dialogs": (
        [
            ("712", "1", None, "Doctor", "Hello."),
            ("712", "2", "1", "Patient", "Hi."),
            ("713", "1", None, "Doctor", "Good day."),
        ],
        {},
    ),
    "chatlog/arena.parquet": (
        [
            ("q1/a", "1", None, "user", "hi"),
            ("q1/a", "2", "1", "assistant", "Hello!"),
            ("q1/b", "1", None, "user", "hi"),
            ("q1/b", "2", "1", "assistant", "Hey"),
        ],
        {},
    ),
    "chatlog/history.json": (
        [
            ("history", "1", None, "user", "Read the file"),
            ("history", "2", "1", "assistant", "Reading."),
            ("history", "4", "2", "assistant", "It is short."),
        ],
        {"tool_output": 1},
    ),
    "chatlog/lmsys.parquet": (
        [
            ("l1", "1", None, "user", "Wie lange backt Brot?"),
            ("l1", "2", "1", "assistant", "Eine Stunde."),
            ("l2", "1", None, "user", "hi"),
            ("l2", "2", "1", "assistant", "Hello!"),
        ],
        {"code_cut": 1},
    ),
    "chatlog/openai.jsonl": (
        [
            ("1", "2", None, "user", 'What is {x} in "role": y?'),
            ("1", "3", "2", "assistant", "A placeholder."),
            ("ticket-7", "1", None, "user", "What is on this photo?"),
            ("ticket-7", "4", "1", "assistant", "A cat."),
        ],
        {"system_message": 1, "tool_output": 2},
    ),
    "chatlog/requests.jsonl": (
        [
            ("r1", "2", None, "user", "hi"),
            ("r1", "3", "2", "assistant", "hello"),
        ],
        {"system_message": 1},
    ),
    "chatlog/sharegpt.json": (
        [
            ("QWJ_0", "1", None, "user", "Name a river."),
            ("QWJ_0", "2", "1", "assistant", "The Loire."),
            ("QWJ_0", "3", "2", "user", "Another one?"),
            ("QWJ_1", "2", None, "user", "Hi"),
        ],
        {"system_message": 1},
    ),
    "chatlog/wildchat.jsonl": (
        [
            ("h1", "1", None, "user", "write a poem about bread"),
            ("h1", "2", "1", "assistant", "I'm sorry, but I can't help with that."),
        ],
        {},
    ),
}
