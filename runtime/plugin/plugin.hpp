// What a device is to the rest of the library.
//
// Plugin compiles a graph into a CompiledGraph, which is immutable and makes any number of RequestStates; a
// RequestState holds what one inference needs (activations, variables) and runs it. Only the graph and value types
// cross this line; tensors, requests, queues and callbacks are the business of runtime/api.
//
// Threads: Plugin and CompiledGraph are used from several threads at once; a RequestState from one at a time.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/base/tensor_view.hpp"
#include "ir/graph/graph.hpp"
#include "ir/schema/registry.hpp"
#include "runtime/parallel/arena.hpp"
#include "runtime/plugin/config.hpp"
#include "terroir/any.hpp"
#include "terroir/profiling_info.hpp"

namespace terroir::plugin {

class Archive;
class ArchiveWriter;

/// One input or output of a compiled graph.
struct PortInfo {
  element::Type type;
  PartialShape shape;
  std::vector<std::string> names;  // tensor names
  std::string node_name;           // of the Parameter or Result
  std::string producer_name;       // outputs: the layer that feeds the Result; inputs: node_name
  ir::RtInfo rt_info;              // of the port
};

/// Inputs and outputs of a graph, in the order of its Parameters and Results.
std::vector<PortInfo> input_infos(const ir::Graph& graph);
std::vector<PortInfo> output_infos(const ir::Graph& graph);

/// Whether the layer reads or writes a variable that lives from one inference to the next. Devices run graphs without:
/// see variables.hpp.
bool needs_state(const ir::Node& node);

/// A variable of a model with state.
struct VariableInfo {
  std::string name;
  element::Type type;
  PartialShape shape;
};

/// Where a RequestState gets the memory of its outputs.
class OutputBinder {
 public:
  virtual ~OutputBinder() = default;
  /// Memory for output `index` of this inference, for a dense tensor of this type and these extents. To be called once
  /// per output and inference, as soon as the shape is known (before the first step if it is static); the memory stays
  /// valid until the next inference and never overlaps an input. It may be aligned to the element only: the user may
  /// have given it. Throws Exception (shape_mismatch) if the user gave a tensor of another shape that cannot be
  /// reshaped. Allocates nothing for static shapes once each output has been bound.
  virtual void* bind(size_t index, element::Type type, const ir::Dims& dims) = 0;
};

/// What surrounds one inference.
struct RunContext {
  const parallel::Arena& arena;        // the stream's threads
  const std::atomic<bool>& cancelled;  // when set, stop before the next step and return; outputs are then undefined
};

class RequestState {
 public:
  virtual ~RequestState() = default;

  /// `inputs` are dense, of the declared types and of shapes that the declared ones allow; checked by the caller.
  virtual void infer(std::span<const ir::TensorView> inputs, OutputBinder& outputs, const RunContext& context) = 0;

  /// Per layer of the last inference, in order of execution; empty unless PERF_COUNT is set.
  virtual std::vector<ProfilingInfo> profiling() const { return {}; }

  /// Called when the results of infer() have arrived where they belong: only then variables take their new values.
  virtual void commit() {}

  /// Variables and their values, by index; set_variable() copies. See variables.hpp.
  virtual const std::vector<VariableInfo>& variables() const;
  virtual ir::TensorView variable(size_t index);
  virtual void set_variable(size_t index, const ir::TensorView& value);
  virtual void reset_variable(size_t index);

  /// Frees what is kept from one inference to the next for speed alone.
  virtual void release_memory() {}
};

/// See terroir::memory_footprint.
struct Footprint {
  uint64_t weights = 0, packed = 0, arena_per_request = 0;
  uint64_t peak(int requests) const { return weights + packed + static_cast<uint64_t>(requests) * arena_per_request; }
};

class CompiledGraph {
 public:
  /// `device` is the name of the plugin, `available_threads` what streams share. The graph has no
  /// state.
  CompiledGraph(const ir::Graph& graph, std::string device, Config config, int available_threads);
  /// One that was compiled before.
  CompiledGraph(std::string name, std::string device, Config config, int available_threads,
                std::vector<PortInfo> inputs, std::vector<PortInfo> outputs);
  /// The same device, settings and name; of the inputs and outputs only the first ones.
  CompiledGraph(const CompiledGraph& whole, size_t inputs, size_t outputs);
  virtual ~CompiledGraph() = default;
  CompiledGraph(const CompiledGraph&) = delete;
  CompiledGraph& operator=(const CompiledGraph&) = delete;

  virtual std::unique_ptr<RequestState> create_request() const = 0;

  /// The executable graph, for people: layers with their implementation in rt_info. Not every device has one; the
  /// default throws Exception (not_implemented).
  virtual std::unique_ptr<ir::Graph> runtime_graph() const;

  /// Checks settings against what has been settled: throws Exception, unsupported for a known key.
  void set_property(const AnyMap& properties) const;
  virtual Footprint footprint() const { return {}; }

  /// For devices whose compiled form is not worth storing: the graph to compile again. Null: save() stores more.
  virtual const ir::Graph* source() const { return nullptr; }
  /// The compiled form, for Plugin::load(); see stored_model.hpp. The default throws Exception (not_implemented).
  virtual void save(ArchiveWriter& archive) const;

  const std::vector<PortInfo>& inputs() const { return inputs_; }
  const std::vector<PortInfo>& outputs() const { return outputs_; }
  const std::string& name() const { return name_; }
  const std::string& device() const { return device_; }
  const Config& config() const { return config_; }
  /// What NUM_STREAMS and INFERENCE_NUM_THREADS came down to.
  const Config::Threading& threading() const { return threading_; }

  /// Settings with their effective values, and what can only be read. Throws Exception (not_found).
  Any get_property(const std::string& key) const;
  static std::vector<PropertyName> supported_properties();

 private:
  std::string name_;
  std::string device_;
  Config config_;
  Config::Threading threading_;
  std::vector<PortInfo> inputs_;
  std::vector<PortInfo> outputs_;
};

class Plugin {
 public:
  virtual ~Plugin() = default;

  /// "CPU", "INTERPRETER".
  virtual std::string device_name() const = 0;
  /// For people: the processor's name.
  virtual std::string full_device_name() const = 0;
  virtual std::vector<std::string> capabilities() const { return {"FP32"}; }

  /// The graph is complete (inferred and verified) and stays unchanged while it is shared.
  /// Throws Exception (unsupported, not_implemented) for a graph it cannot run.
  virtual std::shared_ptr<const CompiledGraph> compile(std::shared_ptr<const ir::Graph> graph,
                                                       const Config& config) const = 0;

  /// What save() has stored. `config`: the settings of now, and those that it was compiled with where they decide how.
  /// Exception: parse_error, unsupported. The default throws not_implemented.
  virtual std::shared_ptr<const CompiledGraph> load(Archive& archive, const Config& config,
                                                    const ir::OpRegistry& operations) const;
  /// The device, and what of the machine its compiled form depends on.
  virtual std::string fingerprint() const { return device_name(); }

  /// Names of the layers of the graph that compile() would accept.
  virtual std::vector<std::string> supported_layers(const ir::Graph& graph) const;

  /// The device's properties; `config` holds what has been set. Throws Exception (not_found).
  Any get_property(const std::string& key, const Config& config) const;
  static std::vector<PropertyName> supported_properties();
};

/// The devices there are, in order of registration. They stay as long as the registry.
/// Threads: all functions may be called from several threads at once.
class PluginRegistry {
 public:
  /// Throws Exception (invalid_argument) if the device exists.
  void add(std::unique_ptr<Plugin> plugin);
  /// "" and "AUTO" mean the first device, "AUTO:A,B" the first of A and B that exists. Throws Exception (not_found)
  /// that lists the devices.
  const Plugin& get(const std::string& device) const;
  std::vector<std::string> devices() const;

 private:
  const Plugin* find(std::string_view device) const;  // with mutex_ held

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Plugin>> plugins_;
};

/// Adds the devices of this library; defined in plugins/builtin_plugins.cpp, the only file that knows them.
void register_builtin_plugins(PluginRegistry& registry);

}  // namespace terroir::plugin
