"""Small grammars whose texts different lexers cut differently."""
