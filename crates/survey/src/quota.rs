//! What control groups leave a process of the CPUs' time, and when they have stopped it.
//!
//! # Contract
//! [`Groups`] are this process's own control group for CPU time and those above it, as far as they can be seen from
//! here, of version 2 and of version 1. A group with a quota is *throttled* when its threads have used up the quota of
//! a period (usually 100 ms): all of them stand still until the next one.
//! # Evidence
//! The tests below, on trees of files as the kernel has them.
//! # Sources
//! cgroups(7); the kernel's Documentation/scheduler/sched-bwc.rst and admin-guide/cgroup-v2.rst; proc_pid_mountinfo(5).

use std::path::{Path, PathBuf};
use uncontended_figures::duration;
use uncontended_figures::text::several;

/// Control groups for CPU time, the own one first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Groups(Vec<Group>);

#[derive(Clone, Debug, PartialEq)]
struct Group {
    folder: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Version {
    One,
    Two,
}

/// How often, and for how long together, threads of a group stood still for its quota.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Throttled {
    pub(crate) periods: u64,
    pub(crate) ns: u64,
}

impl Groups {
    /// Those of this process.
    pub(crate) fn own() -> Groups {
        let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        Groups::of(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))
    }

    /// From the kernel's two files: a process's groups, and the mounts that it sees.
    fn of(groups: &str, mounts: &str) -> Groups {
        let all = groups.lines().filter_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let version = match controllers {
                "" => Version::Two,
                some if some.split(',').any(|one| one == "cpu") => Version::One,
                _ => return None,
            };
            let (root, point) = mounts.lines().find_map(|line| mount(line, version))?;
            // In a container, the mount may begin at the container's own group.
            let below = path.strip_prefix(root.trim_end_matches('/')).unwrap_or_default();
            let own = Path::new(point).join(below.trim_start_matches('/'));
            let within = own.ancestors().take_while(|folder| folder.starts_with(point));
            Some(within.map(|it| Group { folder: it.into(), version }).collect::<Vec<_>>())
        });
        Groups(all.flatten().collect())
    }

    /// The smallest quota, in CPUs; none if there is none.
    pub(crate) fn quota(&self) -> Option<f64> {
        self.0.iter().filter_map(Group::quota).min_by(f64::total_cmp)
    }

    /// Those with a quota.
    pub(crate) fn limited(&self) -> Groups {
        Groups(self.0.iter().filter(|group| group.quota().is_some()).cloned().collect())
    }

    /// Since they were made, all together.
    pub(crate) fn throttled(&self) -> Throttled {
        let each = self.0.iter().map(Group::throttled);
        each.fold(Throttled::default(), |sum, it| Throttled {
            periods: sum.periods + it.periods,
            ns: sum.ns + it.ns,
        })
    }
}

impl Throttled {
    /// What was added since `before`.
    pub(crate) fn since(self, before: Throttled) -> Throttled {
        Throttled {
            periods: self.periods.saturating_sub(before.periods),
            ns: self.ns.saturating_sub(before.ns),
        }
    }

    /// A warning about what was measured meanwhile.
    pub(crate) fn said(self) -> Option<String> {
        (self.periods > 0).then(|| {
            format!(
                "a control group's quota was used up {} meanwhile, and its threads stood still for {} together: waits, idle times and gaps are also due to that; measure without the quota",
                several(self.periods, "time", "times"),
                duration(self.ns)
            )
        })
    }

    /// Whether it is most of what a thread lost when it was stopped for so long.
    pub(crate) fn explains(self, ns: u64) -> bool {
        self.periods > 0 && self.ns >= ns / 2
    }
}

impl Group {
    fn read(&self, file: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.join(file)).ok()
    }

    fn quota(&self) -> Option<f64> {
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let (most, period) = match self.version {
            Version::Two => {
                let both = self.read("cpu.max")?;
                let (most, period) = both.split_once(' ')?;
                (number(most)?, number(period)?)
            }
            Version::One => {
                let most = number(&self.read("cpu.cfs_quota_us")?)?;
                (most, number(&self.read("cpu.cfs_period_us")?)?)
            }
        };
        (most > 0.0 && period > 0.0).then(|| most / period)
    }

    fn throttled(&self) -> Throttled {
        let text = self.read("cpu.stat").unwrap_or_default();
        let value = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            lines.find(|(own, _)| *own == name)?.1.trim().parse::<u64>().ok()
        };
        let us = value("throttled_usec").map(|us| us * 1_000);
        Throttled {
            periods: value("nr_throttled").unwrap_or(0),
            ns: us.or(value("throttled_time")).unwrap_or(0),
        }
    }
}

/// The root and the folder of a mount of control groups for CPU time, if the line is about one.
fn mount(line: &str, version: Version) -> Option<(&str, &str)> {
    let (place, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let (name, options) = (kind.next()?, kind.nth(1).unwrap_or_default());
    let is_it = match version {
        Version::Two => name == "cgroup2",
        Version::One => name == "cgroup" && options.split(',').any(|option| option == "cpu"),
    };
    let mut place = place.split(' ').skip(3);
    is_it.then_some((place.next()?, place.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_testkit::Folder;

    /// A tree of control groups at a folder, with these files.
    fn tree(files: &[(&str, &str)]) -> Folder {
        let folder = Folder::new();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    fn mounts(folder: &Folder, root: &str) -> String {
        let at = folder.path().display();
        format!(
            "20 1 0:19 / /proc rw - proc proc rw\n\
             29 25 0:26 {root} {at}/cpu,cpuacct rw,relatime shared:10 - cgroup cgroup rw,cpu,cpuacct\n\
             30 25 0:27 / {at}/memory rw - cgroup cgroup rw,memory\n\
             31 25 0:28 {root} {at}/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"
        )
    }

    #[test]
    fn the_least_quota_of_a_group_and_those_above_it_counts() {
        let folder = tree(&[
            ("unified/a/cpu.max", "150000 100000\n"),
            ("unified/a/b/cpu.max", "max 100000\n"),
            ("unified/a/b/cpu.stat", "usage_usec 7\nnr_throttled 9\nthrottled_usec 9\n"),
            (
                "unified/a/cpu.stat",
                "usage_usec 7\nnr_periods 5\nnr_throttled 3\nthrottled_usec 2500\n",
            ),
        ]);
        let groups = Groups::of("1:name=systemd:/a\n0::/a/b\n", &mounts(&folder, "/"));
        assert_eq!(groups.quota(), Some(1.5));
        let throttled = groups.limited().throttled();
        assert_eq!(throttled, Throttled { periods: 3, ns: 2_500_000 });
        let before = Throttled { periods: 1, ns: 500_000 };
        assert_eq!(throttled.since(before), Throttled { periods: 2, ns: 2_000_000 });
        assert!(
            throttled
                .said()
                .unwrap()
                .contains("3 times meanwhile, and its threads stood still for 2.50 ms")
        );
        assert_eq!(Throttled::default().said(), None);
        assert_eq!(Groups::of("0::/other\n", &mounts(&folder, "/")).quota(), None);
    }

    #[test]
    fn a_quota_of_version_1_counts_too() {
        let folder = tree(&[
            ("cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n"),
            ("cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"),
            ("cpu,cpuacct/a/cpu.stat", "nr_periods 8\nnr_throttled 4\nthrottled_time 123456\n"),
        ]);
        let groups = Groups::of("4:memory:/x\n3:cpu,cpuacct:/a\n", &mounts(&folder, "/"));
        assert_eq!(groups.quota(), Some(0.5));
        assert_eq!(groups.limited().throttled(), Throttled { periods: 4, ns: 123_456 });
    }

    #[test]
    fn a_mount_that_begins_at_the_containers_own_group_is_found() {
        let folder = tree(&[("unified/cpu.max", "200000 100000\n")]);
        let groups = Groups::of("0::/docker/1f\n", &mounts(&folder, "/docker/1f"));
        assert_eq!(groups.quota(), Some(2.0));
        assert_eq!(Groups::of("0::/docker/1f\n", "").quota(), None);
        assert_eq!(Groups::of("nonsense", "nonsense").quota(), None);
    }
}
