"""The statistics of single studies."""
