#include "tests/random_models/examine.hpp"

#include <algorithm>
#include <optional>
#include <thread>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ir/xml/reader.hpp"
#include "ir/xml/writer.hpp"
#include "ops/registry.hpp"
#include "tests/differential/differences.hpp"
#include "tests/differential/oracle.hpp"
#include "tests/random_models/program.hpp"
#include "tests/random_models/user_memory.hpp"
#include "tests/support/device.hpp"
#include "tests/support/scoped_variable.hpp"

namespace terroir::test {
namespace {

constexpr CheckName kCheckNames[] = {
    {"interpreter", "INTERPRETER and CPU"},
    {"threads", "one thread and two, three, four"},
    {"unknown extents", "extents that are known and such that are not; after an inference of other extents, too"},
    {"other extents", "the model made for other extents, and one of unknown extents that is given them"},
    {"batch", "each image alone, and at each place of a batch"},
    {"no images", "INTERPRETER and CPU with a batch of none, and a model of unknown batch that is given some then"},
    {"stored", "the compiled model, and the same written and read back"},
    {"file", "the model, and the same written as IR and read back"},
    {"requests", "a first inference, one after others, and two at the same time"},
    {"user memory", "memory of the device's tensors, and memory that is aligned to the elements alone"},
    {"program", "the device, and a program over the public API"},
    {"settings", "a model of unknown extents with PLAN_CACHE_CAPACITY=0; INTERPRETER and CPU with a MEMORY_LIMIT"},
    {"accuracy", "INTERPRETER and CPU with EXECUTION_MODE_HINT=ACCURACY, also with two threads"},
    {"bf16", "with INFERENCE_PRECISION_HINT=bf16 one thread and two, three, and the same written and read back"},
};

constexpr int64_t kBatch = 3;

class Examiner {
 public:
  Examiner(const Subject& subject, uint64_t seed, std::string_view only, Examination& found)
      : subject_(subject),
        seed_(seed),
        only_(only),
        found_(found),
        oracle_(subject.graph, subject.inputs, for_bounds_) {}

  void run_all() {
    one_ = run(subject_.graph, "CPU", config_of(1), subject_.inputs);
    const Run& expected = oracle_.expected();
    if (expected.refusal && one_.refusal) {
      found_.refused = true;
      return;
    }
    if (expected.refusal || one_.refusal) {
      if (!wants("interpreter")) return;
      found_.check = "interpreter";
      found_.text = one_.refusal ? "CPU refuses what INTERPRETER runs: " + *one_.refusal
                                 : "CPU runs what INTERPRETER refuses: " + *expected.refusal;
      return;
    }
    using Check = std::string (Examiner::*)();
    static constexpr std::pair<const char*, Check> kChecks[] = {{"interpreter", &Examiner::against_interpreter},
                                                                {"threads", &Examiner::over_threads},
                                                                {"unknown extents", &Examiner::unknown_extents},
                                                                {"other extents", &Examiner::other_extents},
                                                                {"batch", &Examiner::images_of_a_batch},
                                                                {"no images", &Examiner::no_images},
                                                                {"stored", &Examiner::stored},
                                                                {"file", &Examiner::as_a_file},
                                                                {"requests", &Examiner::several_requests},
                                                                {"user memory", &Examiner::user_memory},
                                                                {"program", &Examiner::program},
                                                                {"settings", &Examiner::settings},
                                                                {"accuracy", &Examiner::accuracy},
                                                                {"bf16", &Examiner::in_bf16}};
    for (const auto& [name, check] : kChecks) {
      if (!wants(name)) continue;
      random_ = Random(seed_ ^ 0xe8a317);  // so that a check draws the same when it is the only one
      skipped_ = false;
      try {
        found_.text = (this->*check)();
      } catch (const std::exception& error) {
        found_.text = std::string("it throws: ") + error.what();
      }
      if (!skipped_) ++found_.made[name];
      if (found_.text.empty()) continue;
      found_.check = name;
      return;
    }
  }

 private:
  /// For a check that says nothing about this model.
  std::string skipped() {
    skipped_ = true;
    return {};
  }

  bool wants(std::string_view name) const { return only_.empty() || only_ == name; }

  std::string against_interpreter() { return oracle_.fault(one_); }

  std::string over_threads() {
    for (const int threads : {2, 3, 4})
      if (const std::string text = difference_between(one_, run_counted(threads)); !text.empty())
        return concat(threads, " threads: ", text);
    return {};
  }

  /// The first of these runs counts its steps.
  Run run_counted(int threads) {
    if (found_.steps > 0) return run(subject_.graph, "CPU", config_of(threads), subject_.inputs);
    plugin::Config config = config_of(threads);
    config.profiling = true;
    DeviceModel model(subject_.graph, "CPU", config);
    Run run;
    for (size_t i = 0; i < one_.results.size(); ++i) run.results.push_back(model.infer(subject_.inputs));
    count_steps(model.profile());
    return run;
  }

  std::string unknown_extents() {
    for (int attempt = 0; attempt < 2; ++attempt) {
      const std::shared_ptr<ir::Graph> forgetful = forget(*subject_.graph, random_);
      std::string shapes;
      for (const ir::NodeId id : forgetful->parameters()) shapes += concat(forgetful->port({id, 0}).shape, " ");
      const Run actual = run(forgetful, "CPU", config_of(1 + attempt), subject_.inputs);
      if (const std::string text = difference_between(one_, actual); !text.empty()) return concat(shapes, ": ", text);
    }
    return {};
  }

  /// Other extents that the model takes as well, the same for axes that are alike; none: it takes no others.
  std::vector<ir::Dims> drawn_extents() {
    std::vector<ir::Dims> extents = extents_of(subject_.inputs);
    std::map<int64_t, int64_t> to;
    const int64_t batch = random_.between(1, 4);
    for (ir::Dims& dims : extents)
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        if (axis == 0) {
          if (subject_.batched) dims[0] = batch;
          continue;
        }
        if (axis == 1 && dims.size() != 3) continue;
        const auto [at, is_new] = to.try_emplace(dims[axis], dims[axis]);
        if (is_new && random_.chance(60)) at->second = std::max<int64_t>(1, dims[axis] + random_.between(-3, 4));
        dims[axis] = at->second;
      }
    return extents;
  }

  std::string other_extents() {
    if (has_texts() || has_state()) return skipped();
    for (int attempt = 0; attempt < 3; ++attempt) {
      const std::vector<ir::Dims> extents = drawn_extents();
      if (extents == extents_of(subject_.inputs)) continue;
      const std::shared_ptr<ir::Graph> other = with_extents(*subject_.graph, extents);
      if (!other) continue;
      Tensors inputs;
      for (size_t i = 0; i < extents.size(); ++i) inputs.push_back(refilled(subject_.inputs[i], extents[i]));
      const Run expected = run(other, "CPU", config_of(1), inputs);
      if (expected.refusal) continue;
      DeviceModel model(of_unknown_extents(), "CPU", config_of(2));
      // There and back, so that plans and memory of one are not those of the other.
      for (int round = 0; round < 2; ++round) {
        if (const std::string text = difference(one_.results[0], model.infer(subject_.inputs)); !text.empty())
          return concat("of unknown extents, own ones, round ", round, ": ", text);
        if (const std::string text = difference(expected.results[0], model.infer(inputs)); !text.empty())
          return concat("of unknown extents, ", described(extents), ", round ", round, ": ", text);
      }
      const std::string text = difference_when_reshaped(subject_, inputs, expected.results[0]);
      return text.empty() ? text : concat("by Model::reshape(), ", described(extents), ": ", text);
    }
    return skipped();
  }

  std::string images_of_a_batch() {
    if (!subject_.batched) return skipped();
    std::vector<ir::Dims> single = extents_of(subject_.inputs), several = single;
    for (ir::Dims& dims : single) dims.at(0) = 1;
    for (ir::Dims& dims : several) dims.at(0) = kBatch;
    const std::shared_ptr<ir::Graph> alone = with_extents(*subject_.graph, single),
                                     together = with_extents(*subject_.graph, several);
    if (!alone || !together) return skipped();
    for (size_t i = 0; i < alone->results().size(); ++i) {
      const auto first = [&](const ir::Graph& graph) {
        const ir::Dims dims = ir::to_dims(graph.port(graph.node(graph.results()[i]).inputs[0]).shape.to_shape());
        return dims.empty() ? 0 : dims[0];
      };
      if (first(*alone) != 1 || first(*together) != kBatch) return skipped();  // a model cut down to what has no batch
    }
    Tensors inputs;
    for (size_t i = 0; i < several.size(); ++i) inputs.push_back(refilled(subject_.inputs[i], several[i]));
    const Run all = run(together, "CPU", config_of(1), inputs);
    if (all.refusal) return "a batch of three: it throws: " + *all.refusal;
    if (const std::string text = difference_between(all, run(together, "CPU", config_of(2), inputs)); !text.empty())
      return "a batch of three, two threads: " + text;
    const DeviceModel model(alone, "CPU", config_of(1));
    for (int64_t image = 0; image < kBatch; ++image) {
      Tensors own, wanted;
      for (const HostTensor& input : inputs) own.push_back(image_of(input, image));
      for (const HostTensor& result : all.results[0]) wanted.push_back(image_of(result, image));
      if (const std::string text = difference(wanted, model.another_request().infer(own)); !text.empty())
        return concat("image ", image, " alone: ", text);
    }
    return {};
  }

  std::string no_images() {
    if (!subject_.batched) return skipped();
    std::vector<ir::Dims> none = extents_of(subject_.inputs);
    for (ir::Dims& dims : none) dims.at(0) = 0;
    const std::shared_ptr<ir::Graph> empty = with_extents(*subject_.graph, none);
    if (!empty) return skipped();
    Tensors inputs;
    for (size_t i = 0; i < none.size(); ++i) inputs.push_back(refilled(subject_.inputs[i], none[i]));
    const Run expected = run(empty, "INTERPRETER", config_of(1), inputs),
              actual = run(empty, "CPU", config_of(2), inputs);
    if (const std::string text = difference_between(expected, actual); !text.empty()) return text;
    if (expected.refusal) return {};
    if (has_state()) return {};
    DeviceModel model(of_unknown_extents(), "CPU", config_of(1));
    if (const std::string text = difference(expected.results[0], model.infer(inputs)); !text.empty())
      return "of unknown extents: " + text;
    if (const std::string text = difference(one_.results[0], model.infer(subject_.inputs)); !text.empty())
      return "of unknown extents, some images after none: " + text;
    return {};
  }

  std::string stored() {
    for (const int threads : {1, 2}) {
      const DeviceModel compiled(subject_.graph, "CPU", config_of(threads));
      DeviceModel loaded = compiled.stored_and_loaded();
      if (const std::string text = difference(one_.results[0], loaded.infer(subject_.inputs)); !text.empty())
        return text;
    }
    DeviceModel open = DeviceModel(of_unknown_extents(), "CPU", config_of(1)).stored_and_loaded();
    const std::string text = difference(one_.results[0], open.infer(subject_.inputs));
    return text.empty() ? text : "of unknown extents: " + text;
  }

  std::string as_a_file() {
    const ir::ModelText text = ir::write_model(*subject_.graph);
    const auto weights = std::make_shared<std::string>(text.weights);
    std::shared_ptr<const ir::Graph> graph =
        ir::read_model_from_memory(text.xml, weights, reinterpret_cast<const std::byte*>(weights->data()),
                                   weights->size(), ops::builtin_registry());
    return difference_between(one_, run(graph, "CPU", config_of(1), subject_.inputs));
  }

  std::string several_requests() {
    if (has_texts() || has_state()) return skipped();
    Tensors others;
    for (const HostTensor& input : subject_.inputs) others.push_back(moved_on(input));
    // Real numbers, too, may say what to do.
    if (run(subject_.graph, "CPU", config_of(1), others).refusal) others = subject_.inputs;
    DeviceModel first(subject_.graph, "CPU", config_of(2));
    DeviceModel second = first.another_request();
    const Tensors of_others = first.infer(others);
    Tensors a, b;
    std::thread beside([&] { b = second.infer(others); });
    a = first.infer(subject_.inputs);
    beside.join();
    if (const std::string text = difference(one_.results[0], a); !text.empty())
      return "after another inference: " + text;
    if (const std::string text = difference(of_others, b); !text.empty()) return "a second request: " + text;
    if (const std::string text = difference(one_.results[0], second.infer(subject_.inputs)); !text.empty())
      return "a second request, after another inference: " + text;
    return {};
  }

  std::string user_memory() {
    if (has_texts()) return skipped();
    const std::vector<ir::NodeId>& results = subject_.graph->results();
    for (const ir::NodeId id : results)
      if (subject_.graph->port(subject_.graph->node(id).inputs[0]).type == element::string) return skipped();
    for (const int threads : {1, 2}) {
      const DeviceModel model(subject_.graph, "CPU", config_of(threads));
      if (const std::string text = difference_over_user_memory(model, subject_.inputs, one_.results[0]); !text.empty())
        return text;
    }
    return {};
  }

  std::string program() {
    if (has_texts() || has_state()) return skipped();
    for (const HostTensor& result : one_.results[0])
      if (result.type() == element::string) return skipped();
    return difference_through_api(subject_, one_.results[0]);
  }

  std::string settings() {
    plugin::Config config = config_of(1);
    config.plan_cache_bytes = 0;
    DeviceModel forgetful(of_unknown_extents(), "CPU", config);
    for (const Tensors& wanted : one_.results)
      if (const std::string text = difference(wanted, forgetful.infer(subject_.inputs)); !text.empty())
        return "without kept plans: " + text;
    config = config_of(2);
    config.memory_limit = DeviceModel(subject_.graph, "CPU", config).compiled().footprint().peak(1);
    if (config.memory_limit < 2) return {};
    --config.memory_limit;
    const Run lean = run(subject_.graph, "CPU", config, subject_.inputs);
    if (lean.refusal) return {};  // it says that it needs more
    const std::string text = oracle_.fault(lean);
    return text.empty() ? text : "in less memory: " + text;
  }

  std::string accuracy() {
    plugin::Config config = config_of(1);
    config.execution_mode = hint::ExecutionMode::ACCURACY;
    const Run alone = run(subject_.graph, "CPU", config, subject_.inputs);
    config = config_of(2);
    config.execution_mode = hint::ExecutionMode::ACCURACY;
    const Run actual = run(subject_.graph, "CPU", config, subject_.inputs);
    if (const std::string text = difference_between(alone, actual); !text.empty()) return "two threads: " + text;
    return oracle_.fault(actual);
  }

  std::string in_bf16() {
    std::optional<Run> alone;
    for (const int threads : {1, 2, 3}) {
      plugin::Config config = config_of(threads);
      config.inference_precision = element::bf16;
      const Run actual = run(subject_.graph, "CPU", config, subject_.inputs);
      if (!alone) alone = actual;
      if (const std::string text = difference_between(*alone, actual); !text.empty())
        return concat(threads, " threads: ", text);
      if (threads != 2) continue;
      DeviceModel loaded = DeviceModel(subject_.graph, "CPU", config).stored_and_loaded();
      const std::string text = difference(alone->results[0], loaded.infer(subject_.inputs));
      if (!text.empty()) return "written and read back: " + text;
    }
    return {};
  }

  void count_steps(const std::vector<ProfilingInfo>& profile) {
    for (const ProfilingInfo& step : profile) {
      if (step.status != ProfilingInfo::Status::EXECUTED) continue;
      ++found_.steps;
      ++found_.kernels[step.exec_type];
      if (step.exec_type.starts_with("ref")) ++found_.reference_steps[step.node_type];
    }
  }

  std::shared_ptr<const ir::Graph> of_unknown_extents() const {
    auto open = subject_.graph->clone();
    for (const ir::NodeId id : open->parameters()) {
      ir::Node& parameter = open->node(id);
      auto attrs = parameter.attrs<ir::ParameterAttrs>();
      for (Dimension& extent : attrs.shape) extent = Dimension::dynamic();
      parameter.attributes = ir::make_attributes_of(std::move(attrs));
    }
    ir::infer_graph(*open);
    return open;
  }

  static std::string difference(const Tensors& expected, const Tensors& actual) {
    for (size_t i = 0; i < expected.size(); ++i)
      if (const std::string text = difference_in_bits(expected[i], actual[i]); !text.empty())
        return concat("output ", i, ": ", text);
    return {};
  }

  static std::string described(const std::vector<ir::Dims>& extents) {
    std::string text = "inputs of";
    for (const ir::Dims& dims : extents) text += concat(" ", dims);
    return text;
  }

  /// Real numbers each an element further; others may say what to do, and stay.
  static HostTensor moved_on(const HostTensor& tensor) {
    const size_t size = tensor.type().size(), bytes = tensor.view().bytes();
    if (!tensor.type().is_real() || tensor.type().bitwidth() < 16 || bytes <= size) return tensor;
    HostTensor other = refilled(tensor, tensor.dims());
    auto* begin = static_cast<uint8_t*>(other.writable().data);
    std::rotate(begin, begin + size, begin + bytes);
    return other;
  }

  bool has_texts() const {
    return std::any_of(subject_.inputs.begin(), subject_.inputs.end(),
                       [](const HostTensor& input) { return input.type() == element::string; });
  }
  bool has_state() const {
    const std::vector<ir::NodeId> nodes = subject_.graph->nodes();
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](ir::NodeId id) { return subject_.graph->node(id).is("ReadValue"); });
  }

  const Subject& subject_;
  const uint64_t seed_;
  Random random_{seed_}, for_bounds_{seed_};
  const std::string_view only_;
  Examination& found_;
  Oracle oracle_;
  Run one_;
  bool skipped_ = false;
};

}  // namespace

std::span<const CheckName> check_names() { return kCheckNames; }

Examination examine(const Subject& subject, uint64_t seed, const std::string& isa, std::string_view only) {
  Examination found;
  const ForcedIsa forced(isa.c_str());
  Examiner(subject, seed, only, found).run_all();
  return found;
}

}  // namespace terroir::test
