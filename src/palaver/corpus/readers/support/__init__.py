"""Exports of help desks: Zendesk and Intercom."""
