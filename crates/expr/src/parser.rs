//! Parses tokens into a tree.

mod calls;
mod literals;
mod postfix;

use crate::ast::{Id, Node, Tree};
use crate::environment::Environment;
use crate::error::Error;
use crate::lexer::{LexResult, lex};
use crate::operator::{Binary, LOOSEST, Spelling, Unary};
use crate::token::{Kind, Token};

/// expr-lang's limit.
const MAX_NODES: usize = 10_000;
/// Keeps recursion within the stack of a worker.
const MAX_DEPTH: usize = 128;

/// Parses an expression; returns the tree and its root.
pub(crate) fn parse(source: &str, environment: Option<&Environment>) -> Result<(Tree, Id), Error> {
    let LexResult { mut tokens, error } = lex(source);
    if tokens.is_empty() {
        return Err(error.unwrap_or_else(|| Error::at(source, 0, "unexpected token EOF")));
    }
    tokens.shrink_to_fit();
    let mut parser = Parser {
        source,
        environment,
        tokens,
        lex_error: error,
        place: 0,
        tree: Tree::default(),
        depths: Vec::new(),
        count: 0,
        nesting: 0,
        predicates: 0,
    };
    let root = parser.sequence()?;
    if parser.current().kind != Kind::Eof {
        return Err(parser.unexpected());
    }
    Ok((parser.tree, root))
}

struct Parser<'a> {
    source: &'a str,
    environment: Option<&'a Environment>,
    tokens: Vec<Token>,
    /// The lexer's error after the last token.
    lex_error: Option<Error>,
    place: usize,
    tree: Tree,
    /// Depth below each node; operators in a row count once.
    depths: Vec<usize>,
    count: usize,
    nesting: usize,
    /// Number of enclosing predicates; `#` is valid only inside one.
    predicates: usize,
}

impl Parser<'_> {
    fn current(&self) -> &Token {
        &self.tokens[self.place]
    }

    fn advance(&mut self) -> Result<(), Error> {
        if self.place + 1 < self.tokens.len() {
            self.place += 1;
            return Ok(());
        }
        Err(match &self.lex_error {
            Some(error) => error.clone(),
            None => self.error("unexpected end of expression"),
        })
    }

    fn error(&self, message: impl Into<String>) -> Error {
        self.error_at(self.current().at, message)
    }

    fn error_at(&self, at: usize, message: impl Into<String>) -> Error {
        Error::at(self.source, at, message)
    }

    fn unexpected(&self) -> Error {
        self.error(format!("unexpected token {}", self.current()))
    }

    fn expect(&mut self, kind: Kind, text: &str) -> Result<(), Error> {
        if self.current().is(kind, text) { self.advance() } else { Err(self.unexpected()) }
    }

    fn expect_identifier(&mut self) -> Result<Token, Error> {
        let token = self.current().clone();
        if token.kind != Kind::Identifier {
            return Err(self.unexpected());
        }
        self.advance()?;
        Ok(token)
    }

    /// Counts one node against the limit.
    fn count_node(&mut self) -> Result<(), Error> {
        self.count += 1;
        if self.count > MAX_NODES {
            return Err(self.error("compilation failed: expression exceeds maximum allowed nodes"));
        }
        Ok(())
    }

    fn node(&mut self, node: Node, at: usize) -> Result<Id, Error> {
        self.count_node()?;
        self.add(node, at)
    }

    fn add(&mut self, node: Node, at: usize) -> Result<Id, Error> {
        let in_a_row = match node {
            Node::Binary { left, .. } => Some(left),
            _ => None,
        };
        let id = self.tree.push(node, at);
        let below = |child: &Id| self.depths[*child] + usize::from(in_a_row != Some(*child));
        let depth = self.tree.children(id).iter().map(below).max().unwrap_or_default();
        self.depths.push(depth);
        self.check_depth(depth)?;
        Ok(id)
    }

    fn check_depth(&self, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(self.error(format!("expression is nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(())
    }

    /// Expressions separated by `;`.
    fn sequence(&mut self) -> Result<Id, Error> {
        let first = self.expression(LOOSEST)?;
        let mut nodes = vec![first];
        while self.current().is_operator(";") {
            self.advance()?;
            if self.current().kind == Kind::Eof {
                break;
            }
            nodes.push(self.expression(LOOSEST)?);
        }
        if nodes.len() == 1 {
            return Ok(first);
        }
        let at = self.tree.places[first];
        self.node(Node::Sequence(nodes), at)
    }

    /// An expression of operators with at least this precedence.
    fn expression(&mut self, precedence: u16) -> Result<Id, Error> {
        self.nesting += 1;
        self.check_depth(self.nesting)?;
        let id = if precedence == LOOSEST && self.current().is_operator("let") {
            self.declaration()
        } else if precedence == LOOSEST && self.current().is_operator("if") {
            self.if_else()
        } else {
            self.operators(precedence)
        }?;
        self.nesting -= 1;
        Ok(id)
    }

    fn operators(&mut self, precedence: u16) -> Result<Id, Error> {
        let mut left = self.primary()?;
        let mut previous = None;
        while self.current().kind == Kind::Operator {
            let Some((negated, spelling)) = self.operator(precedence)? else { break };
            let at = self.current().at;
            self.advance()?;
            if spelling.operator == Binary::Pipe {
                let name = self.expect_identifier()?;
                left = self.call(&name, vec![left], true)?;
            } else if previous == Some(Binary::Coalesce) && spelling.operator != Binary::Coalesce {
                let operator = spelling.text;
                return Err(self.error_at(
                    at,
                    format!(
                        "Operator ({operator}) and coalesce expressions (??) cannot be mixed. \
                         Wrap either by parentheses."
                    ),
                ));
            } else if spelling.operator.chains() {
                left = self.comparison(left, spelling, at)?;
            } else {
                let tighter = u16::from(!spelling.operator.right_to_left());
                let right = self.expression(spelling.precedence + tighter)?;
                left = self.binary(spelling, left, right, at)?;
                if negated {
                    let node = Node::Unary { operator: Unary::Not, spelled: "not", operand: left };
                    left = self.node(node, at)?;
                }
            }
            previous = Some(spelling.operator);
        }
        if precedence == LOOSEST { self.conditional(left) } else { Ok(left) }
    }

    /// The current operator, if its precedence is high enough, and whether a skipped `not` precedes it.
    fn operator(&mut self, precedence: u16) -> Result<Option<(bool, &'static Spelling<Binary>)>, Error> {
        let fits = |spelling: &&Spelling<Binary>| spelling.precedence >= precedence;
        if !self.current().is_operator("not") {
            return Ok(Binary::find(&self.current().text).filter(fits).map(|spelling| (false, spelling)));
        }
        self.advance()?;
        let Some(spelling) =
            Binary::find(&self.current().text).filter(|spelling| spelling.operator.takes_not())
        else {
            return Err(self.unexpected());
        };
        if !fits(&spelling) {
            self.place -= 1;
            return Ok(None);
        }
        Ok(Some((true, spelling)))
    }

    fn binary(&mut self, spelling: &Spelling<Binary>, left: Id, right: Id, at: usize) -> Result<Id, Error> {
        self.node(Node::Binary { operator: spelling.operator, spelled: spelling.text, left, right }, at)
    }

    fn comparison(
        &mut self,
        mut left: Id,
        mut spelling: &'static Spelling<Binary>,
        mut at: usize,
    ) -> Result<Id, Error> {
        let mut all = None;
        loop {
            let right = self.expression(spelling.precedence + 1)?;
            let one = self.binary(spelling, left, right, at)?;
            let joined = match all {
                None => one,
                Some(left) => {
                    self.node(Node::Binary { operator: Binary::And, spelled: "&&", left, right: one }, at)?
                }
            };
            all = Some(joined);
            left = right;
            let token = self.current();
            let next = Binary::find(&token.text).filter(|next| next.operator.chains());
            match next {
                Some(next) if token.kind == Kind::Operator => (spelling, at) = (next, token.at),
                _ => return Ok(joined),
            }
            self.advance()?;
        }
    }

    /// `let name = value; body`
    fn declaration(&mut self) -> Result<Id, Error> {
        self.expect(Kind::Operator, "let")?;
        let name = self.expect_identifier()?;
        self.expect(Kind::Operator, "=")?;
        let value = self.expression(LOOSEST)?;
        self.expect(Kind::Operator, ";")?;
        let body = self.sequence()?;
        self.node(Node::Let { name: name.text, value, body }, name.at)
    }

    /// `if condition { … } else { … }`
    fn if_else(&mut self) -> Result<Id, Error> {
        self.nesting += 1;
        self.check_depth(self.nesting)?;
        self.advance()?;
        let condition = self.expression(LOOSEST)?;
        let then = self.braces()?;
        self.expect(Kind::Operator, "else")?;
        let otherwise = if self.current().is_operator("if") { self.if_else()? } else { self.braces()? };
        self.nesting -= 1;
        // expr-lang does not keep the position of these.
        self.add(Node::Conditional { condition, then, otherwise }, 0)
    }

    fn braces(&mut self) -> Result<Id, Error> {
        self.expect(Kind::Bracket, "{")?;
        let inner = self.sequence()?;
        self.expect(Kind::Bracket, "}")?;
        Ok(inner)
    }

    /// `condition ? then : otherwise`, or `value ?: otherwise`.
    fn conditional(&mut self, mut condition: Id) -> Result<Id, Error> {
        while self.current().is_operator("?") {
            self.advance()?;
            let then = if self.current().is_operator(":") { condition } else { self.expression(LOOSEST)? };
            self.expect(Kind::Operator, ":")?;
            let otherwise = self.expression(LOOSEST)?;
            let at = self.current().at;
            condition = self.node(Node::Conditional { condition, then, otherwise }, at)?;
        }
        Ok(condition)
    }

    fn primary(&mut self) -> Result<Id, Error> {
        let token = self.current().clone();
        if token.kind == Kind::Operator
            && let Some(spelling) = Unary::find(&token.text)
        {
            self.advance()?;
            let operand = self.expression(spelling.precedence)?;
            let node = Node::Unary { operator: spelling.operator, spelled: spelling.text, operand };
            let id = self.node(node, token.at)?;
            return self.postfix(id);
        }
        if token.is_bracket("(") {
            self.advance()?;
            let inner = self.sequence()?;
            self.expect(Kind::Bracket, ")")?;
            return self.postfix(inner);
        }
        if self.predicates > 0 && (token.is_operator("#") || token.is_operator(".")) {
            let id = self.pointer(&token)?;
            return self.postfix(id);
        }
        if token.is_operator("::") {
            self.advance()?;
            let name = self.expect_identifier()?;
            let id = self.call(&name, Vec::new(), false)?;
            return self.postfix(id);
        }
        self.secondary(token)
    }

    /// `#`, `#acc`, or the implied `#` before `.field`.
    fn pointer(&mut self, token: &Token) -> Result<Id, Error> {
        let mut name = String::new();
        if token.is_operator("#") {
            self.advance()?;
            if self.current().kind == Kind::Identifier {
                name = self.current().text.clone();
                self.advance()?;
            }
        }
        self.node(Node::Pointer(name), token.at)
    }
}
