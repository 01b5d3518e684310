//! Computes a checked expression for one run.
//!
//! In:  a tree, and a [`RunFigures`] of the run's figures.  Out: a finite figure, or the reason why there is none.
//! Not here: names and units, which were checked before.
//!
//! A figure that is not there makes whatever needs it absent. A condition on an absent figure is neither true nor false: it counts as
//! not true in `share`. A result that is not finite (a division by zero, a power beyond all numbers) is absent, and that is reported.

use super::ServerFigure;
use super::check::{FormulaNode, Operator};
use super::vocabulary::{Aggregate, FIELDS, Function};
use sparkbench_stats::quantile::{quantile_sorted, sorted};

/// The measured requests of a run, in the order of sending.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Requests {
    /// For each of [`FIELDS`] one value for each request, missing as NaN. Empty where no request has it.
    pub columns: Vec<Vec<f64>>,
    /// Requests that were answered or failed.
    pub count: usize,
    /// For each request whether it was answered.
    pub answered: Vec<bool>,
}

impl Requests {
    /// Room for the figures of [`FIELDS`].
    pub fn new() -> Self {
        Self { columns: vec![Vec::new(); FIELDS.len()], ..Self::default() }
    }
}

/// Figures of a run.
pub trait RunFigures {
    /// A metric, setting or fact of the run by the name that the expression has.
    ///
    /// # Errors
    /// Why it is not there. Fits after a colon.
    fn figure(&self, name: &str) -> Result<f64, String>;
    /// A figure that the source reports and that no metric means.
    ///
    /// # Errors
    /// As above.
    fn reported(&self, name: &str) -> Result<f64, String>;
    /// The measured requests.
    ///
    /// # Errors
    /// As above.
    fn requests(&self) -> Result<&Requests, String>;
    /// A figure of the server's metrics.
    ///
    /// # Errors
    /// As above.
    fn server(&self, asked: &ServerFigure) -> Result<f64, String>;
}

/// The figure of a tree over a run.
pub(super) fn of_run(node: &FormulaNode, source: &dyn RunFigures) -> Result<f64, String> {
    let value = match node {
        FormulaNode::Constant(value) => *value,
        FormulaNode::Name(name) => source.figure(name)?,
        FormulaNode::Reported(name) => source.reported(name)?,
        FormulaNode::Server(asked) => source.server(asked)?,
        // Checked before: fields occur only inside aggregates.
        FormulaNode::Field(_) => return Err("it has one value a request".to_owned()),
        FormulaNode::Aggregate(what, inside) => aggregate(*what, inside, source)?,
        FormulaNode::Negative(inside) => -of_run(inside, source)?,
        FormulaNode::Scaled(inside, factor) => of_run(inside, source)? * factor,
        FormulaNode::Binary(operator, left, right) => binary(*operator, of_run(left, source), of_run(right, source))?,
        FormulaNode::Not(inside) => 1.0 - of_run(inside, source)?,
        FormulaNode::IsAbsent(inside) => f64::from(u8::from(of_run(inside, source).is_err())),
        FormulaNode::Case(branches, otherwise) => {
            for (condition, result) in branches {
                if of_run(condition, source).is_ok_and(|truth| truth > 0.0) {
                    return of_run(result, source);
                }
            }
            match otherwise {
                Some(result) => of_run(result, source)?,
                None => return Err("no branch of 'case' holds".to_owned()),
            }
        }
        FormulaNode::Call(function, arguments) => {
            call(*function, &mut arguments.iter().map(|argument| of_run(argument, source)))?
        }
    };
    finite(value)
}

fn finite(value: f64) -> Result<f64, String> {
    if value.is_finite() { Ok(value) } else { Err("the result is not a finite number".to_owned()) }
}

fn truth(value: bool) -> f64 {
    f64::from(u8::from(value))
}

/// `and` and `or` with an absent side are decided by the other one where that is enough, as in SQL.
fn binary(operator: Operator, left: Result<f64, String>, right: Result<f64, String>) -> Result<f64, String> {
    match operator {
        Operator::And if left == Ok(0.0) || right == Ok(0.0) => return Ok(0.0),
        Operator::Or if left == Ok(1.0) || right == Ok(1.0) => return Ok(1.0),
        _ => {}
    }
    let (left, right) = (left?, right?);
    Ok(match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide if right == 0.0 => return Err("division by zero".to_owned()),
        Operator::Divide => left / right,
        Operator::Remainder if right == 0.0 => return Err("division by zero".to_owned()),
        Operator::Remainder => left % right,
        Operator::Less => truth(left < right),
        Operator::AtMost => truth(left <= right),
        Operator::More => truth(left > right),
        Operator::AtLeast => truth(left >= right),
        Operator::Equal => truth(left == right),
        Operator::Unequal => truth(left != right),
        Operator::And => truth(left > 0.0 && right > 0.0),
        Operator::Or => truth(left > 0.0 || right > 0.0),
    })
}

fn call(function: Function, arguments: &mut dyn Iterator<Item = Result<f64, String>>) -> Result<f64, String> {
    if function == Function::Coalesce {
        let mut last = Err("it has no argument".to_owned());
        for argument in arguments {
            last = argument;
            if last.is_ok() {
                break;
            }
        }
        return last;
    }
    let values = arguments.collect::<Result<Vec<f64>, String>>()?;
    let first = values.first().copied().unwrap_or(f64::NAN);
    Ok(match function {
        Function::Abs => first.abs(),
        Function::Sqrt => libm::sqrt(first),
        Function::Ln => libm::log(first),
        Function::Log10 => libm::log10(first),
        Function::Exp => libm::exp(first),
        Function::Power => libm::pow(first, values.get(1).copied().unwrap_or(f64::NAN)),
        Function::Least => values.iter().copied().fold(f64::INFINITY, f64::min),
        Function::Greatest => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Function::Coalesce | Function::Number => first,
    })
}

/// One figure of the requests.
fn aggregate(what: Aggregate, inside: &FormulaNode, source: &dyn RunFigures) -> Result<f64, String> {
    let requests = source.requests()?;
    if requests.count == 0 {
        return Err("no request was measured".to_owned());
    }
    let bound = bind(inside, source);
    let mut values = Vec::with_capacity(requests.count);
    let mut why = None;
    for row in 0..requests.count {
        let value = if requests.answered.get(row) == Some(&true) {
            of_row(&bound, row, requests)
        } else {
            Err("the request failed".to_owned())
        };
        match value {
            Ok(value) => values.push(value),
            Err(reason) => {
                why.get_or_insert(reason);
            }
        }
    }
    let counts = matches!(what, Aggregate::Count | Aggregate::Share);
    if values.is_empty() && !counts {
        return Err(format!("no request has a value: {}", why.unwrap_or_default()));
    }
    Ok(match what {
        Aggregate::Count if inside.is_condition() => values.iter().filter(|value| **value > 0.0).count() as f64,
        Aggregate::Count => values.len() as f64,
        Aggregate::Share => values.iter().filter(|value| **value > 0.0).count() as f64 / requests.count as f64,
        other => over(other, &values)?,
    })
}

/// One figure of several values, at least one.
///
/// # Errors
/// Why there is none.
pub fn over(what: Aggregate, values: &[f64]) -> Result<f64, String> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    Ok(match what {
        Aggregate::Mean => mean,
        Aggregate::Sum => values.iter().sum(),
        Aggregate::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
        Aggregate::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Aggregate::Deviation if values.len() < 2 => return Err("one value has no standard deviation".to_owned()),
        Aggregate::Deviation => {
            (values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (n - 1.0)).sqrt()
        }
        Aggregate::Count | Aggregate::Share => n,
        Aggregate::Quantile(q) => quantile_sorted(&sorted(values), q),
        Aggregate::Last => values.last().copied().unwrap_or(f64::NAN),
    })
}

/// The tree with every figure of the run in place of its name. What is absent stays, and makes each request absent.
fn bind(node: &FormulaNode, source: &dyn RunFigures) -> FormulaNode {
    let inner = |inside: &FormulaNode| Box::new(bind(inside, source));
    match node {
        FormulaNode::Name(_) | FormulaNode::Reported(_) | FormulaNode::Server(_) => {
            of_run(node, source).map_or_else(|_| node.clone(), FormulaNode::Constant)
        }
        FormulaNode::Constant(_) | FormulaNode::Field(_) | FormulaNode::Aggregate(..) => node.clone(),
        FormulaNode::Negative(inside) => FormulaNode::Negative(inner(inside)),
        FormulaNode::Scaled(inside, factor) => FormulaNode::Scaled(inner(inside), *factor),
        FormulaNode::Not(inside) => FormulaNode::Not(inner(inside)),
        FormulaNode::IsAbsent(inside) => FormulaNode::IsAbsent(inner(inside)),
        FormulaNode::Binary(operator, left, right) => FormulaNode::Binary(*operator, inner(left), inner(right)),
        FormulaNode::Case(branches, otherwise) => FormulaNode::Case(
            branches.iter().map(|(condition, result)| (bind(condition, source), bind(result, source))).collect(),
            otherwise.as_ref().map(|result| inner(result)),
        ),
        FormulaNode::Call(function, arguments) => {
            FormulaNode::Call(*function, arguments.iter().map(|argument| bind(argument, source)).collect())
        }
    }
}

/// The figure of a bound tree for one request.
fn of_row(node: &FormulaNode, row: usize, requests: &Requests) -> Result<f64, String> {
    let value = match node {
        FormulaNode::Constant(value) => *value,
        FormulaNode::Field(place) => {
            let value = requests.columns.get(*place).and_then(|column| column.get(row)).copied();
            return value
                .filter(|value| value.is_finite())
                .ok_or_else(|| format!("{} is not known", FIELDS.get(*place).map_or("a figure", |field| field.0)));
        }
        FormulaNode::Name(name) | FormulaNode::Reported(name) => return Err(format!("{name} is not reported")),
        FormulaNode::Server(asked) => return Err(format!("{} is not known", asked.name)),
        FormulaNode::Aggregate(..) => return Err("an aggregate is inside another one".to_owned()),
        FormulaNode::Negative(inside) => -of_row(inside, row, requests)?,
        FormulaNode::Scaled(inside, factor) => of_row(inside, row, requests)? * factor,
        FormulaNode::Binary(operator, left, right) => {
            binary(*operator, of_row(left, row, requests), of_row(right, row, requests))?
        }
        FormulaNode::Not(inside) => 1.0 - of_row(inside, row, requests)?,
        FormulaNode::IsAbsent(inside) => truth(of_row(inside, row, requests).is_err()),
        FormulaNode::Case(branches, otherwise) => {
            for (condition, result) in branches {
                if of_row(condition, row, requests).is_ok_and(|truth| truth > 0.0) {
                    return of_row(result, row, requests);
                }
            }
            match otherwise {
                Some(result) => of_row(result, row, requests)?,
                None => return Err("no branch of 'case' holds".to_owned()),
            }
        }
        FormulaNode::Call(function, arguments) => {
            call(*function, &mut arguments.iter().map(|argument| of_row(argument, row, requests)))?
        }
    };
    finite(value)
}
