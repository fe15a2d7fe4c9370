"""What parsers choke on: tokens that hide much parsing, ambiguity, long texts."""
