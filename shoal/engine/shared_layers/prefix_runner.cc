#include "shoal/engine/shared_layers/prefix_runner.h"

#include <algorithm>
#include <new>
#include <utility>

namespace shoal::prefix {
namespace {

bool same_elements(std::span<const Tensor> a, std::span<const Tensor> b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) {
    return std::ranges::equal(x.bytes(), y.bytes());
  });
}

}  // namespace

Result<std::unique_ptr<PrefixRunner>> PrefixRunner::create(Device& device, const Graph& prefix,
                                                           size_t kept) {
  SHOAL_ASSIGN(auto executable, device.compile(prefix));
  return std::unique_ptr<PrefixRunner>(
      new PrefixRunner(std::move(executable), prefix.types(prefix.inputs()), kept));
}

Result<PrefixRunner::Values> PrefixRunner::compute(std::span<const Tensor> inputs) const try {
  auto outputs = std::make_shared<std::vector<Tensor>>(executable_->graph().outputs().size());
  SHOAL_TRY(executable_->run(inputs, *outputs, {}));
  return Values(std::move(outputs));
} catch (const std::bad_alloc&) {
  return Status(Code::kExhausted, "out of memory");
}

Result<PrefixRunner::Values> PrefixRunner::run(std::span<const Tensor> inputs) {
  const auto type_of = [](const Tensor& tensor) { return tensor.type(); };
  if (!std::ranges::equal(inputs, types_, {}, type_of)) {
    return invalid("inputs are of other types than the networks'");
  }
  std::promise<Result<Values>> promise;
  {
    std::unique_lock lock(mutex_);
    ++uses_;
    const auto known = std::ranges::find_if(
        entries_, [&](const Entry& entry) { return same_elements(entry.inputs, inputs); });
    if (known != entries_.end()) {
      std::rotate(known, known + 1, entries_.end());
      const auto values = entries_.back().values;
      lock.unlock();
      return values.get();
    }
    ++runs_;
    Entry& entry = entries_.emplace_back();
    for (const Tensor& input : inputs) entry.inputs.push_back(input.clone());
    entry.values = promise.get_future().share();
    if (entries_.size() > kept_) entries_.pop_front();
  }
  Result<Values> values = compute(inputs);
  if (!values.ok()) {  // the next request tries again
    const std::scoped_lock lock(mutex_);
    std::erase_if(entries_,
                  [&](const Entry& entry) { return same_elements(entry.inputs, inputs); });
  }
  promise.set_value(values);
  return values;
}

uint64_t PrefixRunner::runs() const {
  const std::scoped_lock lock(mutex_);
  return runs_;
}

uint64_t PrefixRunner::uses() const {
  const std::scoped_lock lock(mutex_);
  return uses_;
}

}  // namespace shoal::prefix
