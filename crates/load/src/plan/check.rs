//! Checks whether settings make a plan.
//!
//! In:  [`Settings`], the contents of the files they name.  Out: the source of prompts and its size, or the faults with a remedy.
//! Not here: whether the server can answer it (see `server`), the plan itself (see [`super::Plan`]).

use std::sync::Arc;

use super::PlanInput;
use super::prompts::Prompts;
use super::trace::Trace;
use crate::settings::{Arrival, Cache, Lengths, Prefix, Settings, Shape, Share, Work};
use sparkbench_archive::shown;
use sparkbench_text::error::Error;

/// Source of the requests.
#[derive(Debug)]
pub(super) enum What {
    Synthetic { isl: Lengths, osl: Lengths, prefix: Prefix },
    Prompts { lines: Arc<Prompts>, osl: Lengths },
    Trace(Arc<Trace>),
}

/// Shape, share and ramp fit together.
pub(super) fn shape(settings: &Settings) -> Result<(), Error> {
    let positive = |value: f64, name: &str| {
        if value.is_finite() && value > 0.0 {
            Ok(())
        } else {
            Err(Error::usage(format!("{name} is {value}: expected a number above 0")))
        }
    };
    let share = settings.share;
    if share.world == 0 || share.rank >= share.world {
        return Err(Error::usage(format!("this is client {} of {}", share.rank, share.world))
            .hint("ranks count from 0, and there is at least one client"));
    }
    let full = match &settings.shape {
        Shape::Closed { concurrency } => {
            if *concurrency < share.world {
                return Err(Error::usage(format!(
                    "{concurrency} requests at a time cannot be shared by {} clients",
                    share.world
                ))
                .hint("raise the concurrency, which is that of all clients together, or start fewer clients"));
            }
            f64::from(*concurrency)
        }
        Shape::Open { rate, arrival, max_concurrency } => {
            positive(*rate, "the rate")?;
            if let Arrival::Gamma(shape) = arrival {
                positive(*shape, "the shape of gamma arrivals")?;
            }
            cap(*max_concurrency, share)?;
            *rate
        }
        Shape::Trace { speed, max_concurrency, .. } => {
            positive(*speed, "the speed of the trace")?;
            cap(*max_concurrency, share)?;
            if settings.ramp.is_some() {
                return Err(Error::usage("a trace has its own times, so it cannot have a ramp"));
            }
            return Ok(());
        }
    };
    if let Some(ramp) = settings.ramp {
        positive(ramp.over_s, "the time of the ramp")?;
        if !ramp.from.is_finite() || ramp.from < 0.0 || ramp.from > full || (ramp.exponential && ramp.from == 0.0) {
            return Err(Error::usage(format!("a ramp cannot go from {} to {full}", ramp.from))
                .hint("start it at or below the full load, and above 0 if it is exponential"));
        }
    }
    Ok(())
}

fn cap(cap: Option<u32>, share: Share) -> Result<(), Error> {
    match cap {
        Some(cap) if cap < share.world => {
            Err(Error::usage(format!("at most {cap} requests at a time cannot be shared by {} clients", share.world))
                .hint("the greatest concurrency is that of all clients together"))
        }
        _ => Ok(()),
    }
}

/// Source of the requests, and the limit of measured ones.
pub(super) fn what(settings: &Settings, input: &PlanInput) -> Result<(What, Option<u64>), Error> {
    let lengths = |name: &str, lengths: Lengths| {
        let lengths =
            lengths.checked().map_err(|why| Error::usage(format!("{name} {lengths} is not possible: {why}")))?;
        if lengths == Lengths::Fixed(0) {
            Err(Error::usage(format!("{name} is 0 tokens: expected at least 1")))
        } else {
            Ok(lengths)
        }
    };
    if let Shape::Trace { path, .. } = &settings.shape {
        let Some(trace) = &input.trace else {
            return Err(Error::usage(format!("the trace '{}' was not read", shown(path))));
        };
        let Work::Synthetic { .. } = &settings.work else {
            return Err(Error::usage(
                "a trace decides what is sent: it cannot be combined with a file of prompts or with conversations",
            ));
        };
        return Ok((What::Trace(Arc::clone(trace)), Some(trace.requests())));
    }
    match &settings.work {
        Work::Synthetic { isl, osl, prefix } => {
            let (isl, osl) = (lengths("ISL", *isl)?, lengths("OSL", *osl)?);
            if prefix.tokens > isl.bounds().1 {
                return Err(Error::usage(format!(
                    "a shared prefix of {} tokens is longer than a prompt of {isl}",
                    prefix.tokens
                ))
                .hint("the prefix is part of the ISL: raise --isl, or shorten the prefix"));
            }
            if settings.cache == Cache::Cold && prefix.tokens == isl.bounds().1 {
                return Err(Error::usage(format!(
                    "a shared prefix of {} tokens leaves nothing of a prompt of {isl}",
                    prefix.tokens
                ))
                .hint("raise --isl: with a cold cache, each prompt has its own text after the prefix"));
            }
            Ok((What::Synthetic { isl, osl, prefix: *prefix }, None))
        }
        Work::Prompts { path, osl } => {
            let Some(lines) = &input.prompts else {
                return Err(Error::usage(format!("the prompts '{}' were not read", shown(path))));
            };
            let (count, taken) = (lines.0.len() as u64, settings.warmup.unwrap_or(0));
            let Some(left) = count.checked_sub(taken).filter(|left| *left > 0) else {
                return Err(Error::usage(format!(
                    "'{}' has {count} prompts, but {} are needed to warm up",
                    shown(path),
                    taken
                ))
                .hint("the warm-up takes the first lines of the file, which are then not measured"));
            };
            Ok((
                What::Prompts { lines: Arc::clone(lines), osl: lengths("OSL", osl.unwrap_or(Lengths::PLAIN))? },
                Some(left),
            ))
        }
        Work::Conversations(_) => Err(Error::usage("conversations have a plan of their own")),
    }
}

/// Measured requests. Absent where only time bounds the load.
pub(super) fn bound(settings: &Settings, available: Option<u64>) -> Result<Option<u64>, Error> {
    match (settings.requests, available) {
        (Some(0), _) => Err(Error::usage("0 requests are asked for").hint("give --requests at least 1")),
        (Some(asked), Some(there)) if asked > there => Err(Error::usage(format!(
            "{asked} requests are asked for, but the file has {there} to measure"
        ))
        .hint(
            "leave out --requests, or give a longer file. Prompts are not sent twice, because a cache would know them",
        )),
        (Some(asked), _) => Ok(Some(asked)),
        (None, Some(there)) => Ok(Some(there)),
        (None, None) if settings.duration_s.is_some() => Ok(None),
        (None, None) => Err(Error::usage("the load has no end").hint("give --requests N or --duration SECONDS")),
    }
}
