#include "shoal/serve/engine/model_part.h"

#include <charconv>
#include <cstdint>
#include <memory>
#include <vector>

#include "shoal/engine/shared_layers/split_network.h"
#include "shoal/model/onnx/export/export.h"
#include "shoal/model/passes/passes.h"

namespace shoal::serve {
namespace {

constexpr std::string_view kFirst = ".first", kRest = ".rest";

}  // namespace

std::string name_of(const ModelPart& part) {
  return part.whole + std::string(part.is_first ? kFirst : kRest) + std::to_string(part.nodes);
}

std::optional<ModelPart> parse_part(std::string_view name) {
  for (const std::string_view kind : {kFirst, kRest}) {
    const size_t at = name.rfind(kind);
    if (at == 0 || at == name.npos) continue;
    const std::string_view digits = name.substr(at + kind.size());
    size_t nodes = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), nodes);
    if (error != std::errc() || end != digits.data() + digits.size()) continue;
    const ModelPart part{std::string(name.substr(0, at)), kind == kFirst, nodes};
    if (name_of(part) == name) return part;  // no zeros before the number
  }
  return std::nullopt;
}

Result<Graph> network_of(const ModelSource& source) {
  SHOAL_ASSIGN(const Model model, source.open ? source.open() : open_model(source.model));
  SHOAL_ASSIGN(const LoadedGraph loaded, model.graph_for_batch(1));
  return passes::optimize(loaded.graph);
}

Result<Model> as_model(const Graph& network) {
  SHOAL_ASSIGN(auto file, onnx::to_onnx(network));
  const auto bytes = std::make_shared<std::vector<std::byte>>(std::move(file));
  return parse_model(bytes, *bytes);
}

ModelSource part_source(const ModelSource& whole, const ModelPart& part) {
  ModelSource source;
  source.name = name_of(part);
  source.model = source.name;
  source.max_batch = 1;
  source.open = [whole, part]() -> Result<Model> {
    SHOAL_ASSIGN(const Graph network, network_of(whole));
    SHOAL_ASSIGN(const prefix::SplitNetwork split, prefix::split_after(network, part.nodes));
    return as_model(part.is_first ? split.first : split.rest);
  };
  return source;
}

}  // namespace shoal::serve
