"""Exports of messengers: Telegram, Messenger and Instagram, Google Chat, Signal, Teams."""
