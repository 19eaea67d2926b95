#pragma once
// Which control groups of the kernel limit this process.
//
// What: the folders of the group the process is in and of every group above it that can be seen, in the hierarchies of
//       version 1 and of version 2 that have a controller; a machine may have both.
// How: /proc/self/cgroup names the groups, /proc/self/mountinfo the folders where they are. A container often sees its
//      own group as the top of a mount while its path is the host's: then the part of the path above the mount does not
//      count. Where no mount shows the path, the top of the mount stands for the process's group.
// Edge cases: files that are missing, unreadable or nonsense name no groups. Folders need not exist.
#include <filesystem>
#include <string>
#include <vector>

namespace terroir::ir {

struct ControlGroups {
  std::vector<std::filesystem::path> v1, v2;  // the process's own first, then those above it, mount by mount
};

/// `controller`: "cpu", "memory" ... Below `root`, which is "/" but in tests: <root>/proc/self/cgroup and so on.
ControlGroups control_groups(const std::filesystem::path& root, const std::string& controller);

}  // namespace terroir::ir
