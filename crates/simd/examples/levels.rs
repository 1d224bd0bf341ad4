//! Prints the levels of this processor, a word a line: what `make test` runs the kernels' tests at.

fn main() {
    for level in weft_simd::Level::available() {
        println!("{}", level.word());
    }
}
