use weft_base::Interrupt;
use weft_flit::*;
use weft_machine::Topology;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let loads: Vec<f64> = a[1].split(',').map(|x| x.parse().unwrap()).collect();
    let cycles: u64 = a[2].parse().unwrap();
    let torus = Topology::Torus { extents: vec![8, 8] };
    for credit in a[3].split(',').map(|x| x.parse().unwrap()).collect::<Vec<u32>>() {
        for (channels, buffer) in [(2, 4), (4, 8)] {
            for tail in [false, true] {
                for &load in &loads {
                    let o = Options {
                        channels,
                        buffer,
                        tail_credit: tail,
                        credit_delay: credit,
                        algorithm: Algorithm::Deterministic,
                        packet: 8,
                        load,
                        seed: 1,
                    };
                    let mut n = Simulation::new(&torus, Traffic::new(Pattern::Uniform, &torus).unwrap(), o).unwrap();
                    let t = std::fs::read_to_string("/proc/self/schedstat")
                        .unwrap()
                        .split(' ')
                        .next()
                        .unwrap()
                        .parse::<f64>()
                        .unwrap();
                    let m = measure(&mut n, Plan { warmup: 10000, cycles }, &Interrupt::NEVER).unwrap();
                    let s = (std::fs::read_to_string("/proc/self/schedstat")
                        .unwrap()
                        .split(' ')
                        .next()
                        .unwrap()
                        .parse::<f64>()
                        .unwrap()
                        - t)
                        * 1e-9;
                    println!(
                        "{credit},{channels},{buffer},{},{load},{:.3},{:.3},{:.5},{},{:.1}M/s,{:.0}k cycles/s",
                        tail as u8,
                        m.latency,
                        m.half_width,
                        m.accepted,
                        m.saturated,
                        m.link_hops as f64 / s / 1e6,
                        m.cycles as f64 / s / 1e3
                    );
                }
            }
        }
    }
}
