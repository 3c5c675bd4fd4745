"""What a team gets in a cluster, one concern per file; `platform.workspace` puts them together."""
