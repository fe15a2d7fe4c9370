"""What forced tokens gain on grammars with the shape of a schema."""
