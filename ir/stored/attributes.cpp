#include "ir/stored/attributes.hpp"

namespace terroir::ir {
namespace {

enum class Kind : uint8_t { boolean, integer, real, text, type, shape, integers, reals, texts, choice };

class StoreVisitor final : public AttributeVisitor {
 public:
  explicit StoreVisitor(ByteWriter& to) : to_(to) {}

 protected:
  void on(const char*, bool& value, Presence) override { begin(Kind::boolean).put(static_cast<uint8_t>(value)); }
  void on(const char*, int64_t& value, Presence) override { begin(Kind::integer).put(value); }
  void on(const char*, double& value, Presence) override { begin(Kind::real).put(value); }
  void on(const char*, std::string& value, Presence) override { begin(Kind::text).text(value); }
  void on(const char*, element::Type& value, Presence) override { store_type(value, begin(Kind::type)); }
  void on(const char*, PartialShape& value, Presence) override { store_shape(value, begin(Kind::shape)); }
  void on(const char*, std::vector<int64_t>& value, Presence) override { begin(Kind::integers).numbers(value); }
  void on(const char*, std::vector<double>& value, Presence) override { begin(Kind::reals).numbers(value); }
  void on(const char*, std::vector<std::string>& value, Presence) override {
    begin(Kind::texts).list(value, [this](const std::string& text) { to_.text(text); });
  }
  void on_enum(const char*, int64_t& index, std::span<const std::string_view>, Presence) override {
    begin(Kind::choice).put(index);
  }

 private:
  ByteWriter& begin(Kind kind) {
    to_.put(kind);
    return to_;
  }
  ByteWriter& to_;
};

class LoadVisitor final : public AttributeVisitor {
 public:
  explicit LoadVisitor(ByteReader& from) : from_(from) {}

 protected:
  void on(const char*, bool& value, Presence) override { value = begin(Kind::boolean).flag(); }
  void on(const char*, int64_t& value, Presence) override { value = begin(Kind::integer).take<int64_t>(); }
  void on(const char*, double& value, Presence) override { value = begin(Kind::real).take<double>(); }
  void on(const char*, std::string& value, Presence) override { value = begin(Kind::text).text(); }
  void on(const char*, element::Type& value, Presence) override { value = load_type(begin(Kind::type)); }
  void on(const char*, PartialShape& value, Presence) override { value = load_shape(begin(Kind::shape)); }
  void on(const char*, std::vector<int64_t>& value, Presence) override {
    value = begin(Kind::integers).numbers<int64_t>();
  }
  void on(const char*, std::vector<double>& value, Presence) override { value = begin(Kind::reals).numbers<double>(); }
  void on(const char*, std::vector<std::string>& value, Presence) override {
    value = begin(Kind::texts).list([this] { return from_.text(); });
  }
  void on_enum(const char*, int64_t& index, std::span<const std::string_view> names, Presence) override {
    index = begin(Kind::choice).take<int64_t>();
    ByteReader::require(index >= 0 && static_cast<size_t>(index) < names.size());
  }

 private:
  ByteReader& begin(Kind kind) {
    ByteReader::require(from_.take<Kind>() == kind);
    return from_;
  }
  ByteReader& from_;
};

}  // namespace

void store_attributes(const Attributes& attributes, ByteWriter& to) {
  StoreVisitor visitor(to);
  attributes.inspect(visitor);
}

std::unique_ptr<Attributes> load_attributes(const OpSchema& schema, ByteReader& from) {
  auto attributes = schema.make_attributes();
  LoadVisitor visitor(from);
  attributes->visit(visitor);
  return attributes;
}

void store_type(element::Type type, ByteWriter& to) { to.text(type.get_type_name()); }
element::Type load_type(ByteReader& from) { return element::Type(from.text()); }

void store_shape(const PartialShape& shape, ByteWriter& to) {
  to.put(static_cast<uint8_t>(shape.rank().is_static()));
  if (shape.rank().is_dynamic()) return;
  to.list(shape, [&to](const Dimension& d) {
    to.put(static_cast<int64_t>(d.get_min_length()));
    to.put(static_cast<int64_t>(d.get_max_length()));
  });
}

PartialShape load_shape(ByteReader& from) {
  if (!from.flag()) return PartialShape::dynamic();
  return PartialShape(from.list([&from] {
    const auto low = from.take<int64_t>(), high = from.take<int64_t>();
    ByteReader::require(low >= 0 && high >= -1 && (high < 0 || low <= high));
    return low == high ? Dimension(low) : Dimension(low, high);
  }));
}

}  // namespace terroir::ir
