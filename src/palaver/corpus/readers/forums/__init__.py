"""Public talk: GitHub, Stack Exchange, Hacker News, Mastodon, Bluesky, YouTube."""
