// Prints every device with its properties.
#include <iostream>
#include <string>
#include <vector>

#include "common/arguments.hpp"
#include "common/report.hpp"

namespace {

std::string value_text(const terroir::Core& core, const std::string& device, const std::string& key) {
  const std::string text = core.get_property(device, key).as<std::string>();
  return text.empty() ? "\"\"" : text;
}

int query(const std::vector<std::string>& extensions) {
  terroir::Core core;
  for (const std::string& library : extensions) core.add_extension(library);
  samples::info() << terroir::get_terroir_version() << '\n';
  const auto devices = core.get_available_devices();
  samples::info() << "Available devices:\n";
  for (const std::string& device : devices) {
    samples::info() << device << '\n';
    samples::info() << "\tSUPPORTED_PROPERTIES:\n";
    for (const terroir::PropertyName& key : core.get_property(device, terroir::supported_properties)) {
      if (key == terroir::supported_properties.name()) continue;
      samples::info() << "\t\t" << (key.is_mutable() ? "Mutable: " : "Immutable: ") << std::string(key) << " : "
                      << value_text(core, device, key) << '\n';
    }
    std::cout << '\n';
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Prints the devices there are, and their properties.", "hello_query_device");
  std::vector<std::string> extensions;
  app.add_option("--extensions", extensions, "libraries that may bring devices, separated by commas")->delimiter(',');
  return samples::run_sample(app, argc, argv, [&] { return query(extensions); });
}
