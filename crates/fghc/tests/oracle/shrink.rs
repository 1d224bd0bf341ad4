//! A smaller program that still shows what a large one showed.

use super::generate::Program;

/// Leaves out what can be left out: predicates, clauses, goals and tests, as long as `shows` says that it is still there.
pub fn shrunk(program: &Program, shows: &mut dyn FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    loop {
        let candidate = smaller(&best).into_iter().find(|candidate| shows(candidate));
        match candidate {
            Some(candidate) => best = candidate,
            None => return best,
        }
    }
}

/// Programs with one thing less.
fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let mut without = |change: &dyn Fn(&mut Program)| {
        let mut candidate = program.clone();
        change(&mut candidate);
        if candidate != *program {
            all.push(candidate);
        }
    };
    for index in 0..program.predicates.len() - 1 {
        without(&|candidate| drop(candidate.predicates.remove(index)));
    }
    for (index, predicate) in program.predicates.iter().enumerate() {
        for (number, clause) in predicate.clauses.iter().enumerate() {
            if predicate.clauses.len() > 1 {
                without(&|candidate| drop(candidate.predicates[index].clauses.remove(number)));
            }
            for goal in 0..clause.body.len() {
                without(&|candidate| drop(candidate.predicates[index].clauses[number].body.remove(goal)));
            }
            for test in 0..clause.guard.len() {
                without(&|candidate| drop(candidate.predicates[index].clauses[number].guard.remove(test)));
            }
            if clause.separator.is_some() {
                without(&|candidate| candidate.predicates[index].clauses[number].separator = None);
            }
            for goal in 0..clause.body.len() {
                without(&|candidate| {
                    let goal = &mut candidate.predicates[index].clauses[number].body[goal];
                    if let Some((bare, _)) = goal.clone().split_once('@') {
                        *goal = bare.to_string();
                    }
                });
            }
        }
    }
    all
}
