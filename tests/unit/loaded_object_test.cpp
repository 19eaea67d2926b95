#include "ir/base/loaded_object.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "ir/base/build_id.hpp"
#include "ir/base/code_file.hpp"
#include "terroir/version.hpp"

namespace terroir {
namespace {

void code_of_this_program() {}

const void* address(void (*code)()) { return reinterpret_cast<const void*>(code); }

TEST(LoadedObject, IsTheProgramOrLibraryOfAnAddress) {
  const void* own = address(&code_of_this_program);
  const auto program = loaded_object_of(own);
  ASSERT_TRUE(program);
  EXPECT_GT(program->part_bytes, 0u);
  EXPECT_TRUE(std::filesystem::equivalent(file_of_code(own), "/proc/self/exe"));

  const void* other = address(reinterpret_cast<void (*)()>(&::dl_iterate_phdr));
  ASSERT_TRUE(loaded_object_of(other));
  EXPECT_NE(file_of_code(other).find("libc"), std::string::npos) << file_of_code(other);
}

TEST(LoadedObject, IsNoneForMemoryOfTheHeap) {
  const std::unique_ptr<char> memory(new char);
  EXPECT_FALSE(loaded_object_of(memory.get()));
  EXPECT_EQ(file_of_code(memory.get()), "");
}

TEST(LoadedObject, HasTheLinkersIdOrItsSize) {
  const std::string& id = build_id();
  const std::string version = get_terroir_version().buildNumber;
  ASSERT_EQ(id.find(version), 0u) << id;
  EXPECT_GT(id.size(), version.size() + 8) << id;
}

}  // namespace
}  // namespace terroir
