//! Which processors this thread may run on, and what those are part of: cores, caches, NUMA nodes and sockets.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

/// Where Linux describes its processors (Linux kernel, Documentation/ABI/stable/sysfs-devices-system-cpu).
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// What Linux says of the thread that reads it (proc(5), `Cpus_allowed_list`).
const STATUS: &str = "/proc/thread-self/status";

/// The level of the cache that processors of one NUMA node or part of it share.
const SHARED_CACHE: &str = "3";

/// The processors that a process may run on, by their numbers, and the parts of the node that they belong to. A list is
/// empty where the system does not say.
///
/// Cores and caches have the number of their first processor, for the numbers that systems give them are those within a
/// socket; NUMA nodes and sockets have the system's numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    pub processors: Vec<u32>,
    pub cores: Vec<u32>,
    /// Caches of the third level.
    pub caches: Vec<u32>,
    pub numa_nodes: Vec<u32>,
    pub sockets: Vec<u32>,
    /// Cores of the whole node, whether the process may run on them or not.
    pub cores_of_node: u32,
}

impl fmt::Display for Binding {
    /// As samples have it: `cpu=0-3 core=0,2 l3=0 numa=0 socket=0 of=64`, the last being the cores of the node.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("cpu", &self.processors),
            ("core", &self.cores),
            ("l3", &self.caches),
            ("numa", &self.numa_nodes),
            ("socket", &self.sockets),
        ];
        for (name, numbers) in parts.into_iter().filter(|(_, numbers)| !numbers.is_empty()) {
            write!(f, "{name}={} ", List(numbers))?;
        }
        write!(f, "of={}", self.cores_of_node)
    }
}

/// Numbers as the kernel lists them: `0-3,8`.
struct List<'a>(&'a [u32]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|before, after| before + 1 == *after);
        for (index, run) in runs.enumerate() {
            let separator = if index == 0 { "" } else { "," };
            match (run[0], run[run.len() - 1]) {
                (first, last) if first == last => write!(f, "{separator}{first}")?,
                (first, last) => write!(f, "{separator}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// The binding of the calling thread; `None` where the system does not say, as outside Linux.
pub fn binding() -> Option<Binding> {
    let status = fs::read_to_string(STATUS).ok()?;
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    of(Path::new(PROCESSORS), &numbers(allowed)?)
}

/// The binding to those of `allowed` that are online, by the files under `root`.
fn of(root: &Path, allowed: &[u32]) -> Option<Binding> {
    let online = numbers(&fs::read_to_string(root.join("online")).ok()?)?;
    let of_node: BTreeSet<u32> = online.iter().filter_map(|&number| core(root, number)).collect();
    let processors: Vec<u32> = allowed.iter().copied().filter(|number| online.contains(number)).collect();
    let each = |part: fn(&Path, u32) -> Option<u32>| {
        let parts: BTreeSet<u32> = processors.iter().filter_map(|&number| part(root, number)).collect();
        parts.into_iter().collect()
    };
    (!processors.is_empty()).then(|| Binding {
        cores: each(core),
        caches: each(cache),
        numa_nodes: each(numa_node),
        sockets: each(socket),
        cores_of_node: of_node.len() as u32,
        processors: processors.clone(),
    })
}

fn core(root: &Path, processor: u32) -> Option<u32> {
    let topology = root.join(format!("cpu{processor}/topology"));
    // Kernels before 5.2 have the second name only.
    first(&topology.join("core_cpus_list")).or_else(|| first(&topology.join("thread_siblings_list")))
}

fn cache(root: &Path, processor: u32) -> Option<u32> {
    let caches = fs::read_dir(root.join(format!("cpu{processor}/cache"))).ok()?;
    let is_shared =
        |folder: &Path| fs::read_to_string(folder.join("level")).is_ok_and(|level| level.trim() == SHARED_CACHE);
    let folder = caches.filter_map(|entry| Some(entry.ok()?.path())).find(|folder| is_shared(folder))?;
    first(&folder.join("shared_cpu_list"))
}

fn numa_node(root: &Path, processor: u32) -> Option<u32> {
    let entries = fs::read_dir(root.join(format!("cpu{processor}"))).ok()?;
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_prefix("node")?.parse().ok()).next()
}

fn socket(root: &Path, processor: u32) -> Option<u32> {
    // Systems that know of no sockets say -1.
    fs::read_to_string(root.join(format!("cpu{processor}/topology/physical_package_id"))).ok()?.trim().parse().ok()
}

/// The first number of a list in a file.
fn first(path: &Path) -> Option<u32> {
    numbers(&fs::read_to_string(path).ok()?)?.first().copied()
}

/// The numbers of a list as the kernel writes it; `None` if it is none.
fn numbers(list: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for run in list.trim().split(',').filter(|run| !run.is_empty()) {
        let (first, last) = run.split_once('-').unwrap_or((run, run));
        numbers.extend(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written_as_the_kernel_does() {
        for text in ["0", "0-3", "0-3,8,10-11", "5,7"] {
            assert_eq!(List(&numbers(text).unwrap()).to_string(), text);
        }
        assert_eq!(numbers(" 1-2\n"), Some(vec![1, 2]));
        assert_eq!(numbers("0-x"), None);
        assert_eq!(numbers("\n"), Some(vec![]));
    }

    /// Two sockets of two cores with two hardware threads; every socket is a NUMA node and has a cache.
    fn two_sockets(root: &Path) {
        let write = |path: String, text: String| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("online".into(), "0-7\n".into());
        for number in 0..8 {
            let (core, socket) = (number % 4, number % 4 / 2);
            write(format!("cpu{number}/topology/thread_siblings_list"), format!("{core},{}\n", core + 4));
            write(format!("cpu{number}/topology/physical_package_id"), format!("{socket}\n"));
            write(format!("cpu{number}/node{socket}/cpulist"), String::new());
            for (index, level) in [1, 3].into_iter().enumerate() {
                let first = if level == 3 { 2 * socket } else { core };
                write(format!("cpu{number}/cache/index{index}/level"), format!("{level}\n"));
                write(format!("cpu{number}/cache/index{index}/shared_cpu_list"), format!("{first},{}\n", first + 4));
            }
        }
    }

    #[test]
    fn parts_of_the_node_are_read_from_the_system() {
        let root = std::env::temp_dir().join(format!("weft-binding-{}", std::process::id()));
        two_sockets(&root);
        let one = of(&root, &[7]).unwrap();
        assert_eq!(one.to_string(), "cpu=7 core=3 l3=2 numa=1 socket=1 of=4");
        let all = of(&root, &(0..64).collect::<Vec<u32>>()).unwrap();
        assert_eq!(
            all.to_string(),
            "cpu=0-7 core=0-3 l3=0,2 numa=0-1 socket=0-1 of=4",
            "what is not online is left out"
        );
        assert_eq!(of(&root, &[9]), None);
        fs::write(root.join("cpu7/topology/physical_package_id"), "-1\n").unwrap();
        fs::remove_dir_all(root.join("cpu7/cache")).unwrap();
        assert_eq!(of(&root, &[7]).unwrap().to_string(), "cpu=7 core=3 numa=1 of=4", "what is not known is left out");
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(of(&root, &[0]), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_thread_has_processors() {
        if let Some(binding) = binding() {
            assert!(!binding.processors.is_empty());
            assert!(binding.cores.len() <= binding.processors.len());
        }
    }
}
