#pragma once
// What: the plans of the operations between the stages of one request, for the operands that they had last, four of
// each operation. What makes a plan are types, extents and the values that say what to do; inferences that have these
// in common share one.
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "plugins/cpu/program.hpp"

namespace terroir::cpu {

class FrontierPlans {
 public:
  struct Found {
    std::shared_ptr<const Plan> plan;  // null: the operation's reference is to run
    std::vector<size_t> given;         // which inputs of the operation the plan's inputs are
  };

  /// What plan_of_frontier_op() makes where it is worth it; good until the next call.
  const Found& get(const ir::Node& node, const std::vector<ir::Constant>& inputs, Common& common,
                   const parallel::Arena& arena);

 private:
  struct Operand {
    element::Type type;
    ir::Dims dims;
    std::shared_ptr<const std::vector<std::byte>> value;  // of a small one; the plan keeps it
  };
  struct Entry {
    std::string name;
    const ir::OpSchema* schema;
    std::unique_ptr<ir::Attributes> attributes;
    size_t outputs;
    std::vector<Operand> operands;
    Found found;
  };
  static bool is_for(const Entry& entry, const ir::Node& node, const std::vector<ir::Constant>& inputs);

  std::list<Entry> entries_;  // that asked for last comes first
};

}  // namespace terroir::cpu
