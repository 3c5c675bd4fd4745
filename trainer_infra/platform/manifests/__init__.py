"""Published manifests and charts as objects, and objects as Pulumi resources in dependency order."""
