#include "check_extension/description.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>

namespace check {
namespace {

std::vector<std::string> allowed_texts(const terroir_attribute& attribute) {
  std::vector<std::string> texts;
  std::string allowed = attribute.allowed_values != nullptr ? attribute.allowed_values : "";
  for (size_t end = 0; !allowed.empty(); allowed.erase(0, end == std::string::npos ? end : end + 1)) {
    end = allowed.find('|');
    texts.push_back(allowed.substr(0, end));
  }
  return texts;
}

double some_real(Random& random) {
  constexpr double kValues[] = {0, 1, -1, 0.5, 2, 1e-6, 100, -0.25};
  return kValues[between(random, 0, 7)];
}

terroir::Any some_value(const terroir_attribute& attribute, Random& random) {
  const int64_t length = between(random, 0, 4);
  switch (attribute.kind) {
    case TERROIR_ATTRIBUTE_BOOLEAN:
      return between(random, 0, 1) == 1;
    case TERROIR_ATTRIBUTE_INTEGER:
      return between(random, -2, 8);
    case TERROIR_ATTRIBUTE_REAL:
      return some_real(random);
    case TERROIR_ATTRIBUTE_INTEGERS: {
      std::vector<int64_t> values;
      for (int64_t i = 0; i < length; ++i) values.push_back(between(random, -2, 8));
      return values;
    }
    case TERROIR_ATTRIBUTE_REALS: {
      std::vector<double> values;
      for (int64_t i = 0; i < length; ++i) values.push_back(some_real(random));
      return values;
    }
    default: {
      const std::vector<std::string> texts = allowed_texts(attribute);
      if (texts.empty()) return std::string("text");
      return texts[static_cast<size_t>(between(random, 0, static_cast<int64_t>(texts.size()) - 1))];
    }
  }
}

}  // namespace

const terroir_extension& open_extension(const std::string& path) {
  // Core says what is wrong with a library better than anything here could.
  terroir::Core().add_extension(path);
  void* library = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  void* symbol = library != nullptr ? dlsym(library, TERROIR_EXTENSION_ENTRY) : nullptr;
  if (symbol == nullptr) throw std::runtime_error(path + " cannot be opened a second time");
  return *reinterpret_cast<terroir_get_extension_function>(symbol)(TERROIR_ABI_VERSION);
}

std::vector<terroir::element::Type> input_types(const terroir_layer& layer) {
  const std::pair<terroir_element, terroir::element::Type> known[] = {
      {TERROIR_F32, terroir::element::f32},        {TERROIR_F64, terroir::element::f64},
      {TERROIR_I64, terroir::element::i64},        {TERROIR_I32, terroir::element::i32},
      {TERROIR_I8, terroir::element::i8},          {TERROIR_U8, terroir::element::u8},
      {TERROIR_BOOLEAN, terroir::element::boolean}};
  std::vector<terroir::element::Type> types;
  for (const auto& [bit, type] : known)
    if (layer.input_types == 0 || (layer.input_types & TERROIR_ELEMENT_BIT(bit)) != 0) types.push_back(type);
  return types;
}

terroir::AnyMap some_attributes(const terroir_layer& layer, Random& random) {
  terroir::AnyMap attributes;
  for (uint32_t i = 0; i < layer.attribute_count; ++i) {
    const terroir_attribute& attribute = layer.attributes[i];
    if (attribute.required != 0 || between(random, 0, 1) == 1)
      attributes.emplace(attribute.name, some_value(attribute, random));
  }
  return attributes;
}

std::string text_of(const terroir::AnyMap& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes)
    text += (text.empty() ? "" : ", ") + name + "=" + value.as<std::string>();
  return text.empty() ? "no attributes" : text;
}

}  // namespace check
