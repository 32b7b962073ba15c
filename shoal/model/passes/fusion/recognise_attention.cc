// Recognises softmax(q k' * scale + mask) v, for every image and head, as Attention. The scale may
// be applied to the scores, to q, to k or to several of them. k' comes from a Transpose that may
// permute other axes as well. Images and heads may be one axis, as in PyTorch's own module; then
// they count as heads.
#include <algorithm>

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/fusion/product.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {
namespace {

// A score of this or less has weight 0 in f32 beside one that is not masked.
constexpr double kFarBelow = -1e9;

struct Scaled {
  ValueId value;
  double scale;
};

struct Attention {
  ValueId q;
  const Node* transpose;  // whose output is k'
  double scale;           // the product of all scales
  ValueId mask = kNoValue;
  std::optional<Tensor> choice;  // a mask made of one that says where to look
};

class Matcher {
 public:
  Matcher(const Graph& graph, const UseDefs& links) : graph_(graph), links_(links) {}

  std::optional<Attention> match(const Node& mix) const {
    const Node* softmax = links_.only_for_reader(mix.inputs[0], ops::softmax);
    if (softmax == nullptr || !is_over_last_axis(*softmax)) return std::nullopt;
    const ValueId scores = softmax->inputs[0];
    if (auto plain = match_scores(scores)) return plain;
    if (const Node* sum = links_.only_for_reader(scores, ops::add)) return match_sum(*sum);
    if (const Node* where = links_.only_for_reader(scores, ops::where)) return match_where(*where);
    return std::nullopt;
  }

 private:
  bool is_over_last_axis(const Node& softmax) const {
    const auto rank = static_cast<int64_t>(graph_[softmax.inputs[0]].type.shape.rank());
    const int64_t axis = softmax.integer("axis", -1);
    return (rank == 3 || rank == 4) && (axis == -1 || axis == rank - 1);
  }

  // One value times constants. A product of several values is taken as a whole.
  Scaled scaled(ValueId id) const {
    const Product parts = product(graph_, links_, id);
    const bool keeps_shape =
        parts.factors.size() == 1 && graph_[parts.factors[0]].type == graph_[id].type;
    return keeps_shape ? Scaled{parts.factors[0], parts.scale} : Scaled{id, 1};
  }

  std::optional<Attention> match_scores(ValueId scores) const {
    const Scaled product = scaled(scores);
    const Node* mat_mul = links_.only_for_reader(product.value, ops::mat_mul);
    if (mat_mul == nullptr) return std::nullopt;
    const Scaled q = scaled(mat_mul->inputs[0]), k = scaled(mat_mul->inputs[1]);
    const Node* transpose = links_.only_for_reader(k.value, ops::transpose);
    const size_t rank = graph_[scores].type.shape.rank();
    if (transpose == nullptr || permutation(graph_, *transpose).size() != rank) return std::nullopt;
    return Attention{q.value, transpose, product.scale * q.scale * k.scale, kNoValue, {}};
  }

  std::optional<Attention> match_sum(const Node& sum) const {
    for (size_t i = 0; i < 2; ++i) {
      if (auto found = match_scores(sum.inputs[i])) {
        found->mask = sum.inputs[1 - i];
        return found;
      }
    }
    return std::nullopt;
  }

  // Where(look, scores, far below) as an additive mask: adding far below gives weight 0 like
  // replacing by it, as long as every query may look somewhere. A row that may not would get equal
  // weights from Where, and other weights from the sum.
  std::optional<Attention> match_where(const Node& where) const {
    const Tensor* look = constant(graph_, where.inputs[0]);
    const std::optional<double> below = scalar(graph_, where.inputs[2]);
    if (look == nullptr || !below || *below > kFarBelow || !every_row_looks(*look)) {
      return std::nullopt;
    }
    std::optional<Attention> found = match_scores(where.inputs[1]);
    if (found) found->choice = additive(*look, *constant(graph_, where.inputs[2]));
    return found;
  }

  static bool every_row_looks(const Tensor& look) {
    if (look.shape().rank() == 0 || look.count() == 0) return false;
    const auto row = static_cast<size_t>(look.shape()[look.shape().rank() - 1]);
    for (auto rest = look.data<bool>(); !rest.empty(); rest = rest.subspan(row)) {
      if (std::ranges::count(rest.first(row), true) == 0) return false;
    }
    return true;
  }

  static Tensor additive(const Tensor& look, const Tensor& below) {
    Tensor mask({below.dtype(), look.shape()});
    visit<Floats>(below.dtype(), [&]<class T>() {
      std::ranges::transform(look.data<bool>(), mask.data<T>().begin(),
                             [&](bool is_seen) { return is_seen ? T{} : below.data<T>()[0]; });
    });
    return mask;
  }

  const Graph& graph_;
  const UseDefs& links_;
};

// k from the Transpose that computes k': the same Transpose with its last two axes exchanged.
Result<ValueId> keys(Rewriter& rewriter, const Node& transpose) {
  std::vector<size_t> axes = permutation(rewriter.from(), transpose);
  std::swap(axes[axes.size() - 2], axes[axes.size() - 1]);
  const ValueId from = rewriter.map(transpose.inputs[0]);
  if (std::ranges::is_sorted(axes)) return from;
  return rewriter.to().add(ops::transpose, {from},
                           {{"perm", std::vector<int64_t>(axes.begin(), axes.end())}},
                           rewriter.from()[transpose.outputs[0]].name + ".keys");
}

// q, k, v and the mask. All but the mask get four axes; a mask of three broadcasts as it is.
Result<std::vector<ValueId>> inputs_of(Rewriter& rewriter, const Node& mix,
                                       const Attention& attention, ValueId first_axis) {
  SHOAL_ASSIGN(const ValueId k, keys(rewriter, *attention.transpose));
  std::vector<ValueId> inputs{rewriter.map(attention.q), k, rewriter.map(mix.inputs[1])};
  for (ValueId& id : inputs) {
    if (rewriter.to()[id].type.shape.rank() == 4) continue;
    const std::string name = rewriter.to()[id].name + ".image";
    SHOAL_ASSIGN(id, rewriter.to().add(ops::unsqueeze, {id, first_axis}, {}, name));
  }
  if (attention.choice) {
    inputs.push_back(rewriter.add_constant(mix, "mask", *attention.choice));
  } else if (attention.mask != kNoValue) {
    inputs.push_back(rewriter.map(attention.mask));
  }
  return inputs;
}

bool put(Rewriter& rewriter, const Node& mix, const Attention& attention) {
  const ValueId first_axis = rewriter.add_constant(mix, "axis", Tensor::of<int64_t>({1}, {0}));
  auto inputs = inputs_of(rewriter, mix, attention, first_axis);
  if (!inputs.ok()) return false;
  const Attributes scale{{"scale", static_cast<float>(attention.scale)}};
  // With three axes the type does not match, and the result needs a Squeeze.
  if (rewriter.substitute(mix, ops::attention, *inputs, scale)) return true;
  const std::string name = rewriter.from()[mix.outputs[0]].name + ".image";
  const auto image = rewriter.to().add(ops::attention, *std::move(inputs), scale, name);
  return image.ok() && rewriter.substitute(mix, ops::squeeze, {*image, first_axis}, {});
}

}  // namespace

Result<Graph> recognise_attention(const Graph& graph) {
  const UseDefs links(graph);
  const Matcher matcher(graph, links);
  return rewrite(graph, [&](Rewriter& rewriter, const Node& node) {
    if (node.op != &ops::mat_mul) return false;
    const std::optional<Attention> attention = matcher.match(node);
    return attention && put(rewriter, node, *attention);
  });
}

}  // namespace shoal::passes
