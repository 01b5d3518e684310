//! Reads an expression and checks every part of it: names, functions, units.
//!
//! In:  text.  Out: [`Formula`], or the first [`Fault`] with its column.
//! Not here: the grammar (see `syntax`), working it out (see `work_out`).
//!
//! Rules of units: products and quotients multiply units. Sums, differences and comparisons need one unit on both sides. A bare number takes
//! the unit of the other side. Where a part has a unit that is not known, what is made of it has none either, and nothing is checked.

use std::collections::BTreeSet;

use sqlparser::ast::{
    BinaryOperator, Expr, Function as Call, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, UnaryOperator,
    Value,
};

use super::syntax::{start, syntax};
use super::unit::Unit;
use super::vocabulary::{self, Aggregate, FIELDS, FUNCTIONS, Function, SERVER_FUNCTIONS, SETTINGS};
use super::work_out::{self, RunFigures};
use super::{Fault, ServerFigure, ServerWhat, TEXT_MAX};
use crate::Metric;
use sparkbench_text::excerpt::excerpt;
use sparkbench_text::nearest::nearest;
use sparkbench_text::plural::count_in_words;

/// Characters of an expression that a fault quotes.
const QUOTED: usize = 60;

/// A checked expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    root: FormulaNode,
    unit: Grade,
    names: BTreeSet<String>,
    of_requests: bool,
    of_server: bool,
}

/// A part of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FormulaNode {
    Constant(f64),
    /// Metric, setting or fact of the run.
    Name(String),
    /// Figure of the run that no metric means.
    Reported(String),
    /// Figure of one request, by its place in [`FIELDS`].
    Field(usize),
    Server(ServerFigure),
    Aggregate(Aggregate, Box<FormulaNode>),
    Negative(Box<FormulaNode>),
    /// In another unit.
    Scaled(Box<FormulaNode>, f64),
    Not(Box<FormulaNode>),
    IsAbsent(Box<FormulaNode>),
    Binary(Operator, Box<FormulaNode>, Box<FormulaNode>),
    Case(Vec<(FormulaNode, FormulaNode)>, Option<Box<FormulaNode>>),
    Call(Function, Vec<FormulaNode>),
}

impl FormulaNode {
    /// Whether it is true or false.
    pub(super) fn is_condition(&self) -> bool {
        match self {
            Self::Not(_) | Self::IsAbsent(_) => true,
            Self::Binary(operator, ..) => !operator.is_arithmetic(),
            _ => false,
        }
    }
}

/// Separator of two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Unequal,
    And,
    Or,
}

impl Operator {
    const fn is_arithmetic(self) -> bool {
        matches!(self, Self::Add | Self::Subtract | Self::Multiply | Self::Divide | Self::Remainder)
    }
}

/// Kind of a part.
#[derive(Debug, Clone, PartialEq)]
enum Grade {
    /// A number as it was written, which takes the unit of what it meets.
    Bare,
    /// A figure of this unit.
    Of(Unit),
    /// A figure whose unit is not known.
    Unknown,
    /// True or false.
    Truth,
}

/// Position of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Run,
    Requests,
}

struct Checker {
    names: BTreeSet<String>,
    of_requests: bool,
    of_server: bool,
}

type Checked = Result<(FormulaNode, Grade), Fault>;

impl Formula {
    /// Reads and checks a text.
    ///
    /// # Errors
    /// The first fault.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        if text.trim().is_empty() {
            return Err(Fault::new(None, "is empty", "give an expression such as output_throughput_tok_s / power_w"));
        }
        if text.len() > TEXT_MAX {
            let what = format!("has {} characters", text.len());
            return Err(Fault::new(None, what, format!("use at most {TEXT_MAX}, and define parts of it as metrics")));
        }
        let tree = syntax(text)?;
        let mut checker = Checker { names: BTreeSet::new(), of_requests: false, of_server: false };
        let (root, unit) = checker.part(&tree, Scope::Run)?;
        if unit == Grade::Truth {
            return Err(Fault::new(
                None,
                "is a condition, not a figure",
                "make it a figure with share(condition) over requests, or with case when … then 1 else 0 end",
            ));
        }
        let Checker { names, of_requests, of_server } = checker;
        if names.is_empty() && !of_requests && !of_server {
            return Err(Fault::new(None, "names no figure of a run", "name a metric, such as output_throughput_tok_s"));
        }
        Ok(Self { root, unit, names, of_requests, of_server })
    }

    /// Whether it looks at single requests.
    pub const fn of_requests(&self) -> bool {
        self.of_requests
    }

    /// Whether it looks at the metrics of a server.
    pub const fn of_server(&self) -> bool {
        self.of_server
    }

    /// The unit of its figures, where the units of all parts are known.
    pub const fn unit(&self) -> Option<&Unit> {
        match &self.unit {
            Grade::Of(unit) => Some(unit),
            Grade::Bare | Grade::Unknown | Grade::Truth => None,
        }
    }

    /// Whether its figures are in a stated unit.
    ///
    /// # Errors
    /// When both units are known and are not the same.
    pub fn fits(&self, declared: &str) -> Result<(), Fault> {
        let (Some(found), Some(given)) = (self.unit(), Unit::parse(declared)) else { return Ok(()) };
        if found.same(&given) {
            return Ok(());
        }
        let what = format!("gives {}, and the unit is {}", shown(found), shown(&given));
        let remedy = match found.factor_to(&given) {
            Some(_) => format!("write convert(…, '{given}') around it, or unit = \"{found}\""),
            None => format!("write unit = \"{found}\", or number(…) around it where the units of its parts are wrong"),
        };
        Err(Fault::new(None, what, remedy))
    }

    /// Its figure for one run.
    ///
    /// # Errors
    /// Why there is none, in a few words.
    pub fn work_out(&self, source: &dyn RunFigures) -> Result<f64, String> {
        work_out::of_run(&self.root, source)
    }
}

fn shown(unit: &Unit) -> String {
    if unit.is_ratio() { "a bare ratio".to_owned() } else { unit.to_string() }
}

impl Checker {
    fn part(&mut self, tree: &Expr, scope: Scope) -> Checked {
        let column = || start(tree).filter(|column| *column > 0);
        match tree {
            Expr::Nested(inside) => self.part(inside, scope),
            Expr::Value(value) => match &value.value {
                Value::Number(digits, _) => {
                    let value = digits.parse::<f64>().ok().filter(|value| value.is_finite());
                    let fault = || Fault::new(column(), format!("holds {digits}"), "give a finite number");
                    Ok((FormulaNode::Constant(value.ok_or_else(fault)?), Grade::Bare))
                }
                other => Err(Fault::new(
                    column(),
                    format!("holds {other}, which is not a number"),
                    "use texts only in rate('name'), reported('name') and convert(x, 'unit')",
                )),
            },
            Expr::Identifier(name) => self.name(name, scope),
            Expr::UnaryOp { op, expr } => {
                let (inside, grade) = self.part(expr, scope)?;
                match op {
                    UnaryOperator::Plus => figure(&grade, column()).map(|()| (inside, grade)),
                    UnaryOperator::Minus => {
                        figure(&grade, column()).map(|()| (FormulaNode::Negative(Box::new(inside)), grade))
                    }
                    UnaryOperator::Not | UnaryOperator::BangNot => {
                        condition(&grade, column()).map(|()| (FormulaNode::Not(Box::new(inside)), grade))
                    }
                    other => Err(not_here(column(), &other.to_string())),
                }
            }
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right, scope, column()),
            Expr::Between { expr, negated, low, high } => {
                let above = self.binary(expr, &BinaryOperator::GtEq, low, scope, column())?;
                let below = self.binary(expr, &BinaryOperator::LtEq, high, scope, column())?;
                let both = FormulaNode::Binary(Operator::And, Box::new(above.0), Box::new(below.0));
                Ok((if *negated { FormulaNode::Not(Box::new(both)) } else { both }, Grade::Truth))
            }
            Expr::IsNull(inside) => Ok((FormulaNode::IsAbsent(Box::new(self.part(inside, scope)?.0)), Grade::Truth)),
            Expr::IsNotNull(inside) => {
                let absent = FormulaNode::IsAbsent(Box::new(self.part(inside, scope)?.0));
                Ok((FormulaNode::Not(Box::new(absent)), Grade::Truth))
            }
            Expr::Case { operand: None, conditions, else_result, .. } => {
                let mut branches = Vec::new();
                let mut unit = None;
                for branch in conditions {
                    let (test, grade) = self.part(&branch.condition, scope)?;
                    condition(&grade, column())?;
                    let (result, grade) = self.part(&branch.result, scope)?;
                    unit = Some(joined(unit, grade, column())?);
                    branches.push((test, result));
                }
                let otherwise = match else_result {
                    Some(result) => {
                        let (result, grade) = self.part(result, scope)?;
                        unit = Some(joined(unit, grade, column())?);
                        Some(Box::new(result))
                    }
                    None => None,
                };
                Ok((FormulaNode::Case(branches, otherwise), unit.unwrap_or(Grade::Bare)))
            }
            Expr::Function(call) => self.call(call, scope, column()),
            Expr::Floor { .. } | Expr::Ceil { .. } => Err(not_here(column(), "rounding")),
            other => Err(not_here(column(), &excerpt(other.to_string().chars(), QUOTED))),
        }
    }

    fn name(&mut self, ident: &Ident, scope: Scope) -> Checked {
        let name = ident.value.as_str();
        let column = Some(ident.span.start.column);
        if ident.quote_style.is_some() {
            let remedy = format!("write rate(\"{name}\"), or another function of a server's metrics");
            return Err(Fault::new(column, format!("has \"{name}\" in quotes, outside of a function"), remedy));
        }
        if let Some(place) = vocabulary::place(FIELDS, name).filter(|_| scope == Scope::Requests) {
            self.of_requests = true;
            return Ok((FormulaNode::Field(place), of_text(FIELDS[place].2)));
        }
        if let Some(metric) = Metric::of_catalogue(name) {
            self.names.insert(name.to_owned());
            return Ok((FormulaNode::Name(name.to_owned()), of_text(metric.unit)));
        }
        if let Some(place) = vocabulary::place(SETTINGS, name) {
            let plain = SETTINGS[place].0;
            self.names.insert(plain.to_owned());
            return Ok((FormulaNode::Name(plain.to_owned()), of_text(SETTINGS[place].2)));
        }
        if vocabulary::place(FIELDS, name).is_some() {
            let remedy = format!("make it one figure: mean({name}), p99({name}), share({name} < …)");
            return Err(Fault::new(column, format!("names {name}, which has one value a request"), remedy));
        }
        if Metric::find(name).is_some() {
            let remedy = "write out its parts: an expression cannot use another expression";
            return Err(Fault::new(column, format!("names {name}, which is itself defined by an expression"), remedy));
        }
        let known = || Metric::names().chain(SETTINGS.iter().chain(FIELDS).map(|field| field.0));
        let near = nearest(name, known()).map_or_else(String::new, |near| format!("did you mean {near}? "));
        Err(Fault::new(
            column,
            format!("names \"{}\", which is not known", excerpt(name.chars(), QUOTED)),
            format!(
                "{near}`sparkbench metrics` lists all names. To read a figure that is not a metric, write reported('{}')",
                excerpt(name.chars(), QUOTED)
            ),
        ))
    }

    fn binary(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr, scope: Scope, column: Option<u64>) -> Checked {
        let operator = match op {
            BinaryOperator::Plus => Operator::Add,
            BinaryOperator::Minus => Operator::Subtract,
            BinaryOperator::Multiply => Operator::Multiply,
            BinaryOperator::Divide => Operator::Divide,
            BinaryOperator::Modulo => Operator::Remainder,
            BinaryOperator::Lt => Operator::Less,
            BinaryOperator::LtEq => Operator::AtMost,
            BinaryOperator::Gt => Operator::More,
            BinaryOperator::GtEq => Operator::AtLeast,
            BinaryOperator::Eq => Operator::Equal,
            BinaryOperator::NotEq => Operator::Unequal,
            BinaryOperator::And => Operator::And,
            BinaryOperator::Or => Operator::Or,
            BinaryOperator::BitwiseXor | BinaryOperator::PGExp => {
                return Err(Fault::new(column, format!("has the operator {op}"), "write power(x, y) for a power"));
            }
            other => return Err(not_here(column, &other.to_string())),
        };
        let (left, one) = self.part(left, scope)?;
        let (right, other) = self.part(right, scope)?;
        let grade = if matches!(operator, Operator::And | Operator::Or) {
            condition(&one, column)?;
            condition(&other, column)?;
            Grade::Truth
        } else {
            figure(&one, column)?;
            figure(&other, column)?;
            match operator {
                Operator::Multiply => product(one, &other, 1, column)?,
                Operator::Divide => product(one, &other, -1, column)?,
                Operator::Add | Operator::Subtract | Operator::Remainder => joined(Some(one), other, column)?,
                _ => {
                    joined(Some(one), other, column)?;
                    Grade::Truth
                }
            }
        };
        Ok((FormulaNode::Binary(operator, Box::new(left), Box::new(right)), grade))
    }

    fn call(&mut self, call: &Call, scope: Scope, column: Option<u64>) -> Checked {
        let name = call.name.to_string().to_lowercase();
        let plain = call.over.is_none() && call.filter.is_none() && call.within_group.is_empty();
        let arguments = match &call.args {
            FunctionArguments::List(list) if plain && list.clauses.is_empty() && list.duplicate_treatment.is_none() => {
                list.args
                    .iter()
                    .map(|argument| match argument {
                        FunctionArg::Unnamed(FunctionArgExpr::Expr(inside)) => Ok(inside),
                        other => Err(not_here(column, &excerpt(other.to_string().chars(), QUOTED))),
                    })
                    .collect::<Result<Vec<&Expr>, Fault>>()?
            }
            _ => return Err(not_here(column, &excerpt(call.to_string().chars(), QUOTED))),
        };
        let one = |count: usize| {
            let words = count_in_words(count, "argument");
            if arguments.len() == count {
                Ok(())
            } else {
                Err(Fault::new(
                    column,
                    format!("gives {name} {} arguments", arguments.len()),
                    format!("give it {words}"),
                ))
            }
        };
        if SERVER_FUNCTIONS.iter().any(|(known, _)| *known == name) {
            one(if name == "histogram_quantile" { 2 } else { 1 })?;
            self.of_server = true;
            return Ok((FormulaNode::Server(server(&name, &arguments, column)?), Grade::Unknown));
        }
        match name.as_str() {
            "reported" => {
                one(1)?;
                let named = text(arguments.first().copied())
                    .ok_or_else(|| Fault::new(column, "gives reported no name", "write reported('name')"))?;
                self.names.insert(named.clone());
                return Ok((FormulaNode::Reported(named), Grade::Unknown));
            }
            "convert" => {
                one(2)?;
                return self.convert(&arguments, scope, column);
            }
            _ => {}
        }
        let quantile = name == "quantile";
        if let Some(what) = vocabulary::aggregate(&name).or_else(|| quantile.then_some(Aggregate::Quantile(f64::NAN))) {
            one(if quantile { 2 } else { 1 })?;
            if scope == Scope::Requests {
                return Err(Fault::new(
                    column,
                    format!("has {name} inside of another aggregate"),
                    "remove one of them",
                ));
            }
            let what = if quantile { Aggregate::Quantile(share_of(arguments.get(1).copied(), column)?) } else { what };
            let Some(inside) = arguments.first() else { return Err(not_here(column, &name)) };
            // Asked of this aggregate alone. A fault ends the check, and a sound one leaves it true.
            self.of_requests = false;
            let (inside, grade) = self.part(inside, Scope::Requests)?;
            if !self.of_requests {
                let remedy = format!("name a figure of one request: {}", listed(FIELDS.iter().map(|field| field.0)));
                return Err(Fault::new(column, format!("gives {name} no figure of a request"), remedy));
            }
            let grade = match what {
                Aggregate::Share => condition(&grade, column).map(|()| Grade::Of(Unit::default()))?,
                Aggregate::Count => of_text("req"),
                _ => figure(&grade, column).map(|()| grade)?,
            };
            return Ok((FormulaNode::Aggregate(what, Box::new(inside)), grade));
        }
        let Some((_, function, fewest, most, _)) = FUNCTIONS.iter().find(|known| known.0 == name) else {
            let known = FUNCTIONS.iter().map(|known| known.0).chain(SERVER_FUNCTIONS.iter().map(|known| known.0));
            let known = known.chain(["mean", "median", "sum", "share", "count", "quantile", "convert", "reported"]);
            let near = nearest(&name, known).map_or_else(String::new, |near| format!("did you mean {near}? "));
            let what = format!("calls {}, which is not a function here", excerpt(name.chars(), QUOTED));
            return Err(Fault::new(column, what, format!("{near}`sparkbench metrics --functions` lists them")));
        };
        if !(*fewest..=*most).contains(&arguments.len()) {
            let what = format!("gives {name} {} arguments", arguments.len());
            let remedy =
                if fewest == most { format!("give it {fewest}") } else { format!("give it {fewest} to {most}") };
            return Err(Fault::new(column, what, remedy));
        }
        let mut nodes = Vec::new();
        let mut grades = Vec::new();
        for argument in arguments {
            let (node, grade) = self.part(argument, scope)?;
            figure(&grade, column)?;
            nodes.push(node);
            grades.push(grade);
        }
        let first = grades.first().cloned().unwrap_or(Grade::Bare);
        let grade = match function {
            Function::Abs => first,
            Function::Number => Grade::Unknown,
            Function::Least | Function::Greatest | Function::Coalesce => {
                let mut unit = None;
                for grade in grades {
                    unit = Some(joined(unit, grade, column)?);
                }
                unit.unwrap_or(Grade::Bare)
            }
            Function::Sqrt | Function::Ln | Function::Log10 | Function::Exp | Function::Power => match first {
                Grade::Bare => Grade::Bare,
                Grade::Of(unit) if unit.is_ratio() => Grade::Of(unit),
                _ => Grade::Unknown,
            },
        };
        Ok((FormulaNode::Call(*function, nodes), grade))
    }

    fn convert(&mut self, arguments: &[&Expr], scope: Scope, column: Option<u64>) -> Checked {
        let (Some(inside), Some(unit)) = (arguments.first(), text(arguments.get(1).copied())) else {
            return Err(Fault::new(column, "gives convert no unit", "write convert(x, 's')"));
        };
        let Some(wanted) = Unit::parse(&unit) else {
            let what = format!("converts to \"{}\", which is not a known unit", excerpt(unit.chars(), QUOTED));
            return Err(Fault::new(column, what, "write a unit such as s, ms, tok/J, GiB or %"));
        };
        let (node, grade) = self.part(inside, scope)?;
        figure(&grade, column)?;
        let Grade::Of(found) = grade else {
            let remedy = "multiply by the factor, and write number(…) around it";
            return Err(Fault::new(column, format!("converts a figure of no known unit to {wanted}"), remedy));
        };
        let Some(factor) = found.factor_to(&wanted) else {
            let what = format!("converts {} to {}", shown(&found), shown(&wanted));
            return Err(Fault::new(column, what, "convert between units of one quantity"));
        };
        Ok((FormulaNode::Scaled(Box::new(node), factor), Grade::Of(wanted)))
    }
}

fn of_text(unit: &str) -> Grade {
    Unit::parse(unit).map_or(Grade::Unknown, Grade::Of)
}

fn figure(grade: &Grade, column: Option<u64>) -> Result<(), Fault> {
    match grade {
        Grade::Truth => Err(Fault::new(column, "calculates with a condition", "write case when … then 1 else 0 end")),
        Grade::Bare | Grade::Of(_) | Grade::Unknown => Ok(()),
    }
}

fn condition(grade: &Grade, column: Option<u64>) -> Result<(), Fault> {
    match grade {
        Grade::Truth => Ok(()),
        _ => Err(Fault::new(column, "has a figure where a condition belongs", "compare it: ttft_ms < 200")),
    }
}

/// The unit of a sum.
fn joined(one: Option<Grade>, other: Grade, column: Option<u64>) -> Result<Grade, Fault> {
    match (one, other) {
        (Some(Grade::Of(left)), Grade::Of(right)) if !left.same(&right) => {
            let what = format!("adds or compares {} and {}", shown(&left), shown(&right));
            let remedy = match left.factor_to(&right) {
                Some(_) => format!("write convert(…, '{left}') around the second"),
                None => "these measure different things".to_owned(),
            };
            Err(Fault::new(column, what, remedy))
        }
        (None | Some(Grade::Bare), other) => Ok(other),
        (Some(one), Grade::Bare) => Ok(one),
        (Some(Grade::Unknown), _) | (_, Grade::Unknown) => Ok(Grade::Unknown),
        (Some(one), _) => Ok(one),
    }
}

/// The unit of a product.
fn product(one: Grade, other: &Grade, power: i8, column: Option<u64>) -> Result<Grade, Fault> {
    let times = |left: &Unit, right: &Unit| {
        let large = || Fault::new(column, "multiplies too many units", "write number(…) around a part of it");
        left.times(right, power).map(Grade::Of).ok_or_else(large)
    };
    match (one, other) {
        (Grade::Unknown, _) | (_, Grade::Unknown) => Ok(Grade::Unknown),
        (Grade::Of(left), Grade::Of(right)) => times(&left, right),
        (Grade::Bare, Grade::Of(right)) => times(&Unit::default(), right),
        (one, _) => Ok(one),
    }
}

/// A text in single or double quotes.
fn text(tree: Option<&Expr>) -> Option<String> {
    match tree? {
        Expr::Identifier(name) if name.quote_style.is_some() => Some(name.value.clone()),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// A number from 0 to 1.
fn share_of(tree: Option<&Expr>, column: Option<u64>) -> Result<f64, Fault> {
    let found = tree.and_then(|tree| match tree {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse::<f64>().ok(),
            _ => None,
        },
        _ => None,
    });
    found
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| Fault::new(column, "has no quantile from 0 to 1", "write a number such as 0.95"))
}

/// A figure of a server's metrics: `rate("vllm:prompt_tokens_total{model_name='m'}")`.
fn server(function: &str, arguments: &[&Expr], column: Option<u64>) -> Result<ServerFigure, Fault> {
    let what = match function {
        "rate" => ServerWhat::Rate,
        "delta" => ServerWhat::Delta,
        "level" => ServerWhat::Level,
        "peak" => ServerWhat::Peak,
        "histogram_mean" => ServerWhat::HistogramMean,
        _ => ServerWhat::HistogramQuantile(share_of(arguments.first().copied(), column)?),
    };
    let wrong = |why: &str| {
        let example = "\"vllm:prompt_tokens_total\"";
        Fault::new(column, format!("gives {function} {why}"), format!("write {function}({example})"))
    };
    let selector = text(arguments.last().copied()).ok_or_else(|| wrong("no name in quotes"))?;
    let (name, labels) = match selector.split_once('{') {
        Some((name, rest)) => {
            (name.trim(), rest.trim().strip_suffix('}').ok_or_else(|| wrong("labels without their end"))?)
        }
        None => (selector.trim(), ""),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(wrong("a name that no server's metric has"));
    }
    let mut pairs = Vec::new();
    for pair in labels.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').ok_or_else(|| wrong("a label without a value"))?;
        let value = value.trim();
        let inside = value.strip_prefix(['\'', '"']).and_then(|rest| rest.strip_suffix(['\'', '"']));
        pairs.push((key.trim().to_owned(), inside.ok_or_else(|| wrong("a label without quotes"))?.to_owned()));
    }
    Ok(ServerFigure { what, name: name.to_owned(), labels: pairs })
}

fn not_here(column: Option<u64>, what: &str) -> Fault {
    Fault::new(
        column,
        format!("has {what}, which is not part of an expression here"),
        "use + - * / %, comparisons, and, or, not, between, case, and the functions of `sparkbench metrics --functions`",
    )
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
