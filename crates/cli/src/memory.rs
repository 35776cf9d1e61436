//! How much memory is free.

use std::path::Path;

/// Free bytes, as far as this machine and our control group report them.
pub(crate) fn spare() -> u64 {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let machine = text("/proc/meminfo").lines().find_map(|line| {
        let kib = line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?;
        kib.parse::<u64>().ok()?.checked_mul(1024)
    });
    let groups = text("/proc/self/cgroup");
    let group = groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    machine.unwrap_or(u64::MAX).min(spare_in_group(Path::new("/sys/fs/cgroup"), group))
}

/// The same for the control group `group` (version 2) and those that contain it.
fn spare_in_group(root: &Path, group: &str) -> u64 {
    let inner = root.join(group.trim_start_matches('/'));
    let number = |group: &Path, name: &str| {
        std::fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok()
    };
    let groups = inner.ancestors().take_while(|group| group.starts_with(root));
    let spare = groups.filter_map(|group| {
        Some(number(group, "memory.max")?.saturating_sub(number(group, "memory.current")?))
    });
    spare.min().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{spare, spare_in_group};

    #[test]
    fn the_tightest_limit_of_the_control_group_counts() {
        let own = uncontended_testkit::Folder::new();
        let folder = own.path();
        let inner = folder.join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        let write = |path: &std::path::Path, name: &str, text: &str| {
            std::fs::write(path.join(name), text).unwrap();
        };
        assert_eq!(spare_in_group(folder, "/a/b"), u64::MAX);
        write(&inner, "memory.max", "max\n");
        write(&inner, "memory.current", "5\n");
        write(&folder.join("a"), "memory.max", "1000\n");
        write(&folder.join("a"), "memory.current", "400\n");
        assert_eq!(spare_in_group(folder, "/a/b"), 600);
        assert_eq!(spare_in_group(folder, "/"), u64::MAX);
        assert!(spare() > 0);
    }
}
