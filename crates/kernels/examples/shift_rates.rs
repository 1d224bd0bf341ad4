//! Rates of shifts in both directions along every axis, against copies of the same arrays: a quick look while changing
//! the kernels.
//!
//! cargo run --release -p weft-kernels --example shift_rates -- [--rounds N] [--calls N] [--aligned 1] [SHAPE]…
//!
//! A shape is written 16x16x16x16. Arrays of float64; medians over rounds, in which everything takes turns: one call
//! of the shifts, copies of the source into every output (what moving the same lines costs at least, where they are not
//! read and written better), and a store into every line of the outputs. `benches/polyshift/shifts.py` is the benchmark
//! with baselines.

use std::time::Instant;

use weft_kernels::shift::lines::Lines;
use weft_kernels::shift::slabs::{self, Stores};
use weft_kernels::shift::{Buffers, SlabEdge, SlabShift};

const ITEM: usize = 8;

fn main() {
    let (mut rounds, mut calls, mut aligned, mut shapes) = (9, 20, false, Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|text| text.parse::<usize>().ok()).expect("a number after an option");
        match word.as_str() {
            "--rounds" => rounds = number(),
            "--calls" => calls = number(),
            "--aligned" => aligned = number() > 0,
            shape => shapes.push(shape.split('x').map(|n| n.parse().expect("extents")).collect::<Vec<usize>>()),
        }
    }
    if shapes.is_empty() {
        shapes.push(vec![16; 4]);
    }
    for shape in shapes {
        measure(&shape, rounds, calls, aligned);
    }
}

/// Both directions along every axis.
fn shifts_of(shape: &[usize]) -> Vec<SlabShift> {
    let mut shifts = Vec::new();
    for axis in 0..shape.len() {
        let inner = shape[axis + 1..].iter().product::<usize>() * ITEM;
        for upwards in [false, true] {
            shifts.push(SlabShift {
                source: 0,
                target: shifts.len(),
                slab: shape[axis] * inner,
                distance: inner,
                upwards,
                edge: SlabEdge::Circular,
            });
        }
    }
    shifts
}

fn measure(shape: &[usize], rounds: usize, calls: usize, aligned: bool) {
    let shifts = shifts_of(shape);
    let length = shape.iter().product::<usize>() * ITEM;
    // Each in memory of its own; numpy's arrays begin 16 bytes into a page.
    let offset = if aligned { 0 } else { 16 };
    let mut held: Vec<Vec<u8>> = (0..=shifts.len()).map(|_| vec![1; length + 2 * PAGE]).collect();
    let start = |memory: &mut Vec<u8>| {
        let start = memory.as_ptr().align_offset(PAGE) + offset;
        memory[start..].as_mut_ptr()
    };
    let pointers: Vec<*mut u8> = held.iter_mut().map(start).collect();
    let (source, outputs) = (pointers[0].cast_const(), &pointers[1..]);
    let buffers = Buffers { inputs: &[source], outputs, length };
    let stores = Stores::for_bytes(length * (1 + outputs.len()));
    let lines = Lines::new(&shifts, length);
    let shift = || match &lines {
        // SAFETY: source and outputs have `length` bytes each, apart from one another.
        Some(lines) => unsafe { lines.run(&[source], outputs) },
        // SAFETY: source and outputs have `length` bytes each, apart from one another, which the slabs of the shifts
        // divide.
        None => unsafe { slabs::run(&shifts, buffers, stores, 1, weft_kernels::Stop::NEVER) },
    };
    let copy = || {
        for &output in outputs {
            // SAFETY: source and output have `length` bytes each, in memory of their own.
            unsafe { std::ptr::copy_nonoverlapping(source, output, length) };
        }
    };
    let fill = || {
        for &output in outputs {
            // SAFETY: the output has `length` bytes.
            unsafe { std::ptr::write_bytes(output, 1, length) };
        }
    };
    let kernels: [(&str, &dyn Fn()); 3] = [("shifts", &shift), ("copies", &copy), ("fills", &fill)];
    let mut seconds = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        for ((_, kernel), seconds) in kernels.iter().zip(&mut seconds) {
            kernel();
            let start = Instant::now();
            for _ in 0..calls {
                kernel();
            }
            seconds.push(start.elapsed().as_secs_f64() / calls as f64);
        }
    }
    println!("{shape:?} {stores:?}");
    for ((name, _), seconds) in kernels.iter().zip(&mut seconds) {
        seconds.sort_by(f64::total_cmp);
        let median = seconds[seconds.len() / 2];
        let written = (length * outputs.len()) as f64;
        println!("  {name:<8} {:10.2} us, writes {:6.1} GB/s", median * 1e6, written / median / 1e9);
    }
}

const PAGE: usize = 4096;
