// Rewriting of models in code: passes, and the manager that runs them in turn.
//
// Use: class MarkRelus : public pass::ModelPass {
//       public:
//        bool run_on_model(const std::shared_ptr<Model>& model) override { ... return true; }  // whether it changed
//      };
//      pass::Manager manager;
//      manager.register_pass<MarkRelus>();
//      manager.run_passes(model);
// What: OpenVINO's classes of these names, over what terroir/node_input.hpp can change. terroir/pass/graph_rewrite.hpp
//       has passes that look for a pattern.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include "terroir/model.hpp"

namespace terroir {
namespace pass {

/// Asked for a layer by passes that want to be told where they may work.
using param_callback = std::function<bool(const std::shared_ptr<const Node>&)>;

/// Which passes of a manager are left out, and what they ask before they work on a layer.
class PassConfig {
 public:
  template <typename T>
  void disable() {
    disabled_.emplace(typeid(T));
    enabled_.erase(typeid(T));
  }
  template <typename T>
  void enable() {
    disabled_.erase(typeid(T));
    enabled_.emplace(typeid(T));
  }
  /// disable() for who does not know better: what was enabled stays so.
  template <typename T>
  void disable_unless_enabled() {
    if (enabled_.count(typeid(T)) == 0) disable<T>();
  }
  template <typename T>
  bool is_disabled() const {
    return is_disabled(typeid(T));
  }
  template <typename T>
  bool is_enabled() const {
    return !is_disabled<T>();
  }
  bool is_disabled(const std::type_info& type) const { return disabled_.count(type) != 0; }

  /// For all passes that have no callback of their own.
  void set_callback(const param_callback& callback) { for_all_ = callback; }
  /// For passes of these classes.
  template <typename T, typename... Others>
  void set_callback(const param_callback& callback) {
    callbacks_[typeid(T)] = callback;
    (set_callback<Others>(callback), ...);
  }
  /// Empty if there is none.
  template <typename T>
  param_callback get_callback() const {
    return get_callback(typeid(T));
  }
  param_callback get_callback(const std::type_info& type) const {
    const auto found = callbacks_.find(type);
    return found != callbacks_.end() ? found->second : for_all_;
  }

 private:
  std::set<std::type_index> disabled_, enabled_;
  std::map<std::type_index, param_callback> callbacks_;
  param_callback for_all_;
};

class PassBase {
 public:
  virtual ~PassBase() = default;
  /// That of set_name(), or else that of the class.
  std::string get_name() const { return name_.empty() ? get_type_info().name : name_; }
  void set_name(const std::string& name) { name_ = name; }
  virtual const DiscreteTypeInfo& get_type_info() const {
    static const DiscreteTypeInfo unnamed{"pass", ""};
    return unnamed;
  }

  /// Whether the pass shall leave the layer as it is, as its own callback says, or else that of the manager's config.
  void set_callback(const param_callback& callback) { callback_ = callback; }
  bool transformation_callback(const std::shared_ptr<const Node>& layer) const {
    if (callback_) return callback_(layer);
    const param_callback configured = config_ != nullptr ? config_->get_callback(typeid(*this)) : param_callback();
    return configured && configured(layer);
  }
  /// A manager gives its passes its own.
  virtual void set_pass_config(const std::shared_ptr<PassConfig>& config) { config_ = config; }
  std::shared_ptr<PassConfig> get_pass_config() const { return config_; }

 private:
  std::string name_;
  param_callback callback_;
  std::shared_ptr<PassConfig> config_;
};

class ModelPass : public PassBase {
 public:
  /// Whether the model was changed.
  virtual bool run_on_model(const std::shared_ptr<Model>& model) = 0;
};

/// A ModelPass that runs another kind of pass; specialised where that is defined.
template <typename Pass, typename = void>
struct AsModelPass;
template <typename Pass>
struct AsModelPass<Pass, std::enable_if_t<std::is_base_of_v<ModelPass, Pass>>> {
  static std::shared_ptr<ModelPass> make(const std::shared_ptr<Pass>& pass) { return pass; }
};

class Manager {
 public:
  explicit Manager(std::shared_ptr<PassConfig> config = std::make_shared<PassConfig>()) : config_(std::move(config)) {}
  explicit Manager(const std::string& /*name*/) : Manager() {}
  Manager(std::shared_ptr<PassConfig> config, const std::string& /*name*/) : Manager(std::move(config)) {}

  /// Makes a pass with these arguments; `enabled`: false leaves it out, unless PassConfig::enable() was or will be
  /// called.
  template <typename T, bool enabled = true, typename... Args>
  std::shared_ptr<T> register_pass(Args&&... args) {
    auto pass = std::make_shared<T>(std::forward<Args>(args)...);
    register_pass_instance(pass);
    if (!enabled) config_->disable_unless_enabled<T>();
    return pass;
  }
  template <typename T>
  void register_pass_instance(const std::shared_ptr<T>& pass) {
    PassBase& instance = *pass;
    instance.set_pass_config(config_);
    passes_.push_back({AsModelPass<T>::make(pass), typeid(instance)});
  }

  /// Runs the passes in the order of their registration; after one that changed the model, types and shapes are
  /// inferred anew. Whether any changed it. Throws what passes throw, and what Model::validate_nodes_and_infer_types()
  /// does.
  bool run_passes(const std::shared_ptr<Model>& model) {
    bool changed = false;
    for (const Registered& registered : passes_) {
      if (config_->is_disabled(registered.type) || !registered.pass->run_on_model(model)) continue;
      changed = true;
      if (validates_) model->validate_nodes_and_infer_types();
    }
    return changed;
  }

  void set_per_pass_validation(bool validates) { validates_ = validates; }
  std::shared_ptr<PassConfig> get_pass_config() const { return config_; }

 private:
  struct Registered {
    std::shared_ptr<ModelPass> pass;
    const std::type_info& type;
  };
  std::vector<Registered> passes_;
  std::shared_ptr<PassConfig> config_;
  bool validates_ = true;
};

/// Infers types and shapes anew.
class Validate : public ModelPass {
 public:
  bool run_on_model(const std::shared_ptr<Model>& model) override {
    model->validate_nodes_and_infer_types();
    return false;
  }
};

/// Computes what follows from constants alone. Layers that no output of the model needs are gone afterwards.
class TERROIR_API ConstantFolding : public ModelPass {
 public:
  bool run_on_model(const std::shared_ptr<Model>& model) override;
};

}  // namespace pass
}  // namespace terroir
