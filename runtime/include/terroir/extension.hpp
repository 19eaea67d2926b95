// Layers of your own in C++: a struct with attributes, shape inference and computation, in a shared library.
//
//   #include <terroir/extension.hpp>
//   using namespace terroir::extension;
//
//   struct Shift : Layer {
//     static constexpr const char* type = "Shift";              // <layer type="Shift" version="extension">
//     double by = 1;                                            // <data by="0.5"/>; its value here is the default
//     template <typename Visitor>
//     void visit(Visitor& attribute) { attribute("by", by); }
//     void infer(Inference& in) const { in.set_output(0, in.type(0), in.shape(0)); }
//     void compute(const Run& run) const { ... run.input(0).data<float>() ... run.output(0).data<float>() ... }
//   };
//   TERROIR_EXTENSION("my layers", Shift)
//
// What: header-only, over terroir/extension_abi.h; a library that uses it links with nothing of Terroir's. It works
// with
//       the version of Terroir it was built for and later ones, whatever compilers built the two.
// Errors: throw anything derived from std::exception; the user reads its text with the layer's name and line.
// Threads: all members are const where they may run at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <locale>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "terroir/extension_abi.h"

namespace terroir {
namespace extension {

/// An extent, known or within bounds.
struct Dimension {
  int64_t min = 0;
  int64_t max = -1;  ///< below 0: no bound

  Dimension() = default;
  Dimension(int64_t extent) : min(extent), max(extent) {}  // NOLINT: implicit
  Dimension(int64_t at_least, int64_t at_most) : min(at_least), max(at_most) {}
  bool is_static() const { return min == max; }
};

/// Extents, outermost first; without a value: not even their number is known.
using Shape = std::optional<std::vector<Dimension>>;

/// The C++ type of an element type is the one of the same size; f16, bf16 and narrower ones are read as bits.
class Tensor {
 public:
  explicit Tensor(const terroir_tensor& tensor) : tensor_(&tensor) {}

  template <typename T>
  T* data() const {
    return static_cast<T*>(tensor_->data);
  }
  terroir_element type() const { return tensor_->type; }
  int32_t rank() const { return tensor_->rank; }
  int64_t dim(int32_t axis) const { return tensor_->dims[axis < 0 ? axis + tensor_->rank : axis]; }
  std::vector<int64_t> dims() const { return {tensor_->dims, tensor_->dims + tensor_->rank}; }
  int32_t layout() const { return tensor_->layout; }
  /// Channels of one block of TERROIR_BLOCKED, else 1.
  int32_t block() const { return tensor_->block; }
  /// Elements.
  int64_t count() const { return product(false); }
  /// Elements in memory: with the padding of the last block of channels, which is zero.
  int64_t stored() const { return product(tensor_->layout == TERROIR_BLOCKED); }

 private:
  int64_t product(bool whole_blocks) const {
    int64_t result = 1;
    for (int32_t axis = 0; axis < tensor_->rank; ++axis) {
      const int64_t extent = tensor_->dims[axis];
      result *= whole_blocks && axis == 1 ? (extent + block() - 1) / block() * block() : extent;
    }
    return result;
  }

  const terroir_tensor* tensor_;
};

/// What shape inference sees and fills.
class Inference {
 public:
  Inference(const terroir_host& host, terroir_inference* inference, int32_t first_state = 0)
      : host_(host), inference_(inference), first_state_(first_state) {}

  int32_t input_count() const { return host_.input_count(inference_); }
  terroir_element type(int32_t input) const { return host_.input_type(inference_, input); }
  Shape shape(int32_t input) const {
    const int32_t rank = host_.input_rank(inference_, input);
    if (rank < 0) return std::nullopt;
    std::vector<Dimension> dimensions;
    for (int32_t axis = 0; axis < rank; ++axis) {
      const terroir_dimension d = host_.input_dimension(inference_, input, axis);
      dimensions.emplace_back(d.min, d.max);
    }
    return dimensions;
  }
  /// The elements of an input that is known while the model is compiled.
  std::optional<Tensor> value(int32_t input) const {
    const terroir_tensor* tensor = host_.input_value(inference_, input);
    return tensor != nullptr ? std::optional<Tensor>(*tensor) : std::nullopt;
  }
  void set_output(int32_t output, terroir_element type, const Shape& shape) {
    std::vector<terroir_dimension> dimensions;
    if (shape)
      for (const Dimension& d : *shape) dimensions.push_back({d.min, d.max});
    host_.set_output(inference_, output, type, shape ? static_cast<int32_t>(dimensions.size()) : -1, dimensions.data());
  }
  /// What is kept from one inference to the next; of all `Layer::states`.
  void set_state(int32_t state, terroir_element type, const Shape& shape) {
    set_output(first_state_ + state, type, shape);
  }

 private:
  const terroir_host& host_;
  terroir_inference* inference_;
  int32_t first_state_;
};

/// One run: inputs, outputs, threads.
class Run {
 public:
  Run(const terroir_host& host, terroir_run* run, int32_t input_count, const terroir_tensor* inputs,
      int32_t output_count, const terroir_tensor* outputs, void* scratch)
      : host_(host),
        run_(run),
        input_count_(input_count),
        output_count_(output_count),
        inputs_(inputs),
        outputs_(outputs),
        scratch_(scratch) {}

  int32_t input_count() const { return input_count_; }
  int32_t output_count() const { return output_count_; }
  Tensor input(int32_t index) const { return Tensor(inputs_[index]); }
  Tensor output(int32_t index) const { return Tensor(outputs_[index]); }
  /// What the inference before left: zeros at first and after reset_state().
  Tensor state(int32_t index) const { return Tensor(inputs_[input_count_ + index]); }
  /// What this inference leaves; to be written as a whole.
  Tensor next_state(int32_t index) const { return Tensor(outputs_[output_count_ + index]); }
  /// Layer::scratch_bytes() of memory, aligned to 64 bytes.
  void* scratch() const { return scratch_; }

  /// body(0) ... body(tasks - 1), each once, on the threads of this inference. An exception that leaves a body is
  /// thrown again at the end.
  template <typename Body>
  void parallel_for(int64_t tasks, Body&& body) const {
    struct Call {
      std::remove_reference_t<Body>& body;
      std::exception_ptr* errors;
    };
    std::vector<std::exception_ptr> errors(static_cast<size_t>(tasks < 0 ? 0 : tasks));
    Call call{body, errors.data()};
    host_.parallel_for(
        run_, tasks,
        [](void* argument, int64_t task) {
          const Call& of = *static_cast<const Call*>(argument);
          try {
            of.body(task);
          } catch (...) {
            of.errors[task] = std::current_exception();
          }
        },
        &call);
    for (const std::exception_ptr& error : errors)
      if (error) std::rethrow_exception(error);
  }
  /// body(begin, end) over parts of [0, count), for work on single elements.
  template <typename Body>
  void parallel_for_range(int64_t count, Body&& body) const {
    constexpr int64_t kElements = 16384;
    parallel_for((count + kElements - 1) / kElements, [&](int64_t task) {
      const int64_t begin = task * kElements;
      body(begin, begin + kElements < count ? begin + kElements : count);
    });
  }
  /// How much of an output whose extents depend on data was used. Throws std::invalid_argument for another number of
  /// extents than the output has.
  void set_extents(int32_t output, const std::vector<int64_t>& dims) const {
    if (dims.size() != static_cast<size_t>(outputs_[output].rank))
      throw std::invalid_argument("set_extents() of output " + std::to_string(output) + " got " +
                                  std::to_string(dims.size()) + " extents, the output has " +
                                  std::to_string(outputs_[output].rank));
    host_.set_extents(run_, output, dims.data());
  }
  void set_state_extents(int32_t state, const std::vector<int64_t>& dims) const {
    set_extents(output_count_ + state, dims);
  }

 private:
  const terroir_host& host_;
  terroir_run* run_;
  int32_t input_count_, output_count_;
  const terroir_tensor* inputs_;
  const terroir_tensor* outputs_;
  void* scratch_;
};

/// What create() of a layer knows: all extents, and the elements of constant inputs (else data() is null).
class Preparation {
 public:
  Preparation(int32_t input_count, const terroir_tensor* inputs, const terroir_tensor* outputs)
      : input_count_(input_count), inputs_(inputs), outputs_(outputs) {}
  int32_t input_count() const { return input_count_; }
  Tensor input(int32_t index) const { return Tensor(inputs_[index]); }
  Tensor output(int32_t index) const { return Tensor(outputs_[index]); }

 private:
  int32_t input_count_;
  const terroir_tensor* inputs_;
  const terroir_tensor* outputs_;
};

/// The union of element types, for Layer::input_types.
template <typename... Elements>
constexpr uint64_t types(Elements... elements) {
  return (TERROIR_ELEMENT_BIT(static_cast<terroir_element>(elements)) | ...);
}
inline constexpr uint32_t kPlain = TERROIR_LAYOUT_BIT(TERROIR_PLAIN);
inline constexpr uint32_t kAnyLayout =
    kPlain | TERROIR_LAYOUT_BIT(TERROIR_CHANNELS_LAST) | TERROIR_LAYOUT_BIT(TERROIR_BLOCKED);

/// Base of layers: what most of them do not say. A layer hides what it wants otherwise.
struct Layer {
  static constexpr const char* opset = "extension";
  static constexpr int32_t min_inputs = 1;
  static constexpr int32_t max_inputs = 1;    ///< -1: any number
  static constexpr int32_t outputs = 1;       ///< -1: as many as infer() sets
  static constexpr int32_t states = 0;        ///< tensors kept from one inference of a request to the next
  static constexpr uint64_t input_types = 0;  ///< types(TERROIR_F32, ...); 0: all
  static constexpr uint32_t layouts = kPlain;
  static constexpr uint32_t flags = 0;  ///< TERROIR_LAYER_ELEMENTWISE | ...

  /// Attributes: attribute("name", member) for each, in a fixed order. Members are bool, int64_t, double, std::string,
  /// std::vector<int64_t> or std::vector<double>; their initial values are the defaults. attribute.required("name",
  /// member): a file must have it. attribute("name", member, "floor|ceil"): the allowed texts.
  template <typename Visitor>
  void visit(Visitor&) {}
  /// Once per layer of a compiled model, before any compute().
  void prepare(const Preparation&) {}
  uint64_t scratch_bytes(int32_t /*threads*/) const { return 0; }
};

namespace detail {

inline std::string text_of(bool value) { return value ? "true" : "false"; }
inline std::string text_of(const std::string& value) { return value; }
template <typename T>
std::enable_if_t<std::is_arithmetic_v<T>, std::string> text_of(T value) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(17);
  out << value;
  return out.str();
}
template <typename T>
std::string text_of(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ", ") + text_of(value);
  return text;
}

template <typename T>
constexpr int32_t kind_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return TERROIR_ATTRIBUTE_BOOLEAN;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return TERROIR_ATTRIBUTE_INTEGER;
  } else if constexpr (std::is_same_v<T, double>) {
    return TERROIR_ATTRIBUTE_REAL;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return TERROIR_ATTRIBUTE_TEXT;
  } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
    return TERROIR_ATTRIBUTE_INTEGERS;
  } else {
    static_assert(std::is_same_v<T, std::vector<double>>,
                  "an attribute is a bool, int64_t, double, std::string or a vector of int64_t or double");
    return TERROIR_ATTRIBUTE_REALS;
  }
}

/// Writes down what the attributes are.
class Describing {
 public:
  template <typename T>
  void operator()(const char* name, T& value, const char* allowed = nullptr) {
    add(name, kind_of<T>(), 0, text_of(value), allowed);
  }
  template <typename T>
  void required(const char* name, T&, const char* allowed = nullptr) {
    add(name, kind_of<T>(), 1, {}, allowed);
  }
  std::vector<terroir_attribute> attributes;

 private:
  void add(const char* name, int32_t kind, int32_t required, std::string text, const char* allowed) {
    texts_.push_back(std::make_unique<std::string>(std::move(text)));
    attributes.push_back({name, kind, required, texts_.back()->c_str(), allowed});
  }
  std::vector<std::unique_ptr<std::string>> texts_;
};

/// Fills the attributes from what the host read.
class Reading {
 public:
  Reading(const terroir_host& host, const terroir_attributes* attributes) : host_(host), attributes_(attributes) {}
  template <typename T>
  void operator()(const char*, T& value, const char* = nullptr) {
    read(value);
    ++index_;
  }
  template <typename T>
  void required(const char* name, T& value, const char* = nullptr) {
    (*this)(name, value);
  }

 private:
  void read(bool& value) { value = host_.attribute_integer(attributes_, index_) != 0; }
  void read(int64_t& value) { value = host_.attribute_integer(attributes_, index_); }
  void read(double& value) { value = host_.attribute_real(attributes_, index_); }
  void read(std::string& value) { value = host_.attribute_text(attributes_, index_); }
  void read(std::vector<int64_t>& values) {
    const int64_t* first = nullptr;
    const uint64_t count = host_.attribute_integers(attributes_, index_, &first);
    values.assign(first, first + count);
  }
  void read(std::vector<double>& values) {
    const double* first = nullptr;
    const uint64_t count = host_.attribute_reals(attributes_, index_, &first);
    values.assign(first, first + count);
  }

  const terroir_host& host_;
  const terroir_attributes* attributes_;
  uint32_t index_ = 0;
};

template <typename L>
L made(const terroir_host& host, const terroir_attributes* attributes) {
  L layer;
  Reading reading(host, attributes);
  layer.visit(reading);
  return layer;
}

/// 0, or what the exception says.
template <typename Body>
int32_t guarded(const terroir_host& host, terroir_error* error, Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (const std::exception& thrown) {
    host.set_error(error, thrown.what());
  } catch (...) {
    host.set_error(error, "an exception that is no std::exception");
  }
  return 1;
}

template <typename L>
const terroir_layer* described() {
  static Describing& describing = *new Describing;  // lives as long as the process
  static const terroir_layer layer = [] {
    L defaults;
    defaults.visit(describing);
    terroir_layer d{};
    d.struct_size = sizeof d;
    d.abi_version = TERROIR_ABI_VERSION;
    d.type = L::type;
    d.opset = L::opset;
    d.min_inputs = L::min_inputs;
    d.max_inputs = L::max_inputs;
    d.outputs = L::outputs;
    d.flags = L::flags;
    d.input_types = L::input_types;
    d.layouts = L::layouts;
    d.states = L::states;
    d.attribute_count = static_cast<uint32_t>(describing.attributes.size());
    d.attributes = describing.attributes.data();
    d.infer = [](void*, const terroir_host* host, const terroir_attributes* attributes, terroir_inference* inference,
                 terroir_error* error) {
      return guarded(*host, error, [&] {
        Inference context(*host, inference, L::outputs);
        made<L>(*host, attributes).infer(context);
      });
    };
    d.create = [](void*, const terroir_host* host, const terroir_attributes* attributes, int32_t input_count,
                  const terroir_tensor* inputs, int32_t, const terroir_tensor* outputs, void** instance,
                  terroir_error* error) {
      return guarded(*host, error, [&] {
        auto prepared = std::make_unique<L>(made<L>(*host, attributes));
        prepared->prepare(Preparation(input_count, inputs, outputs));
        *instance = prepared.release();
      });
    };
    d.destroy = [](void*, void* instance) { delete static_cast<L*>(instance); };
    d.scratch_bytes = [](void*, const void* instance, int32_t threads) {
      return static_cast<const L*>(instance)->scratch_bytes(threads);
    };
    d.compute = [](void*, const void* instance, const terroir_host* host, const terroir_attributes*, terroir_run* run,
                   int32_t input_count, const terroir_tensor* inputs, int32_t output_count,
                   const terroir_tensor* outputs, void* scratch, terroir_error* error) {
      return guarded(*host, error, [&] {
        static_cast<const L*>(instance)->compute(Run(*host, run, input_count, inputs, output_count, outputs, scratch));
      });
    };
    return d;
  }();
  return &layer;
}

/// A part of an extension is a Layer or a Device (terroir/device.hpp).
template <typename Part>
void add_part(std::vector<const terroir_layer*>& layers, std::vector<const terroir_device*>& devices) {
  if constexpr (std::is_base_of_v<Layer, Part>) {
    static_cast<void>(devices);
    layers.push_back(described<Part>());
  } else {
    static_cast<void>(layers);
    devices.push_back(Part::template described<Part>());
  }
}

template <typename... Parts>
const terroir_extension* described_extension(const char* name) {
  struct Lists {
    Lists() { (add_part<Parts>(layers, devices), ...); }
    std::vector<const terroir_layer*> layers;
    std::vector<const terroir_device*> devices;
  };
  static const Lists& lists = *new Lists;  // lives as long as the process
  static const terroir_extension extension{sizeof(terroir_extension),
                                           TERROIR_ABI_VERSION,
                                           name,
                                           static_cast<uint32_t>(lists.layers.size()),
                                           lists.layers.data(),
                                           static_cast<uint32_t>(lists.devices.size()),
                                           lists.devices.data()};
  return &extension;
}

}  // namespace detail

/// The extension of these layers and devices, for Core::add_extension(): those of the program itself.
template <typename... Parts>
const terroir_extension* extension_of(const char* name) {
  return detail::described_extension<Parts...>(name);
}

}  // namespace extension
}  // namespace terroir

/// Once per library: its name for people, then its layers and devices.
#define TERROIR_EXTENSION(name, ...)                                                                              \
  extern "C" TERROIR_EXTENSION_EXPORT const terroir_extension* terroir_get_extension(uint32_t host_abi_version) { \
    if (host_abi_version < TERROIR_ABI_VERSION) return nullptr;                                                   \
    return terroir::extension::extension_of<__VA_ARGS__>(name);                                                   \
  }
