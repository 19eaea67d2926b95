#include "ir/base/control_groups.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

namespace terroir::ir {
namespace {

namespace fs = std::filesystem;

/// A hierarchy of groups, or a part of one, as the file system shows it.
struct Mount {
  std::string top;    // the group that is seen at `point`
  std::string point;  // absolute
};
struct Mounts {
  std::vector<Mount> v1;  // of the controller
  std::vector<Mount> v2;
};

/// Whether a list of words separated by commas has this one.
bool lists(const std::string& words, const std::string& word) {
  return ("," + words + ",").find("," + word + ",") != std::string::npos;
}

/// mountinfo writes blanks and backslashes as a backslash and three octal digits.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 3 < text.size() &&
                        std::all_of(&text[i + 1], &text[i + 4], [](char c) { return c >= '0' && c <= '7'; });
    plain += escape ? static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8)) : text[i];
    if (escape) i += 3;
  }
  return plain;
}

Mounts read_mounts(const fs::path& root, const std::string& controller) {
  Mounts mounts;
  std::ifstream list(root / "proc/self/mountinfo");
  if (!list) {  // where every distribution puts them
    const std::string folder = "/sys/fs/cgroup";
    mounts.v2 = {{"/", folder}, {"/", folder + "/unified"}};
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(root / folder.substr(1), none))
      if (const std::string name = entry.path().filename(); lists(name, controller))
        mounts.v1.push_back({"/", folder + "/" + name});
    return mounts;
  }
  for (std::string line; std::getline(list, line);) {
    // ID, parent, device, top, point, options, any number of fields, "-", type, source, options of the file system
    std::istringstream fields(line);
    std::string skipped, top, point, type, options;
    fields >> skipped >> skipped >> skipped >> top >> point;
    while (fields >> skipped && skipped != "-") continue;
    if (!(fields >> type >> skipped >> options)) continue;
    if (type == "cgroup2") mounts.v2.push_back({unescaped(top), unescaped(point)});
    if (type == "cgroup" && lists(options, controller)) mounts.v1.push_back({unescaped(top), unescaped(point)});
  }
  return mounts;
}

/// The path of `group` below the top of a mount, if the mount shows it.
std::optional<std::string> path_in(const Mount& mount, const std::string& group) {
  if (group.find("/..") != std::string::npos) return std::nullopt;  // outside of the process's cgroup namespace
  if (mount.top == "/") return group;
  if (group != mount.top && group.rfind(mount.top + "/", 0) != 0) return std::nullopt;
  return group.substr(mount.top.size());
}

/// Adds the folders of a group and of those above it, in every mount that shows the group.
void add_groups(std::vector<fs::path>& groups, const fs::path& root, const std::vector<Mount>& mounts,
                const std::string& group) {
  const auto shown = [&](const Mount& mount) { return path_in(mount, group).has_value(); };
  const bool any_shows_it = std::any_of(mounts.begin(), mounts.end(), shown);
  for (const Mount& mount : mounts) {
    // Mounts of other groups say nothing about ours, unless there is no better one.
    if (any_shows_it && !shown(mount)) continue;
    const fs::path top = root / fs::path(mount.point).relative_path();
    fs::path below = fs::path(path_in(mount, group).value_or("")).relative_path();
    for (; !below.empty(); below = below.parent_path()) groups.push_back(top / below);
    groups.push_back(top);
  }
}

}  // namespace

ControlGroups control_groups(const fs::path& root, const std::string& controller) {
  ControlGroups groups;
  const Mounts mounts = read_mounts(root, controller);
  std::ifstream list(root / "proc/self/cgroup");
  for (std::string line; std::getline(list, line);) {
    // hierarchy-ID:controllers:path, where version 2 has no controllers
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) add_groups(groups.v2, root, mounts.v2, group);
    if (lists(controllers, controller)) add_groups(groups.v1, root, mounts.v1, group);
  }
  return groups;
}

}  // namespace terroir::ir
