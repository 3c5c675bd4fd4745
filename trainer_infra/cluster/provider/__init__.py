"""Engine `provider`: runs in a cluster without a controller of ours, each kept in a run record."""
