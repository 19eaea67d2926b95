#include "common/arguments.hpp"

#include <cctype>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace samples {

void parse_arguments(CLI::App& app, int argc, char** argv) {
  std::vector<std::string> arguments;  // CLI11 takes them last first
  for (int i = argc - 1; i > 0; --i) {
    std::string argument = argv[i];
    const bool word =
        argument.size() > 2 && argument[0] == '-' && std::isalpha(static_cast<unsigned char>(argument[1])) != 0;
    arguments.push_back(word ? "-" + argument : argument);
  }
  app.parse(arguments);
}

int run_sample(CLI::App& app, int argc, char** argv, const std::function<int()>& body, int after_error) {
  try {
    parse_arguments(app, argc, argv);
    return body();
  } catch (const CLI::Success& request) {  // --help
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    std::cerr << "[ ERROR ] " << error.what() << "; --help lists the options" << std::endl;
  } catch (const std::exception& error) {
    std::cout.flush();
    std::cerr << "[ ERROR ] " << error.what() << std::endl;
  }
  return after_error;
}

}  // namespace samples
