//! What a PE of a described machine takes for reductions and messages.

use weft_base::Operation;
use weft_fghc::distributed::{CopyLimits, Costs, KINDS, Kind};
use weft_fghc::engine::Rounds;
use weft_machine::{FghcCosts, GoalOrder, Machine, Sources};

use crate::error::LaunchError;

/// Additions of integers in a reduction, where a machine file gives no time for reductions: compiled code for a clause of a
/// few arguments tests, copies and stores about as many words. An assumption, and said to be one wherever it is used.
pub const OPERATIONS_OF_A_REDUCTION: f64 = 40.0;

/// Steps of the communication software in reductions, where a machine file gives no times: those of the Multi-PSI/V1.
/// That ratio depends on algorithms and not on the processor (Taki 1988, section 4.1).
pub const REDUCTIONS_OF_STEPS: Steps =
    Steps { message: 1.5 / 2.25, word: 0.15 / 2.25, reference: 0.15 / 2.25, tree: 6.62 / 2.25 };

/// Steps of the communication software at one end, in reductions or in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// What every message takes.
    pub message: f64,
    /// A word is composed or decomposed.
    pub word: f64,
    /// A reference is translated.
    pub reference: f64,
    /// The AND-tree is maintained.
    pub tree: f64,
}

/// What a user says of costs, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CostOptions {
    /// One reduction.
    pub reduction: Option<f64>,
    /// One step of the communication software: of a message, a word, a reference, or the AND-tree, at one end.
    pub step: Option<f64>,
}

/// Costs of a PE, and what was assumed to know them.
#[derive(Clone, Debug, PartialEq)]
pub struct PeCosts {
    /// What the runtime charges; the protocols of the machine are charged by the backend.
    pub costs: Costs,
    /// How much of a value a message carries.
    pub copy: CopyLimits,
    /// In which order goals run.
    pub rounds: Rounds,
    /// One line for every figure that neither the machine file nor the user gave.
    pub assumed: Vec<String>,
}

/// The costs of a PE of `machine`.
///
/// # Errors
/// [`LaunchError::Usage`] where nothing says what a reduction takes.
pub fn pe_costs(machine: &Machine, options: CostOptions) -> Result<PeCosts, LaunchError> {
    let mut assumed = Vec::new();
    let known = machine.fghc.clone();
    let reduction = match options.reduction.or(known.as_ref().map(|costs| costs.reduction_time)) {
        Some(seconds) => seconds,
        None => derived_reduction(machine, &mut assumed)?,
    };
    let mut costs = known.unwrap_or_else(|| {
        let of = REDUCTIONS_OF_STEPS;
        if options.step.is_none() {
            assumed.push(format!(
                "the communication software takes at each end, in reductions, {:.2} for a message, {:.3} for a word or a \
                 reference, {:.2} for the AND-tree, as on the Multi-PSI/V1, ratios that depend on algorithms (Taki 1988, \
                 section 4.1)",
                of.message, of.word, of.tree
            ));
        }
        with_steps(reduction, Steps {
            message: of.message * reduction,
            word: of.word * reduction,
            reference: of.reference * reduction,
            tree: of.tree * reduction,
        })
    });
    costs.reduction_time = reduction;
    if let Some(step) = options.step {
        costs = FghcCosts {
            argument_time: costs.argument_time,
            goal_order: costs.goal_order,
            copy_levels: costs.copy_levels,
            copy_parts: costs.copy_parts,
            ..equal_steps(reduction, step)
        };
    }
    let limit =
        |options: Option<u64>, or: usize| options.map_or(or, |options| usize::try_from(options).unwrap_or(usize::MAX));
    let usual = CopyLimits::default();
    let copy =
        CopyLimits { levels: limit(costs.copy_levels, usual.levels), parts: limit(costs.copy_parts, usual.parts) };
    let rounds = Rounds {
        breadth_first: costs.goal_order == Some(GoalOrder::BreadthFirst),
        counts_arguments: costs.argument_time > 0.0,
    };
    Ok(PeCosts { costs: by_kind(&costs), copy, rounds, assumed })
}

fn derived_reduction(machine: &Machine, assumed: &mut Vec<String>) -> Result<f64, LaunchError> {
    let known = [Operation::Int32Add, Operation::Int16Add, Operation::Float64Add, Operation::Float32Add];
    let Some((operation, time)) =
        known.into_iter().find_map(|operation| Some((operation, machine.operation_time(operation)?)))
    else {
        return Err(LaunchError::Usage(format!(
            "a reduction on {}: the machine's file has neither a table [fghc] nor the time of an addition to derive it \
             from; give --reduction-time in seconds",
            machine.name
        )));
    };
    let seconds = OPERATIONS_OF_A_REDUCTION * time;
    assumed.push(format!(
        "a reduction takes {seconds:.3e} s: {OPERATIONS_OF_A_REDUCTION} times {} of {}",
        operation.name(),
        machine.name
    ));
    Ok(seconds)
}

fn equal_steps(reduction_time: f64, step: f64) -> FghcCosts {
    with_steps(reduction_time, Steps { message: step, word: step, reference: step, tree: step })
}

fn with_steps(reduction_time: f64, steps: Steps) -> FghcCosts {
    FghcCosts {
        reduction_time,
        argument_time: 0.0,
        goal_order: None,
        message_time: steps.message,
        word_time: steps.word,
        reference_time: steps.reference,
        tree_time: steps.tree,
        copy_levels: None,
        copy_parts: None,
        sources: Sources::new(),
    }
}

/// By kind of message, the same at both ends; words and references of values come on top.
fn by_kind(costs: &FghcCosts) -> Costs {
    let mut ends = [0.0; KINDS];
    for kind in Kind::ALL {
        ends[kind as usize] = costs.message_time
            + kind.fields() as f64 * costs.word_time
            + match kind {
                Kind::ThrowGoal | Kind::Terminated | Kind::Failed | Kind::Status => costs.tree_time,
                // The variable that the message is about is named by a global identifier.
                Kind::ReadValue | Kind::ReturnValue | Kind::Unify | Kind::Release => costs.reference_time,
                Kind::Control => 0.0,
            };
    }
    // Machines of the time did not look for perpetual suspension, and it must not make them slower.
    ends[Kind::Control as usize] = 0.0;
    Costs {
        reduction: costs.reduction_time,
        argument: costs.argument_time,
        send: ends,
        receive: ends,
        byte: 0.0,
        word: costs.word_time,
        reference: costs.reference_time,
    }
}
