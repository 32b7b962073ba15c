#include "shoal/model/ops/image/roi.h"

#include <array>

#include "shoal/model/ops/require.h"

namespace shoal::ops {

Result<TensorType> pooled_type(const Operand& image, const Operand& rois, int64_t columns,
                               int64_t height, int64_t width) {
  SHOAL_TRY(require<Floats>(image));
  SHOAL_TRY(require_same_type(std::array{image, rois}));
  SHOAL_TRY(require_rank(image, 4));
  SHOAL_TRY(require_rank(rois, 2));
  if (rois.type.shape[1] != columns) {
    return invalid("a region of interest should be " + std::to_string(columns) + " numbers");
  }
  if (height < 1 || width < 1) return invalid("the output should have at least one element");
  return TensorType{image.type.dtype, {rois.type.shape[0], image.type.shape[1], height, width}};
}

// The output of a region may depend on any place of its image, which only the data tell. So images
// stay whole, except for the channels, and a bin is not separated from its region.
std::optional<Tile> split_rois(const Node& node, std::span<const Operand> inputs,
                               const Region& output) {
  Region image = Region::whole(inputs[0].type.shape);
  image.begin[1] = output.begin[1];
  image.end[1] = output.end[1];
  auto types = node.op->infer(node, inputs);
  if (!types.ok()) return std::nullopt;
  Region whole = output;
  for (size_t d = 2; d < 4; ++d) {
    whole.begin[d] = 0;
    whole.end[d] = (*types)[0].shape[d];
  }
  Tile tile{{image}, whole, node.attributes, {}};
  for (const Operand& input : inputs.subspan(1)) {
    Region part = Region::whole(input.type.shape);
    part.begin[0] = output.begin[0];
    part.end[0] = output.end[0];
    tile.inputs.push_back(part);
  }
  return tile;
}

}  // namespace shoal::ops
