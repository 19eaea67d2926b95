// Properties in namespace device: what a device is. Included by properties.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <iomanip>
#include <istream>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "terroir/any.hpp"
#include "terroir/element_type.hpp"
#include "terroir/exception.hpp"
#include "terroir/property.hpp"

namespace terroir {

namespace device {

using detail::operator<<;
using detail::operator>>;

enum class Type {
  INTEGRATED = 0,  ///< part of the host, as a CPU is
  DISCRETE = 1
};
constexpr auto enumerator_names(Type) {
  return std::array{std::pair{Type::INTEGRATED, "integrated"}, std::pair{Type::DISCRETE, "discrete"}};
}

inline constexpr Property<std::string, PropertyMutability::RO> full_name{"FULL_DEVICE_NAME"};
inline constexpr Property<std::string, PropertyMutability::RO> architecture{"DEVICE_ARCHITECTURE"};
inline constexpr Property<Type, PropertyMutability::RO> type{"DEVICE_TYPE"};
/// "FP32", "INT8", "BF16" ...: what the device computes well.
inline constexpr Property<std::vector<std::string>, PropertyMutability::RO> capabilities{"OPTIMIZATION_CAPABILITIES"};
/// Which device of several of the same kind: "", "0".
inline constexpr Property<std::string> id{"DEVICE_ID"};
inline constexpr Property<std::map<element::Type, float>, PropertyMutability::RO> gops{"DEVICE_GOPS"};
inline constexpr Property<float, PropertyMutability::RO> thermal{"DEVICE_THERMAL"};

/// Values of device::capabilities.
namespace capability {
inline constexpr const char* FP32 = "FP32";
inline constexpr const char* BF16 = "BF16";
inline constexpr const char* FP16 = "FP16";
inline constexpr const char* INT8 = "INT8";
inline constexpr const char* INT16 = "INT16";
inline constexpr const char* BIN = "BIN";
inline constexpr const char* WINOGRAD = "WINOGRAD";
inline constexpr const char* EXPORT_IMPORT = "EXPORT_IMPORT";
}  // namespace capability

namespace detail {
template <size_t n>
std::ostream& print_bytes(std::ostream& out, const std::array<uint8_t, n>& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  for (const uint8_t byte : bytes) out << kDigits[byte / 16] << kDigits[byte % 16];
  return out;
}
template <size_t n>
std::istream& read_bytes(std::istream& in, std::array<uint8_t, n>& bytes) {
  for (uint8_t& byte : bytes) {
    std::string digits;
    in >> std::setw(2) >> digits;
    if (digits.size() != 2 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
      throw Exception(ErrorCode::parse_error, "'" + digits + "' are not two hexadecimal digits");
    }
    byte = static_cast<uint8_t>(std::stoi(digits, nullptr, 16));
  }
  return in;
}
}  // namespace detail

struct UUID {
  static constexpr uint64_t MAX_UUID_SIZE = 16;
  std::array<uint8_t, MAX_UUID_SIZE> uuid{};
};
inline std::ostream& operator<<(std::ostream& out, const UUID& value) { return detail::print_bytes(out, value.uuid); }
inline std::istream& operator>>(std::istream& in, UUID& value) { return detail::read_bytes(in, value.uuid); }
inline constexpr Property<UUID, PropertyMutability::RO> uuid{"DEVICE_UUID"};

struct LUID {
  static constexpr uint64_t MAX_LUID_SIZE = 8;
  std::array<uint8_t, MAX_LUID_SIZE> luid{};
};
inline std::ostream& operator<<(std::ostream& out, const LUID& value) { return detail::print_bytes(out, value.luid); }
inline std::istream& operator>>(std::istream& in, LUID& value) { return detail::read_bytes(in, value.luid); }
inline constexpr Property<LUID, PropertyMutability::RO> luid{"DEVICE_LUID"};

struct PCIInfo {
  uint32_t domain = 0;
  uint32_t bus = 0;
  uint32_t device = 0;
  uint32_t function = 0;
};
/// "{domain: 0 bus: 3 device: 0x0 function: 0}".
inline std::ostream& operator<<(std::ostream& out, const PCIInfo& info) {
  return out << "{domain: " << info.domain << " bus: " << info.bus << " device: 0x" << std::hex << info.device
             << std::dec << " function: " << info.function << "}";
}
inline std::istream& operator>>(std::istream& in, PCIInfo& info) {
  std::string name;
  in >> name >> info.domain >> name >> info.bus >> name >> std::hex >> info.device >> std::dec >> name >> info.function;
  if (in.fail()) throw Exception(ErrorCode::parse_error, "the text is no PCIInfo");
  return in;
}
inline constexpr Property<PCIInfo, PropertyMutability::RO> pci_info{"DEVICE_PCI_INFO"};

/// Devices in order of preference, for the device AUTO: device::priorities("GPU", "CPU").
struct Priorities : Property<std::string> {
  using Property<std::string>::Property;
  template <typename... Names>
  std::pair<std::string, Any> operator()(const std::string& first, const Names&... rest) const {
    std::string list = first;
    ((list += "," + std::string(rest)), ...);
    return {name(), Any(list)};
  }
};
inline constexpr Priorities priorities{"MULTI_DEVICE_PRIORITIES"};

/// Properties for one device of several: device::properties("CPU", num_streams(2)), or a map from devices to theirs.
struct Properties : Property<std::map<std::string, AnyMap>> {
  using Property<std::map<std::string, AnyMap>>::Property;
  std::pair<std::string, Any> operator()(const AnyMap& devices) const { return {name(), Any(devices)}; }
  std::pair<std::string, Any> operator()(const std::string& device, const AnyMap& entries) const {
    return {name() + ("_" + device), Any(entries)};
  }
  template <typename... Entries>
  std::enable_if_t<are_properties<Entries...>, std::pair<std::string, Any>> operator()(const std::string& device,
                                                                                       Entries&&... entries) const {
    return (*this)(device, AnyMap{std::pair<const std::string, Any>(std::forward<Entries>(entries))...});
  }
};
inline constexpr Properties properties{"DEVICE_PROPERTIES"};

}  // namespace device

}  // namespace terroir
