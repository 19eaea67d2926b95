#pragma once
// What: a model and its inputs as files, for other programs.
#include <filesystem>

#include "tests/random_models/subject.hpp"

namespace terroir::test {

/// FOLDER/NAME.xml and .bin, and FOLDER/NAME.in<i>.raw: the elements of each input as they are in memory. The folder is
/// made if it is missing. Exception for what cannot be written.
void write_files(const Subject& subject, const std::filesystem::path& folder, const std::string& name);

}  // namespace terroir::test
