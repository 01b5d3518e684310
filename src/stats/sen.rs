//! Median slope over all pairs.
