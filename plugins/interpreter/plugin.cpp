#include "plugins/interpreter/plugin.hpp"

#include "ir/base/element_memory.hpp"
#include "plugins/interpreter/interpreter.hpp"

namespace terroir::interpreter {
namespace {

constexpr const char* kDevice = "INTERPRETER";

class Request final : public plugin::RequestState {
 public:
  Request(const Program& program, bool profiling) : program_(program), profiling_(profiling) {}

  void infer(std::span<const ir::TensorView> inputs, plugin::OutputBinder& outputs,
             const plugin::RunContext& context) override {
    profile_.clear();
    const auto observe = [&](const ir::Node& node, double seconds, std::span<const HostTensor> tensors) {
      if (profiling_) profile_.push_back(profile_entry(node, seconds, tensors));
      return true;
    };
    const auto results = program_.run(inputs, observe, &context.cancelled);
    for (size_t i = 0; i < results.size(); ++i) {
      const ir::TensorView& from = results[i].view();
      copy_elements(from.type, outputs.bind(i, from.type, from.dims), from.data, from.bytes());
    }
  }

  std::vector<ProfilingInfo> profiling() const override { return profile_; }

 private:
  static ProfilingInfo profile_entry(const ir::Node& node, double seconds, std::span<const HostTensor> tensors) {
    ProfilingInfo info;
    info.status = ProfilingInfo::Status::EXECUTED;
    info.real_time = info.cpu_time = std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
    info.node_name = node.name;
    info.node_type = node.schema->type;
    info.exec_type = "ref";
    if (!tensors.empty()) info.exec_type += "_" + tensors[0].type().get_type_name();
    return info;
  }

  const Program& program_;
  const bool profiling_;
  std::vector<ProfilingInfo> profile_;
};

/// As on other devices, narrow types are a way to store; computing in them is for those who ask for it.
Precision precision_of(const plugin::Config& config) {
  const element::Type wanted = config.inference_precision;
  return wanted == element::f16 || wanted == element::bf16 ? Precision::declared : Precision::f32;
}

class Compiled final : public plugin::CompiledGraph {
 public:
  Compiled(std::shared_ptr<const ir::Graph> graph, plugin::Config config)
      : CompiledGraph(*graph, kDevice, std::move(config), /*available_threads=*/1),
        graph_(std::move(graph)),
        program_(*graph_, precision_of(this->config())) {}

  std::unique_ptr<plugin::RequestState> create_request() const override {
    return std::make_unique<Request>(program_, config().profiling);
  }
  std::unique_ptr<ir::Graph> runtime_graph() const override { return graph_->clone(); }
  const ir::Graph* source() const override { return graph_.get(); }
  /// Values come and go while it runs; what is known beforehand are the constants.
  plugin::Footprint footprint() const override {
    plugin::Footprint needs;
    for (const ir::NodeId id : graph_->nodes())
      if (const auto& constant = graph_->node(id).constant) needs.weights += constant->view.bytes();
    return needs;
  }

 private:
  std::shared_ptr<const ir::Graph> graph_;
  Program program_;
};

class InterpreterPlugin final : public plugin::Plugin {
 public:
  std::string device_name() const override { return kDevice; }
  std::string full_device_name() const override { return "Terroir reference interpreter"; }
  std::vector<std::string> capabilities() const override { return {"FP32", "FP16", "BF16", "INT8"}; }

  std::shared_ptr<const plugin::CompiledGraph> compile(std::shared_ptr<const ir::Graph> graph,
                                                       const plugin::Config& config) const override {
    return std::make_shared<Compiled>(std::move(graph), config);
  }

  std::vector<std::string> supported_layers(const ir::Graph& graph) const override {
    std::vector<std::string> names;
    for (const ir::NodeId id : graph.nodes())
      if (why_unsupported(graph.node(id)).empty()) names.push_back(graph.node(id).name);
    return names;
  }
};

}  // namespace

std::unique_ptr<plugin::Plugin> make_plugin() { return std::make_unique<InterpreterPlugin>(); }

}  // namespace terroir::interpreter
