//! The table of all instructions, from which everything that goes through them is generated.
//!
//! `instructions!(generate)` calls the macro `generate` with the table. A row has
//!
//! - what the instruction does,
//! - its mnemonic, which is also the name of the method that carries it out in the interpreter and of the one that
//!   translates it (the traits [`super::Tests`], [`super::Building`], [`super::Goals`], [`super::Control`]),
//! - its name in [`super::Instruction`],
//! - its operands and the role of each (see [`super::role`]),
//! - in brackets the properties that it has (see [`super::Property`]),
//! - `words`: those that it allocates by itself,
//! - `helper`: those that the engine may allocate for it.
//!
//! Words follow from [`super::Sizes`] of what operands refer to; where nothing is said there are none.

macro_rules! instructions {
    ($generate:ident) => {
        $generate! {
            /// What tells clauses apart: goes on where the answer is yes, to `other` where it is no, and to `unbound`,
            /// after noting the variables, where it cannot be given yet.
            trait Tests {
                /// Goes on if the register holds a list.
                list: List { register: Read, unbound: Label, other: Label } [];
                /// As `List`, and loads both parts.
                list_parts: ListParts {
                    register: Read, head: Write, tail: Write, unbound: Label, other: Label,
                } [];
                /// Goes on if the register holds this constant.
                constant: Constant { register: Read, constant: Constant, unbound: Label, other: Label } [];
                /// Goes on if the register holds an object with this header.
                header: Header { register: Read, header: Constant, unbound: Label, other: Label } [];
                /// Goes on if the register holds a float or string equal to this one.
                boxed: Boxed { register: Read, constant: Boxed, unbound: Label, other: Label } [];
                /// Goes on if the register holds a value of this type.
                r#type: Type { kind: Type, register: Read, unbound: Label, other: Label } [];
                /// Goes where the table says.
                switch: Switch { register: Read, table: Table } [EndsBlock];
                /// Compares integers.
                compare: Compare {
                    comparison: Comparison, left: Read, right: Read, unbound: Label, other: Label,
                } [];
                /// Compares an integer with a constant.
                compare_constant: CompareConstant {
                    comparison: Comparison, left: Read, right: Integer, unbound: Label, other: Label,
                } [];
                /// Calculates with integers in a guard.
                calculate: Calculate {
                    operation: Operation, target: Write, left: Read, right: Read, unbound: Label, other: Label,
                } [];
                /// Calculates with an integer and a constant in a guard.
                calculate_constant: CalculateConstant {
                    operation: Operation, target: Write, left: Read, right: Integer, unbound: Label, other: Label,
                } [];
                /// Any other guard goal.
                guard: Guard { guard: Guard, unbound: Label, other: Label } [BindsVariables], helper: |_| 8;
                /// Passive unification of two values.
                same: Same { left: Read, right: Read, unbound: Label, other: Label } [];
            }

            /// What loads registers, builds values and unifies.
            trait Building {
                /// Loads a cell of a list (0, 1) or of an object (1 and up).
                cell: Cell { target: Write, source: Read, index: Index } [];
                /// Copies a register.
                r#move: Move { target: Write, source: Read } [];
                /// Loads a constant.
                load: Load { target: Write, constant: Constant } [];
                /// Builds a constant of more than one word.
                load_boxed: LoadBoxed { target: Write, constant: Boxed } [], helper: |sizes| sizes.boxed(constant);
                /// A new variable.
                variable: Variable { target: Write } [], words: |_| 1;
                /// A list of two registers.
                cons: Cons { target: Write, head: Read, tail: Read } [], words: |_| 2;
                /// A list of a register and a new variable, which `tail` then refers to.
                cons_variable: ConsVariable { target: Write, head: Read, tail: Write } [], words: |_| 2;
                /// An object.
                build: Build { target: Write, build: Build } [], words: |sizes| 1 + sizes.cells(build);
                /// Active unification.
                unify: Unify { left: Read, right: Read } [BindsVariables];
                /// Active unification of `left` with a list of a register and a new variable, which `tail` then refers to.
                unify_cons_variable: UnifyConsVariable { left: Read, head: Read, tail: Write } [BindsVariables],
                    words: |_| 2;
                /// Active unification with a constant.
                unify_constant: UnifyConstant { left: Read, constant: Constant } [BindsVariables];
            }

            /// What a body does beside building: calculations, builtins, goals.
            trait Goals {
                /// Calculates with integers in a body: waits where an operand is unbound.
                body_calculate: BodyCalculate { operation: Operation, target: Write, left: Read, right: Read } [],
                    helper: |_| 2 * WAITING;
                /// Any other operation with numbers in a body.
                body_number: BodyNumber { calculation: Calculation } [BindsVariables], helper: |_| 2 * WAITING;
                /// A body builtin that runs in place when it can; the predicate of the call is the builtin's.
                builtin: Builtin { call: Call } [BindsVariables], helper: |sizes| 2 * WAITING + sizes.arguments(call);
                /// Puts a goal into the queue.
                push: Push { call: Call } [], words: |sizes| 3 + sizes.arguments(call);
                /// Starts a goal elsewhere, or at another priority.
                start: Start { start: Start } [BindsVariables], helper: |sizes| 3 * WAITING + 2 * sizes.started(start);
                /// Starts a metacall.
                metacall: Metacall { metacall: Metacall } [BindsVariables], helper: |_| 3 * WAITING + MAX_ARITY;
            }

            /// Where a goal goes on, and how it commits, waits and ends.
            trait Control {
                /// Goes elsewhere.
                jump: Jump { to: Label } [EndsBlock];
                /// Forgets what variables were noted: a clause commits although another was undecided.
                forget: Forget [];
                /// No clause can commit now: the goal waits for what was noted, or fails if nothing was.
                suspend: Suspend { predicate: Predicate } [EndsBlock];
                /// Goes on elsewhere if nothing was noted; otherwise the goal waits: clauses after `otherwise`.
                otherwise: Otherwise { predicate: Predicate, to: Label } [EndsBlock];
                /// Counts a commitment to a clause of a predicate; only where counts by predicate are asked for.
                count: Count { predicate: Predicate } [];
                /// Makes sure of memory for a predicate that takes more of it than [`Code::words`], before anything else
                /// of it.
                ensure: Ensure { words: Words, predicate: Predicate } [];
                /// Goes on with a goal whose arguments are in registers 0 and up.
                execute: Execute { predicate: Goal, entry: Entry } [EndsBlock];
                /// Goes on with the next goal of the queue.
                proceed: Proceed [EndsBlock];
                /// The whole of a predicate that is a builtin.
                builtin_entry: BuiltinEntry { predicate: Predicate } [EndsBlock];
            }
        }
    };
}

pub(super) use instructions;
