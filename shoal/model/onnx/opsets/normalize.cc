#include "shoal/model/onnx/opsets/normalize.h"

#include <algorithm>
#include <unordered_map>

#include "shoal/model/ops/ops.h"

namespace shoal::onnx {
namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";

using Table = std::unordered_multimap<std::string_view, const RewriteEntry*>;

void add_all(Table& table, std::span<const RewriteEntry> entries) {
  for (const RewriteEntry& entry : entries) table.emplace(entry.op, &entry);
}

const Table& table_of(std::string_view domain) {
  static const Table onnx = [] {
    Table table;
    add_all(table, attention_rewrites());
    add_all(table, elementwise_rewrites());
    add_all(table, movement_rewrites());
    add_all(table, network_rewrites());
    add_all(table, legacy_rewrites());
    add_all(table, optional_rewrites());
    add_all(table, quantize_rewrites());
    add_all(table, token_rewrites());
    return table;
  }();
  static const Table microsoft = [] {
    Table table;
    add_all(table, microsoft_rewrites());
    return table;
  }();
  return domain == kMicrosoft ? microsoft : onnx;
}

const RewriteEntry* find_rewrite(std::string_view op, std::string_view domain, int64_t opset) {
  const auto [begin, end] = table_of(domain).equal_range(op);
  // Entries of one operator have disjoint ranges of opsets, so the first that matches is the only
  // one.
  const auto it = std::find_if(begin, end, [&](const auto& line) {
    return line.second->first <= opset && opset <= line.second->last;
  });
  return it == end ? nullptr : it->second;
}

// Our own operators are not part of ONNX, so a file cannot name them, except those that ONNX has
// adopted since.
bool is_onnx_operator(std::string_view name, int64_t opset) {
  const Operator* op = ops::find(name);
  if (op == nullptr || find_history(name) == nullptr) return false;
  return op->expand == nullptr || is_defined_in(name, opset);
}

}  // namespace

Term Term::ints(std::vector<int64_t> values) {
  return of(
      Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, std::span<const int64_t>(values)));
}

Term Term::ints_of(const Shape& shape) {
  return ints(std::vector<int64_t>(shape.begin(), shape.end()));
}

Result<Term> Term::scalar(float value, DType dtype) {
  if (!Floats::contains(dtype)) return invalid("takes only floats in this opset");
  Tensor tensor({dtype, {}});
  visit<Floats>(dtype, [&]<class T>() { tensor.data<T>()[0] = static_cast<T>(value); });
  return of(std::move(tensor));
}

const Term& Draft::input(size_t i) const {
  static const Term none;
  return i < inputs.size() ? inputs[i] : none;
}

void Draft::set_input(size_t i, Term term) {
  if (inputs.size() <= i) inputs.resize(i + 1);
  inputs[i] = std::move(term);
}

bool Draft::flag(std::string_view key) const {
  const auto it = attributes.find(key);
  const auto* value = it == attributes.end() ? nullptr : std::get_if<int64_t>(&it->second);
  return value != nullptr && *value != 0;
}

Result<std::vector<int64_t>> Emitter::integers(const Term& term) {
  if (!Indices::contains(term.type.dtype)) return invalid("should be integers");
  SHOAL_ASSIGN(const Tensor tensor, elements(term));
  return to_ints(tensor);
}

Result<Term> Emitter::emit_one(std::string op, std::vector<Term> inputs, Attributes attributes) {
  SHOAL_ASSIGN(auto outputs,
               emit(Draft{std::move(op), std::move(inputs), std::move(attributes), {""}, {}}));
  return std::move(outputs[0]);
}

Result<std::vector<Term>> Emitter::emit_last(Draft original, std::string op,
                                             std::vector<Term> inputs, Attributes attributes) {
  return emit(Draft{std::move(op), std::move(inputs), std::move(attributes),
                    std::move(original.outputs), std::move(original.name)});
}

bool supported(std::string_view op, std::string_view domain, int64_t opset) {
  if (!domain.empty() && domain != kMicrosoft) return false;
  // A rewrite may emit operators that are not there, so a name in the table is not enough.
  const RewriteEntry* entry = find_rewrite(op, domain, opset);
  if (entry == nullptr) return domain.empty() && is_onnx_operator(op, opset);
  if (entry->targets.empty()) return is_onnx_operator(op, opset);
  return std::ranges::all_of(entry->targets,
                             [](std::string_view name) { return ops::find(name) != nullptr; });
}

std::vector<std::string_view> targets_of(std::string_view op, int64_t opset) {
  const RewriteEntry* entry = find_rewrite(op, "", opset);
  return entry == nullptr || entry->targets.empty() ? std::vector{op} : entry->targets;
}

Result<std::vector<Term>> make_nodes(Draft draft, std::string_view domain, int64_t opset,
                                     Emitter& emitter) {
  draft.attributes.erase("consumed_inputs");  // a hint of opset 1, without meaning for the result
  const RewriteEntry* entry = find_rewrite(draft.op, domain, opset);
  if (entry == nullptr) return emitter.emit(std::move(draft));
  return entry->rewrite(std::move(draft), opset, emitter);
}

}  // namespace shoal::onnx
