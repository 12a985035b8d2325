"""What the README's figures come from: `python -m benchmarks all` makes one report of everything here."""
