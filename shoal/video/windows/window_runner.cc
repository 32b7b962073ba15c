#include "shoal/video/windows/window_runner.h"

#include <algorithm>
#include <utility>

#include "shoal/video/windows/temporal_pyramid.h"

namespace shoal::windows {

Result<Tensor> features_of(Session& network, const Tensor& item) {
  if (network.outputs().size() != 1) return invalid("the network has several outputs");
  Tensor output;
  SHOAL_TRY(network.run(std::span(&item, 1), std::span(&output, 1)));
  return output;
}

Result<Tensor> stacked(std::span<const Tensor> items, size_t axis) {
  if (items.empty()) return invalid("there is nothing to stack");
  TensorType type = items[0].type();
  if (axis >= type.shape.rank()) return invalid("items have no such axis");
  size_t outer = 1;  // rows before the axis
  for (size_t i = 0; i < axis; ++i) outer *= static_cast<size_t>(type.shape[i]);
  const auto same = [&](const Tensor& one) { return one.type() == items[0].type(); };
  if (!std::ranges::all_of(items, same)) return invalid("items are of different types");
  type.shape[axis] *= std::ssize(items);
  Tensor all = Tensor::uninitialized(type);
  const size_t bytes = outer == 0 ? 0 : items[0].bytes().size() / outer;
  auto to = all.bytes().begin();
  for (size_t row = 0; row < outer; ++row) {
    for (const Tensor& one : items) {
      to = std::ranges::copy(one.bytes().subspan(row * bytes, bytes), to).out;
    }
  }
  return all;
}

Result<std::vector<WindowAnswer>> WindowRunner::answers(Result<std::vector<Window>> windows) {
  if (!windows.ok()) return windows.status();
  std::vector<WindowAnswer> all;
  for (const Window& window : *windows) {
    Tensor input;
    if (options_.pyramid_levels > 0) {
      const std::vector<float> maxima = temporal_pyramid(window.items, options_.pyramid_levels);
      input = Tensor::uninitialized({DType::kF32, {1, std::ssize(maxima)}});
      std::ranges::copy(maxima, input.data<float>().begin());
    } else {
      SHOAL_ASSIGN(input, stacked(window.items, options_.stack_axis));
    }
    SHOAL_ASSIGN(Tensor scores, features_of(head_, input));
    all.push_back({window.last, std::move(scores)});
  }
  return all;
}

Result<std::vector<WindowAnswer>> WindowRunner::add(int64_t tag, Tensor item) {
  const bool features = item.dtype() == DType::kF32 && item.shape().count() > 0;
  if (options_.pyramid_levels > 0 && !features) return invalid("features are f32");
  if (options_.pyramid_levels > 0 && dims_ != 0 && item.shape().count() != dims_) {
    return invalid("features are of another size than before");
  }
  dims_ = item.shape().count();
  return answers(window_.add(tag, std::move(item)));
}

Result<std::vector<WindowAnswer>> WindowRunner::lose(int64_t tag) {
  return answers(window_.lose(tag));
}

Result<std::vector<WindowAnswer>> WindowRunner::finish() { return answers(window_.finish()); }

}  // namespace shoal::windows
