//! Noncentral t distribution, accurate for any t and any noncentrality.
