//! Charts: plain values in, SVG text and a table out.
//!
//! In:  numbers that `stats` and `verdict` have made, labels as they came (hostile until escaped here), and an id.
//! Out: [`Figure`]: the drawing in two layouts, its title, description and the table of its values.
//! Not here: frames, files, the making of any number that is published.
//!
//! plotters gives the coordinate systems, the drawing areas and the element machinery. Its own SVG writer knows no
//! classes, links, titles or groups and bakes colours in, so `svg` is a small backend of ours. Colours, dashes and
//! themes live in one stylesheet, [`STYLE`], which a page embeds once.
//!
//! Each figure is drawn twice, 760 and 320 units wide, and [`Figure::inline`] emits both. The stylesheet shows the one
//! that fits the container. One layout that only scales cannot keep text at 12 CSS px on a phone and use a desk screen.
//!
//! Accessibility: a drawing without links is `role="img"`, whose content assistive technology does not enter. A drawing with links must be
//! entered, so it is `role="group"`. Its axes and texts are `aria-hidden`, and only the named links remain. Marks closer together than 24
//! CSS px cannot be full-size targets. The same links are in the table ([`Row::href`]), which is the equivalent that WCAG 2.5.8 asks for.

mod axis;
pub(crate) mod badge;
pub mod bars;
pub(crate) mod bland_altman;
mod canvas;
pub(crate) mod card;
pub mod ecdf;
mod element;
pub(crate) mod figure;
pub mod forest;
pub mod frontier;
pub mod heatmap;
mod ink;
mod label;
pub(crate) mod looks;
pub mod memory_stack;
mod number;
mod raster;
pub mod request_timeline;
pub mod roofline;
pub mod run_order;
pub mod series;
pub mod shift;
pub mod slope;
pub mod spread;
pub(crate) mod strip;
mod svg;
pub mod sweep;
pub(crate) mod thin;
pub mod timeline_heatmap;
mod verdict_mark;

pub use bars::Bars;
pub use bland_altman::BlandAltman;
pub use ecdf::Ecdf;
pub use figure::{Chart, Figure, Layouts, Row, STYLE, Table, standalone};
pub use forest::Forest;
pub use frontier::Frontier;
pub use heatmap::Heatmap;
pub use label::xml;
pub use looks::Looks;
pub use memory_stack::MemoryStack;
pub use request_timeline::RequestTimeline;
pub use roofline::Roofline;
pub use run_order::RunOrder;
pub use series::Series;
pub use shift::Shift;
pub use slope::Slope;
pub use spread::Spread;
pub use strip::Strip;
pub use sweep::Sweep;
pub use timeline_heatmap::TimelineHeatmap;
pub use verdict_mark::VerdictMark;

/// Every kind of chart.
pub static CHARTS: &[&dyn Chart] = &[
    &bland_altman::BlandAltmanChart,
    &forest::ForestChart,
    &run_order::RunOrderChart,
    &slope::SlopeChart,
    &looks::LooksChart,
    &spread::SpreadChart,
    &ecdf::EcdfChart,
    &shift::ShiftChart,
    &series::SeriesChart,
    &bars::BarsChart,
    &strip::StripChart,
    &sweep::SweepChart,
    &frontier::FrontierChart,
    &heatmap::HeatmapChart,
    &roofline::RooflineChart,
    &memory_stack::MemoryStackChart,
    &timeline_heatmap::TimelineHeatmapChart,
    &request_timeline::RequestTimelineChart,
];
