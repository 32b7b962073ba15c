// One pass over the nodes in their order. A rule may ask for a value in either layout; reorders are
// added where a value is first needed in the layout that it does not have, and at most once per
// value. So they appear only at the borders between blocked and plain regions, and outputs of the
// graph are plain again. The choice is greedy: a rule sees the layouts of its inputs, and of those
// that later nodes will ask for only whether there may be blocks among them. Nodes that only move
// planes wait until they are read.
#include <algorithm>
#include <numeric>

#include "shoal/engine/cpu/layout/select_channels.h"
#include "shoal/engine/cpu/lower/lowering.h"

namespace shoal::cpu {

namespace {

bool has_rule(std::span<const LoweringRule> rules, const Node& node) {
  return std::ranges::find(rules, node.op, &LoweringRule::op) != rules.end();
}

}  // namespace

Lowering::Lowering(const Graph& from, int64_t block)
    : from_(from),
      block_(block),
      copies_(from.value_count()),
      wanted_(from.value_count(), false),
      readers_(from.value_count()) {
  for (ValueId id : from_.outputs()) readers_[static_cast<size_t>(id)].push_back(nullptr);
  const std::span<const Node> nodes = from_.nodes();
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& node = nodes[i];
    const bool passes_on = has_rule(plane_rules(), node) || has_rule(layer_rules(), node);
    const bool wants = has_rule(conv_rules(), node) ||
                       (passes_on && std::ranges::any_of(node.outputs, [&](ValueId id) {
                          return is_wanted_blocked(id);
                        }));
    for (ValueId id : node.inputs) {
      if (id == kNoValue) continue;
      if (wants) wanted_[static_cast<size_t>(id)] = true;
      readers_[static_cast<size_t>(id)].push_back(&node);
    }
  }
}

Result<Graph> Lowering::run() {
  for (ValueId id : from_.inputs()) {
    copies(id).plain = to_.add_input(from_[id].name, from_[id].type);
  }
  for (const Node& node : from_.nodes()) SHOAL_TRY(lower(node));
  for (ValueId id : from_.outputs()) {
    SHOAL_ASSIGN(const ValueId plain, plain_of(id));
    to_.mark_output(plain);
  }
  return std::move(to_);
}

const Node* Lowering::only_reader(ValueId id) const {
  const std::vector<const Node*>& readers = readers_[static_cast<size_t>(id)];
  return readers.size() == 1 ? readers[0] : nullptr;
}

Status Lowering::lower(const Node& node) {
  if (is_blocked(node.outputs[0])) return {};  // together with an earlier one
  // Rules for convolutions start blocked regions; rules for layers mostly extend them.
  for (const auto& rules : {conv_rules(), volume_rules(), plane_rules(), layer_rules()}) {
    for (const LoweringRule& rule : rules) {
      if (rule.op == node.op && rule.fits(*this, node)) return rule.lower(*this, node);
    }
  }
  return copy(node);
}

Status Lowering::copy(const Node& node) {
  std::vector<ValueId> inputs;
  for (ValueId id : node.inputs) {
    SHOAL_ASSIGN(const ValueId plain, plain_of(id));
    inputs.push_back(plain);
  }
  return add_plain(node, *node.op, std::move(inputs), node.attributes);
}

Status Lowering::expand(const Node& node) {
  std::vector<ValueId> inputs;
  for (ValueId id : node.inputs) {
    SHOAL_ASSIGN(const ValueId plain, plain_of(id));
    inputs.push_back(plain);
  }
  SHOAL_ASSIGN(const std::vector<ValueId> outputs, node.op->expand(node, inputs, to_));
  for (size_t i = 0; i < outputs.size(); ++i) copies(node.outputs[i]).plain = outputs[i];
  return {};
}

Result<ValueId> Lowering::plain_of(ValueId id) {
  if (id == kNoValue) return id;
  Copies& copy = copies(id);
  if (copy.plain != kNoValue) return copy.plain;
  const Value& value = from_[id];
  // Constants are added when first used: those that only blocked nodes use exist only in blocks.
  if (value.constant) {
    copy.plain = to_.add_constant(value.name, *value.constant);
  } else if (copy.planes && !copy.is_image) {
    SHOAL_TRY(this->copy(*copy.node));
  } else {
    SHOAL_TRY(blocked_of(id).status());
    SHOAL_ASSIGN(copy.plain, to_.add(unblock_channels, {copy.blocked},
                                     {{"channels", value.type.shape[1]}}, value.name));
  }
  return copy.plain;
}

Result<ValueId> Lowering::blocked_of(ValueId id) {
  if (id == kNoValue) return id;
  Copies& copy = copies(id);
  if (copy.blocked != kNoValue) return copy.blocked;
  if (from_[id].constant) {
    copy.blocked = to_.add_constant(blocked_name(id), blocked_constant(*from_[id].constant));
  } else if (copy.is_image) {
    SHOAL_ASSIGN(copy.blocked, select(id));
  } else {
    SHOAL_ASSIGN(const ValueId plain, plain_of(id));
    SHOAL_ASSIGN(copy.blocked,
                 to_.add(block_channels, {plain}, {{"block", block_}}, blocked_name(id)));
  }
  return copy.blocked;
}

std::optional<Planes> Lowering::planes_of(ValueId id) const {
  if (id == kNoValue) return std::nullopt;
  if (copies(id).blocked == kNoValue) return copies(id).planes;
  // So many that to number them costs no more than the rest of lowering, whatever a file asks for.
  constexpr int64_t kMostPlanes = int64_t{1} << 20;
  const Shape& image = shape(id);
  const bool fits = image.rank() == kImageRank && image[0] * image[1] <= kMostPlanes;
  return fits ? std::optional(planes_of_image(id, image)) : std::nullopt;
}

void Lowering::set_planes(const Node& node, ValueId output, Planes planes) {
  Copies& copy = copies(output);
  copy.node = &node;
  copy.is_image = selection_of(*this, planes, shape(output)).has_value();
  copy.planes = std::move(planes);
}

// The image that planes make up.
Result<ValueId> Lowering::select(ValueId id) {
  const Selection selection = *selection_of(*this, *copies(id).planes, shape(id));
  std::vector<ValueId> images;
  for (ValueId image : selection.images) images.push_back(copies(image).blocked);
  std::vector<int64_t> all(static_cast<size_t>(selection.channels[0]));
  std::iota(all.begin(), all.end(), 0);
  if (images.size() == 1 && selection.from == all) return images[0];  // as it was
  return to_.add(select_channels, std::move(images),
                 {{"channels", selection.channels}, {"from", selection.from}}, blocked_name(id));
}

// Blocked form of a constant factor or addend: [c, 1, 1], or four axes. Computed here, once.
Tensor Lowering::blocked_constant(const Tensor& plain) const {
  const Shape& s = plain.shape();
  const Tensor x = s.rank() == kImageRank ? plain : plain.reshaped({1, s[0], s[1], s[2]});
  Tensor y({x.dtype(), blocked_shape(x.shape(), block_)});
  block_channels.reference({}, std::span(&x, 1), std::span(&y, 1));
  return y;
}

Result<std::vector<ValueId>> Lowering::with_blocked_image(const Node& node) {
  SHOAL_ASSIGN(const ValueId image, blocked_of(node.inputs[0]));
  std::vector<ValueId> inputs{image};
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    SHOAL_ASSIGN(const ValueId id, plain_of(node.inputs[i]));
    inputs.push_back(id);
  }
  return inputs;
}

Status Lowering::add_blocked(const Node& node, const Operator& op, std::vector<ValueId> inputs,
                             Attributes attributes) {
  std::vector<std::string> names{blocked_name(node.outputs[0])};
  for (size_t i = 1; i < node.outputs.size(); ++i) names.push_back(from_[node.outputs[i]].name);
  SHOAL_ASSIGN(const std::vector<ValueId> outputs,
               to_.add_node(op, std::move(inputs), std::move(attributes), names, node.name));
  copies(node.outputs[0]).blocked = outputs[0];
  for (size_t i = 1; i < outputs.size(); ++i) copies(node.outputs[i]).plain = outputs[i];
  return {};
}

Status Lowering::add_plain(const Node& node, const Operator& op, std::vector<ValueId> inputs,
                           Attributes attributes) {
  std::vector<std::string> names;
  for (ValueId id : node.outputs) names.push_back(from_[id].name);
  SHOAL_ASSIGN(const std::vector<ValueId> outputs,
               to_.add_node(op, std::move(inputs), std::move(attributes), names, node.name));
  for (size_t i = 0; i < outputs.size(); ++i) copies(node.outputs[i]).plain = outputs[i];
  return {};
}

Result<Graph> lower(const Graph& graph, int64_t block) { return Lowering(graph, block).run(); }

}  // namespace shoal::cpu
