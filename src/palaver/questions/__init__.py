"""What analysts ask about talk whose acts are known: plain functions, each giving a table.

:func:`palaver.ask` lets a model read a corpus once; the page, the command line and everything else
that answers such questions calls the functions here.
"""
