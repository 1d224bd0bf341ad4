//! The published checksums: results weighted with their index, counted from 1.

use super::data::Data;

/// The sum of the elements, each times its index.
fn weighted<'a>(elements: impl IntoIterator<Item = &'a f64>) -> f64 {
    elements.into_iter().enumerate().map(|(at, element)| element * (at + 1) as f64).sum()
}

pub(super) fn hydro(d: &Data) -> f64 {
    weighted(&d.x)
}

pub(super) fn iccg(d: &Data) -> f64 {
    weighted(&d.x[..202])
}

pub(super) fn inner_product(d: &Data) -> f64 {
    d.inner_product
}

pub(super) fn banded(d: &Data) -> f64 {
    weighted(&d.v[..3])
}

pub(super) fn tridiagonal(d: &Data) -> f64 {
    weighted(&d.x[1..])
}

pub(super) fn recurrence(d: &Data) -> f64 {
    weighted(&d.w[..64])
}

pub(super) fn state(d: &Data) -> f64 {
    weighted(&d.x[..995])
}

pub(super) fn adi(d: &Data) -> f64 {
    let one = |u: &super::data::Flow| weighted(u.as_flattened().as_flattened().iter().take(1000));
    one(&d.u1) + one(&d.u2) + one(&d.u3)
}

pub(super) fn integrate(d: &Data) -> f64 {
    weighted(d.px.as_flattened().iter().take(15 * 101))
}

pub(super) fn difference_predictors(d: &Data) -> f64 {
    integrate(d)
}

pub(super) fn first_sum(d: &Data) -> f64 {
    weighted(&d.x[1..])
}

pub(super) fn first_difference(d: &Data) -> f64 {
    weighted(&d.x[..999])
}

pub(super) fn particles_2d(d: &Data) -> f64 {
    weighted(d.p.as_flattened().iter().take(4 * 128)) + weighted(d.h.as_flattened().iter().take(512))
}

pub(super) fn particles_1d(d: &Data) -> f64 {
    weighted(&d.xx) + weighted(&d.vx) + weighted(&d.rh[..67])
}

pub(super) fn casual(d: &Data) -> f64 {
    weighted(d.vs.as_flattened()) + weighted(d.vy.as_flattened().iter().take(707))
}

pub(super) fn search(d: &Data) -> f64 {
    (d.search.k3 + d.search.k2 + d.search.j5 + d.search.m16) as f64
}

pub(super) fn implicit(d: &Data) -> f64 {
    d.xnm + weighted(&d.vxne) + weighted(&d.vxnd)
}

pub(super) fn explicit_hydro(d: &Data) -> f64 {
    let first = |grid: &super::data::Grid| weighted(grid.as_flattened().iter().take(700));
    first(&d.zz) + first(&d.zr)
}

pub(super) fn two_way_recurrence(d: &Data) -> f64 {
    d.scalars.stb5 + weighted(&d.b5)
}

pub(super) fn transport(d: &Data) -> f64 {
    weighted(&d.xx[1..])
}

pub(super) fn matrix_product(d: &Data) -> f64 {
    weighted(d.px.as_flattened())
}

pub(super) fn planck(d: &Data) -> f64 {
    weighted(&d.w[..101])
}

pub(super) fn implicit_hydro(d: &Data) -> f64 {
    weighted(d.za.as_flattened().iter().take(700))
}

pub(super) fn first_minimum(d: &Data) -> f64 {
    d.first_minimum as f64
}
