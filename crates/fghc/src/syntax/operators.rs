//! The operators of KL1, with priorities as in Prolog: a larger priority binds less.

/// The largest priority of a term.
pub(super) const MAXIMUM: u16 = 1200;
/// The largest priority of an argument or element: that below the comma's.
pub(super) const ARGUMENT: u16 = 999;

/// A binary operator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Infix {
    /// The priority of the whole.
    pub priority: u16,
    /// The largest priority of the left operand.
    pub left: u16,
    /// The largest priority of the right operand.
    pub right: u16,
}

/// A unary operator, before its operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix {
    /// The priority of the whole.
    pub priority: u16,
    /// The largest priority of the operand.
    pub operand: u16,
}

const fn xfx(priority: u16) -> Infix {
    Infix { priority, left: priority - 1, right: priority - 1 }
}

const fn xfy(priority: u16) -> Infix {
    Infix { priority, left: priority - 1, right: priority }
}

const fn yfx(priority: u16) -> Infix {
    Infix { priority, left: priority, right: priority - 1 }
}

/// The binary operator of this name.
pub(super) fn infix(name: &str) -> Option<Infix> {
    Some(match name {
        ":-" => xfx(1200),
        // Looser than `;`, so that a guard may be a disjunction without brackets.
        "|" => xfx(1150),
        ";" => xfy(1100),
        "->" => xfy(1050),
        "," => xfy(1000),
        "@@" => xfy(950),
        "@" => yfx(900),
        "=" | "\\=" | ":=" | "$:=" | "=.." => xfx(700),
        // Prolog's, which the checker explains.
        "==" | "\\==" | "is" => xfx(700),
        "<" | "=<" | "<=" | ">" | ">=" | "=:=" | "=\\=" => xfx(700),
        "$<" | "$=<" | "$<=" | "$>" | "$>=" | "$=:=" | "$=\\=" => xfx(700),
        "@<" | "@=<" | "@>" | "@>=" => xfx(700),
        "=>" | "+=" | "-=" | "*=" | "/=" | "<==" => xfx(700),
        "+" | "-" | "/\\" | "\\/" | "xor" => yfx(500),
        "*" | "/" | "//" | "<<" | ">>" | "mod" => yfx(400),
        "**" => xfy(300),
        ":" | "^" => xfy(200),
        "#" => xfx(100),
        _ => return None,
    })
}

/// The unary operator of this name.
pub(super) fn prefix(name: &str) -> Option<Prefix> {
    let fx = |priority| Prefix { priority, operand: priority - 1 };
    let fy = |priority| Prefix { priority, operand: priority };
    Some(match name {
        ":-" => fx(1200),
        "module" | "public" | "with_macro" => fx(1150),
        "+" | "-" | "\\" => fy(200),
        "~" | "$~" => fy(200),
        "`" | "``" => fx(150),
        "#" => fx(100),
        _ => return None,
    })
}
