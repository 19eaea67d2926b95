// Passes that look for a pattern and put something else in its place.
//
// Use: class FuseRelus : public pass::MatcherPass {
//       public:
//        FuseRelus() {
//          auto root = pattern::wrap_type<opset8::Relu>({pattern::wrap_type<opset8::Relu>()});
//          register_matcher(std::make_shared<pattern::Matcher>(root, "FuseRelus"), [](pattern::Matcher& m) {
//            const auto inner = m.get_match_root()->get_input_node_shared_ptr(0);
//            return replace_output_update_name(m.get_match_root()->output(0), inner->output(0));
//          });
//        }
//      };
// What: OpenVINO's classes of these names. Layers are visited once, each after what it reads (BackwardGraphRewrite: the
//       other way round); layers that callbacks make are visited if they were registered with register_new_node();
//       those that a callback has replaced are not. Bodies of layers are not visited.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "terroir/graph_util.hpp"
#include "terroir/pass/pass.hpp"
#include "terroir/pass/pattern.hpp"

namespace terroir {

/// Whether the layer at which the pattern was found was replaced.
using matcher_pass_callback = std::function<bool(pass::pattern::Matcher&)>;
using graph_rewrite_callback = matcher_pass_callback;

namespace pass {

class MatcherPass : public PassBase {
 public:
  MatcherPass() = default;
  MatcherPass(const std::shared_ptr<pattern::Matcher>& matcher, const matcher_pass_callback& callback) {
    register_matcher(matcher, callback);
  }

  /// Calls the callback if the pattern is at the layer's first output. Whether that replaced it. What it throws comes
  /// with the names of the pass and the layer, and is an Exception unless it is of a class of the program's.
  bool apply(const std::shared_ptr<Node>& layer) {
    new_layers_.clear();
    if (matcher_ == nullptr || layer->get_output_size() == 0) return false;
    bool replaced = false;
    try {
      replaced = matcher_->match(layer->output(0)) && callback_(*matcher_);
    } catch (Exception& error) {
      error.add_context(where(*layer));
      matcher_->clear_state();
      throw;
    } catch (const std::exception& error) {
      matcher_->clear_state();
      if (!is_standard(typeid(error))) throw;
      Exception named(error.what());
      named.add_context(where(*layer));
      throw named;
    }
    matcher_->clear_state();
    return replaced;
  }

  template <typename T, typename... Args>
  std::shared_ptr<T> register_new_node(Args&&... args) {
    return register_new_node(std::make_shared<T>(std::forward<Args>(args)...));
  }
  template <typename T>
  std::shared_ptr<T> register_new_node(const std::shared_ptr<T>& layer) {
    new_layers_.push_back(layer);
    return layer;
  }
  const NodeVector& get_new_nodes() const { return new_layers_; }
  void clear_new_nodes() { new_layers_.clear(); }
  std::shared_ptr<pattern::Matcher> get_matcher() const { return matcher_; }

 protected:
  void register_matcher(const std::shared_ptr<pattern::Matcher>& matcher, const matcher_pass_callback& callback) {
    matcher_ = matcher;
    callback_ = callback;
    if (!matcher->get_name().empty()) set_name(matcher->get_name());
  }

 private:
  std::string where(const Node& layer) const {
    return "the pass '" + get_name() + "' at " + layer.get_type_name() + " '" + layer.get_friendly_name() + "'";
  }
  static bool is_standard(const std::type_info& type) {
    return type == typeid(std::runtime_error) || type == typeid(std::logic_error) ||
           type == typeid(std::out_of_range) || type == typeid(std::invalid_argument) ||
           type == typeid(std::bad_function_call);
  }

  std::shared_ptr<pattern::Matcher> matcher_;
  matcher_pass_callback callback_;
  NodeVector new_layers_;
};

/// Several MatcherPasses in one walk; the first that replaces a layer has it.
class GraphRewrite : public ModelPass {
 public:
  GraphRewrite() = default;
  explicit GraphRewrite(const std::shared_ptr<MatcherPass>& pass) : passes_{pass} {}

  /// Makes a pass with these arguments; `enabled`: false leaves it out, unless PassConfig::enable() was or will be
  /// called.
  template <typename T, bool enabled = true, typename... Args>
  std::shared_ptr<T> add_matcher(Args&&... args) {
    auto pass = std::make_shared<T>(std::forward<Args>(args)...);
    add_matcher(std::shared_ptr<MatcherPass>(pass));
    if (!enabled) {
      own_config().disable_unless_enabled<T>();
      left_out_.push_back([](PassConfig& config) { config.disable_unless_enabled<T>(); });
    }
    return pass;
  }
  std::shared_ptr<MatcherPass> add_matcher(const std::shared_ptr<MatcherPass>& pass) {
    passes_.push_back(pass);
    if (get_pass_config() != nullptr) pass->set_pass_config(get_pass_config());
    return pass;
  }
  /// For all matchers that have no callback of their own.
  void set_callback(const param_callback& callback) { own_config().set_callback(callback); }
  void set_pass_config(const std::shared_ptr<PassConfig>& config) override {
    PassBase::set_pass_config(config);
    for (const auto& pass : passes_) pass->set_pass_config(config);
    for (const auto& leave_out : left_out_) leave_out(*config);
    left_out_.clear();
  }

  bool run_on_model(const std::shared_ptr<Model>& model) override {
    const NodeVector layers = model->get_ordered_ops();
    std::deque<std::shared_ptr<Node>> pending(layers.begin(), layers.end());
    if (backward_) std::reverse(pending.begin(), pending.end());
    bool changed = false;
    Layers replaced;
    while (!pending.empty()) {
      const std::shared_ptr<Node> layer = pending.front();
      pending.pop_front();
      if (changed && is_read_by_none_but(replaced, layer)) {
        replaced.insert(layer);
        continue;
      }
      for (const auto& pass : passes_) {
        const MatcherPass& instance = *pass;
        const auto config = pass->get_pass_config();
        if ((config != nullptr && config->is_disabled(typeid(instance))) || !pass->apply(layer)) continue;
        changed = true;
        if (is_read_by_none_but(replaced, layer)) replaced.insert(layer);
        const NodeVector& made = pass->get_new_nodes();
        pending.insert(pending.begin(), made.begin(), made.end());
        break;
      }
    }
    return changed;
  }

 protected:
  bool backward_ = false;

 private:
  using Layers = std::set<std::shared_ptr<Node>, pattern::detail::ByLayer>;

  /// What was replaced still reads its inputs. Looks at the next readers only: nothing that is replaced was made of
  /// layers that are yet to come, but in a walk from the end, which comes to readers first.
  static bool is_read_by_none_but(const Layers& replaced, const std::shared_ptr<Node>& layer) {
    if (terroir::detail::is_named(*layer, "Result") || terroir::detail::is_named(*layer, "Assign")) return false;
    const auto is_replaced = [&](const std::shared_ptr<Node>& user) { return replaced.count(user) > 0; };
    const auto users = layer->get_users();
    if (!std::all_of(users.begin(), users.end(), is_replaced)) return false;
    const auto after = layer->get_control_dependents();
    return std::all_of(after.begin(), after.end(), [&](Node* user) { return is_replaced(user->shared_from_this()); });
  }

  PassConfig& own_config() {
    if (get_pass_config() == nullptr) set_pass_config(std::make_shared<PassConfig>());
    return *get_pass_config();
  }

  std::vector<std::shared_ptr<MatcherPass>> passes_;
  std::vector<void (*)(PassConfig&)> left_out_;  // what a manager's config is still to be told
};

class BackwardGraphRewrite : public GraphRewrite {
 public:
  BackwardGraphRewrite() { backward_ = true; }
};

template <typename Pass>
struct AsModelPass<Pass, std::enable_if_t<std::is_base_of_v<MatcherPass, Pass>>> {
  static std::shared_ptr<ModelPass> make(const std::shared_ptr<Pass>& pass) {
    return std::make_shared<GraphRewrite>(pass);
  }
};

}  // namespace pass
}  // namespace terroir
