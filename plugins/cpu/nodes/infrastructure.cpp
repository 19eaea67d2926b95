// Parameter, Const, Result: ends of the graph. They make no steps of their own, but a Result whose value lies elsewhere
// is copied to the user's memory. Threads: slices of a copy.
#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "plugins/cpu/impl.hpp"

namespace terroir::cpu {
namespace {

class CopyExecutor final : public Executor {
 public:
  explicit CopyExecutor(size_t bytes) : bytes_(bytes) {}
  void run(const RunArgs& args) const noexcept override {
    constexpr size_t kSliceBytes = 65536;
    args.arena.parallel_for(static_cast<int64_t>((bytes_ + kSliceBytes - 1) / kSliceBytes), [&](int64_t slice) {
      const size_t begin = static_cast<size_t>(slice) * kSliceBytes;
      std::memcpy(static_cast<char*>(args.outputs[0]) + begin, static_cast<const char*>(args.inputs[0]) + begin,
                  std::min(kSliceBytes, bytes_ - begin));
    });
  }
  std::string kernel_name() const override { return "copy"; }

 private:
  size_t bytes_;
};

class CopyTextsExecutor final : public Executor {
 public:
  explicit CopyTextsExecutor(int64_t count) : count_(count) {}
  void run(const RunArgs& args) const override {
    std::copy_n(static_cast<const std::string*>(args.inputs[0]), count_, static_cast<std::string*>(args.outputs[0]));
  }
  std::string kernel_name() const override { return "copy"; }

 private:
  int64_t count_;
};

Proposal propose_plain(const NodeContext& context) {
  LayoutChoice choice;
  for (const TensorDesc& input : context.inputs) choice.inputs.push_back(input.layout);
  for (const TensorDesc& output : context.outputs) choice.outputs.push_back(output.layout);
  return std::vector{choice};
}

std::unique_ptr<const Executor> no_step(const NodeContext&, const LayoutChoice&) { return nullptr; }

std::unique_ptr<const Executor> create_copy(const NodeContext& context, const LayoutChoice&) {
  const TensorDesc& output = context.outputs[0];
  if (output.type == element::string) return std::make_unique<CopyTextsExecutor>(output.count());
  return std::make_unique<CopyExecutor>(output.bytes());
}

constexpr Impl kParameter[] = {{"parameter", &propose_plain, &no_step}};
constexpr Impl kConstant[] = {{"constant", &propose_plain, &no_step}};
constexpr Impl kResult[] = {{"result", &propose_plain, &create_copy}};

}  // namespace

std::span<const Impl> parameter_impls() { return kParameter; }
std::span<const Impl> constant_impls() { return kConstant; }
std::span<const Impl> result_impls() { return kResult; }

}  // namespace terroir::cpu
