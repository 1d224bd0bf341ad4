//! The published checksums, of loops of `n` iterations: results weighted with their index, counted from 1.

use super::data::Data;

/// The sum of the elements, each times its index.
fn weighted<'a>(elements: impl IntoIterator<Item = &'a f64>) -> f64 {
    elements.into_iter().enumerate().map(|(at, element)| element * (at + 1) as f64).sum()
}

pub(super) fn hydro(d: &Data, n: usize) -> f64 {
    weighted(&d.x[..n])
}

pub(super) fn iccg(d: &Data, n: usize) -> f64 {
    weighted(&d.x[..2 * n])
}

pub(super) fn inner_product(d: &Data, _: usize) -> f64 {
    d.inner_product
}

pub(super) fn banded(d: &Data, _: usize) -> f64 {
    weighted(&d.v[..3])
}

pub(super) fn tridiagonal(d: &Data, n: usize) -> f64 {
    weighted(&d.x[1..n])
}

pub(super) fn recurrence(d: &Data, n: usize) -> f64 {
    weighted(&d.w[..n])
}

pub(super) fn state(d: &Data, n: usize) -> f64 {
    weighted(&d.x[..n])
}

pub(super) fn adi(d: &Data, n: usize) -> f64 {
    let one = |u: &super::data::Flow| weighted(u.as_flattened().as_flattened().iter().take(10 * n));
    one(&d.u1) + one(&d.u2) + one(&d.u3)
}

pub(super) fn integrate(d: &Data, n: usize) -> f64 {
    weighted(d.px.as_flattened().iter().take(15 * n))
}

pub(super) fn difference_predictors(d: &Data, n: usize) -> f64 {
    integrate(d, n)
}

pub(super) fn first_sum(d: &Data, n: usize) -> f64 {
    weighted(&d.x[1..n])
}

pub(super) fn first_difference(d: &Data, n: usize) -> f64 {
    weighted(&d.x[..n - 1])
}

pub(super) fn particles_2d(d: &Data, n: usize) -> f64 {
    weighted(d.p.as_flattened().iter().take(8 * n)) + weighted(d.h.as_flattened().iter().take(8 * n))
}

pub(super) fn particles_1d(d: &Data, n: usize) -> f64 {
    weighted(&d.xx[..n]) + weighted(&d.vx[..n]) + weighted(&d.rh[..67])
}

pub(super) fn casual(d: &Data, n: usize) -> f64 {
    weighted(d.vs.as_flattened().iter().take(7 * n)) + weighted(d.vy.as_flattened().iter().take(7 * n))
}

pub(super) fn search(d: &Data, _: usize) -> f64 {
    (d.search.k3 + d.search.k2 + d.search.j5 + d.search.m16) as f64
}

pub(super) fn implicit(d: &Data, n: usize) -> f64 {
    d.xnm + weighted(&d.vxne[..n]) + weighted(&d.vxnd[..n])
}

pub(super) fn explicit_hydro(d: &Data, n: usize) -> f64 {
    let first = |grid: &super::data::Grid| weighted(grid.as_flattened().iter().take(7 * n));
    first(&d.zz) + first(&d.zr)
}

pub(super) fn two_way_recurrence(d: &Data, n: usize) -> f64 {
    d.scalars.stb5 + weighted(&d.b5[..n])
}

pub(super) fn transport(d: &Data, n: usize) -> f64 {
    weighted(&d.xx[1..=n])
}

pub(super) fn matrix_product(d: &Data, n: usize) -> f64 {
    weighted(d.px[..n].as_flattened())
}

pub(super) fn planck(d: &Data, n: usize) -> f64 {
    weighted(&d.w[..n])
}

pub(super) fn implicit_hydro(d: &Data, n: usize) -> f64 {
    weighted(d.za.as_flattened().iter().take(7 * n))
}

pub(super) fn first_minimum(d: &Data, _: usize) -> f64 {
    d.first_minimum as f64
}
