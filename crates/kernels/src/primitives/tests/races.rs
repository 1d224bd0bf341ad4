//! Indices that another thread writes while they are used: results are any, but nothing outside is read or written.
//! In these builds the unchecked accesses of the standard library check themselves.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, Ordering};

use super::super::*;
use crate::{Execution, Stop};

/// Elements of a source and of indices; more than are sent without being sorted.
const LENGTH: usize = 5000;

/// Guards around what is written.
const AROUND: usize = 64;

/// Calls `work` again and again while another thread moves the indices out of range and back.
fn under_writes(work: impl Fn(&[AtomicI64], &[AtomicU8])) {
    let index: Vec<AtomicI64> = (0..LENGTH).map(|element| AtomicI64::new(element as i64)).collect();
    let selection: Vec<AtomicU8> = (0..LENGTH).map(|_| AtomicU8::new(1)).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0_usize;
            while !done.load(Ordering::Relaxed) {
                let element = round * 7919 % LENGTH;
                // Mostly fine, so that calls get past the check.
                let bad = [i64::MAX, i64::MIN, -1, LENGTH as i64, 1 << 40][round % 5];
                index[element].store(bad, Ordering::Relaxed);
                selection[element].store((round % 3) as u8, Ordering::Relaxed);
                std::hint::spin_loop();
                index[element].store(element as i64, Ordering::Relaxed);
                round += 1;
            }
        });
        work(&index, &selection);
        done.store(true, Ordering::Relaxed);
    });
}

fn view_of<T>(values: &[T], kind: ElementType) -> View {
    View { kind, pointer: values.as_ptr().cast_mut().cast(), length: values.len() }
}

fn is_fine(outcome: Result<(), PrimitiveError>) -> bool {
    match outcome {
        Ok(()) => true,
        Err(PrimitiveError::Index { .. } | PrimitiveError::Collision { .. }) => false,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn gets_stay_within_their_source() {
    let x: Vec<f64> = (0..LENGTH).map(|element| element as f64).collect();
    under_writes(|index, selection| {
        let mut through = 0;
        for round in 0..4000 {
            let mut out = vec![0.5_f64; LENGTH];
            let mask = view_of(selection, ElementType::Bool);
            let selection = (round % 2 == 0).then_some(&mask);
            let to = View { kind: ElementType::Float64, pointer: out.as_mut_ptr().cast(), length: LENGTH };
            let threads = Some(1 + round % 2);
            // SAFETY: all are so long; indices may be anything.
            let outcome = unsafe {
                let (x, index) = (view_of(&x, ElementType::Float64), view_of(index, ElementType::Int64));
                gather(x, index, to, selection, [OnError::Keep, OnError::Clobber][round / 2 % 2], threads)
            };
            through += usize::from(is_fine(outcome));
            assert!(out.iter().all(|&value| value == 0.5 || (value.fract() == 0.0 && value < LENGTH as f64)));
            if through > 200 {
                break;
            }
        }
        assert!(through > 0, "no call got past the check");
    });
}

#[test]
fn sends_stay_within_their_target() {
    let x = vec![1_u64; LENGTH];
    under_writes(|index, selection| {
        let mut through = 0;
        for round in 0..4000 {
            let mut out = vec![7_u64; LENGTH + 2 * AROUND];
            let mask = view_of(selection, ElementType::Bool);
            let selection = (round % 2 == 0).then_some(&mask);
            // SAFETY: within the vector.
            let start = unsafe { out.as_mut_ptr().add(AROUND) };
            let to = View { kind: ElementType::Uint64, pointer: start.cast(), length: LENGTH };
            let how = [Collisions::Refuse, Collisions::Overwrite, Collisions::Combine(Combination::Add)][round % 3];
            let threads = Some(1 + round % 2);
            // SAFETY: all are so long; indices may be anything.
            let outcome = unsafe {
                let (x, index) = (view_of(&x, ElementType::Uint64), view_of(index, ElementType::Int64));
                send(x, index, to, how, selection, None, [OnError::Keep, OnError::Clobber][round / 2 % 2], threads)
            };
            through += usize::from(is_fine(outcome));
            let (before, rest) = out.split_at(AROUND);
            assert!(before.iter().chain(&rest[LENGTH..]).all(|&value| value == 7), "written outside");
            if through > 200 {
                break;
            }
        }
        assert!(through > 0, "no call got past the check");
    });
}

#[test]
fn calls_are_interrupted() {
    let x = vec![1_u64; 3 * LENGTH];
    let index: Vec<i64> = (0..3 * LENGTH as i64).collect();
    let mut out = vec![0_u64; 3 * LENGTH];
    let flag = AtomicBool::new(true);
    let kind = ElementType::Uint64;
    let to = View { kind, pointer: out.as_mut_ptr().cast(), length: out.len() };
    let axis = Axis::of(&[3 * LENGTH], 0).expect("there is one");
    for threads in [None, Some(3)] {
        let execution = Execution { threads, stop: Stop::when(&flag) };
        let (from, index) = (view_of(&x, kind), view_of(&index, ElementType::Int64));
        let add = Combination::Add;
        // SAFETY: all are so long.
        unsafe {
            let all = [
                gather(from, index, to, None, OnError::Keep, execution),
                gather(from, index, to, None, OnError::Clobber, execution),
                send(from, index, to, Collisions::Combine(add), None, None, OnError::Keep, execution),
                send(from, index, to, Collisions::Combine(add), None, None, OnError::Clobber, execution),
                send(from, index, to, Collisions::Refuse, None, None, OnError::Keep, execution),
                scan(from, to, Scan::Combine(add), axis, None, None, Order::default(), execution),
                spread(from, to, axis, 1, None, execution),
                elementwise(Pointwise::Add, &[from, from], to, None, execution).map(drop),
                reduce(from, add, None, execution).map(drop),
            ];
            assert!(all.iter().all(|outcome| *outcome == Err(PrimitiveError::Interrupted)), "{all:?}");
        }
    }
}
