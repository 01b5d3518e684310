//! The grammar of expressions: text to the tree of a library, with columns for messages.
//!
//! In:  text.  Out: the tree as it is written, or a [`Fault`].
//! Not here: what of that grammar an expression may use (see `check`).

use sqlparser::ast::{Expr, Spanned as _};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Tokenizer};

use super::Fault;

/// Most words and signs of an expression, and with them the length of a chain of operators.
const PARTS_MAX: usize = 250;
/// Deepest nesting, as the parser counts: about as many brackets. A level takes it 40 KB of the stack, and a thread has 2 MiB.
const DEPTH_MAX: usize = 16;

/// Column in which a part begins. It walks along the left edge: the library's own way costs a large frame for each level.
pub(super) fn start(tree: &Expr) -> Option<u64> {
    let mut at = tree;
    loop {
        at = match at {
            Expr::BinaryOp { left, .. } => left,
            Expr::Nested(inside) | Expr::IsNull(inside) | Expr::IsNotNull(inside) => inside,
            Expr::UnaryOp { expr, .. } | Expr::Between { expr, .. } => expr,
            Expr::Identifier(name) => return Some(name.span.start.column),
            Expr::Value(value) => return Some(value.span.start.column),
            Expr::Function(call) => return call.name.0.first().map(|part| part.span().start.column),
            _ => return None,
        }
    }
}

/// The tree as it is written.
pub(super) fn syntax(text: &str) -> Result<Expr, Fault> {
    let fault = |cause: ParserError| match cause {
        ParserError::RecursionLimitExceeded => {
            Fault::new(None, "is nested too deeply", "remove brackets, or define parts of it as metrics")
        }
        ParserError::TokenizerError(words) | ParserError::ParserError(words) => {
            let (what, column) = match words.rsplit_once(" at Line: ") {
                Some((what, place)) => {
                    (what, place.rsplit_once("Column: ").and_then(|(_, column)| column.trim().parse().ok()))
                }
                None => (words.as_str(), None),
            };
            let what = what.trim_end_matches([' ', ',']).replace("an expression, found: EOF", "more, found its end");
            Fault::new(
                column,
                format!("cannot be read: {}", what.replace("EOF", "its end")),
                "correct it at this place",
            )
        }
    };
    let dialect = GenericDialect {};
    let tokens = Tokenizer::new(&dialect, text).tokenize_with_location().map_err(|cause| fault(cause.into()))?;
    let parts = tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).count();
    if parts > PARTS_MAX {
        let remedy = format!("use at most {PARTS_MAX}, and define parts of it as metrics of their own");
        return Err(Fault::new(None, format!("has {parts} words and signs"), remedy));
    }
    let mut parser = Parser::new(&dialect).with_recursion_limit(DEPTH_MAX).with_tokens_with_locations(tokens);
    let tree = parser.parse_expr().map_err(fault)?;
    let rest = parser.peek_token();
    if rest.token != Token::EOF {
        let what = format!("ends before \"{}\"", rest.token);
        return Err(Fault::new(Some(rest.span.start.column), what, "join both parts by an operator"));
    }
    Ok(tree)
}
