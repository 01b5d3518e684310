//! Charts and pages of analyses that are made by hand or by formula, and the manual on the site.

#[path = "../support/mod.rs"]
mod support;

mod chart;
mod chart_across;
mod chart_colours;
mod manual;
mod page;
mod page_across;
mod page_cells;
mod page_study;
