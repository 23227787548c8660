//! Key expressions: the server's deparsed text to what the core evaluates.
//!
//! `pg_get_expr` writes SQL with every cast and every pair of parentheses, so sqlparser reads it and
//! nothing is left to precedence. It must have been deparsed with only `pg_catalog` to look names up
//! in: then a bare name is that of the server's own function, operator, type or collation, and all
//! others are qualified. What is not known here by name and by types is no expression to us.

use std::collections::HashMap;

use pgsluice_core::expr::{Case, Cut, Expr, Field, Operator, Unit};
use pgsluice_core::types::{Datum, KeyType};
use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr as Ast, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, ObjectName, SelectItem, SetExpr, Statement, UnaryOperator, Value,
};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

/// The collation that an expression's text has for the functions over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Collation {
    /// `pg_collation.oid`.
    pub(crate) oid: u32,
    /// Only the letters of ASCII have another case, and that everywhere the same.
    pub(crate) ascii: bool,
}

/// An expression with its collation: None for what has none, and for constants, which take on
/// any other.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(crate) expr: Expr,
    pub(crate) collation: Option<Collation>,
}

/// What the names in an expression mean.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) columns: HashMap<String, Operand>,
    /// The collation of text that is made of something else.
    pub(crate) database: Collation,
    /// The session's time zone `UTC` is that.
    pub(crate) utc: bool,
}

/// The expressions in a list of them; None for each that is not known.
pub(crate) fn translate(list: &str, scope: &Scope) -> Vec<Option<Expr>> {
    let items = projection(list).unwrap_or_default();
    let expr = |item: SelectItem| match item {
        SelectItem::UnnamedExpr(ast) => scope.operand(&ast).map(|operand| operand.expr),
        _ => None,
    };
    items.into_iter().map(expr).collect()
}

fn projection(list: &str) -> Option<Vec<SelectItem>> {
    let sql = format!("SELECT {list}");
    let mut statements = Parser::parse_sql(&PostgreSqlDialect {}, &sql).ok()?;
    let (Statement::Query(query), true) = (statements.pop()?, statements.is_empty()) else {
        return None;
    };
    match *query.body {
        SetExpr::Select(select) => Some(select.projection),
        _ => None,
    }
}

impl Scope {
    fn operand(&self, ast: &Ast) -> Option<Operand> {
        match ast {
            Ast::Nested(inner) => self.operand(inner),
            Ast::Identifier(name) => self.columns.get(&name.value).cloned(),
            Ast::Value(value) => constant(&value.value),
            Ast::Cast { kind: CastKind::DoubleColon, expr, data_type, format: None } => {
                self.cast(expr, data_type)
            }
            Ast::Collate { expr, collation } => {
                let collation = Some(named_collation(collation)?);
                Some(Operand { collation, ..self.operand(expr)? })
            }
            Ast::UnaryOp { op: UnaryOperator::Minus, expr } => {
                self.operand(expr)?.map(Expr::negate)
            }
            Ast::BinaryOp { left, op, right } => {
                let operator = operator(op)?;
                self.arithmetic(operator, left, right)
            }
            Ast::AtTimeZone { timestamp, time_zone } => self.at_time_zone(time_zone, timestamp),
            Ast::Extract { field, expr, .. } => {
                let field = Field::named(&field.to_string())?;
                self.operand(expr)?.map(|expr| expr.extract(field))
            }
            Ast::Substring { expr, substring_from: Some(from), substring_for, .. } => {
                let numbers: Vec<&Ast> =
                    std::iter::once(&**from).chain(substring_for.as_deref()).collect();
                self.cut(Cut::Substring, expr, &numbers)
            }
            Ast::Function(function) => self.call(name(&function.name)?, &arguments(function)?),
            _ => None,
        }
    }

    fn call(&self, name: &str, arguments: &[&Ast]) -> Option<Operand> {
        match (name, arguments) {
            ("lower", [text]) => self.case(Case::Lower, text),
            ("upper", [text]) => self.case(Case::Upper, text),
            ("left", [text, numbers @ ..]) => self.cut(Cut::Left, text, numbers),
            ("right", [text, numbers @ ..]) => self.cut(Cut::Right, text, numbers),
            ("substr" | "substring", [text, numbers @ ..]) => {
                self.cut(Cut::Substring, text, numbers)
            }
            ("abs", [number]) => self.operand(number)?.map(Expr::abs),
            ("mod", [left, right]) => self.arithmetic(Operator::Remainder, left, right),
            ("COALESCE", items) => self.coalesce(items),
            ("date_trunc", [unit, of]) => {
                let unit = Unit::named(text_constant(unit)?)?;
                self.operand(of)?.map(|of| of.truncate(unit))
            }
            ("date_part", [field, of]) => {
                let field = Field::named(text_constant(field)?)?;
                self.operand(of)?.map(|of| of.part(field))
            }
            ("date_bin", [stride, of, origin]) => {
                let (stride, origin) = (stride_constant(stride)?, timestamp_constant(origin)?);
                self.operand(of)?.map(|of| of.bin(stride, origin))
            }
            ("timezone", [zone, of]) => self.at_time_zone(zone, of),
            _ => None,
        }
    }

    fn cast(&self, of: &Ast, to: &DataType) -> Option<Operand> {
        let to = named_type(to)?;
        let neutral = |expr| Operand { expr, collation: None };
        match value(of) {
            Some(Value::SingleQuotedString(text)) => {
                return Expr::constant(text.as_bytes(), &to).map(neutral);
            }
            Some(Value::Null) => return Expr::null(&to).map(neutral),
            _ => {}
        }
        let Operand { expr, collation } = self.operand(of)?;
        let becomes_text = is_text(&to) && !is_text(expr.ty());
        let collation = if becomes_text { Some(self.database) } else { collation };
        Some(Operand { expr: expr.cast(&to)?, collation })
    }

    fn case(&self, case: Case, text: &Ast) -> Option<Operand> {
        let text = self.operand(text)?;
        let collation = text.collation.unwrap_or(self.database);
        text.map(|text| text.case(case, collation.ascii))
    }

    fn cut(&self, cut: Cut, text: &Ast, numbers: &[&Ast]) -> Option<Operand> {
        let numbers = numbers.iter().map(|number| Some(self.operand(number)?.expr));
        let numbers = numbers.collect::<Option<Vec<Expr>>>()?;
        self.operand(text)?.map(|text| text.cut(cut, numbers))
    }

    fn arithmetic(&self, operator: Operator, left: &Ast, right: &Ast) -> Option<Operand> {
        let right = self.operand(right)?.expr;
        self.operand(left)?.map(|left| Expr::arithmetic(operator, left, right))
    }

    /// Different collations could be in conflict, which the server settles by rules of its own.
    fn coalesce(&self, items: &[&Ast]) -> Option<Operand> {
        let items: Vec<Operand> =
            items.iter().map(|item| self.operand(item)).collect::<Option<_>>()?;
        let mut collations = items.iter().filter_map(|item| item.collation);
        let collation = collations.next();
        let alike = collations.all(|other| Some(other) == collation);
        let exprs = items.into_iter().map(|item| item.expr).collect();
        alike.then_some(Operand { expr: Expr::coalesce(exprs)?, collation })
    }

    /// Zones that have had one offset for ever. An abbreviation would come before a zone's name, so
    /// `UTC` is asked about, and the others have a name that no abbreviation has.
    fn at_time_zone(&self, zone: &Ast, of: &Ast) -> Option<Operand> {
        let east = match text_constant(zone)? {
            "UTC" => self.utc.then_some(0)?,
            zone => zone.starts_with("Etc/").then(|| fixed_zone(zone))??,
        };
        self.operand(of)?.map(|of| of.at_time_zone(east))
    }
}

impl Operand {
    fn map(self, function: impl FnOnce(Expr) -> Option<Expr>) -> Option<Self> {
        Some(Self { expr: function(self.expr)?, collation: self.collation })
    }
}

/// Seconds east of UTC of a zone that has had one offset for ever; None for all others.
pub(crate) fn fixed_zone(name: &str) -> Option<i32> {
    let name = name.strip_prefix("Etc/").unwrap_or(name);
    if matches!(name, "UTC" | "UCT" | "GMT" | "Universal" | "Zulu" | "Greenwich") {
        return Some(0);
    }
    // POSIX counts west: Etc/GMT+5 is five hours behind.
    let hours: i32 = name.strip_prefix("GMT")?.parse().ok()?;
    (-14..=12).contains(&hours).then_some(-hours * 3600)
}

/// A literal that needs no cast to say what it is: `get_const_expr` in
/// `src/backend/utils/adt/ruleutils.c`.
fn constant(value: &Value) -> Option<Operand> {
    let (text, ty) = match value {
        Value::Boolean(true) => ("true", KeyType::Bool),
        Value::Boolean(false) => ("false", KeyType::Bool),
        Value::Number(text, false) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            (text.as_str(), KeyType::Int4)
        }
        Value::Number(text, false) => (text.as_str(), KeyType::Numeric { scale: None }),
        _ => return None,
    };
    Some(Operand { expr: Expr::constant(text.as_bytes(), &ty)?, collation: None })
}

fn operator(operator: &BinaryOperator) -> Option<Operator> {
    Some(match operator {
        BinaryOperator::Plus => Operator::Add,
        BinaryOperator::Minus => Operator::Subtract,
        BinaryOperator::Multiply => Operator::Multiply,
        BinaryOperator::Divide => Operator::Divide,
        BinaryOperator::Modulo => Operator::Remainder,
        _ => return None,
    })
}

/// A name that is not qualified. In quotes it is that in them, and no keyword.
fn name(name: &ObjectName) -> Option<&str> {
    match &name.0[..] {
        [part] => part.as_ident().map(|ident| ident.value.as_str()),
        _ => None,
    }
}

/// The arguments of a plain call.
fn arguments(function: &Function) -> Option<Vec<&Ast>> {
    let Function {
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(list),
        filter: None,
        null_treatment: None,
        over: None,
        uses_odbc_syntax: false,
        ..
    } = function
    else {
        return None;
    };
    let plain = list.duplicate_treatment.is_none()
        && list.clauses.is_empty()
        && function.within_group.is_empty();
    let argument = |argument| match argument {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref ast)) => Some(ast),
        _ => None,
    };
    plain.then(|| list.args.iter().map(argument).collect())?
}

fn value(ast: &Ast) -> Option<&Value> {
    match ast {
        Ast::Value(value) => Some(&value.value),
        _ => None,
    }
}

/// The text of a literal that is cast, and the type that it is cast to.
fn cast_literal(ast: &Ast) -> Option<(&str, &DataType)> {
    let Ast::Cast { kind: CastKind::DoubleColon, expr, data_type, format: None } = ast else {
        return None;
    };
    match value(expr)? {
        Value::SingleQuotedString(text) => Some((text, data_type)),
        _ => None,
    }
}

fn text_constant(ast: &Ast) -> Option<&str> {
    let (text, ty) = cast_literal(ast)?;
    (named_type(ty)? == KeyType::Text).then_some(text)
}

/// The microseconds of an interval that has neither months nor years.
fn stride_constant(ast: &Ast) -> Option<i64> {
    let (text, ty) = cast_literal(ast)?;
    let plain = ty.to_string().eq_ignore_ascii_case("interval");
    let months = text.contains("mon") || text.contains("year");
    let interval = KeyType::Interval { precision: 6 };
    match interval.parse(text.as_bytes(), &mut Vec::new())? {
        Datum::Wide(usecs) if plain && !months => i64::try_from(usecs).ok(),
        _ => None,
    }
}

fn timestamp_constant(ast: &Ast) -> Option<i64> {
    let (text, ty) = cast_literal(ast)?;
    let ty = named_type(ty).filter(|ty| matches!(ty, KeyType::Timestamp { .. }))?;
    match ty.parse(text.as_bytes(), &mut Vec::new())? {
        Datum::Int(usecs) => Some(usecs),
        _ => None,
    }
}

fn is_text(ty: &KeyType) -> bool {
    matches!(ty, KeyType::Text | KeyType::Varchar { .. } | KeyType::Bpchar { .. } | KeyType::Name)
}

/// A type without a modifier, by the name that `format_type` gives it.
fn named_type(ty: &DataType) -> Option<KeyType> {
    Some(match ty.to_string().to_ascii_lowercase().as_str() {
        "boolean" => KeyType::Bool,
        "smallint" => KeyType::Int2,
        "integer" => KeyType::Int4,
        "bigint" => KeyType::Int8,
        "numeric" => KeyType::Numeric { scale: None },
        "real" => KeyType::Float4,
        "double precision" => KeyType::Float8,
        "text" => KeyType::Text,
        "name" => KeyType::Name,
        "character varying" => KeyType::Varchar { max: None },
        "bpchar" => KeyType::Bpchar { max: None },
        "uuid" => KeyType::Uuid,
        "date" => KeyType::Date,
        "time without time zone" => KeyType::Time { precision: 6 },
        "timestamp without time zone" => KeyType::Timestamp { precision: 6 },
        "timestamp with time zone" => KeyType::Timestamptz { precision: 6, zone: None },
        _ => return None,
    })
}

/// `C` and `POSIX`, whose oids are fixed in `pg_collation.dat`.
fn named_collation(collation: &ObjectName) -> Option<Collation> {
    let oid = match name(collation)? {
        "C" => 950,
        "POSIX" => 951,
        _ => return None,
    };
    Some(Collation { oid, ascii: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBC: Collation = Collation { oid: 100, ascii: false };
    const C: Collation = Collation { oid: 950, ascii: true };

    fn scope() -> Scope {
        let timestamp = KeyType::Timestamp { precision: 6 };
        let columns = [
            ("a", KeyType::Int4, None),
            ("b", KeyType::Int8, None),
            ("Id", KeyType::Uuid, None),
            ("name", KeyType::Text, Some(LIBC)),
            ("code", KeyType::Text, Some(C)),
            ("day", KeyType::Date, None),
            ("created", timestamp, None),
            ("at", KeyType::Timestamptz { precision: 6, zone: None }, None),
        ];
        let column = |(place, (name, ty, collation))| {
            let expr = Expr::column(place, ty).expect("a type of expressions");
            (String::from(name), Operand { expr, collation })
        };
        let columns = columns.into_iter().enumerate().map(column).collect();
        Scope { columns, database: LIBC, utc: true }
    }

    fn types(list: &str) -> Vec<Option<KeyType>> {
        let exprs = translate(list, &scope());
        exprs.into_iter().map(|expr| expr.map(|expr| expr.ty().clone())).collect()
    }

    fn of(list: &str) -> Option<KeyType> {
        let types = types(list);
        assert!(types.len() < 2, "{list}");
        types.into_iter().next().flatten()
    }

    #[test]
    fn expressions_have_the_types_that_the_server_gives_them() {
        let numeric = KeyType::Numeric { scale: None };
        let timestamp = KeyType::Timestamp { precision: 6 };
        for (text, ty) in [
            ("lower(\"left\"((\"Id\")::text, 1))", KeyType::Text),
            ("lower(code)", KeyType::Text),
            ("lower((name COLLATE \"C\"))", KeyType::Text),
            ("lower(COALESCE(code, ''::text))", KeyType::Text),
            ("SUBSTRING(name FROM 2 FOR 3)", KeyType::Text),
            ("\"substring\"(name, 2)", KeyType::Text),
            ("substr(name, '-1'::integer, a)", KeyType::Text),
            ("((a + b) % '10'::bigint)", KeyType::Int8),
            ("(- a)", KeyType::Int4),
            ("mod(a, 7)", KeyType::Int4),
            ("abs((a)::smallint)", KeyType::Int2),
            ("date_trunc('month'::text, created)", timestamp.clone()),
            ("date_trunc('month'::text, (day)::timestamp without time zone)", timestamp.clone()),
            ("date_part('hour'::text, day)", KeyType::Float8),
            ("EXTRACT(year FROM created)", numeric.clone()),
            ("(EXTRACT(isodow FROM created))::integer", KeyType::Int4),
            ("(at AT TIME ZONE 'UTC'::text)", timestamp.clone()),
            ("timezone('Etc/GMT-2'::text, at)", timestamp.clone()),
            (
                "date_bin('1 day 02:00:00'::interval, created, \
                 '2000-01-01 00:00:00'::timestamp without time zone)",
                timestamp,
            ),
        ] {
            assert_eq!(of(text), Some(ty), "{text}");
        }
    }

    #[test]
    fn what_is_not_known_by_name_and_types_is_left_to_the_server() {
        for text in [
            "",
            "a; SELECT a",
            "a AS b",
            "*",
            "other",
            "lower(name)",
            "lower(COALESCE(code, name))",
            "lower((name COLLATE public.\"C\"))",
            "lower((name COLLATE \"de-x-icu\"))",
            "public.lower(code)",
            "\"LOWER\"(code)",
            "\"coalesce\"(a, a)",
            "lower(DISTINCT code)",
            "lower(code) OVER ()",
            "(a OPERATOR(public.+) a)",
            "(a + name)",
            "(a % b)",
            "(a || a)",
            "(+ a)",
            "abs(name)",
            "abs(a, a)",
            "COALESCE(a, b)",
            "(name)::character varying(3)",
            "(name)::public.text",
            "(name)::\"TEXT\"",
            "(created)::timestamp(0) without time zone",
            "(at)::date",
            "(name)::date",
            "'a'",
            "E'a'::text",
            "\"left\"(name, b)",
            "\"left\"(name, 1, 1)",
            "SUBSTRING(name FROM 'x'::text)",
            "SUBSTRING(name FOR 2)",
            "date_trunc('months'::text, created)",
            "date_trunc(name, created)",
            "date_trunc('day'::text, at)",
            "date_part('julian'::text, created)",
            "EXTRACT(hour FROM day)",
            "(at AT TIME ZONE 'Europe/Berlin'::text)",
            "(at AT TIME ZONE 'GMT'::text)",
            "(at AT TIME ZONE name)",
            "date_bin('1 mon'::interval, created, '2000-01-01'::timestamp without time zone)",
            "date_bin('00:00:00'::interval, created, '2000-01-01'::timestamp without time zone)",
            "date_bin('1 day'::interval, created, 'infinity'::timestamp without time zone)",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn a_list_has_one_entry_for_each() {
        assert_eq!(types("(a + 1), f(a), code"), [Some(KeyType::Int4), None, Some(KeyType::Text)]);
        assert_eq!(types("(a + "), []);
    }

    #[test]
    fn utc_is_a_zone_only_where_the_session_says_so() {
        let scope = Scope { utc: false, ..scope() };
        let zones = "(at AT TIME ZONE 'UTC'::text), (at AT TIME ZONE 'Etc/UTC'::text)";
        let known: Vec<bool> = translate(zones, &scope).iter().map(Option::is_some).collect();
        assert_eq!(known, [false, true]);
    }

    #[test]
    fn only_zones_that_never_changed_are_fixed() {
        assert_eq!(fixed_zone("UTC"), Some(0));
        assert_eq!(fixed_zone("Etc/GMT+5"), Some(-18_000));
        assert_eq!(fixed_zone("Etc/GMT-14"), Some(50_400));
        assert_eq!(fixed_zone("Europe/Berlin"), None);
        assert_eq!(fixed_zone("GMT0BST"), None);
    }
}
