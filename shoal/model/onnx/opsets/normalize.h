// All opset history ends here: a node of any opset becomes nodes of opset 17, the meaning of
// our operators. To add a rewrite, write a function in normalize_<family>.cc and one line in its
// table. Rewrites have no state.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/model/onnx/format/slot.h"

namespace shoal::onnx {

// The history of ONNX's operators, as data: which opsets changed each of them. It was read up to
// kNewestOpset, and the normalize_*.cc take every change into account.
inline constexpr int64_t kNewestOpset = 27;

struct OperatorHistory {
  std::string_view name;
  std::vector<int64_t> opsets;  // that defined or changed it, ascending
  // Its newest form.
  size_t max_inputs;
  std::vector<std::string_view> attributes;
};

std::span<const OperatorHistory> operator_histories();       // by name
const OperatorHistory* find_history(std::string_view name);  // null: not an operator of ONNX
bool is_defined_in(std::string_view op, int64_t opset);      // by this opset or an earlier one

// Whether a node of a later opset can be treated as one of kNewestOpset: the operator's newest
// known form has all of its inputs, outputs and attributes. Newer opsets only add to an operator's
// form or types, and types are checked anyway.
bool fits_newest_form(std::string_view op, size_t inputs,
                      std::span<const std::string_view> attributes);

// A value while nodes are made: in the graph, known as elements, or left out.
struct Term {
  ValueId id = kNoValue;
  TensorType type;
  Tensor constant;      // the elements, if they are known
  Slot slot = kNoSlot;  // its origin; kNoSlot: made by a rewrite
  int64_t narrow = 0;   // as that of SlotInfo

  bool given() const { return id != kNoValue || constant.defined(); }
  size_t rank() const { return type.shape.rank(); }

  static Term of(const Tensor& tensor) { return {kNoValue, tensor.type(), tensor, kNoSlot}; }
  static Term ints(std::vector<int64_t> values);  // i64, rank 1: shapes, axes
  static Term ints_of(const Shape& shape);
  static Result<Term> scalar(float value, DType dtype);  // of a float type
};

// A node that is not added yet. It has the form of opset 17 when it is emitted.
struct Draft {
  std::string op;
  std::vector<Term> inputs;
  Attributes attributes;
  std::vector<std::string> outputs;  // names; "" for an output that is not read
  std::string name;

  const Term& input(size_t i) const;  // not given beyond the last
  bool has(size_t i) const { return input(i).given(); }
  void set_input(size_t i, Term term);

  // Whether an integer attribute is present and not 0.
  bool flag(std::string_view key) const;

  // Reads an attribute that the new form does not have, and removes it.
  template <class T>
  std::optional<T> take(std::string_view key);
};

// The receiver of the nodes that rewrites make.
class Emitter {
 public:
  virtual ~Emitter() = default;

  // Adds the node, or computes it at once if all of its inputs are known.
  virtual Result<std::vector<Term>> emit(Draft draft) = 0;

  // The elements of a term. If they are not known yet, fails; the rewrite must return this error
  // unchanged, and the step is tried again in a later stage.
  virtual Result<Tensor> elements(const Term& term) = 0;

  // The elements as integers; the term is i32 or i64.
  Result<std::vector<int64_t>> integers(const Term& term);

  // A node on the way, with one output.
  Result<Term> emit_one(std::string op, std::vector<Term> inputs, Attributes attributes = {});
  // The last node of a rewrite, with the outputs and the name of the original.
  Result<std::vector<Term>> emit_last(Draft original, std::string op, std::vector<Term> inputs,
                                      Attributes attributes = {});
};

// Whether make_nodes can rewrite it, as far as names and versions tell.
bool supported(std::string_view op, std::string_view domain, int64_t opset);

// The operators that a supported node of ONNX becomes.
std::vector<std::string_view> targets_of(std::string_view op, int64_t opset);

// Emits the nodes that compute the step and returns its outputs. The draft still has the form of
// its own opset.
Result<std::vector<Term>> make_nodes(Draft draft, std::string_view domain, int64_t opset,
                                     Emitter& emitter);

// The last opset of an entry that is valid for all later ones.
inline constexpr int64_t kEver = std::numeric_limits<int64_t>::max();

// One line of a table: the rewrite of nodes named `op` in opsets [first, last], and the operators
// it emits.
using Rewrite = Result<std::vector<Term>> (*)(Draft draft, int64_t opset, Emitter& emitter);
struct RewriteEntry {
  std::string_view op;
  int64_t first;
  int64_t last;
  Rewrite rewrite;
  std::vector<std::string_view> targets = {};  // operators it emits, if not `op`
};

std::span<const RewriteEntry> attention_rewrites();
std::span<const RewriteEntry> elementwise_rewrites();
std::span<const RewriteEntry> movement_rewrites();
std::span<const RewriteEntry> network_rewrites();
std::span<const RewriteEntry> legacy_rewrites();
std::span<const RewriteEntry> optional_rewrites();
std::span<const RewriteEntry> quantize_rewrites();
std::span<const RewriteEntry> token_rewrites();
std::span<const RewriteEntry> microsoft_rewrites();  // domain com.microsoft

template <class T>
std::optional<T> Draft::take(std::string_view key) {
  const auto it = attributes.find(key);
  if (it == attributes.end()) return std::nullopt;
  auto taken = attributes.extract(it);
  if (T* held = std::get_if<T>(&taken.mapped())) return std::move(*held);
  return std::nullopt;
}

}  // namespace shoal::onnx
