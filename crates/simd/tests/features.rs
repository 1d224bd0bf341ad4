//! Code may be compiled only for what the one detection has looked for, and nobody else may look.

use std::fs;
use std::path::{Path, PathBuf};

use weft_simd::Level;

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn all_sources() -> Vec<(PathBuf, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for member in fs::read_dir(crates).unwrap() {
        let source = member.unwrap().path().join("src");
        if source.is_dir() {
            sources(&source, &mut files);
        }
    }
    files.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// Words of a line that name x86 features of vectors.
fn features(text: &str) -> Vec<String> {
    let is_feature = |word: &&str| {
        ["sse", "ssse", "avx", "fma", "bmi", "gfni", "vaes", "f16c"].iter().any(|start| word.starts_with(start))
    };
    let quoted = text.split('"').skip(1).step_by(2);
    quoted
        .filter(|literal| literal.split(',').all(|word| is_feature(&word)))
        .flat_map(|literal| literal.split(',').map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Every literal of features stands for itself or reaches `target_feature` through a macro, so all of them are checked.
#[test]
fn code_is_compiled_for_what_was_looked_for() {
    let known = Level::Avx512.features();
    let mut seen = 0;
    for (path, text) in all_sources() {
        if path.ends_with("simd/src/level.rs") || !text.contains("target_feature") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            for feature in features(line) {
                seen += 1;
                // AVX comes with AVX2.
                let is_known = known.contains(&feature.as_str()) || feature == "avx";
                assert!(is_known, "{}:{}: {feature} is not among those of Level::features", path.display(), number + 1);
            }
        }
    }
    assert!(seen > 10, "only {seen} features were found: does this test still know how they are written?");
}

#[test]
fn only_one_module_detects_features() {
    for (path, text) in all_sources() {
        if path.components().any(|part| part.as_os_str() == "simd") && path.ends_with("src/level.rs") {
            continue;
        }
        for word in ["is_x86_feature_detected", "_mm_prefetch", "MADV_HUGEPAGE", "/sys/devices/system/cpu/cpu0/cache"] {
            let own = path.components().any(|part| part.as_os_str() == "simd");
            assert!(own || !text.contains(word), "{} has {word}: crates/simd has it for all", path.display());
        }
    }
}
