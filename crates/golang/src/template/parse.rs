//! Parses tokens into a tree. Errors are Go's.

use std::collections::BTreeMap;

use super::Functions;
use super::lex::{Kind, Token, lex};
use super::number::Number;
use super::tree::{Branch, Command, Include, List, Node, Operand, Pipe, Term};
use crate::quote::{quoted, unquoted};

/// Maximum nesting of parentheses. Go's is larger, with a growing stack.
const MAX_DEPTH: usize = 200;

type Result<T> = std::result::Result<T, String>;

/// The named templates of one text.
pub(super) type Set = BTreeMap<String, List>;

/// Parses a text; `name` is that of its top-level template.
pub(super) fn parse(name: &str, text: &str, functions: &Functions) -> Result<Set> {
    let mut parser =
        Parser { name, functions, tokens: lex(text), read: 0, set: Set::new(), scope: Scope::new() };
    let root = parser.all()?;
    parser.add(name.to_owned(), root)?;
    Ok(parser.set)
}

/// Parser state of one named template.
struct Scope {
    /// Lookahead tokens, the next one last.
    ahead: [Token; 3],
    count: usize,
    variables: Vec<String>,
    ranges: usize,
    depth: usize,
    /// Line on which the current action began; 0 outside of actions.
    action_line: usize,
}

impl Scope {
    fn new() -> Scope {
        let nothing = || Token { kind: Kind::Error, at: 0, text: String::new(), line: 0 };
        Scope {
            ahead: [nothing(), nothing(), nothing()],
            count: 0,
            variables: vec!["$".into()],
            ranges: 0,
            depth: 0,
            action_line: 0,
        }
    }
}

struct Parser<'a> {
    name: &'a str,
    functions: &'a Functions,
    tokens: Vec<Token>,
    read: usize,
    set: Set,
    scope: Scope,
}

/// A node, or the keyword that ends a list of nodes.
enum Part {
    Node(Node),
    Else,
    End,
}

/// Reading tokens.
impl Parser<'_> {
    fn read_token(&mut self) -> Token {
        // The last token, the end or an error, repeats.
        let at = self.read.min(self.tokens.len() - 1);
        self.read += 1;
        self.tokens[at].clone()
    }

    fn next(&mut self) -> Token {
        if self.scope.count > 0 {
            self.scope.count -= 1;
        } else {
            self.scope.ahead[0] = self.read_token();
        }
        self.scope.ahead[self.scope.count].clone()
    }

    fn backup(&mut self) {
        self.scope.count += 1;
    }

    /// Puts back the last token and one before it.
    fn backup_with(&mut self, before: Token) {
        self.scope.ahead[1] = before;
        self.scope.count = 2;
    }

    /// Puts back the last token and two before it.
    fn backup_with_two(&mut self, first: Token, second: Token) {
        self.scope.ahead[1] = second;
        self.scope.ahead[2] = first;
        self.scope.count = 3;
    }

    fn peek(&mut self) -> Token {
        if self.scope.count > 0 {
            return self.scope.ahead[self.scope.count - 1].clone();
        }
        self.scope.count = 1;
        self.scope.ahead[0] = self.read_token();
        self.scope.ahead[0].clone()
    }

    fn next_non_space(&mut self) -> Token {
        loop {
            let token = self.next();
            if token.kind != Kind::Space {
                return token;
            }
        }
    }

    fn peek_non_space(&mut self) -> Token {
        let token = self.next_non_space();
        self.backup();
        token
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Result<Token> {
        let token = self.next_non_space();
        if token.kind == kind { Ok(token) } else { Err(self.unexpected(&token, context)) }
    }
}

/// Errors.
impl Parser<'_> {
    fn error(&self, reason: impl std::fmt::Display) -> String {
        format!("template: {}:{}: {reason}", self.name, self.scope.ahead[0].line)
    }

    fn unexpected(&self, token: &Token, context: &str) -> String {
        if token.kind != Kind::Error {
            return self.error(format_args!("unexpected {} in {context}", token.for_error()));
        }
        let began = self.scope.action_line;
        if began == 0 || began == token.line {
            return self.error(&token.text);
        }
        let action = if token.text.ends_with(" action") { "" } else { " in action" };
        self.error(format_args!("{}{action} started at {}:{began}", token.text, self.name))
    }
}

/// Nodes.
impl Parser<'_> {
    fn all(&mut self) -> Result<List> {
        let mut list = List::default();
        while self.peek().kind != Kind::Eof {
            if self.peek().kind == Kind::LeftDelimiter {
                let delimiter = self.next();
                if self.next_non_space().kind == Kind::Define {
                    self.definition()?;
                    continue;
                }
                self.backup_with(delimiter);
            }
            match self.text_or_action()? {
                Part::Node(node) => list.0.push(node),
                other => return Err(self.error(format_args!("unexpected {}", other.as_str()))),
            }
        }
        Ok(list)
    }

    fn add(&mut self, name: String, list: List) -> Result<()> {
        if self.set.get(&name).is_none_or(List::is_empty) {
            self.set.insert(name, list);
        } else if !list.is_empty() {
            let name = quoted(&name);
            return Err(self.error(format_args!("template: multiple definition of template {name}")));
        }
        Ok(())
    }

    fn definition(&mut self) -> Result<()> {
        const CONTEXT: &str = "define clause";
        let outer = std::mem::replace(&mut self.scope, Scope::new());
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        self.expect(Kind::RightDelimiter, CONTEXT)?;
        let (list, end) = self.list()?;
        if !matches!(end, Part::End) {
            return Err(self.error(format_args!("unexpected {} in {CONTEXT}", end.as_str())));
        }
        self.add(name, list)?;
        self.scope = outer;
        Ok(())
    }

    fn template_name(&mut self, token: &Token, context: &str) -> Result<String> {
        if !matches!(token.kind, Kind::String | Kind::RawString) {
            return Err(self.unexpected(token, context));
        }
        self.unquote(&token.text).map(|name| String::from_utf8_lossy(&name).into_owned())
    }

    fn unquote(&self, literal: &str) -> Result<Vec<u8>> {
        unquoted(literal).ok_or_else(|| self.error("invalid syntax"))
    }

    /// Nodes up to `{{else}}` or `{{end}}`.
    fn list(&mut self) -> Result<(List, Part)> {
        let mut list = List::default();
        while self.peek_non_space().kind != Kind::Eof {
            match self.text_or_action()? {
                Part::Node(node) => list.0.push(node),
                end => return Ok((list, end)),
            }
        }
        Err(self.error("unexpected EOF"))
    }

    fn text_or_action(&mut self) -> Result<Part> {
        let token = self.next_non_space();
        match token.kind {
            Kind::Text => Ok(Part::Node(Node::Text(token.text))),
            Kind::LeftDelimiter => {
                self.scope.action_line = token.line;
                let part = self.action()?;
                self.scope.action_line = 0;
                Ok(part)
            }
            _ => Err(self.unexpected(&token, "input")),
        }
    }

    fn action(&mut self) -> Result<Part> {
        let token = self.next_non_space();
        let node = match token.kind {
            Kind::Block => self.block()?,
            Kind::Break => self.loop_control("{{break}}", Node::Break)?,
            Kind::Continue => self.loop_control("{{continue}}", Node::Continue)?,
            Kind::Else => {
                if !matches!(self.peek_non_space().kind, Kind::If | Kind::With) {
                    self.expect(Kind::RightDelimiter, "else")?;
                }
                return Ok(Part::Else);
            }
            Kind::End => {
                self.expect(Kind::RightDelimiter, "end")?;
                return Ok(Part::End);
            }
            Kind::If => self.branch("if")?,
            Kind::Range => self.branch("range")?,
            Kind::With => self.branch("with")?,
            Kind::Template => self.include()?,
            _ => {
                self.backup();
                Node::Action(self.pipeline("command", Kind::RightDelimiter)?)
            }
        };
        Ok(Part::Node(node))
    }

    fn loop_control(&mut self, word: &str, node: Node) -> Result<Node> {
        let token = self.next_non_space();
        if token.kind != Kind::RightDelimiter {
            return Err(self.unexpected(&token, word));
        }
        if self.scope.ranges == 0 {
            return Err(self.error(format_args!("{word} outside {{{{range}}}}")));
        }
        Ok(node)
    }

    fn branch(&mut self, word: &'static str) -> Result<Node> {
        let variables = self.scope.variables.len();
        let pipe = self.pipeline(word, Kind::RightDelimiter)?;
        let ranges = self.scope.ranges;
        self.scope.ranges += usize::from(word == "range");
        let (list, next) = self.list()?;
        self.scope.ranges = ranges;
        let mut otherwise = None;
        if matches!(next, Part::Else) {
            otherwise = Some(self.otherwise(word)?);
        }
        self.scope.variables.truncate(variables);
        let branch = Branch { word, pipe, list, otherwise };
        Ok(match word {
            "if" => Node::If(branch),
            "with" => Node::With(branch),
            _ => Node::Range(branch),
        })
    }

    /// Parses the list after `{{else`.
    fn otherwise(&mut self, word: &'static str) -> Result<List> {
        let next = self.peek().kind;
        if word == "if" && next == Kind::If || word == "with" && next == Kind::With {
            self.next();
            return Ok(List(vec![self.branch(word)?]));
        }
        let (list, end) = self.list()?;
        match end {
            Part::End => Ok(list),
            other => Err(self.error(format_args!("expected end; found {}", other.as_str()))),
        }
    }

    fn block(&mut self) -> Result<Node> {
        const CONTEXT: &str = "block clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        let pipe = self.pipeline(CONTEXT, Kind::RightDelimiter)?;
        let outer = std::mem::replace(&mut self.scope, Scope::new());
        let (list, end) = self.list()?;
        let inner = std::mem::replace(&mut self.scope, outer);
        if !matches!(end, Part::End) {
            return Err(self.error(format_args!("unexpected {} in {CONTEXT}", end.as_str())));
        }
        let outer = std::mem::replace(&mut self.scope, inner);
        self.add(name.clone(), list)?;
        self.scope = outer;
        Ok(Node::Template(Include { at: token.at, name, pipe: Some(pipe) }))
    }

    fn include(&mut self) -> Result<Node> {
        const CONTEXT: &str = "template clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        let mut pipe = None;
        if self.next_non_space().kind != Kind::RightDelimiter {
            self.backup();
            pipe = Some(self.pipeline(CONTEXT, Kind::RightDelimiter)?);
        }
        Ok(Node::Template(Include { at: token.at, name, pipe }))
    }
}

impl Part {
    fn as_str(&self) -> &'static str {
        match self {
            Part::Else => "{{else}}",
            _ => "{{end}}",
        }
    }
}

/// Pipelines, commands, operands.
impl Parser<'_> {
    fn pipeline(&mut self, context: &str, end: Kind) -> Result<Pipe> {
        let at = self.peek_non_space().at;
        let mut pipe = Pipe { at, variables: Vec::new(), assigns: false, commands: Vec::new() };
        while self.declares(&mut pipe, context)? {}
        loop {
            let token = self.next_non_space();
            use Kind::*;
            match token.kind {
                kind if kind == end => break,
                Bool | CharConstant | Complex | Dot | Field | Identifier | Number | Nil | RawString
                | String | Variable | LeftParen => {
                    self.backup();
                    let command = self.command()?;
                    pipe.commands.push(command);
                }
                _ => return Err(self.unexpected(&token, context)),
            }
        }
        self.check_pipeline(&pipe, context)?;
        Ok(pipe)
    }

    /// Parses a variable before `:=` or `=`; true if another may follow.
    fn declares(&mut self, pipe: &mut Pipe, context: &str) -> Result<bool> {
        let variable = self.peek_non_space();
        if variable.kind != Kind::Variable {
            return Ok(false);
        }
        self.next();
        // If it is no declaration, the variable and the space after it are put back.
        let after = self.peek();
        let next = self.peek_non_space();
        if matches!(next.kind, Kind::Assign | Kind::Declare) {
            pipe.assigns = next.kind == Kind::Assign;
            self.next_non_space();
            self.declare(pipe, variable.text);
        } else if next.kind == Kind::Char && next.text == "," {
            self.next_non_space();
            self.declare(pipe, variable.text);
            if context == "range" && pipe.variables.len() < 2 {
                return match self.peek_non_space().kind {
                    Kind::Variable | Kind::RightDelimiter | Kind::RightParen => Ok(true),
                    _ => Err(self.error("range can only initialize variables")),
                };
            }
            return Err(self.error(format_args!("too many declarations in {context}")));
        } else if after.kind == Kind::Space {
            self.backup_with_two(variable, after);
        } else {
            self.backup_with(variable);
        }
        Ok(false)
    }

    fn declare(&mut self, pipe: &mut Pipe, name: String) {
        pipe.variables.push(name.clone());
        self.scope.variables.push(name);
    }

    fn check_pipeline(&self, pipe: &Pipe, context: &str) -> Result<()> {
        if pipe.commands.is_empty() {
            return Err(self.error(format_args!("missing value for {context}")));
        }
        for (i, command) in pipe.commands.iter().enumerate().skip(1) {
            let first = &command.operands[0].term;
            if matches!(first, Term::Bool(_) | Term::Dot | Term::Nil | Term::Number(_) | Term::Text(..)) {
                let stage = i + 1;
                return Err(self.error(format_args!("non executable command in pipeline stage {stage}")));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Result<Command> {
        let at = self.peek_non_space().at;
        let mut operands = Vec::new();
        loop {
            self.peek_non_space();
            operands.extend(self.operand()?);
            let token = self.next();
            match token.kind {
                Kind::Space => continue,
                Kind::RightDelimiter | Kind::RightParen => self.backup(),
                Kind::Pipe => {}
                _ => return Err(self.unexpected(&token, "operand")),
            }
            break;
        }
        if operands.is_empty() {
            return Err(self.error("empty command"));
        }
        Ok(Command { at, operands })
    }

    fn operand(&mut self) -> Result<Option<Operand>> {
        let Some(operand) = self.term()? else { return Ok(None) };
        let next = self.peek();
        if next.kind != Kind::Field {
            return Ok(Some(operand));
        }
        let mut fields = Vec::new();
        while self.peek().kind == Kind::Field {
            fields.push(self.next().text[1..].to_owned());
        }
        let term = match operand.term {
            Term::Field(mut names) => {
                names.extend(fields);
                Term::Field(names)
            }
            Term::Variable(mut names) => {
                names.extend(fields);
                Term::Variable(names)
            }
            Term::Bool(_) | Term::Text(..) | Term::Number(_) | Term::Nil | Term::Dot => {
                let term = quoted(&operand.to_string());
                return Err(self.error(format_args!("unexpected . after term {term}")));
            }
            _ => Term::Chain(Box::new(operand), fields),
        };
        Ok(Some(Operand { at: next.at, term }))
    }

    fn term(&mut self) -> Result<Option<Operand>> {
        let token = self.next_non_space();
        let term = match token.kind {
            Kind::Identifier => match self.functions.find(&token.text) {
                Some(function) => Term::Function(token.text, function),
                None => return Err(self.error(format_args!("function {} not defined", quoted(&token.text)))),
            },
            Kind::Dot => Term::Dot,
            Kind::Nil => Term::Nil,
            Kind::Variable => {
                if !self.scope.variables.contains(&token.text) {
                    return Err(self.error(format_args!("undefined variable {}", quoted(&token.text))));
                }
                Term::Variable(vec![token.text])
            }
            Kind::Field => Term::Field(vec![token.text[1..].to_owned()]),
            Kind::Bool => Term::Bool(token.text == "true"),
            Kind::CharConstant => Term::Number(self.number(Number::character(&token.text))?),
            Kind::Complex => Term::Number(self.number(Number::complex(&token.text))?),
            Kind::Number => Term::Number(self.number(Number::plain(&token.text))?),
            Kind::LeftParen => {
                if self.scope.depth >= MAX_DEPTH {
                    return Err(self.error("max expression depth exceeded"));
                }
                self.scope.depth += 1;
                let pipe = self.pipeline("parenthesized pipeline", Kind::RightParen)?;
                self.scope.depth -= 1;
                return Ok(Some(Operand { at: pipe.at, term: Term::Pipe(Box::new(pipe)) }));
            }
            Kind::String | Kind::RawString => {
                let text = self.unquote(&token.text)?;
                Term::Text(token.text, text)
            }
            _ => {
                self.backup();
                return Ok(None);
            }
        };
        Ok(Some(Operand { at: token.at, term }))
    }

    fn number(&self, number: Result<Number>) -> Result<Number> {
        number.map_err(|error| self.error(error))
    }
}
