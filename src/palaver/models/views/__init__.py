"""Plain functions of a fitted model: tables, pictures, held-out words, simulation."""
