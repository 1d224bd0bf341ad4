//! Where functions lie in memory: by itself one behind the other, for measurements at random distances.
//!
//! How fast a loop runs depends on where in a cache line its branches lie, which any change of the code before it moves: by more
//! than what is to be measured. A cost is therefore that over many placements (Mytkowicz et al., 2009; Curtsinger and Berger,
//! 2013).

use std::io;

use cranelift_jit::{BranchProtection, JITMemoryKind, JITMemoryProvider, SystemMemoryProvider};
use cranelift_module::ModuleResult;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Bytes of a cache line, within which functions begin anywhere.
const LINE: u64 = 64;

/// Memory in which every function begins at a random place of a cache line.
pub struct Scattered {
    memory: SystemMemoryProvider,
    generator: Xoshiro256PlusPlus,
}

impl Scattered {
    pub fn new(seed: u64) -> Scattered {
        Scattered { memory: SystemMemoryProvider::new(), generator: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }
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
