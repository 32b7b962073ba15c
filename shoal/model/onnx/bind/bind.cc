#include "shoal/model/onnx/bind/bind.h"

#include <algorithm>
#include <set>

#include "shoal/base/text/printable.h"
#include "shoal/model/onnx/bind/binder.h"

namespace shoal::onnx {
namespace {

Status check_dimension(const Dimension& declared, int64_t size,
                       std::map<std::string_view, int64_t>& symbols) {
  if (declared.size && *declared.size != size) {
    return invalid("has size " + std::to_string(size) + ", the model says " +
                   std::to_string(*declared.size));
  }
  // The first input that has a symbol sets its size; all others must agree.
  if (declared.symbol.empty()) return {};
  const auto [it, first] = symbols.emplace(declared.symbol, size);
  if (first || it->second == size) return {};
  return invalid("has size " + std::to_string(size) + ", but \"" + printable(declared.symbol) +
                 "\" is " + std::to_string(it->second) + " elsewhere");
}

Status check_input(const ModelInput& input, const Known& known,
                   std::map<std::string_view, int64_t>& symbols) {
  if (known.value && known.value->type() != known.type) {
    return invalid("its elements are not of the type " + to_string(known.type));
  }
  SHOAL_TRY(check(known.type));
  const Shape& shape = known.type.shape;
  // An input whose shape no step reads, such as the second of CastLike, may have any shape.
  const bool shape_matters = input.type.dims && input.shape_read;
  if (known.type.dtype != input.type.dtype ||
      (shape_matters && input.type.dims->size() != shape.rank())) {
    return invalid("is " + to_string(known.type) + ", the model takes " + to_string(input.type));
  }
  if (!shape_matters) return {};
  for (size_t d = 0; d < shape.rank(); ++d) {
    auto status = check_dimension((*input.type.dims)[d], shape[d], symbols);
    if (!status.ok()) return status.at("dimension " + std::to_string(d));
  }
  return {};
}

Status check_inputs(const Model& model, const KnownValues& inputs) {
  std::map<std::string_view, int64_t> symbols;
  std::set<std::string_view> names;
  for (const ModelInput& input : model.inputs()) {
    names.insert(input.name);
    const auto it = inputs.find(input.name);
    if (it == inputs.end()) {
      if (input.optional) continue;
      return invalid("the input " + printable(input.name) + " of type " + to_string(input.type) +
                     " is missing");
    }
    Status status = check_input(input, it->second, symbols);
    if (!status.ok()) return status.at("input " + printable(input.name));
  }
  // A name that the model does not have is most likely misspelt; silently ignoring it would run the
  // default.
  for (const auto& [name, known] : inputs) {
    if (!names.contains(name)) return invalid("the model has no input " + printable(name));
  }
  return {};
}

}  // namespace

Result<Bound> bind(std::shared_ptr<const Model> model, const KnownValues& inputs) {
  SHOAL_TRY(check_inputs(*model, inputs));
  Binder binder(std::move(model));
  binder.start(inputs);
  return binder.run();
}

Result<Bound> bind(const std::shared_ptr<const PendingModel>& rest, const KnownValues& known) {
  Binder binder(rest->model());
  SHOAL_TRY(binder.resume(*rest, known));
  return binder.run();
}

Result<KnownValues> declared_inputs(const Model& model, int64_t size) {
  KnownValues known;
  for (const ModelInput& input : model.inputs()) {
    if (input.optional) continue;
    if (!input.type.dims) {
      return invalid("input " + printable(input.name) + ": the model does not say its shape");
    }
    Known& one = known[input.name];
    one.type.dtype = input.type.dtype;
    for (const Dimension& dim : *input.type.dims) one.type.shape.push_back(dim.size.value_or(size));
  }
  return known;
}

}  // namespace shoal::onnx
