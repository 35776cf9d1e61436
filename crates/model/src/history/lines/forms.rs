//! How the calls and outputs of each structure are written in a file.

use super::super::spec::Spec;
use super::super::specs::{
    Map, MapCall, Put, Queue, Register, RegisterCall, RegisterOutput, Set, SetCall, Stack, Took,
};
use super::line::{Line, Scalar};
use super::names::{Dictionary, Names};
use super::reader::Problem;

/// The textual form of operations on one structure.
///
/// What is written is read again as the same: `call` and `output` of [`Form::line`] return the call and the output.
pub trait Form {
    /// The structure.
    type Spec: Spec;

    /// The specification that its histories are checked against.
    fn spec(&self) -> &Self::Spec;

    /// The call on a line.
    fn call(&self, line: &Line<'_>, names: &mut Dictionary) -> Result<CallOf<Self>, Problem>;

    /// The output of a call that returned `result`.
    fn output(
        &self,
        call: &CallOf<Self>,
        result: Option<&Scalar<'_>>,
        names: &mut Dictionary,
    ) -> Result<OutputOf<Self>, Problem>;

    /// The fields of an operation that describe its call and output: `op`, `key`, `value`, `old`, `new`, `result`.
    fn line<'n>(
        &self,
        call: &CallOf<Self>,
        output: Option<&OutputOf<Self>>,
        names: &'n Dictionary,
    ) -> Line<'n>;

    /// A call as text for people, and its output if that is informative.
    fn show(
        &self,
        call: &CallOf<Self>,
        output: Option<&OutputOf<Self>>,
        names: &Dictionary,
    ) -> (String, String);
}

/// The type of calls.
pub type CallOf<F> = <<F as Form>::Spec as Spec>::Call;
/// The type of outputs.
pub type OutputOf<F> = <<F as Form>::Spec as Spec>::Output;

fn op<'l>(line: &'l Line<'_>) -> &'l str {
    line.op.as_deref().unwrap_or_default()
}

fn unknown<T>(line: &Line<'_>, known: &str) -> Result<T, Problem> {
    Err(Problem::new(format!("unknown operation {:?}", op(line)), format!("use one of: {known}")))
}

fn needed<'l, 'a>(field: &'l Option<Scalar<'a>>, name: &str) -> Result<&'l Scalar<'a>, Problem> {
    let missing = || Problem::new(format!("\"{name}\" is missing"), format!("add \"{name}\""));
    field.as_ref().ok_or_else(missing)
}

fn truth(result: Option<&Scalar<'_>>) -> Result<bool, Problem> {
    match result {
        Some(Scalar::Truth(truth)) => Ok(*truth),
        Some(other) => {
            Err(Problem::new(format!("\"result\" is {other}"), "it must be true or false"))
        }
        None => Err(Problem::new("\"result\" is missing", "add \"result\": true or false")),
    }
}

fn seen<'l, 'a>(result: Option<&'l Scalar<'a>>) -> Result<&'l Scalar<'a>, Problem> {
    result.ok_or_else(|| {
        Problem::new("\"result\" is missing", "add \"result\": the value, or null for none")
    })
}

/// For calls that return nothing of interest.
fn nothing(result: Option<&Scalar<'_>>) -> Result<(), Problem> {
    match result {
        None | Some(Scalar::Nothing | Scalar::Truth(true)) => Ok(()),
        Some(other) => Err(Problem::new(
            format!("\"result\" is {other}"),
            "leave it out: this operation cannot fail",
        )),
    }
}

/// A queue or a stack.
#[derive(Debug, Clone, Copy)]
pub struct Container<S> {
    spec: S,
    is_bounded: bool,
    into: &'static str,
    out: &'static str,
}

impl Container<Queue> {
    /// A queue with this capacity; `None` is unbounded.
    pub fn queue(capacity: Option<usize>) -> Self {
        let (into, out) = ("enqueue", "dequeue");
        Container { spec: Queue { capacity }, is_bounded: capacity.is_some(), into, out }
    }
}

impl Container<Stack> {
    /// A stack with this capacity; `None` is unbounded.
    pub fn stack(capacity: Option<usize>) -> Self {
        let (into, out) = ("push", "pop");
        Container { spec: Stack { capacity }, is_bounded: capacity.is_some(), into, out }
    }
}

impl<S: Spec<Call = Put, Output = Took>> Form for Container<S> {
    type Spec = S;

    fn spec(&self) -> &S {
        &self.spec
    }

    fn call(&self, line: &Line<'_>, names: &mut Dictionary) -> Result<Put, Problem> {
        match op(line) {
            op if op == self.into => {
                names.values.number(needed(&line.value, "value")?).map(Put::In)
            }
            op if op == self.out => Ok(Put::Out),
            _ => unknown(line, &format!("{}, {}", self.into, self.out)),
        }
    }

    fn output(
        &self,
        call: &Put,
        result: Option<&Scalar<'_>>,
        names: &mut Dictionary,
    ) -> Result<Took, Problem> {
        match call {
            Put::In(_) if result == Some(&Scalar::Truth(false)) && !self.is_bounded => {
                Err(Problem::new(
                    "the structure was full, but no capacity is given",
                    "pass --capacity N",
                ))
            }
            Put::In(_) if result == Some(&Scalar::Truth(false)) => Ok(Took::Full),
            Put::In(_) => nothing(result).map(|()| Took::Done),
            Put::Out => Ok(names.values.optional(seen(result)?)?.map_or(Took::Empty, Took::Value)),
        }
    }

    fn line<'n>(&self, call: &Put, output: Option<&Took>, names: &'n Dictionary) -> Line<'n> {
        let scalar = |value: &i64| Some(names.values.scalar(*value));
        let (op, value) = match call {
            Put::In(value) => (self.into, scalar(value)),
            Put::Out => (self.out, None),
        };
        let result = match output {
            None | Some(Took::Done) => None,
            Some(Took::Full) => Some(Scalar::Truth(false)),
            Some(Took::Empty) => Some(Scalar::Nothing),
            Some(Took::Value(value)) => scalar(value),
        };
        Line { op: Some(op.into()), value, result, ..Line::default() }
    }

    fn show(&self, call: &Put, output: Option<&Took>, names: &Dictionary) -> (String, String) {
        let call = match call {
            Put::In(value) => format!("{} {}", self.into, names.values.show(*value)),
            Put::Out => self.out.to_owned(),
        };
        let output = match output {
            None | Some(Took::Done) => String::new(),
            Some(Took::Full) => "full".to_owned(),
            Some(Took::Empty) => "empty".to_owned(),
            Some(Took::Value(value)) => names.values.show(*value),
        };
        (call, output)
    }
}

impl Form for Set {
    type Spec = Set;

    fn spec(&self) -> &Set {
        self
    }

    fn call(&self, line: &Line<'_>, names: &mut Dictionary) -> Result<SetCall, Problem> {
        let call = match op(line) {
            "insert" => SetCall::Insert,
            "remove" => SetCall::Remove,
            "contains" => SetCall::Contains,
            _ => return unknown(line, "insert, remove, contains"),
        };
        names.values.number(needed(&line.value, "value")?).map(call)
    }

    fn output(
        &self,
        _: &SetCall,
        result: Option<&Scalar<'_>>,
        _: &mut Dictionary,
    ) -> Result<bool, Problem> {
        truth(result)
    }

    fn line<'n>(&self, call: &SetCall, output: Option<&bool>, names: &'n Dictionary) -> Line<'n> {
        let (op, value) = match call {
            SetCall::Insert(value) => ("insert", value),
            SetCall::Remove(value) => ("remove", value),
            SetCall::Contains(value) => ("contains", value),
        };
        let (value, result) = (names.values.scalar(*value), output.copied().map(Scalar::Truth));
        Line { op: Some(op.into()), value: Some(value), result, ..Line::default() }
    }

    fn show(&self, call: &SetCall, output: Option<&bool>, names: &Dictionary) -> (String, String) {
        let (op, value) = match call {
            SetCall::Insert(value) => ("insert", value),
            SetCall::Remove(value) => ("remove", value),
            SetCall::Contains(value) => ("contains", value),
        };
        let output = match (call, output) {
            (_, None) => "",
            (SetCall::Insert(_), Some(false)) => "already there",
            (SetCall::Remove(_), Some(false)) => "not there",
            (_, Some(true)) => "true",
            (_, Some(false)) => "false",
        };
        (format!("{op} {}", names.values.show(*value)), output.to_owned())
    }
}

/// The four operations of registers and maps, with the names that each uses.
fn register_call(
    line: &Line<'_>,
    names: &mut Names,
    [read, write, clear]: [&str; 3],
) -> Result<RegisterCall, Problem> {
    match op(line) {
        op if op == read => Ok(RegisterCall::Read),
        op if op == write => names.optional(needed(&line.value, "value")?).map(RegisterCall::Write),
        "cas" => Ok(RegisterCall::CompareAndSwap {
            old: names.optional(needed(&line.old, "old")?)?,
            new: names.optional(needed(&line.new, "new")?)?,
        }),
        op if op == clear && !clear.is_empty() => Ok(RegisterCall::Clear),
        _ if clear.is_empty() => unknown(line, &format!("{read}, {write}, cas")),
        _ => unknown(line, &format!("{read}, {write}, cas, {clear}")),
    }
}

fn register_output(
    call: &RegisterCall,
    result: Option<&Scalar<'_>>,
    names: &mut Names,
) -> Result<RegisterOutput, Problem> {
    match call {
        RegisterCall::Read => names.optional(seen(result)?).map(RegisterOutput::Value),
        RegisterCall::Write(_) => nothing(result).map(|()| RegisterOutput::Done),
        RegisterCall::CompareAndSwap { .. } => truth(result).map(RegisterOutput::Succeeded),
        RegisterCall::Clear if result.is_none() => Ok(RegisterOutput::Done),
        RegisterCall::Clear => truth(result).map(RegisterOutput::Succeeded),
    }
}

fn register_line<'n>(
    call: &RegisterCall,
    output: Option<&RegisterOutput>,
    names: &'n Names,
    [read, write, clear]: [&'static str; 3],
) -> Line<'n> {
    let scalar =
        |value: &Option<i64>| Some(value.map_or(Scalar::Nothing, |value| names.scalar(value)));
    let result = match output {
        None | Some(RegisterOutput::Done) => None,
        Some(RegisterOutput::Value(seen)) => scalar(seen),
        Some(RegisterOutput::Succeeded(truth)) => Some(Scalar::Truth(*truth)),
    };
    let line = Line { result, ..Line::default() };
    match call {
        RegisterCall::Read => Line { op: Some(read.into()), ..line },
        RegisterCall::Write(new) => Line { op: Some(write.into()), value: scalar(new), ..line },
        RegisterCall::CompareAndSwap { old, new } => {
            Line { op: Some("cas".into()), old: scalar(old), new: scalar(new), ..line }
        }
        RegisterCall::Clear => Line { op: Some(clear.into()), ..line },
    }
}

fn show_register(
    call: &RegisterCall,
    output: Option<&RegisterOutput>,
    names: &Names,
    [read, write, clear]: [&str; 3],
    key: &str,
) -> (String, String) {
    let value = |value: &Option<i64>| value.map_or("null".to_owned(), |value| names.show(value));
    let call = match call {
        RegisterCall::Read => format!("{read}{key}"),
        RegisterCall::Write(new) => format!("{write}{key} {}", value(new)),
        RegisterCall::CompareAndSwap { old, new } => {
            format!("cas{key} {} to {}", value(old), value(new))
        }
        RegisterCall::Clear => format!("{clear}{key}"),
    };
    let output = match output {
        None | Some(RegisterOutput::Done) => String::new(),
        Some(RegisterOutput::Value(seen)) => value(seen),
        Some(RegisterOutput::Succeeded(true)) => "done".to_owned(),
        Some(RegisterOutput::Succeeded(false)) => "failed".to_owned(),
    };
    (call, output)
}

const REGISTER: [&str; 3] = ["read", "write", ""];
const MAP: [&str; 3] = ["get", "put", "delete"];

impl Form for Register {
    type Spec = Register;

    fn spec(&self) -> &Register {
        self
    }

    fn call(&self, line: &Line<'_>, names: &mut Dictionary) -> Result<RegisterCall, Problem> {
        register_call(line, &mut names.values, REGISTER)
    }

    fn output(
        &self,
        call: &RegisterCall,
        result: Option<&Scalar<'_>>,
        names: &mut Dictionary,
    ) -> Result<RegisterOutput, Problem> {
        register_output(call, result, &mut names.values)
    }

    fn line<'n>(
        &self,
        call: &RegisterCall,
        output: Option<&RegisterOutput>,
        names: &'n Dictionary,
    ) -> Line<'n> {
        register_line(call, output, &names.values, REGISTER)
    }

    fn show(
        &self,
        call: &RegisterCall,
        output: Option<&RegisterOutput>,
        names: &Dictionary,
    ) -> (String, String) {
        show_register(call, output, &names.values, REGISTER, "")
    }
}

impl Form for Map {
    type Spec = Map;

    fn spec(&self) -> &Map {
        self
    }

    fn call(&self, line: &Line<'_>, names: &mut Dictionary) -> Result<MapCall, Problem> {
        let call = register_call(line, &mut names.values, MAP)?;
        let key = names.keys.number(needed(&line.key, "key")?)?;
        Ok(MapCall { key, call })
    }

    fn output(
        &self,
        call: &MapCall,
        result: Option<&Scalar<'_>>,
        names: &mut Dictionary,
    ) -> Result<RegisterOutput, Problem> {
        register_output(&call.call, result, &mut names.values)
    }

    fn line<'n>(
        &self,
        call: &MapCall,
        output: Option<&RegisterOutput>,
        names: &'n Dictionary,
    ) -> Line<'n> {
        let line = register_line(&call.call, output, &names.values, MAP);
        Line { key: Some(names.keys.scalar(call.key)), ..line }
    }

    fn show(
        &self,
        call: &MapCall,
        output: Option<&RegisterOutput>,
        names: &Dictionary,
    ) -> (String, String) {
        let key = format!(" {}", names.keys.show(call.key));
        show_register(&call.call, output, &names.values, MAP, &key)
    }
}
