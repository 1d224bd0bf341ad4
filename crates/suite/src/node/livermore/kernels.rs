//! The 24 kernels, each one pass over loops of `n` iterations, after McMahon 1986.
//!
//! Operations are in the order of the published programs, so that results agree with theirs to rounding.
#![allow(clippy::needless_range_loop)]

use super::data::Data;
use crate::node::simd::vectorised;

vectorised! {
    /// 1: hydro fragment.
    pub(super) fn hydro(d: &mut Data, n: usize) {
        let (q, r, t) = (d.scalars.q, d.scalars.r, d.scalars.t);
        for k in 0..n {
            d.x[k] = q + d.y[k] * (r * d.z[k + 10] + t * d.z[k + 11]);
        }
    }
}

vectorised! {
    /// 2: incomplete Cholesky, conjugate gradient.
    pub(super) fn iccg(d: &mut Data, n: usize) {
        let mut length = n;
        let mut end = 0;
        while length > 0 {
            let start = end;
            end += length;
            length /= 2;
            let (source, target) = d.x.split_at_mut(end + 1);
            let pairs = (start + 1..end).step_by(2);
            for (target, k) in target.iter_mut().zip(pairs) {
                *target = source[k] - d.v[k] * source[k - 1] - d.v[k + 1] * source[k + 1];
            }
        }
    }
}

vectorised! {
    /// 3: inner product.
    pub(super) fn inner_product(d: &mut Data, n: usize) {
        let mut q = 0.0;
        for k in 0..n {
            q += d.z[k] * d.x[k];
        }
        d.inner_product = q;
    }
}

vectorised! {
    /// 4: banded linear equations. The third band runs past `x` into `y`.
    pub(super) fn banded(d: &mut Data, n: usize) {
        for k in [6, 503, 1000] {
            let mut sum = d.x[k - 1];
            let band = d.x[k - 6..].iter().chain(&d.y);
            for (x, y) in band.zip(d.y[4..n].iter().step_by(5)) {
                sum -= x * y;
            }
            d.x[k - 1] = d.y[4] * sum;
        }
    }
}

vectorised! {
    /// 5: tridiagonal elimination, below the diagonal.
    pub(super) fn tridiagonal(d: &mut Data, n: usize) {
        for i in 1..n {
            d.x[i] = d.z[i] * (d.y[i] - d.x[i - 1]);
        }
    }
}

vectorised! {
    /// 6: general linear recurrence.
    pub(super) fn recurrence(d: &mut Data, n: usize) {
        for i in 1..n {
            let mut sum = 0.01;
            for k in 0..i {
                sum += d.b[k][i] * d.w[i - k - 1];
            }
            d.w[i] = sum;
        }
    }
}

vectorised! {
    /// 7: equation of state.
    pub(super) fn state(d: &mut Data, n: usize) {
        let (q, r, t) = (d.scalars.q, d.scalars.r, d.scalars.t);
        let u = &d.u;
        for k in 0..n {
            d.x[k] = u[k] + r * (d.z[k] + r * d.y[k])
                + t * (u[k + 3] + r * (u[k + 2] + r * u[k + 1])
                    + t * (u[k + 6] + q * (u[k + 5] + q * u[k + 4])));
        }
    }
}

vectorised! {
    /// 8: alternating directions, implicit.
    pub(super) fn adi(d: &mut Data, n: usize) {
        let [a1, a2, a3] = d.scalars.a;
        let sig = d.scalars.sig;
        let [from_1, to_1] = &mut d.u1;
        let [from_2, to_2] = &mut d.u2;
        let [from_3, to_3] = &mut d.u3;
        for kx in 1..3 {
            for ky in 1..n {
                let (du1, du2, du3) = (
                    from_1[ky + 1][kx] - from_1[ky - 1][kx],
                    from_2[ky + 1][kx] - from_2[ky - 1][kx],
                    from_3[ky + 1][kx] - from_3[ky - 1][kx],
                );
                (d.du1[ky], d.du2[ky], d.du3[ky]) = (du1, du2, du3);
                to_1[ky][kx] = from_1[ky][kx] + a1[0] * du1 + a1[1] * du2 + a1[2] * du3
                    + sig * (from_1[ky][kx + 1] - 2.0 * from_1[ky][kx] + from_1[ky][kx - 1]);
                to_2[ky][kx] = from_2[ky][kx] + a2[0] * du1 + a2[1] * du2 + a2[2] * du3
                    + sig * (from_2[ky][kx + 1] - 2.0 * from_2[ky][kx] + from_2[ky][kx - 1]);
                to_3[ky][kx] = from_3[ky][kx] + a3[0] * du1 + a3[1] * du2 + a3[2] * du3
                    + sig * (from_3[ky][kx + 1] - 2.0 * from_3[ky][kx] + from_3[ky][kx - 1]);
            }
        }
    }
}

vectorised! {
    /// 9: numerical integration, predictors.
    pub(super) fn integrate(d: &mut Data, n: usize) {
        let c0 = d.scalars.c0;
        let [dm22, dm23, dm24, dm25, dm26, dm27, dm28] = d.scalars.dm;
        for px in &mut d.px[..n] {
            px[0] = dm28 * px[12] + dm27 * px[11] + dm26 * px[10] + dm25 * px[9] + dm24 * px[8] + dm23 * px[7]
                + dm22 * px[6] + c0 * (px[4] + px[5]) + px[2];
        }
    }
}

vectorised! {
    /// 10: difference predictors.
    pub(super) fn difference_predictors(d: &mut Data, n: usize) {
        for (px, cx) in d.px[..n].iter_mut().zip(&d.cx) {
            let mut new = cx[4];
            for column in 4..12 {
                let next = new - px[column];
                px[column] = new;
                new = next;
            }
            px[13] = new - px[12];
            px[12] = new;
        }
    }
}

vectorised! {
    /// 11: first sum.
    pub(super) fn first_sum(d: &mut Data, n: usize) {
        d.x[0] = d.y[0];
        for k in 1..n {
            d.x[k] = d.x[k - 1] + d.y[k];
        }
    }
}

vectorised! {
    /// 12: first difference.
    pub(super) fn first_difference(d: &mut Data, n: usize) {
        for k in 0..n {
            d.x[k] = d.y[k + 1] - d.y[k];
        }
    }
}

vectorised! {
    /// 13: particles in cells, two dimensions.
    pub(super) fn particles_2d(d: &mut Data, n: usize) {
        for p in &mut d.p[..n] {
            let i1 = (p[0] as i64 & 63) as usize;
            let j1 = (p[1] as i64 & 63) as usize;
            p[2] += d.b[j1][i1];
            p[3] += d.c[j1][i1];
            p[0] += p[2];
            p[1] += p[3];
            let i2 = (p[0] as i64 & 63) as usize;
            let j2 = (p[1] as i64 & 63) as usize;
            // One less than the published indices, which start at -1.
            p[0] += d.y[i2 + 31];
            p[1] += d.z[j2 + 31];
            let column = i2 as i64 - 1 + d.e[i2 + 31];
            let row = j2 as i64 - 1 + d.f[j2 + 31];
            d.h[row as usize][column as usize] += 1.0;
        }
    }
}

vectorised! {
    /// 14: particles in cells, one dimension.
    pub(super) fn particles_1d(d: &mut Data, n: usize) {
        for k in 0..n {
            d.vx[k] = 0.0;
            d.xx[k] = 0.0;
            d.ix[k] = d.grd[k] as i64;
            d.xi[k] = d.ix[k] as f64;
            d.ex1[k] = d.ex[d.ix[k] as usize - 1];
            d.dex1[k] = d.dex[d.ix[k] as usize - 1];
        }
        let flx = d.scalars.flx;
        for k in 0..n {
            d.vx[k] = d.vx[k] + d.ex1[k] + (d.xx[k] - d.xi[k]) * d.dex1[k];
            d.xx[k] = d.xx[k] + d.vx[k] + flx;
            let cell = d.xx[k] as i64;
            d.rx[k] = d.xx[k] - cell as f64;
            d.ir[k] = (cell & 2047) + 1;
            d.xx[k] = d.rx[k] + d.ir[k] as f64;
        }
        for k in 0..n {
            let cell = d.ir[k] as usize;
            d.rh[cell - 1] += 1.0 - d.rx[k];
            d.rh[cell] += d.rx[k];
        }
    }
}

vectorised! {
    /// 15: casual Fortran.
    pub(super) fn casual(d: &mut Data, n: usize) {
        const AR: f64 = 0.053;
        const BR: f64 = 0.073;
        let greater = |a: f64, b: f64| if a > b { a } else { b };
        for j in 1..7 {
            for k in 1..n {
                if j == 6 {
                    d.vy[j][k] = 0.0;
                    continue;
                }
                let t = if d.vh[j + 1][k] > d.vh[j][k] { AR } else { BR };
                let (r, s) = if d.vf[j][k] < d.vf[j][k - 1] {
                    (greater(d.vh[j][k - 1], d.vh[j + 1][k - 1]), d.vf[j][k - 1])
                } else {
                    (greater(d.vh[j][k], d.vh[j + 1][k]), d.vf[j][k])
                };
                d.vy[j][k] = (d.vg[j][k] * d.vg[j][k] + r * r).sqrt() * t / s;
                if k + 1 == n {
                    d.vs[j][k] = 0.0;
                    continue;
                }
                let (r, s, t) = if d.vf[j][k] < d.vf[j - 1][k] {
                    (greater(d.vg[j - 1][k], d.vg[j - 1][k + 1]), d.vf[j - 1][k], BR)
                } else {
                    (greater(d.vg[j][k], d.vg[j][k + 1]), d.vf[j][k], AR)
                };
                d.vs[j][k] = (d.vh[j][k] * d.vh[j][k] + r * r).sqrt() * t / s;
            }
        }
    }
}

/// 16: Monte Carlo search.
#[inline(never)]
pub(super) fn search(d: &mut Data, n: usize) {
    let (r, s, t) = (d.d[n - 1], d.d[n - 2], d.d[n - 3]);
    let n = n as i64;
    let third = n / 3;
    let count = &mut d.search;
    count.m16 = 1;
    'zones: loop {
        let first = 2 * n * (count.m16 - 1) + 1;
        for k in 1..=n {
            count.k2 += 1;
            let j4 = (first + 2 * k) as usize;
            count.j5 = d.zone[j4 - 1];
            let j5 = count.j5 as usize;
            let difference = if count.j5 < n {
                d.plan[j5 - 1]
                    - if count.j5 + 2 * third < n {
                        t
                    } else if count.j5 + third < n {
                        s
                    } else {
                        r
                    }
            } else if count.j5 == n {
                break 'zones;
            } else {
                count.k3 += 1;
                let square = |a: f64| a * a;
                d.d[j5 - 1]
                    - (d.d[j5 - 2] * square(t - d.d[j5 - 3]) + square(s - d.d[j5 - 4]) + square(r - d.d[j5 - 5]))
            };
            let zone = d.zone[j4 - 2];
            if difference == 0.0 || zone == 0 {
                break 'zones;
            }
            if (difference < 0.0) == (zone < 0) {
                continue;
            }
            count.m16 += 1;
            if count.m16 > d.zone[0] {
                count.m16 = 1;
            }
            if count.m16 == 1 {
                break 'zones;
            }
            continue 'zones;
        }
        break;
    }
}

/// 17: implicit, conditional computation.
#[inline(never)]
pub(super) fn implicit(d: &mut Data, n: usize) {
    let scale = 5.0 / 3.0;
    let mut xnm = 1.0 / 3.0;
    let mut e6 = 1.03 / 3.07;
    for i in (1..n).rev() {
        let e3 = xnm * d.vlr[i] + d.vlin[i];
        let xnei = d.vxne[i];
        d.vxnd[i] = e6;
        let xnc = scale * e3;
        if xnm > xnc || xnei > xnc {
            e6 = xnm * d.vsp[i] + d.vstp[i];
            d.vxne[i] = e6;
            d.ve3[i] = e6;
        } else {
            d.ve3[i] = e3;
            e6 = e3 + e3 - xnm;
            d.vxne[i] = e3 + e3 - xnei;
        }
        xnm = e6;
    }
    d.xnm = xnm;
}

vectorised! {
    /// 18: explicit hydrodynamics, two dimensions.
    pub(super) fn explicit_hydro(d: &mut Data, n: usize) {
        const T: f64 = 0.0037;
        const S: f64 = 0.0041;
        let Data { za, zb, zp, zq, zr, zm, zu, zv, zz, .. } = d;
        for k in 1..6 {
            for j in 1..n {
                za[k][j] = (zp[k + 1][j - 1] + zq[k + 1][j - 1] - zp[k][j - 1] - zq[k][j - 1])
                    * (zr[k][j] + zr[k][j - 1]) / (zm[k][j - 1] + zm[k + 1][j - 1]);
                zb[k][j] = (zp[k][j - 1] + zq[k][j - 1] - zp[k][j] - zq[k][j])
                    * (zr[k][j] + zr[k - 1][j]) / (zm[k][j] + zm[k][j - 1]);
            }
        }
        for k in 1..6 {
            for j in 1..n {
                zu[k][j] += S * (za[k][j] * (zz[k][j] - zz[k][j + 1]) - za[k][j - 1] * (zz[k][j] - zz[k][j - 1])
                    - zb[k][j] * (zz[k][j] - zz[k - 1][j]) + zb[k + 1][j] * (zz[k][j] - zz[k + 1][j]));
                zv[k][j] += S * (za[k][j] * (zr[k][j] - zr[k][j + 1]) - za[k][j - 1] * (zr[k][j] - zr[k][j - 1])
                    - zb[k][j] * (zr[k][j] - zr[k - 1][j]) + zb[k + 1][j] * (zr[k][j] - zr[k + 1][j]));
            }
        }
        for k in 1..6 {
            for j in 1..n {
                zr[k][j] += T * zu[k][j];
                zz[k][j] += T * zv[k][j];
            }
        }
    }
}

/// 19: general linear recurrence, forward and backward.
#[inline(never)]
pub(super) fn two_way_recurrence(d: &mut Data, n: usize) {
    let mut stb5 = d.scalars.stb5;
    for k in (0..n).chain((0..n).rev()) {
        d.b5[k] = d.sa[k] + stb5 * d.sb[k];
        stb5 = d.b5[k] - stb5;
    }
    d.scalars.stb5 = stb5;
}

/// 20: discrete ordinates transport.
#[inline(never)]
pub(super) fn transport(d: &mut Data, n: usize) {
    let (s, t, dk) = (d.scalars.s, d.scalars.t, d.scalars.dk);
    for k in 0..n {
        let di = d.y[k] - d.g[k] / (d.xx[k] + dk);
        let mut dn = 0.2;
        if di != 0.0 {
            dn = d.z[k] / di;
            if t < dn {
                dn = t;
            }
            if s > dn {
                dn = s;
            }
        }
        d.x[k] = ((d.w[k] + d.v[k] * dn) * d.xx[k] + d.u[k]) / (d.vx[k] + d.v[k] * dn);
        d.xx[k + 1] = (d.x[k] - d.xx[k]) * dn + d.xx[k];
    }
}

vectorised! {
    /// 21: matrix product.
    pub(super) fn matrix_product(d: &mut Data, n: usize) {
        for k in 0..25 {
            for (px, cx) in d.px[..n].iter_mut().zip(&d.cx) {
                for i in 0..25 {
                    px[i] += d.vy[k][i] * cx[k];
                }
            }
        }
    }
}

vectorised! {
    /// 22: Planckian distribution.
    pub(super) fn planck(d: &mut Data, n: usize) {
        const EXPMAX: f64 = 20.0;
        d.u[n - 1] = 0.99 * EXPMAX * d.v[n - 1];
        for k in 0..n {
            d.y[k] = d.u[k] / d.v[k];
            d.w[k] = d.x[k] / (d.y[k].exp() - 1.0);
        }
    }
}

vectorised! {
    /// 23: implicit hydrodynamics, two dimensions.
    pub(super) fn implicit_hydro(d: &mut Data, n: usize) {
        let Data { za, zb, zr, zu, zv, zz, .. } = d;
        for j in 1..6 {
            for k in 1..n {
                let qa = za[j + 1][k] * zr[j][k] + za[j - 1][k] * zb[j][k] + za[j][k + 1] * zu[j][k]
                    + za[j][k - 1] * zv[j][k] + zz[j][k];
                za[j][k] += 0.175 * (qa - za[j][k]);
            }
        }
    }
}

vectorised! {
    /// 24: index of the first minimum.
    pub(super) fn first_minimum(d: &mut Data, n: usize) {
        d.x[n / 2] = -1.0e10;
        let mut index = 0;
        for k in 1..n {
            if d.x[k] < d.x[index] {
                index = k;
            }
        }
        d.first_minimum = index;
    }
}
