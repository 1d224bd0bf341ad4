//! What the launcher (mpiexec, srun) says to this process about the run.

/// The environment variables in which launchers give the number of ranks: Open MPI's prterun, Hydra and other PMI
/// launchers, MVAPICH's, and srun. The last is looked at only without the others: under srun, Hydra starts its own
/// helpers, whose number it is then.
const SIZE_VARIABLES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"];
/// The variables in which they give a process its rank.
const RANK_VARIABLES: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"];
const SRUN_SIZE_VARIABLE: &str = "SLURM_STEP_NUM_TASKS";

/// A launcher's word on the number of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StatedSize {
    variable: &'static str,
    ranks: usize,
}

fn stated_sizes(variable: impl Fn(&str) -> Option<String>) -> Vec<StatedSize> {
    let read = |name: &'static str| {
        let ranks = variable(name)?.trim().parse().ok()?;
        Some(StatedSize { variable: name, ranks })
    };
    let mut sizes: Vec<StatedSize> = SIZE_VARIABLES.into_iter().filter_map(read).collect();
    if sizes.is_empty() {
        sizes.extend(read(SRUN_SIZE_VARIABLE));
    }
    sizes
}

/// Checks that the library sees as many ranks as the launcher started and the caller expects.
///
/// An MPI library that does not understand the launcher starts as the only rank of its own world, without a word. (Some
/// end the process within `MPI_Init_thread` instead; then only the parent can tell, see
/// [`Diagnosis::ended`](crate::Diagnosis::ended).)
///
/// # Errors
/// A message that names both numbers and says what to do.
pub fn check_size(seen: usize, expected: Option<usize>, library: &str) -> Result<(), String> {
    check(seen, expected, library, |name| std::env::var(name).ok())
}

fn check(
    seen: usize,
    expected: Option<usize>,
    library: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(), String> {
    let advice = advice(&variable);
    if let Some(expected) = expected.filter(|expected| *expected != seen) {
        return Err(format!("{expected} ranks were asked for, but {library} sees {seen}; {advice}"));
    }
    let sizes = stated_sizes(variable);
    if sizes.is_empty() || sizes.iter().any(|size| size.ranks == seen) {
        return Ok(());
    }
    let StatedSize { variable, ranks } = &sizes[0];
    Err(format!("the launcher started {ranks} ranks ({variable}), but {library} sees {seen}; {advice}"))
}

/// What to do where the library did not understand the launcher. Under srun it is told ranks by the PMI that srun speaks,
/// which `--mpi` chooses.
fn advice(variable: impl Fn(&str) -> Option<String>) -> &'static str {
    let is_set = |name: &str| variable(name).is_some();
    if !is_set(SRUN_SIZE_VARIABLE) || SIZE_VARIABLES.into_iter().any(is_set) {
        return "the launcher and the library belong to different MPIs: use the mpiexec of this library, or set \
                WEFT_MPI_LIBRARY to the library of this launcher";
    }
    if is_set("PMIX_RANK") {
        "srun speaks PMIx, and this library does not: set WEFT_MPI_LIBRARY to the libmpi.so of an MPI that was built with \
         PMIx (Open MPI is), or use srun --mpi=pmi2 with an MPICH"
    } else {
        "srun has told the library nothing: use srun --mpi=pmi2 with an MPICH or an MVAPICH, srun --mpi=pmix with an Open \
         MPI, and set WEFT_MPI_LIBRARY to the libmpi.so of that MPI"
    }
}

/// This process's rank as the launcher gave it, for messages of processes that MPI did not start in; 0 without one.
pub fn launched_rank() -> usize {
    RANK_VARIABLES.iter().find_map(|name| std::env::var(name).ok()?.parse().ok()).unwrap_or(0)
}

/// What the launcher says of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchedRank {
    pub rank: usize,
    pub ranks: usize,
    /// Ranks on this computer.
    pub here: Option<usize>,
}

/// The rank of this process; `None` where no launcher has made it a rank.
pub fn launched() -> Option<LaunchedRank> {
    let of = |name: &&str| std::env::var(name).ok()?.trim().parse().ok();
    let ranks = SIZE_VARIABLES.iter().chain([&SRUN_SIZE_VARIABLE]).find_map(of)?;
    let rank = RANK_VARIABLES.iter().find_map(of)?;
    Some(LaunchedRank { rank, ranks, here: weft_simd::local_ranks() })
}

/// This machine's name, for reports.
pub fn host() -> String {
    let mut buffer = [0u8; 256];
    // SAFETY: the buffer has the length given.
    let code = unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) };
    let len = buffer.iter().position(|byte| *byte == 0).unwrap_or(0);
    if code == 0 { String::from_utf8_lossy(&buffer[..len]).into_owned() } else { "unknown".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(seen: usize, expected: Option<usize>, variables: &[(&str, &str)]) -> Result<(), String> {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        check(seen, expected, "libmpi.so (MPICH)", variable)
    }

    #[test]
    fn a_launcher_that_agrees_is_fine() {
        assert_eq!(with(1, None, &[]), Ok(()));
        assert_eq!(with(4, Some(4), &[("PMI_SIZE", "4")]), Ok(()));
        assert_eq!(with(4, None, &[("PMI_SIZE", "4"), ("SLURM_STEP_NUM_TASKS", "2")]), Ok(()));
        assert_eq!(with(4, None, &[("OMPI_COMM_WORLD_SIZE", "1"), ("PMI_SIZE", "4")]), Ok(()));
        assert_eq!(with(1, None, &[("PMI_SIZE", "what")]), Ok(()));
    }

    #[test]
    fn a_launcher_that_does_not_is_named() {
        let text = with(1, None, &[("PMI_SIZE", "4")]).unwrap_err();
        assert!(text.starts_with("the launcher started 4 ranks (PMI_SIZE), but libmpi.so (MPICH) sees 1; "), "{text}");
        assert!(with(1, None, &[("SLURM_STEP_NUM_TASKS", "8")]).unwrap_err().contains("SLURM_STEP_NUM_TASKS"));
        let text = with(1, Some(2), &[]).unwrap_err();
        assert!(text.starts_with("2 ranks were asked for, but libmpi.so (MPICH) sees 1; "), "{text}");
    }

    #[test]
    fn under_srun_the_advice_is_of_its_pmi() {
        let of = |variables: &[(&str, &str)]| with(1, None, variables).unwrap_err();
        let step = ("SLURM_STEP_NUM_TASKS", "8");
        assert!(of(&[step]).ends_with(
            "; srun has told the library nothing: use srun --mpi=pmi2 with an MPICH or an \
                                       MVAPICH, srun --mpi=pmix with an Open MPI, and set WEFT_MPI_LIBRARY to the \
                                       libmpi.so of that MPI"
        ));
        assert!(
            of(&[step, ("PMIX_RANK", "0")]).contains("; srun speaks PMIx, and this library does not: set WEFT_MPI_LIB")
        );
        // Hydra under srun, and srun where it speaks PMI: the library is another's.
        assert!(of(&[step, ("PMI_SIZE", "8")]).contains("belong to different MPIs"));
    }

    #[test]
    fn the_host_has_a_name() {
        assert!(!host().is_empty());
    }
}
