//! Where functions lie in memory: one behind the other, for measurements at random distances.
//!
//! All of a program lies in one reservation of addresses: calls between its functions are of a distance that processors
//! keep within 2 GiB (128 MiB on AArch64, where farther ones take a detour), and what the system gives bit by bit may have
//! the memory of others between.
//!
//! How fast a loop runs depends on where in a cache line its branches lie, which any change of the code before it moves: by more
//! than what is to be measured. A cost is therefore that over many placements (Mytkowicz et al., 2009; Curtsinger and Berger,
//! 2013).

use std::io;

use cranelift_jit::{ArenaMemoryProvider, BranchProtection, JITMemoryKind, JITMemoryProvider, SystemMemoryProvider};
use cranelift_module::ModuleResult;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Bytes of a cache line, within which functions begin anywhere.
const LINE: u64 = 64;

/// Addresses for the helpers' trampolines and the entry.
const BASE_BYTES: usize = 1 << 20;

/// Addresses for each instruction of the engine: several times what one becomes, since only addresses are taken in advance.
const BYTES_PER_INSTRUCTION: usize = 512;

/// Farther than this no function calls another.
const MAX_BYTES: usize = 2047 << 20;

type Memory = Box<dyn JITMemoryProvider + Send>;

/// Memory for the code of so many instructions, with `factor` times as many addresses as are expected to do; for
/// measurements, functions in it begin at places that follow from a seed.
pub fn memory(instructions: usize, factor: usize, seed: Option<u64>) -> Memory {
    let bytes = instructions.saturating_mul(BYTES_PER_INSTRUCTION).saturating_add(BASE_BYTES).saturating_mul(factor);
    let memory: Memory = match ArenaMemoryProvider::new_with_size(bytes.min(MAX_BYTES)) {
        Ok(arena) => Box::new(arena),
        // Where addresses are limited: what is taken bit by bit needs fewer.
        Err(_) => Box::new(SystemMemoryProvider::new()),
    };
    match seed {
        Some(seed) => Box::new(Scattered { memory, generator: Xoshiro256PlusPlus::seed_from_u64(seed) }),
        None => memory,
    }
}

/// Memory in which every function begins at a random place of a cache line.
struct Scattered {
    memory: Memory,
    generator: Xoshiro256PlusPlus,
}

impl JITMemoryProvider for Scattered {
    fn allocate(&mut self, size: usize, align: u64, kind: JITMemoryKind) -> io::Result<*mut u8> {
        let align = align.max(1);
        let before = (self.generator.next_u64() % LINE / align * align) as usize;
        let start = self.memory.allocate(size + before, align, kind)?;
        // SAFETY: `before` is less than the bytes that were allocated in addition.
        Ok(unsafe { start.add(before) })
    }

    unsafe fn free_memory(&mut self) {
        // SAFETY: nothing uses the memory any more (this function's condition), all of which is the provider's.
        unsafe { self.memory.free_memory() }
    }

    fn finalize(&mut self, protection: BranchProtection) -> ModuleResult<()> {
        self.memory.finalize(protection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is taken in one piece by the C library lies apart from the piece before, where others have taken memory
    /// meanwhile.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn code_lies_together_whatever_memory_is_taken_meanwhile() {
        for seed in [None, Some(1)] {
            let mut memory = memory(1 << 20, 1, seed);
            let mut piece = || memory.allocate(100 << 20, 16, JITMemoryKind::Executable).unwrap().addr();
            let first = piece();
            // Addresses only: it is never touched.
            let between: Vec<u8> = Vec::with_capacity(3 << 30);
            assert!(piece().abs_diff(first) < MAX_BYTES);
            drop(between);
        }
    }

    #[test]
    fn more_than_was_reserved_is_refused() {
        let mut memory = memory(0, 1, None);
        let error = memory.allocate(2 * BASE_BYTES, 16, JITMemoryKind::Executable).unwrap_err();
        assert_eq!(error.to_string(), "pre-allocated jit memory region exhausted");
    }
}
